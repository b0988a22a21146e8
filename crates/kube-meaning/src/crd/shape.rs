//! What a structural schema does to an object on its way in: unknown fields go, nulls follow `nullable`, defaults come.

use serde_json::{Map, Value};

use super::{preserves, properties};
use crate::typed::MAX_DEPTH;

/// Removes fields that the schema does not name. Root `apiVersion`, `kind` and `metadata` stay.
pub fn prune(structural: &Value, object: &mut Value) {
    prune_node(structural, object, true, &mut Vec::new(), &mut None, 0);
}

/// The paths that [`prune`] would remove, in the server's spelling (`spec.bogus`, `spec.list[0].x`).
pub fn unknown_fields(structural: &Value, object: &Value) -> Vec<String> {
    let mut found = Some(Vec::new());
    prune_node(structural, &mut object.clone(), true, &mut Vec::new(), &mut found, 0);
    found.unwrap_or_default()
}

type Found = Option<Vec<String>>;

fn prune_node(
    schema: &Value,
    value: &mut Value,
    root: bool,
    path: &mut Vec<String>,
    found: &mut Found,
    depth: usize,
) {
    if depth > MAX_DEPTH {
        return;
    }
    let embedded = root || schema.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    match value {
        Value::Object(map) => {
            let named = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties").filter(|a| a.is_object());
            let keeps = preserves(schema) || schema.get("additionalProperties") == Some(&Value::Bool(true));
            map.retain(|key, child| {
                if embedded && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    return true;
                }
                path.push(key.clone());
                let below = named.and_then(|p| p.get(key)).or(rest);
                let keep = below.is_some() || keeps;
                match below {
                    Some(below) => prune_node(below, child, false, path, found, depth + 1),
                    None if !keep => {
                        if let Some(found) = found {
                            found.push(text(path));
                        }
                    }
                    None => {}
                }
                path.pop();
                keep
            });
        }
        Value::Array(items) => {
            let empty = Value::Object(Map::new());
            // Below a list that keeps unknown fields, items without a schema are free.
            let Some(below) = schema.get("items").or((!preserves(schema)).then_some(&empty)) else { return };
            for (i, item) in items.iter_mut().enumerate() {
                path.push(format!("[{i}]"));
                prune_node(below, item, false, path, found, depth + 1);
                path.pop();
            }
        }
        _ => {}
    }
}

fn text(path: &[String]) -> String {
    let mut out = String::new();
    for part in path {
        if !out.is_empty() && !part.starts_with('[') {
            out.push('.');
        }
        out.push_str(part);
    }
    out
}

/// Removes nulls where the schema allows none and has no default to put there.
pub fn drop_nulls(schema: &Value, value: &mut Value) {
    nulls(schema, value, 0);
}

fn nulls(schema: &Value, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            let named = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties").filter(|a| a.is_object());
            map.retain(|key, child| {
                let Some(below) = named.and_then(|p| p.get(key)).or(rest) else { return true };
                if child.is_null() {
                    return is_nullable(below) || below.get("default").is_some();
                }
                nulls(below, child, depth + 1);
                true
            });
        }
        Value::Array(items) => {
            if let Some(below) = schema.get("items") {
                items.iter_mut().for_each(|item| nulls(below, item, depth + 1));
            }
        }
        _ => {}
    }
}

pub(super) fn is_nullable(schema: &Value) -> bool {
    schema.get("nullable") == Some(&Value::Bool(true))
}

/// Fills in the schema's defaults, parents first.
pub fn fill_defaults(schema: &Value, value: &mut Value) {
    fill(schema, value, 0);
}

fn fill(schema: &Value, value: &mut Value, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            for (key, below) in properties(schema) {
                let Some(default) = below.get("default") else { continue };
                let absent = match map.get(key) {
                    None => true,
                    Some(value) => value.is_null() && !is_nullable(below),
                };
                if absent {
                    map.insert(key.clone(), default.clone());
                }
            }
            let named = schema.get("properties").and_then(Value::as_object);
            let rest = schema.get("additionalProperties").filter(|a| a.is_object());
            for (key, child) in map.iter_mut() {
                if let Some(below) = named.and_then(|p| p.get(key)).or(rest) {
                    fill(below, child, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            if let Some(below) = schema.get("items") {
                items.iter_mut().for_each(|item| fill(below, item, depth + 1));
            }
        }
        _ => {}
    }
}
