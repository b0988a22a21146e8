//! Strategic merge patch: maps merge, lists merge by their patch key, with directives.
//!
//! Directives: `$patch: delete|replace|merge` in maps and list items, `$retainKeys`, `$deleteFromPrimitiveList/<field>`,
//! `$setElementOrder/<field>`. Which lists merge, and by which key, is a fact of the schema.

use serde_json::{Map, Value};

use super::{rejected, too_deep};
use crate::schema::{PatchRule, Resource, Schema, Ty};
use crate::status::Refusal;
use crate::typed::same_value;

const PATCH: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

type Object = Map<String, Value>;

/// Applies a strategic merge patch to an object of a built-in kind.
pub fn strategic_patch(
    schema: &Schema,
    resource: &Resource,
    live: &Value,
    patch: &Value,
) -> Result<Value, Refusal> {
    let Value::Object(changes) = patch else {
        return Err(Refusal::bad_request(
            "error decoding patch: json: cannot unmarshal into Go value of type map[string]interface {}",
        ));
    };
    if too_deep(patch) {
        return Err(rejected());
    }
    let mut map = live.as_object().cloned().unwrap_or_default();
    merge_map(schema, &resource.ty, &mut map, changes)?;
    Ok(Value::Object(map))
}

fn bad(text: String) -> Refusal {
    Refusal::new(422, "Invalid", text)
}

/// The type and patch rule of a key.
fn lookup<'s>(schema: &'s Schema, ty: &'s Ty, key: &str) -> (&'s Ty, Option<&'s PatchRule>) {
    match ty {
        Ty::Named { id, .. } => match schema.get(*id).field(key) {
            Some(field) => (&field.ty, Some(&field.patch)),
            None => (&Ty::Any, None),
        },
        Ty::Map(map) => (&map.value, None),
        _ => (&Ty::Any, None),
    }
}

fn merge_map(schema: &Schema, ty: &Ty, target: &mut Object, patch: &Object) -> Result<(), Refusal> {
    match patch.get(PATCH).map(|d| d.as_str().unwrap_or_default()) {
        None | Some("merge") => {}
        Some("replace") => {
            *target =
                patch.iter().filter(|(k, _)| *k != PATCH).map(|(k, v)| (k.clone(), v.clone())).collect();
            return Ok(());
        }
        Some("delete") => {
            target.clear();
            return Ok(());
        }
        Some(other) => return Err(bad(format!("unknown patch type: {other}"))),
    }
    if let Some(Value::Array(keep)) = patch.get(RETAIN) {
        target.retain(|key, _| keep.iter().any(|k| k.as_str() == Some(key)));
    }
    let ordered = merge_ordered(schema, ty, target, patch)?;
    for (key, change) in patch {
        if let Some(field) = key.strip_prefix(DELETE_FROM) {
            delete_primitives(target, field, change);
        } else if !key.starts_with('$') && !ordered.contains(&key.as_str()) {
            merge_key(schema, ty, target, key, change)?;
        }
    }
    Ok(())
}

fn merge_key(
    schema: &Schema,
    ty: &Ty,
    target: &mut Object,
    key: &str,
    change: &Value,
) -> Result<(), Refusal> {
    if change.is_null() {
        target.shift_remove(key);
        return Ok(());
    }
    let (below, rule) = lookup(schema, ty, key);
    match (target.get_mut(key), change) {
        (Some(Value::Object(map)), Value::Object(changes)) => merge_map(schema, below, map, changes),
        (Some(Value::Array(list)), Value::Array(changes)) if rule.is_some_and(|r| r.merge) => {
            let merged = merge_list(schema, below, rule, std::mem::take(list), changes)?;
            *list = merged;
            Ok(())
        }
        _ => {
            if let Some(value) = clean(change) {
                target.insert(key.to_owned(), value);
            }
            Ok(())
        }
    }
}

/// A patch value that meets nothing: without nulls; a map with a directive vanishes as a whole.
fn clean(value: &Value) -> Option<Value> {
    Some(match value {
        Value::Object(map) if map.contains_key(PATCH) => return None,
        Value::Object(map) => {
            let kept = map.iter().filter(|(k, v)| !is_directive(k) && !v.is_null());
            Value::Object(kept.filter_map(|(k, v)| clean(v).map(|v| (k.clone(), v))).collect())
        }
        Value::Array(items) => items.iter().filter_map(clean).collect(),
        other => other.clone(),
    })
}

fn is_directive(key: &str) -> bool {
    key == PATCH || key == RETAIN || key.starts_with(DELETE_FROM) || key.starts_with(ORDER)
}

/// A list item whose marker (`merge`) has been obeyed.
fn without_marker(item: &Value) -> Value {
    match item {
        Value::Object(map) => Value::Object(
            map.iter().filter(|(k, _)| *k != PATCH).map(|(k, v)| (k.clone(), v.clone())).collect(),
        ),
        other => other.clone(),
    }
}

