//! Conversations over an upgraded connection: exec and port-forward, as kubectl and kube-rs hold them.
//!
//! In: a connection after its 101 and what the world says there is to talk to. Out: frames. The world is not asked again.
//!
//! * [`socket`] — WebSocket messages; [`channels`] — `v4` and `v5.channel.k8s.io`, one byte of channel before each message;
//! * [`spdy`] — the SPDY frames that kubectl sends through a WebSocket when it forwards ports.
//!
//! Invariant: a message, a header block and a conversation's memory are bounded; an idle conversation ends.

mod channels;
mod inflate;
mod socket;
mod spdy;

use bytes::Bytes;
use http::header::{CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, UPGRADE};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use sandbox_world::api::talk::{TUNNEL, Talk};
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;

use crate::body::{OutBody, full, status};
use socket::Socket;

/// Answers 101 and talks on the connection from then on.
pub(crate) fn begin(
    headers: &HeaderMap,
    upgrade: OnUpgrade,
    protocol: &'static str,
    talk: Talk,
) -> Response<OutBody> {
    let Some(key) = headers.get(SEC_WEBSOCKET_KEY) else {
        return status(400, "BadRequest", "a WebSocket needs a Sec-WebSocket-Key");
    };
    let accept = derive_accept_key(key.as_bytes());
    tokio::spawn(async move {
        // A client that went away before the upgrade has nothing to be told.
        let Ok(connection) = upgrade.await else { return };
        let mut socket = Socket::new(TokioIo::new(connection)).await;
        let _ = match talk {
            Talk::Exec(exec) => channels::exec(&mut socket, &exec).await,
            Talk::Forward(forward) if protocol == TUNNEL => spdy::forward(&mut socket, &forward).await,
            Talk::Forward(forward) => channels::forward(&mut socket, &forward).await,
        };
        let _ = socket.close().await;
    });
    let mut response = Response::new(full(Bytes::new()));
    *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    let accept = HeaderValue::try_from(accept).unwrap_or_else(|_| HeaderValue::from_static(""));
    for (name, value) in [
        (UPGRADE, HeaderValue::from_static("websocket")),
        (CONNECTION, HeaderValue::from_static("Upgrade")),
        (SEC_WEBSOCKET_ACCEPT, accept),
        (SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol)),
    ] {
        response.headers_mut().insert(name, value);
    }
    response
}
