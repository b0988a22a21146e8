//! From answers of the server and failures of the connection to the engine's kinds of errors.

use std::time::Duration;

use kube_meaning::immutable::is_fixed;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::LONGEST_PAUSE;
use crate::border::Answer;

/// A short pause before asking again for something that is about to appear.
const SOON: Duration = Duration::from_millis(500);

/// Reads a failed answer. Programs branch on code, reason and causes, never on messages, with three exceptions that the
/// server does not name otherwise. An answer that is no proper `Status` (a gateway's own, a login page) is known by its code alone.
pub(crate) fn from_answer(answer: &Answer) -> RuntimeError {
    let status = answer.status();
    let text =
        |pointer: &str| status.and_then(|s| s.pointer(pointer)).and_then(Value::as_str).unwrap_or_default();
    let message = match (status, answer.text()) {
        (Some(_), _) => in_words(text("/message")),
        (None, Some(body)) => format!("the API server answered {}: {body}", answer.code),
        (None, None) => format!("{} was answered {} with {}", answer.asked, answer.code, answer.looks()),
    };
    let kind = match status {
        Some(status) => of_status(answer.code, status, &message),
        None => of_code(answer.code),
    };
    let mut error = RuntimeError::new(kind, message);
    let asked =
        status.and_then(|status| status.pointer("/details/retryAfterSeconds")).and_then(Value::as_u64);
    error.retry_after = answer.retry_after.or(asked.map(Duration::from_secs));
    let appears_soon = error.kind == ErrorKind::UnknownKind
        || status.is_some_and(|status| has_cause(status, "NamespaceTerminating"))
        || error.message.contains("error looking up service account");
    if appears_soon && error.retry_after.is_none() {
        error.retry_after = Some(SOON);
    }
    if let Some(asked) = error.retry_after.filter(|asked| *asked > LONGEST_PAUSE) {
        error.message.push_str(&format!(" (it asks to wait {} s)", asked.as_secs()));
    }
    error
}

/// What does not fit the schema, found here before the server was asked: in the same words.
pub(crate) fn refused(message: &str) -> RuntimeError {
    RuntimeError::new(ErrorKind::Invalid, in_words(message))
}

/// A server's sentence without the names of its own types: `got &value.valueUnstructured{Value:1}` is `got 1`.
fn in_words(message: &str) -> String {
    const SIGN: &str = "&value.valueUnstructured{Value:";
    let (mut out, mut rest) = (String::new(), message);
    while let Some(at) = rest.find(SIGN) {
        out.push_str(&rest[..at]);
        rest = &rest[at + SIGN.len()..];
        let end = rest.find('}').unwrap_or(rest.len());
        out.push_str(&rest[..end]);
        rest = rest.get(end + 1..).unwrap_or_default();
    }
    out + rest
}

fn of_status(code: u16, status: &Value, message: &str) -> ErrorKind {
    let detail = |key: &str| status.pointer(&format!("/details/{key}")).and_then(Value::as_str);
    let reason = status.get("reason").and_then(Value::as_str).unwrap_or_default();
    match code {
        403 if has_cause(status, "NamespaceTerminating") => ErrorKind::ParentMissing,
        404 if detail("kind") == Some("namespaces") => ErrorKind::ParentMissing,
        404 if detail("name").is_some() => ErrorKind::NotFound,
        409 if has_cause(status, "FieldManagerConflict") => ErrorKind::Owned,
        409 => ErrorKind::Conflict,
        422 if is_fixed(message) => ErrorKind::Immutable,
        500 if reason.is_empty() && is_about_schema(message) => ErrorKind::Invalid,
        _ => of_code(code),
    }
}

/// A manifest that does not fit the schema is a 500 without a reason, and so is a store that changes its leader: the first stays
/// wrong however often it is sent. These are the sentences of the server's field manager and of its decoder.
fn is_about_schema(message: &str) -> bool {
    const SENTENCES: [&str; 5] = [
        "failed to create typed patch object",
        "failed to create typed live object",
        "failed to create typed new object",
        "unable to convert unstructured object",
        "field not declared in schema",
    ];
    SENTENCES.iter().any(|sentence| message.contains(sentence))
}

fn of_code(code: u16) -> ErrorKind {
    match code {
        401 => ErrorKind::Unauthorized,
        403 => ErrorKind::Forbidden,
        // About no object at all: the path means nothing to who answered.
        404 => ErrorKind::UnknownKind,
        400 | 405 | 406 | 413 | 415 | 422 => ErrorKind::Invalid,
        429 => ErrorKind::TooManyRequests,
        500..=599 => ErrorKind::Server,
        _ => ErrorKind::Unreadable,
    }
}

fn has_cause(status: &Value, reason: &str) -> bool {
    let causes = status.pointer("/details/causes").and_then(Value::as_array);
    causes.is_some_and(|causes| causes.iter().any(|cause| cause["reason"] == reason))
}

