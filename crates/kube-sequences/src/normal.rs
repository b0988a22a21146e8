//! What of an answer is comparable: everything but what a server draws, counts or reads from a clock.
//!
//! Removed: `uid`, `resourceVersion`, `creationTimestamp`, the `time` of managed fields. Drawn cluster addresses become
//! `10.96.0.1`. Managed fields are in the server's order for writes of one second: operation, manager, version,
//! sub-resource.

use serde_json::{Map, Value, json};

/// An object without what differs from run to run.
pub fn object(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["uid", "resourceVersion", "creationTimestamp"] {
            metadata.shift_remove(key);
        }
        if let Some(entries) = metadata.get_mut("managedFields").and_then(Value::as_array_mut) {
            managed_fields(entries);
        }
    }
    addresses(&mut object);
    if let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) {
        // A signing request tells whose certificate sent it.
        spec.retain(|key, value| {
            key != "extra" || value.get("authentication.kubernetes.io/credential-id").is_none()
        });
    }
    object
}

fn managed_fields(entries: &mut [Value]) {
    for entry in entries.iter_mut().filter_map(Value::as_object_mut) {
        entry.shift_remove("time");
    }
    entries.sort_by_key(|entry| {
        ["operation", "manager", "apiVersion", "subresource"]
            .map(|key| entry.get(key).and_then(Value::as_str).unwrap_or_default().to_owned())
    });
}

/// A Service's address is drawn from a range unless it is `None`.
pub(crate) fn addresses(object: &mut Value) {
    if object.get("kind") != Some(&json!("Service")) {
        return;
    }
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else {
        return;
    };
    for (key, fixed) in [("clusterIP", json!("10.96.0.1")), ("clusterIPs", json!(["10.96.0.1"]))] {
        if let Some(value) = spec.get_mut(key).filter(|value| value.to_string().contains("10.96.")) {
            *value = fixed;
        }
    }
}

/// Times, ids and name suffixes that the server drew, in text form: they become these models. What the sender wrote stays.
const DRAWN: [&str; 3] =
    ["2026-01-01T00:00:00Z", "00000000-0000-4000-8000-000000000000", "kube-api-access-00000"];

/// Replaces what the server drew or read from its clock anywhere in an object, except what was sent.
pub fn drawn(object: &Value, sent: &Value) -> Value {
    let (text, sent) = (object.to_string(), sent.to_string());
    let mut fixed = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(first) = rest.chars().next() {
        let model = DRAWN.iter().find(|model| {
            rest.get(..model.len()).is_some_and(|found| alike(found, model) && !sent.contains(found))
        });
        let (taken, put) = match model {
            Some(model) => (model.len(), *model),
            None => (first.len_utf8(), &rest[..first.len_utf8()]),
        };
        fixed.push_str(put);
        rest = &rest[taken..];
    }
    serde_json::from_str(&fixed).expect("only letters and digits within strings were replaced")
}

/// Digits of the model stand for any lower-case letter or digit.
fn alike(text: &str, model: &str) -> bool {
    text.bytes().zip(model.bytes()).all(|(byte, model)| {
        byte == model || model.is_ascii_digit() && (byte.is_ascii_digit() || byte.is_ascii_lowercase())
    })
}

/// A Status answer as `{code, reason, message, causes}`.
pub fn error(status: &Value) -> Value {
    let mut kept = Map::new();
    for key in ["code", "reason", "message"] {
        if let Some(value) = status.get(key) {
            kept.insert(key.into(), value.clone());
        }
    }
    if let Some(causes) = status.pointer("/details/causes").and_then(Value::as_array) {
        let mut causes = causes.clone();
        // The server goes through the managers in no order; within one manager the order of fields is its own.
        causes.sort_by_key(|cause| {
            let conflict = cause.get("reason") == Some(&json!("FieldManagerConflict"));
            conflict.then(|| cause.get("message").map(Value::to_string))
        });
        kept.insert("causes".into(), Value::Array(causes));
    }
    Value::Object(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drawn_times_and_ids_are_fixed_but_sent_ones_stay() {
        let sent = json!({"at": "2025-05-05T05:05:05Z"});
        let object = json!({"at": "2025-05-05T05:05:05Z", "now": "2027-12-31T01:02:03Z",
            "uid": "1f2e3d4c-aaaa-4bbb-8ccc-0123456789ab", "k:kube-api-access-x7k2p": "é"});
        let expected = json!({"at": "2025-05-05T05:05:05Z", "now": DRAWN[0], "uid": DRAWN[1], "k:kube-api-access-00000": "é"});
        assert_eq!(drawn(&object, &sent), expected);
    }

    #[test]
    fn managed_fields_lose_their_time_and_keep_the_servers_order() {
        let entry =
            |manager: &str, operation: &str| json!({"manager": manager, "operation": operation, "time": "t"});
        let object = object(&json!({"metadata": {"uid": "u", "managedFields":
            [entry("b", "Apply"), entry("a", "Update"), entry("a", "Apply")]}}));
        let expected = json!({"metadata": {"managedFields": [
            {"manager": "a", "operation": "Apply"}, {"manager": "b", "operation": "Apply"},
            {"manager": "a", "operation": "Update"}]}});
        assert_eq!(object, expected);
    }
}
