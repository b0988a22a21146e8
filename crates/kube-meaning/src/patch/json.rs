//! JSON patch (RFC 6902).

use serde_json::Value;

use super::{rejected, too_deep};
use crate::status::Refusal;
use crate::typed::same_value;

/// Most operations in one patch.
const MAX_OPERATIONS: usize = 10_000;
/// A patched document may not grow past this many nodes by copying.
const MAX_COPIED_BYTES: usize = 3 << 20;

/// Applies the operations in order; the first that fails refuses the whole patch.
pub fn json_patch(live: &Value, patch: &Value) -> Result<Value, Refusal> {
    let Some(operations) = patch.as_array() else {
        return Err(Refusal::bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type jsonpatch.Patch",
        ));
    };
    if operations.len() > MAX_OPERATIONS {
        let text = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(Refusal::new(413, "RequestEntityTooLarge", text));
    }
    if too_deep(patch) {
        return Err(rejected());
    }
    let mut out = live.clone();
    let mut copied = 0;
    for operation in operations {
        apply(&mut out, operation, &mut copied).ok_or_else(rejected)?;
    }
    match too_deep(&out) {
        true => Err(rejected()),
        false => Ok(out),
    }
}

fn apply(doc: &mut Value, operation: &Value, copied: &mut usize) -> Option<()> {
    let path = pointer(operation.get("path")?.as_str()?)?;
    match operation.get("op")?.as_str()? {
        "add" => add(doc, &path, operation.get("value")?.clone()),
        "remove" => remove(doc, &path).map(drop),
        "replace" => {
            // The server replaces absent keys of maps too, but not absent items of lists.
            let value = operation.get("value")?.clone();
            match find(doc, &path) {
                Some(slot) => *slot = value,
                None => match find(doc, path.split_last()?.1)? {
                    Value::Object(map) => {
                        map.insert(path.split_last()?.0.clone(), value);
                    }
                    _ => return None,
                },
            }
            Some(())
        }
        "move" => {
            let from = pointer(operation.get("from")?.as_str()?)?;
            let value = remove(doc, &from)?;
            add(doc, &path, value)
        }
        "copy" => {
            let from = pointer(operation.get("from")?.as_str()?)?;
            let value = find(doc, &from)?.clone();
            *copied += value.to_string().len();
            (*copied <= MAX_COPIED_BYTES).then(|| add(doc, &path, value))?
        }
        "test" => {
            let wanted = operation.get("value").unwrap_or(&Value::Null);
            match find(doc, &path) {
                Some(found) => same_value(found, wanted).then_some(()),
                None => wanted.is_null().then_some(()),
            }
        }
        _ => None,
    }
}

fn pointer(text: &str) -> Option<Vec<String>> {
    if text.is_empty() {
        return Some(Vec::new());
    }
    let rest = text.strip_prefix('/')?;
    Some(rest.split('/').map(|part| part.replace("~1", "/").replace("~0", "~")).collect())
}

fn position(part: &str, len: usize) -> Option<usize> {
    // The server counts negative positions from the end.
    match part.strip_prefix('-') {
        Some(back) => len.checked_sub(back.parse().ok()?),
        None => part.parse().ok(),
    }
}

fn find<'d>(doc: &'d mut Value, path: &[String]) -> Option<&'d mut Value> {
    let mut at = doc;
    for part in path {
        at = match at {
            Value::Object(map) => map.get_mut(part)?,
            Value::Array(list) => {
                let len = list.len();
                list.get_mut(position(part, len)?)?
            }
            _ => return None,
        };
    }
    Some(at)
}

fn add(doc: &mut Value, path: &[String], value: Value) -> Option<()> {
    let Some((last, parent)) = path.split_last() else {
        *doc = value;
        return Some(());
    };
    match find(doc, parent)? {
        Value::Object(map) => {
            map.insert(last.clone(), value);
        }
        Value::Array(list) if last == "-" => list.push(value),
        Value::Array(list) => {
            let at = position(last, list.len()).filter(|&i| i <= list.len())?;
            list.insert(at, value);
        }
        _ => return None,
    }
    Some(())
}

fn remove(doc: &mut Value, path: &[String]) -> Option<Value> {
    let (last, parent) = path.split_last()?;
    match find(doc, parent)? {
        Value::Object(map) => map.shift_remove(last),
        Value::Array(list) => {
            let at = position(last, list.len()).filter(|&i| i < list.len())?;
            Some(list.remove(at))
        }
        _ => None,
    }
}