/// Reads a failure below HTTP.
pub(crate) fn from_client(error: kube::Error) -> RuntimeError {
    let text = chain(&error);
    let kind = match &error {
        kube::Error::Auth(_) => ErrorKind::Unauthorized,
        kube::Error::Service(_) if text.contains("certificate") => ErrorKind::Untrusted,
        kube::Error::HyperError(_) | kube::Error::ReadEvents(_) => ErrorKind::Broken,
        kube::Error::Service(_) if is_connect(&text) => ErrorKind::Unreachable,
        kube::Error::Service(_) => ErrorKind::Broken,
        _ => ErrorKind::Unexpected,
    };
    let what = match kind {
        ErrorKind::Unauthorized => "no credential for the API server",
        ErrorKind::Unreachable => "the API server cannot be reached",
        ErrorKind::Untrusted => "the certificate of the API server is not trusted",
        ErrorKind::Broken => "the connection to the API server broke",
        _ => "the API server's answer was not understood",
    };
    RuntimeError::new(kind, format!("{what}: {}", plain(&error)))
}

/// The innermost cause, which a person can act on, without the names of our libraries.
fn plain(error: &kube::Error) -> String {
    let mut last = error as &dyn std::error::Error;
    while let Some(source) = last.source() {
        last = source;
    }
    let text = last.to_string();
    let text =
        text.split(" (os error").next().unwrap_or(&text).trim_start_matches("invalid peer certificate: ");
    let words = [
        ("UnknownIssuer", "it is signed by an authority that the kubeconfig does not name"),
        ("NotValidForName", "it is not made for this address"),
        ("Expired", "it has expired"),
        ("NotValidYet", "it is not valid yet"),
        ("Connection refused", "nobody listens there (connection refused)"),
        ("unexpected end of file", "the server ended the connection"),
    ];
    let found = words.iter().find(|(sign, _)| text.contains(sign));
    found.map_or_else(|| text.to_owned(), |(_, words)| (*words).to_owned())
}

fn is_connect(text: &str) -> bool {
    ["onnection refused", "dns error", "error trying to connect", "client error (Connect)", "unreachable"]
        .iter()
        .any(|sign| text.contains(sign))
}

/// The innermost cause is what a person can act on.
fn chain(error: &dyn std::error::Error) -> String {
    let mut texts = vec![error.to_string()];
    let mut source = error.source();
    while let Some(error) = source.filter(|_| texts.len() < 8) {
        let text = error.to_string();
        if texts.last().is_none_or(|last| !last.contains(&text)) {
            texts.push(text);
        }
        source = error.source();
    }
    texts.join(": ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(code: u16, body: &[u8]) -> RuntimeError {
        from_answer(&Answer::new("GET /x".to_owned(), code, body))
    }

    fn status(code: u16, reason: &str, details: Value) -> RuntimeError {
        let body = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": "m",
            "details": details, "code": code});
        failure(code, &serde_json::to_vec(&body).unwrap())
    }

    #[test]
    fn two_kinds_of_409_are_told_apart_by_their_causes() {
        let owned = status(409, "Conflict", json!({"causes": [{"reason": "FieldManagerConflict"}]}));
        assert_eq!((owned.kind, owned.is_transient()), (ErrorKind::Owned, false));
        let stale = status(409, "Conflict", json!({}));
        assert_eq!((stale.kind, stale.is_transient()), (ErrorKind::Conflict, true));
    }

    #[test]
    fn schema_error_is_not_retried_although_it_is_a_500() {
        let said = |message: &str| {
            let body = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
                "message": message, "code": 500});
            failure(500, &serde_json::to_vec(&body).unwrap())
        };
        let schema = said(
            "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.bogus: field not declared in schema",
        );
        assert_eq!((schema.kind, schema.is_transient()), (ErrorKind::Invalid, false));
        for passing in ["etcdserver: leader changed", "etcdserver: request timed out", ""] {
            let passing = said(passing);
            assert_eq!((passing.kind, passing.is_transient()), (ErrorKind::Server, true), "{passing:?}");
        }
        assert!(status(500, "InternalError", json!({})).is_transient());
    }

    #[test]
    fn text_answers_of_the_server_are_understood() {
        let busy = failure(429, b"Too many requests, please try again later.");
        assert!(busy.is_transient() && busy.message.contains("Too many requests"));
        let unknown = failure(404, b"404 page not found");
        assert_eq!((unknown.kind, unknown.is_transient()), (ErrorKind::UnknownKind, true));
    }

    #[test]
    fn names_of_the_servers_types_are_not_told() {
        let told = in_words(".data.a: expected string, got &value.valueUnstructured{Value:1}; and more");
        assert_eq!(told, ".data.a: expected string, got 1; and more");
        assert_eq!(in_words("&value.valueUnstructured{Value:"), "");
        assert_eq!(in_words("plain"), "plain");
    }

    #[test]
    fn missing_namespace_is_a_missing_parent() {
        assert_eq!(status(404, "NotFound", json!({"kind": "namespaces"})).kind, ErrorKind::ParentMissing);
        assert_eq!(
            status(404, "NotFound", json!({"kind": "configmaps", "name": "a"})).kind,
            ErrorKind::NotFound
        );
    }

    #[test]
    fn retry_after_of_the_details_counts() {
        let error = status(504, "Timeout", json!({"retryAfterSeconds": 3}));
        assert_eq!((error.retry_after, error.message.as_str()), (Some(Duration::from_secs(3)), "m"));
        let error = status(429, "TooManyRequests", json!({"retryAfterSeconds": 999_999}));
        assert_eq!(error.message, "m (it asks to wait 999999 s)");
    }
}
