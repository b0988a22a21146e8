//! Port forwarding as kubectl does it: SPDY/3.1 frames inside WebSocket messages, two streams for each connection.
//!
//! A connection opens a stream `error` and a stream `data` with the same `requestid`. What the pod's port says goes to the
//! data stream; why it cannot be reached goes to the error stream. Only the frames that this needs are understood.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Result};

use sandbox_world::api::talk::{Forward, Page};
use tokio::io::{AsyncRead, AsyncWrite};

use super::inflate::{Headers, no_headers};
use super::socket::{PIECE, Socket};

const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;
const FIN: u8 = 1;

/// The largest frame, and how many streams may be open.
const LARGEST: usize = 1 << 20;
const STREAMS: usize = 1000;

enum Stream {
    Error,
    Data { page: Option<Page>, error: u32 },
}

struct Tunnel<'t, S> {
    socket: &'t mut Socket<S>,
    forward: &'t Forward,
    headers: Headers,
    replied: bool,
    streams: BTreeMap<u32, Stream>,
    /// The error stream of each request.
    errors: BTreeMap<String, u32>,
}

/// Forwards until the client goes.
pub(super) async fn forward<S>(socket: &mut Socket<S>, forward: &Forward) -> Result<()>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let mut tunnel = Tunnel {
        socket,
        forward,
        headers: Headers::new(),
        replied: false,
        streams: BTreeMap::new(),
        errors: BTreeMap::new(),
    };
    let mut bytes: Vec<u8> = Vec::new();
    while let Some(message) = tunnel.socket.next().await? {
        bytes.extend_from_slice(&message);
        while let Some(length) = whole(&bytes)? {
            let rest = bytes.split_off(length);
            let frame = std::mem::replace(&mut bytes, rest);
            if !tunnel.frame(&frame).await? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// The length of the first frame, when all of it is there.
fn whole(bytes: &[u8]) -> Result<Option<usize>> {
    let Some(head) = bytes.first_chunk::<8>() else { return Ok(None) };
    let length = 8 + (usize::from(head[5]) << 16 | usize::from(head[6]) << 8 | usize::from(head[7]));
    match length > LARGEST {
        true => Err(ErrorKind::InvalidData.into()),
        false => Ok((bytes.len() >= length).then_some(length)),
    }
}

fn number(bytes: &[u8]) -> u32 {
    bytes.first_chunk::<4>().map_or(0, |first| u32::from_be_bytes(*first) & 0x7fff_ffff)
}

impl<S: AsyncRead + AsyncWrite + Unpin> Tunnel<'_, S> {
    /// One frame; false when the conversation is over.
    async fn frame(&mut self, frame: &[u8]) -> Result<bool> {
        let (head, payload) = frame.split_at(8);
        if head[0] & 128 == 0 {
            self.data(number(head), head[4] & FIN != 0, payload).await?;
            return Ok(true);
        }
        match u16::from_be_bytes([head[2], head[3]]) {
            SYN_STREAM => self.open(payload).await?,
            RST_STREAM => drop(self.streams.remove(&number(payload))),
            PING => self.control(PING, payload).await?,
            GOAWAY => return Ok(false),
            _ => {}
        }
        Ok(true)
    }

    async fn open(&mut self, payload: &[u8]) -> Result<()> {
        let (id, block) = (number(payload), payload.get(10..).unwrap_or_default());
        let Some(headers) = self.headers.read(block) else { return Err(ErrorKind::InvalidData.into()) };
        let get =
            |name: &str| headers.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value.as_str());
        if self.streams.len() >= STREAMS {
            // 3: refused.
            return self.control(RST_STREAM, &[id.to_be_bytes(), 3u32.to_be_bytes()].concat()).await;
        }
        let reply = [id.to_be_bytes().to_vec(), no_headers(!self.replied)].concat();
        self.replied = true;
        self.control(SYN_REPLY, &reply).await?;
        let request = get("requestid").to_owned();
        if get("streamtype") == "error" {
            self.errors.insert(request, id);
            self.streams.insert(id, Stream::Error);
            return Ok(());
        }
        let error = self.errors.remove(&request).unwrap_or_default();
        let found =
            get("port").parse().map_err(|_| "no port".to_owned()).and_then(|port| self.forward.connect(port));
        match found {
            Ok(page) => drop(self.streams.insert(id, Stream::Data { page: Some(page), error })),
            Err(why) => {
                self.send(error, 0, why.as_bytes()).await?;
                self.end(id, error).await?;
            }
        }
        Ok(())
    }

    async fn data(&mut self, id: u32, last: bool, payload: &[u8]) -> Result<()> {
        let Some(Stream::Data { page, error }) = self.streams.get_mut(&id) else { return Ok(()) };
        let error = *error;
        let (answer, over) = page.as_mut().map_or((Vec::new(), true), |page| page.feed(payload));
        for piece in answer.chunks(PIECE) {
            self.send(id, 0, piece).await?;
        }
        if over || last {
            self.end(id, error).await?;
        }
        Ok(())
    }

    /// Both streams of a connection end.
    async fn end(&mut self, data: u32, error: u32) -> Result<()> {
        for id in [data, error] {
            self.streams.remove(&id);
            self.send(id, FIN, b"").await?;
        }
        Ok(())
    }

    async fn send(&mut self, id: u32, flags: u8, payload: &[u8]) -> Result<()> {
        if id == 0 {
            return Ok(());
        }
        let length = (payload.len() as u32).to_be_bytes();
        let head = [&id.to_be_bytes()[..], &[flags], &length[1..]].concat();
        self.socket.send([&head, payload].concat()).await
    }

    async fn control(&mut self, kind: u16, payload: &[u8]) -> Result<()> {
        let length = (payload.len() as u32).to_be_bytes();
        let head = [&[0x80, 3][..], &kind.to_be_bytes(), &[0], &length[1..]].concat();
        self.socket.send([&head, payload].concat()).await
    }
}
