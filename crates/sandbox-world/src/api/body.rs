//! Request bodies: JSON, YAML and protobuf into one kind of value.

use base_yaml::{Data, Limits, Node, parse_documents};
use kube_meaning::status::Refusal;
use kube_meaning::strict::duplicate_fields;
use serde_json::{Map, Number, Value};

use super::Request;
use super::respond::unsupported_type;

/// A body that could be read.
#[derive(Debug)]
pub(crate) struct Body<'b> {
    pub(crate) value: Value,
    /// Its text, if that is JSON.
    text: &'b [u8],
}

impl Body<'_> {
    /// Keys that its text has twice, as complaints.
    pub(crate) fn duplicates(&self) -> Vec<String> {
        std::str::from_utf8(self.text).map(duplicate_fields).unwrap_or_default()
    }
}

const OBJECT_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// Nodes that a YAML body may have, aliases expanded.
const LIMITS: Limits = Limits { depth: 100, nodes: 500_000, strict_keys: false, long_integers: false };

/// The media type of the body, without parameters.
pub(crate) fn content_type<'r>(request: &Request<'r>) -> &'r str {
    let found = request.headers.iter().find(|(name, _)| name == "content-type");
    found.map_or("", |(_, text)| text.split(';').next().unwrap_or_default().trim())
}

/// The object of a create or update.
pub(crate) fn object<'r>(request: &Request<'r>) -> Result<Body<'r>, Refusal> {
    match content_type(request) {
        "" | "application/json" | "text/json" => json(request.body),
        "application/yaml" | "text/yaml" | "application/x-yaml" => yaml(request.body),
        PROTOBUF => {
            let value = super::protobuf::decode(request.body)?;
            Ok(Body { value, text: b"" })
        }
        _ => Err(unsupported_type(OBJECT_TYPES)),
    }
}

/// The configuration of an apply: YAML, which JSON is too.
pub(crate) fn configuration(bytes: &[u8]) -> Result<Body<'_>, Refusal> {
    match bytes.iter().find(|byte| !byte.is_ascii_whitespace()) {
        // Nearly all clients send JSON, and that is read faster.
        Some(b'{') => json(bytes).or_else(|_| yaml(bytes)),
        _ => yaml(bytes),
    }
}

/// JSON, at most as deep as its reader goes (128).
pub(crate) fn json(bytes: &[u8]) -> Result<Body<'_>, Refusal> {
    let value: Value = serde_json::from_slice(bytes).map_err(|error| {
        Refusal::bad_request(format!(
            "couldn't get version/kind; json parse error: {}",
            shortened(&error.to_string())
        ))
    })?;
    Ok(Body { value, text: bytes })
}

/// The first document of a YAML text, as YAML 1.1 reads its words.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Body<'_>, Refusal> {
    let wrong =
        |text: &str| Refusal::bad_request(format!("error converting YAML to JSON: {}", shortened(text)));
    let text = std::str::from_utf8(bytes).map_err(|_| wrong("yaml: invalid UTF-8"))?;
    let documents = parse_documents(text, &LIMITS).map_err(|error| wrong(&error.message))?;
    let value = documents.first().map_or(Value::Null, |node| to_json(node, text));
    Ok(Body { value, text: b"" })
}

fn to_json(node: &Node, text: &str) -> Value {
    match &node.value {
        Data::Null => Value::Null,
        Data::Bool(b) => Value::Bool(*b),
        Data::Int(i) => Value::from(*i),
        Data::Float(f) => Number::from_f64(*f).map_or(Value::Null, Value::Number),
        Data::Str(word) => match text.get(node.span.start..node.span.end) {
            // Only bare words are truth values; quoted ones stand in quotes here.
            Some("y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON") => Value::Bool(true),
            Some("n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF") => Value::Bool(false),
            _ => Value::from(word.as_str()),
        },
        Data::List(items) => items.iter().map(|item| to_json(item, text)).collect(),
        Data::Map(entries) => {
            let pairs = entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value, text)));
            Value::Object(pairs.collect::<Map<String, Value>>())
        }
    }
}

/// A client's text comes back in messages only in part.
fn shortened(text: &str) -> String {
    text.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_words_are_those_of_yaml_1_1() {
        let body = yaml(b"a: y\nb: \"y\"\nc: no\nd: [1, 1.5, x]\n---\nsecond: 1\n").unwrap();
        assert_eq!(body.value, serde_json::json!({"a": true, "b": "y", "c": false, "d": [1, 1.5, "x"]}));
    }

    #[test]
    fn bodies_that_cannot_be_read_are_bad_requests() {
        let deep = "[".repeat(100_000);
        for bytes in [b"{".as_slice(), b"", b"\xff\xfe", b"{\"a\": }", deep.as_bytes()] {
            assert_eq!(json(bytes).unwrap_err().code, 400);
        }
        assert_eq!(yaml(deep.as_bytes()).unwrap_err().code, 400);
        assert_eq!(configuration(b"{a: b}").unwrap().value["a"], "b");
    }
}
