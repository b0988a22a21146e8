//! WebSocket messages (RFC 6455), the server's side.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};

/// The largest message that is taken.
const LARGEST: usize = 1 << 20;
/// Pieces in which output is sent.
pub(super) const PIECE: usize = 32 << 10;
/// A conversation in which nothing is said for so long is over.
const IDLE: Duration = Duration::from_secs(3600);

const CONTINUATION: u8 = 0;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// An open WebSocket.
pub(super) struct Socket<S> {
    stream: S,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) fn new(stream: S) -> Socket<S> {
        Socket { stream }
    }

    /// The next message; `None` when the client closes.
    pub(super) async fn next(&mut self) -> Result<Option<Vec<u8>>> {
        let mut message = Vec::new();
        loop {
            let (last, code, payload) = self.frame(LARGEST - message.len()).await?;
            match code {
                CONTINUATION | TEXT | BINARY => message.extend_from_slice(&payload),
                PING => self.write(PONG, &payload).await?,
                CLOSE => return Ok(None),
                _ => {}
            }
            if last && code <= BINARY {
                return Ok(Some(message));
            }
        }
    }

    async fn frame(&mut self, room: usize) -> Result<(bool, u8, Vec<u8>)> {
        let mut head = [0; 2];
        let read = tokio::time::timeout(IDLE, self.stream.read_exact(&mut head)).await;
        read.map_err(|_| Error::from(ErrorKind::TimedOut))??;
        let length = match head[1] & 127 {
            126 => usize::from(self.stream.read_u16().await?),
            127 => usize::try_from(self.stream.read_u64().await?).unwrap_or(usize::MAX),
            short => usize::from(short),
        };
        // Clients must mask; one that does not is no browser or library.
        if head[1] & 128 == 0 || length > room {
            return Err(ErrorKind::InvalidData.into());
        }
        let mut mask = [0; 4];
        self.stream.read_exact(&mut mask).await?;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload).await?;
        for (byte, mask) in payload.iter_mut().zip(mask.iter().cycle()) {
            *byte ^= mask;
        }
        Ok((head[0] & 128 != 0, head[0] & 15, payload))
    }

    /// Sends one binary message.
    pub(super) async fn send(&mut self, payload: &[u8]) -> Result<()> {
        self.write(BINARY, payload).await
    }

    pub(super) async fn close(&mut self) -> Result<()> {
        // 1000: all is said.
        self.write(CLOSE, &1000u16.to_be_bytes()).await?;
        self.stream.shutdown().await
    }

    async fn write(&mut self, code: u8, payload: &[u8]) -> Result<()> {
        let mut frame = vec![128 | code];
        match payload.len() {
            length @ 0..=125 => frame.push(length as u8),
            length @ 126..=65_535 => {
                frame.push(126);
                frame.extend_from_slice(&(length as u16).to_be_bytes());
            }
            length => {
                frame.push(127);
                frame.extend_from_slice(&(length as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(payload);
        self.stream.write_all(&frame).await?;
        self.stream.flush().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn fragments_pings_and_limits() {
        let (client, server) = tokio::io::duplex(4096);
        let mut socket = Socket::new(server);
        let (mut reading, mut writing) = tokio::io::split(client);
        // "ab" in two fragments with a ping between them; the mask of the second is not zero.
        let frames = [0x02, 0x81, 0, 0, 0, 0, b'a', 0x89, 0x80, 0, 0, 0, 0, 0x80, 0x81, 1, 0, 0, 0, b'b' ^ 1];
        writing.write_all(&frames).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap(), b"ab");
        let mut pong = [0; 2];
        reading.read_exact(&mut pong).await.unwrap();
        assert_eq!(pong, [0x8a, 0]);
        // A frame that says it is larger than anything, and one without a mask.
        writing.write_all(&[0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).await.unwrap();
        assert!(socket.next().await.is_err());
    }
}
