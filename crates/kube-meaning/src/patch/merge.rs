//! JSON merge patch (RFC 7386): maps merge, null removes, everything else replaces.

use serde_json::{Map, Value};

use super::{rejected, too_deep};
use crate::status::Refusal;

/// Applies a merge patch.
pub fn merge_patch(live: &Value, patch: &Value) -> Result<Value, Refusal> {
    if !patch.is_object() {
        return Err(Refusal::bad_request(
            "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}",
        ));
    }
    if too_deep(patch) {
        return Err(rejected());
    }
    let mut out = live.clone();
    merge(&mut out, patch);
    Ok(out)
}

fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Value::Object(map) = target else { return };
    for (key, change) in changes {
        match change {
            Value::Null => {
                map.shift_remove(key);
            }
            _ => merge(map.entry(key.as_str()).or_insert(Value::Null), change),
        }
    }
}
