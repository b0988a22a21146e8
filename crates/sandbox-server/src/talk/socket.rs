//! WebSocket messages, the server's side: tungstenite with our limits.

use std::io::{Error, ErrorKind, Result};
use std::time::Duration;

use bytes::Bytes;
use futures::{SinkExt as _, StreamExt as _};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig, frame::coding::CloseCode};
use tokio_tungstenite::tungstenite::{Error as SocketError, Message};

/// The largest message that is taken.
const LARGEST: usize = 1 << 20;
/// Pieces in which output is sent.
pub(super) const PIECE: usize = 32 << 10;
/// A conversation in which nothing is said for so long is over.
const IDLE: Duration = Duration::from_secs(3600);

/// An open WebSocket.
pub(super) struct Socket<S> {
    stream: WebSocketStream<S>,
}

impl<S: AsyncRead + AsyncWrite + Unpin> Socket<S> {
    pub(super) async fn new(stream: S) -> Socket<S> {
        let limits = WebSocketConfig::default().max_message_size(Some(LARGEST)).max_frame_size(Some(LARGEST));
        Socket { stream: WebSocketStream::from_raw_socket(stream, Role::Server, Some(limits)).await }
    }

    /// The next message; `None` when the client closes. Pings are answered on the way.
    pub(super) async fn next(&mut self) -> Result<Option<Bytes>> {
        loop {
            let next = tokio::time::timeout(IDLE, self.stream.next()).await;
            match next.map_err(|_| Error::from(ErrorKind::TimedOut))? {
                Some(Ok(Message::Binary(bytes))) => return Ok(Some(bytes)),
                Some(Ok(Message::Text(text))) => return Ok(Some(text.into())),
                Some(Ok(Message::Close(_))) | None => return Ok(None),
                Some(Ok(_)) => {}
                Some(Err(why)) => return Err(plain(why)),
            }
        }
    }

    /// Sends one binary message.
    pub(super) async fn send(&mut self, payload: Vec<u8>) -> Result<()> {
        self.stream.send(Message::Binary(payload.into())).await.map_err(plain)
    }

    pub(super) async fn close(&mut self) -> Result<()> {
        let all_is_said = CloseFrame { code: CloseCode::Normal, reason: "".into() };
        self.stream.close(Some(all_is_said)).await.map_err(plain)
    }
}

fn plain(why: SocketError) -> Error {
    match why {
        SocketError::Io(why) => why,
        other => Error::new(ErrorKind::InvalidData, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    #[tokio::test]
    async fn fragments_pings_and_limits() {
        let (client, server) = tokio::io::duplex(4096);
        let mut socket = Socket::new(server).await;
        let (mut reading, mut writing) = tokio::io::split(client);
        // "ab" in two fragments with a ping between them; the mask of the second is not zero.
        let frames = [0x02, 0x81, 0, 0, 0, 0, b'a', 0x89, 0x80, 0, 0, 0, 0, 0x80, 0x81, 1, 0, 0, 0, b'b' ^ 1];
        writing.write_all(&frames).await.unwrap();
        assert_eq!(socket.next().await.unwrap().unwrap().as_ref(), b"ab");
        let mut pong = [0; 2];
        reading.read_exact(&mut pong).await.unwrap();
        assert_eq!(pong, [0x8a, 0]);
        // A frame that says it is larger than anything.
        writing.write_all(&[0x82, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]).await.unwrap();
        writing.write_all(&[0, 0, 0, 0]).await.unwrap();
        assert!(socket.next().await.is_err());
    }

    #[tokio::test]
    async fn a_client_that_does_not_mask_is_refused() {
        let (mut client, server) = tokio::io::duplex(4096);
        let mut socket = Socket::new(server).await;
        client.write_all(&[0x82, 0x01, b'a']).await.unwrap();
        assert!(socket.next().await.is_err());
    }
}
