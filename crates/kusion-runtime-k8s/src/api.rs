//! Requests and answers, close to the wire: codes, warnings, Retry-After, patience. What an answer proves is decided by `border`.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use kusion_runtime::{ErrorKind, RuntimeError};

use crate::border::Answer;
use crate::failure::from_client;

/// A client with a time limit for each request.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) client: Client,
    limit: Duration,
    /// How many requests were sent, for tests and benches.
    pub(crate) n_requests: Arc<AtomicUsize>,
    /// The last question was asked in vain, again and again.
    in_vain: Arc<AtomicBool>,
}

/// What changes nothing is asked again after these pauses, when the server is busy or the connection breaks.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// A server that asks for a longer pause than this is not waited for: a person waits too.
pub(crate) const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Api {
    pub(crate) fn new(client: Client, limit: Duration) -> Self {
        Api { client, limit, n_requests: Arc::default(), in_vain: Arc::default() }
    }

    /// Asks what changes nothing (a read, a dry run) until the answer proves something; troubles that pass are waited out. Who was
    /// asked in vain to the end is not waited for as long again before the next good answer.
    pub(crate) async fn patiently<T, F>(&self, mut ask: impl FnMut() -> F) -> Result<T, RuntimeError>
    where
        F: Future<Output = Result<T, RuntimeError>>,
    {
        for pause in PAUSES {
            let error = match ask().await {
                Ok(good) => {
                    self.in_vain.store(false, Ordering::Relaxed);
                    return Ok(good);
                }
                Err(error) if !may_pass(&error) || self.in_vain.load(Ordering::Relaxed) => return Err(error),
                Err(error) => error,
            };
            let pause = error.retry_after.map_or(pause, |asked| asked.max(pause));
            if pause > LONGEST_PAUSE {
                return Err(error);
            }
            tokio::time::sleep(pause).await;
        }
        let last = ask().await;
        self.in_vain.store(last.as_ref().is_err_and(may_pass), Ordering::Relaxed);
        last
    }

    /// Reads once.
    pub(crate) async fn get(&self, path: &str) -> Result<Answer, RuntimeError> {
        self.call(Method::GET, path, None).await
    }

    /// Sends one request; a body goes with its content type.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Answer, RuntimeError> {
        let asked = format!("{method} {path}");
        let mut request = Request::builder().method(method).uri(path).header("accept", "application/json");
        let body = match body {
            None => Body::empty(),
            Some((content_type, bytes)) => {
                request = request.header("content-type", content_type);
                Body::from(bytes)
            }
        };
        let unexpected =
            |e: http::Error| RuntimeError::new(ErrorKind::Unexpected, format!("bad request path: {e}"));
        let request = request.body(body).map_err(unexpected)?;
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        match tokio::time::timeout(self.limit, self.exchange(asked, request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("no answer from the API server within {} s", self.limit.as_secs());
                Err(RuntimeError::new(ErrorKind::Timeout, text))
            }
        }
    }

    async fn exchange(&self, asked: String, request: Request<Body>) -> Result<Answer, RuntimeError> {
        let response = self.client.send(request).await.map_err(from_client)?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect_bytes().await.map_err(from_client)?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let retry_after = header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let warnings =
            parts.headers.get_all("warning").iter().filter_map(|value| warning(value.to_str().ok()?));
        let mut answer = Answer::new(asked, parts.status.as_u16(), &bytes);
        (answer.warnings, answer.retry_after) = (warnings.collect(), retry_after);
        Ok(answer)
    }
}

/// Whether the same question may be answered in a moment.
fn may_pass(error: &RuntimeError) -> bool {
    matches!(
        error.kind,
        ErrorKind::Broken
            | ErrorKind::Unreadable
            | ErrorKind::Server
            | ErrorKind::TooManyRequests
            // A dry run met somebody's write.
            | ErrorKind::Conflict
            // A gateway's own 404, or a definition that is not served yet.
            | ErrorKind::UnknownKind
    )
}

/// Takes the text out of `299 - "text"`.
fn warning(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1;
    let text = quoted.strip_suffix('"').unwrap_or(quoted);
    Some(text.replace("\\\"", "\""))
}

/// Escapes a name for a path: what RFC 3986 lets stand in a segment stays.
pub(crate) fn segment(name: &str) -> String {
    escaped(name, b"-._~!$&'()*+,;=:@")
}

/// Escapes the value of a query.
pub(crate) fn query(value: &str) -> String {
    escaped(value, b"-._~")
}

fn escaped(text: &str, kept: &[u8]) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || kept.contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_roles_survive_in_a_path() {
        assert_eq!(segment("system:node-proxier"), "system:node-proxier");
        assert_eq!(segment("a b/c"), "a%20b%2Fc");
    }

    #[test]
    fn warning_text_is_unquoted() {
        assert_eq!(warning(r#"299 - "v1 Endpoints is \"old\"""#).unwrap(), "v1 Endpoints is \"old\"");
    }
}
