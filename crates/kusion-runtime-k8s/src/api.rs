//! Requests and answers, close to the wire: codes, warnings, Retry-After, JSON.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::failure::{from_answer, from_client};

/// A client with a time limit for each request.
#[derive(Clone)]
pub(crate) struct Api {
    pub(crate) client: Client,
    pub(crate) limit: Duration,
    /// How many requests were sent, for tests and benches.
    pub(crate) n_requests: Arc<AtomicUsize>,
}

/// What came back, whatever the code.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) code: u16,
    pub(crate) body: Value,
    pub(crate) warnings: Vec<String>,
    pub(crate) retry_after: Option<Duration>,
}

impl Answer {
    /// Returns the body of a success, or the failure.
    pub(crate) fn ok(self) -> Result<Value, RuntimeError> {
        if (200..300).contains(&self.code) { Ok(self.body) } else { Err(from_answer(&self)) }
    }
}

/// What changes nothing is asked again after these pauses, when the server is busy or the connection breaks.
const PAUSES: [Duration; 4] = [
    Duration::from_millis(200),
    Duration::from_millis(400),
    Duration::from_millis(800),
    Duration::from_millis(1600),
];
/// A server that asks for a longer pause than this is not waited for: a person waits too.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

impl Api {
    pub(crate) async fn get(&self, path: &str) -> Result<Answer, RuntimeError> {
        self.ask(Method::GET, path, None).await
    }

    /// Sends a request that changes nothing (a read, a dry run); troubles that pass are waited out.
    pub(crate) async fn ask(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Answer, RuntimeError> {
        for pause in PAUSES {
            let answer = self.call(method.clone(), path, body.clone()).await;
            let asked = match &answer {
                Ok(answer) if matches!(answer.code, 429 | 502 | 503 | 504) => answer.retry_after,
                // A dry run that ends so has met a webhook that is down: that does not pass in a moment.
                Ok(answer) if answer.code == 500 && method == Method::GET => answer.retry_after,
                Err(error) if error.kind == ErrorKind::Broken => error.retry_after,
                _ => return answer,
            };
            let pause = asked.map_or(pause, |asked| asked.max(pause));
            if pause > LONGEST_PAUSE {
                return answer;
            }
            tokio::time::sleep(pause).await;
        }
        self.call(method, path, body).await
    }

    /// Sends one request; a body goes with its content type.
    pub(crate) async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<(&'static str, Vec<u8>)>,
    ) -> Result<Answer, RuntimeError> {
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
        match tokio::time::timeout(self.limit, self.exchange(request)).await {
            Ok(answer) => answer,
            Err(_) => {
                let text = format!("no answer from the API server within {} s", self.limit.as_secs());
                Err(RuntimeError::new(ErrorKind::Timeout, text))
            }
        }
    }

    async fn exchange(&self, request: Request<Body>) -> Result<Answer, RuntimeError> {
        let response = self.client.send(request).await.map_err(from_client)?;
        let (parts, body) = response.into_parts();
        let bytes = body.collect_bytes().await.map_err(from_client)?;
        let header = |name: &str| parts.headers.get(name).and_then(|value| value.to_str().ok());
        let retry_after = header("retry-after").and_then(|text| text.parse().ok()).map(Duration::from_secs);
        let warnings =
            parts.headers.get_all("warning").iter().filter_map(|value| warning(value.to_str().ok()?));
        // Not every answer is JSON: an unknown path and the flow control answer with text.
        let body = serde_json::from_slice(&bytes).unwrap_or_else(|_| {
            Value::String(String::from_utf8_lossy(&bytes[..bytes.len().min(500)]).into_owned())
        });
        Ok(Answer { code: parts.status.as_u16(), body, warnings: warnings.collect(), retry_after })
    }
}

/// Takes the text out of `299 - "text"`.
fn warning(header: &str) -> Option<String> {
    let quoted = header.split_once('"')?.1;
    let text = quoted.strip_suffix('"').unwrap_or(quoted);
    Some(text.replace("\\\"", "\""))
}

/// Escapes a name for a path: what RFC 3986 lets stand in a segment stays.
pub(crate) fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
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
