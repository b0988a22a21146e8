//! Protobuf bodies of kubectl and Helm.

use kube_meaning::status::Refusal;
use serde_json::Value;

/// Decodes a body.
pub(crate) fn decode(_bytes: &[u8]) -> Result<Value, Refusal> {
    Err(Refusal::new(415, "UnsupportedMediaType", "protobuf bodies are not read; send application/json"))
}
