//! Answers: the headers that all have, Status objects, text.

use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use super::{Answer, Response};
use crate::registry::Served;

/// The type of almost every answer.
pub(crate) const JSON: &str = "application/json";

impl Response {
    /// An answer of a type.
    pub(crate) fn of(status: u16, content_type: &str, body: Vec<u8>) -> Response {
        Response { status, headers: vec![("content-type", content_type.to_owned())], body }
    }

    /// A JSON answer; its body ends with a line end.
    pub(crate) fn json(status: u16, value: &Value) -> Response {
        let mut body = serde_json::to_vec(value).unwrap_or_default();
        body.push(b'\n');
        Response::of(status, JSON, body)
    }

    /// JSON that is already text.
    pub(crate) fn bytes(status: u16, text: &[u8]) -> Response {
        let mut body = Vec::with_capacity(text.len() + 1);
        body.extend_from_slice(text);
        body.push(b'\n');
        Response::of(status, JSON, body)
    }

    /// Plain text.
    pub(crate) fn text(status: u16, text: &str) -> Response {
        let mut out = Response::of(status, "text/plain; charset=utf-8", text.as_bytes().to_vec());
        out.headers.push(("x-content-type-options", "nosniff".to_owned()));
        out
    }

    /// What is answered to a path that means nothing.
    pub(crate) fn page_not_found() -> Response {
        Response::text(404, "404 page not found\n")
    }

    /// A refusal as a Status.
    pub(crate) fn refusal(refusal: &Refusal) -> Response {
        Response::json(refusal.code, &refusal.to_json())
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Response {
        self.headers.push((name, value.into()));
        self
    }

    /// Adds warnings, each as a header of its own, up to the server's bound.
    pub(crate) fn warnings(mut self, warnings: &[String]) -> Response {
        let mut room = 4096usize;
        for warning in warnings {
            let text = warning.replace('\\', "\\\\").replace('"', "\\\"").replace(['\n', '\r'], " ");
            let Some(left) = room.checked_sub(text.len()) else { break };
            room = left;
            self.headers.push(("warning", format!("299 - \"{text}\"")));
        }
        self
    }
}

impl From<Response> for Answer {
    fn from(response: Response) -> Answer {
        Answer::Whole(response)
    }
}

impl From<Refusal> for Answer {
    fn from(refusal: Refusal) -> Answer {
        Answer::Whole(Response::refusal(&refusal))
    }
}

/// The Status of a success that has no object to show.
pub(crate) fn success(details: Value) -> Value {
    let mut status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"});
    if !details.is_null() {
        status["details"] = details;
    }
    status
}

/// The resource of a path is not served, though its group is.
pub(crate) fn no_resource() -> Refusal {
    Refusal::new(404, "NotFound", "the server could not find the requested resource")
}

/// A verb that the path does not have.
pub(crate) fn not_allowed() -> Refusal {
    Refusal::new(405, "MethodNotAllowed", "the server does not allow this method on the requested resource")
}

/// No type that the client takes can be served.
pub(crate) fn not_acceptable(accepted: &[&str]) -> Refusal {
    let message = format!("only the following media types are accepted: {}", accepted.join(", "));
    Refusal::new(406, "NotAcceptable", message)
}

/// A body of a type that cannot be read.
pub(crate) fn unsupported_type(accepted: &str) -> Refusal {
    let message = format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    );
    Refusal::new(415, "UnsupportedMediaType", message)
}

/// `details` of a Status about an object.
pub(crate) fn details(served: &Served, name: &str) -> Value {
    let resource = served.resource();
    let mut out = json!({"name": name});
    if !resource.group.is_empty() {
        out["group"] = json!(resource.group.as_str());
    }
    out["kind"] = json!(resource.plural.as_str());
    out
}
