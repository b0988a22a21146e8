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
