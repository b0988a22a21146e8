//! From an http request to the world and back: bounded bodies in, whole or streamed bodies out.

use bytes::{Buf, Bytes, BytesMut};
use flate2::Compression;
use flate2::write::GzEncoder;
use futures::stream;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, VARY};
use http::{HeaderName, HeaderValue, Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Body, Frame};
use sandbox_world::api::BODY_LIMIT;
use sandbox_world::{Answer, StreamId};
use std::io::Write;
use std::time::Duration;

use crate::host::Host;

/// What goes out.
pub type OutBody = UnsyncBoxBody<Bytes, std::io::Error>;

/// A client that sends more than this gets no answer at all.
const READ_AWAY: usize = 64 * 1024 * 1024;

/// Answers shorter than this are not compressed, as on the server.
const GZIP_FROM: usize = 128 * 1024;

/// A connection that breaks off without an answer.
#[derive(Debug, thiserror::Error)]
#[error("the connection was dropped by a fault of the sandbox")]
pub struct Dropped;

/// Carries one request to the world.
pub(crate) async fn carry<B>(host: &Host, request: Request<B>) -> Result<Response<OutBody>, Dropped>
where
    B: Body,
{
    let mut request = request;
    let upgrade = hyper::upgrade::on(&mut request);
    let (head, body) = request.into_parts();
    let body = match read(body).await? {
        Some(body) => body,
        None => return Ok(too_large()),
    };
    let headers: Vec<(String, String)> = head
        .headers
        .iter()
        .map(|(name, value)| {
            (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect();
    let ask = sandbox_world::Request {
        method: head.method.as_str(),
        path: head.uri.path(),
        query: head.uri.query().unwrap_or_default(),
        headers: &headers,
        body: &body,
    };
    match host.handle(&ask) {
        Answer::Broken => Err(Dropped),
        Answer::Upgrade { protocol, talk } => Ok(crate::talk::begin(&head.headers, upgrade, protocol, talk)),
        Answer::Whole(mut answer) => {
            wait_on_purpose(&mut answer.headers).await;
            let zip = head
                .headers
                .get_all(ACCEPT_ENCODING)
                .iter()
                .any(|v| v.to_str().is_ok_and(|v| v.contains("gzip")));
            Ok(whole(answer, zip))
        }
        Answer::Stream { id, mut headers } => {
            wait_on_purpose(&mut headers).await;
            let mut response = Response::new(streamed(host.clone(), id));
            add_headers(&mut response, headers);
            Ok(response)
        }
    }
}

/// The whole body; `None` when it is too large. What is beyond the limit is read away, so that the client, which writes
/// first and reads then, gets to see the answer; but not for ever.
async fn read<B: Body>(body: B) -> Result<Option<Bytes>, Dropped> {
    let mut body = std::pin::pin!(body);
    let (mut kept, mut length) = (BytesMut::new(), 0);
    while let Some(frame) = body.frame().await {
        let Ok(data) =
            frame.map_err(|_| Dropped)?.into_data().map(|mut data| data.copy_to_bytes(data.remaining()))
        else {
            continue;
        };
        length += data.len();
        if length > READ_AWAY {
            return Err(Dropped);
        }
        if length <= BODY_LIMIT {
            kept.extend_from_slice(&data);
        }
    }
    Ok((length <= BODY_LIMIT).then(|| kept.freeze()))
}

/// A fault of the script: the answer comes later.
async fn wait_on_purpose(headers: &mut Vec<(&'static str, String)>) {
    let Some(at) = headers.iter().position(|(name, _)| *name == "x-sandbox-delay-ms") else { return };
    let millis = headers.remove(at).1.parse().unwrap_or(0);
    tokio::time::sleep(Duration::from_millis(millis)).await;
}

fn whole(answer: sandbox_world::Response, zip: bool) -> Response<OutBody> {
    let zipped = (zip && answer.body.len() > GZIP_FROM).then(|| gzip(&answer.body)).flatten();
    let was_zipped = zipped.is_some();
    let body = Bytes::from(zipped.unwrap_or(answer.body));
    let mut response = Response::new(full(body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_headers(&mut response, answer.headers);
    if was_zipped {
        response.headers_mut().insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
        response.headers_mut().append(VARY, HeaderValue::from_static("Accept-Encoding"));
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    response
}

fn gzip(body: &[u8]) -> Option<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 4), Compression::fast());
    encoder.write_all(body).ok()?;
    encoder.finish().ok()
}

fn add_headers(response: &mut Response<OutBody>, headers: Vec<(&'static str, String)>) {
    for (name, value) in headers {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
            response.headers_mut().append(name, value);
        }
    }
}

pub(crate) fn full(bytes: Bytes) -> OutBody {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

fn too_large() -> Response<OutBody> {
    let message = format!("Request entity too large: limit is {BODY_LIMIT}");
    status(413, "RequestEntityTooLarge", &message)
}

/// An error of the rim, as a Status.
pub(crate) fn status(code: u16, reason: &str, message: &str) -> Response<OutBody> {
    let body = serde_json::json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": reason, "code": code,
    });
    let mut response = Response::new(full(Bytes::from(format!("{body}\n"))));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    add_headers(&mut response, vec![("content-type", "application/json".into())]);
    response
}

/// Pulls from the world only when the client has taken what was sent: a slow reader holds one piece, not a queue.
fn streamed(host: Host, id: StreamId) -> OutBody {
    let open = Open { host, id };
    let frames = stream::unfold(Some(open), |open| async move {
        let open = open?;
        let polled = open.host.next(open.id).await;
        if polled.broken && polled.bytes.is_empty() {
            return Some((Err(std::io::Error::other(Dropped)), None));
        }
        if polled.bytes.is_empty() {
            return None;
        }
        let goes_on = !polled.ended || polled.broken;
        Some((Ok(Frame::data(Bytes::from(polled.bytes))), goes_on.then_some(open)))
    });
    BodyExt::boxed_unsync(StreamBody::new(frames))
}

/// Closes the world's side when the client is gone.
struct Open {
    host: Host,
    id: StreamId,
}

impl Drop for Open {
    fn drop(&mut self) {
        self.host.close(self.id);
    }
}