fn is_bare_directive(item: &Value) -> bool {
    item.as_object().is_some_and(|map| map.len() == 1 && map.contains_key(PATCH))
}

fn delete_primitives(target: &mut Object, field: &str, doomed: &Value) {
    let (Some(Value::Array(list)), Value::Array(doomed)) = (target.get_mut(field), doomed) else { return };
    list.retain(|item| !doomed.iter().any(|d| same_value(d, item)));
}

/// Merges the lists that carry an order directive; returns their fields.
fn merge_ordered<'p>(
    schema: &Schema,
    ty: &Ty,
    target: &mut Object,
    patch: &'p Object,
) -> Result<Vec<&'p str>, Refusal> {
    let mut done = Vec::new();
    for (key, order) in patch {
        let Some(field) = key.strip_prefix(ORDER) else { continue };
        let Value::Array(order) = order else { return Err(rejected()) };
        let (below, rule) = lookup(schema, ty, field);
        let merge_key = rule.and_then(|r| r.merge_key.as_deref());
        if let Some(Value::Array(doomed)) = patch.get(&format!("{DELETE_FROM}{field}")) {
            delete_primitives(target, field, &Value::Array(doomed.clone()));
        }
        let old = target.get(field).and_then(Value::as_array).cloned();
        let change = patch.get(field).and_then(Value::as_array);
        let merged = match (old.clone(), change) {
            (None, None) => continue,
            (Some(old), None) => old,
            (None, Some(change)) => change.iter().filter_map(clean).collect(),
            (Some(old), Some(change)) if rule.is_some_and(|r| r.merge) => {
                merge_list(schema, below, rule, old, change)?
            }
            (Some(_), Some(change)) => change.clone(),
        };
        let sorted = arrange(merged, order, old.as_deref().unwrap_or_default(), merge_key);
        target.insert(field.to_owned(), Value::Array(sorted));
        done.push(field);
    }
    Ok(done)
}

fn merge_list(
    schema: &Schema,
    ty: &Ty,
    rule: Option<&PatchRule>,
    old: Vec<Value>,
    changes: &[Value],
) -> Result<Vec<Value>, Refusal> {
    let merge_key = rule.and_then(|r| r.merge_key.as_deref());
    let server_order = old.clone();
    let mut merged = old;
    let Some(key) = merge_key else {
        for item in changes {
            if !merged.iter().any(|m| same_value(m, item)) {
                merged.push(item.clone());
            }
        }
        return Ok(arrange(merged, changes, &server_order, None));
    };
    let item_ty = match ty {
        Ty::List(list) => &list.item,
        _ => &Ty::Any,
    };
    if changes.iter().any(|item| item.get(PATCH).is_some_and(|d| d == "replace")) {
        return Ok(changes.iter().filter(|i| !is_bare_directive(i)).cloned().collect());
    }
    for item in changes {
        let Value::Object(change) = item else { return Err(rejected()) };
        let Some(wanted) = change.get(key) else {
            return Err(Refusal::typed(format!(
                "map: {} does not contain declared merge key: {key}",
                go_map(change)
            )));
        };
        let found = merged.iter().position(|m| m.get(key).is_some_and(|v| same_value(v, wanted)));
        match (change.get(PATCH).and_then(Value::as_str), found) {
            (Some("delete"), _) => merged.retain(|m| m.get(key).is_none_or(|v| !same_value(v, wanted))),
            (_, Some(at)) => {
                if let Value::Object(map) = &mut merged[at] {
                    merge_map(schema, item_ty, map, change)?;
                }
            }
            (_, None) => merged.extend(clean(&without_marker(item))),
        }
    }
    Ok(arrange(merged, changes, &server_order, Some(key)))
}

fn go_map(map: &Object) -> String {
    let mut parts: Vec<String> = map
        .iter()
        .map(|(k, v)| match v {
            Value::String(s) => format!("{k}:{s}"),
            other => format!("{k}:{other}"),
        })
        .collect();
    parts.sort();
    format!("map[{}]", parts.join(" "))
}

/// Items named by the patch in its order, the server's others before what they preceded.
fn arrange(items: Vec<Value>, order: &[Value], server_order: &[Value], key: Option<&str>) -> Vec<Value> {
    let same = |a: &Value, b: &Value| match key {
        None => same_value(a, b),
        Some(key) => match (a.get(key), b.get(key)) {
            (Some(a), Some(b)) => same_value(a, b),
            _ => false,
        },
    };
    let index = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| index(order, item).is_some());
    named.sort_by_key(|item| index(order, item));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let mut named = named.into_iter().peekable();
    for item in others {
        let at = index(server_order, &item);
        while let Some(next) = named.peek() {
            let next_at = index(server_order, next);
            if at.is_some() && next_at.is_some() && at < next_at {
                break;
            }
            out.extend(named.next());
        }
        out.push(item);
    }
    out.extend(named);
    out
}
