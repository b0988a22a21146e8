//! From a request body to the object in the server's own form: conversion, defaults, normalisation.

use serde_json::{Value, json};

use crate::crd;
use crate::defaults;
use crate::normalise::{decode_base64, normalise};
use crate::schema::{Field, ScalarKind, Schema, Shape, Ty};
use crate::ssa::Target;
use crate::status::Refusal;

/// How often the template of a DaemonSet changed.
pub(crate) const TEMPLATE_GENERATION: &str = "deprecated.daemonset.template.generation";

/// Decodes what a client sent: as [`decode`], and nulls of a custom resource that mean nothing are dropped. The result of an
/// apply is not treated so: there a null stays, and is refused if the schema does not allow it.
pub fn decode_request(target: Target<'_>, mut object: Value) -> Result<Value, Refusal> {
    if let Some(structural) = &target.resource.structural {
        crd::drop_nulls(structural, &mut object);
    }
    decode(target, object)
}

/// Owner references that are told twice count once.
fn dedup_owners(object: &mut Value) {
    let owners =
        object.get_mut("metadata").and_then(|m| m.get_mut("ownerReferences")).and_then(Value::as_array_mut);
    if let Some(owners) = owners.filter(|o| o.len() > 1) {
        let mut seen: Vec<Value> = Vec::new();
        owners.retain(|owner| {
            let fresh = !seen.contains(owner);
            if fresh {
                seen.push(owner.clone());
            }
            fresh
        });
    }
}

/// Decodes an object: unknown fields dropped, aliases resolved, defaults filled, canonical forms.
pub fn decode(target: Target<'_>, mut object: Value) -> Result<Value, Refusal> {
    let resource = target.resource;
    if let Value::Object(map) = &mut object {
        map.insert("apiVersion".to_owned(), Value::from(resource.api_version().as_str()));
        map.insert("kind".to_owned(), Value::from(resource.kind.as_str()));
    } else {
        return Err(Refusal::bad_request("the object provided is unrecognized: it must be a map"));
    }
    dedup_owners(&mut object);
    if let Some(structural) = &resource.structural {
        crd::prune(structural, &mut object);
        if let (Some(meta), Some(ty)) =
            (object.get_mut("metadata"), target.schema.type_at(&resource.ty, &["metadata"]))
        {
            crate::normalise::value(target.schema, ty, meta);
        }
        crd::fill_defaults(structural, &mut object);
        return Ok(object);
    }
    check_scalars(target.schema, &resource.ty, &object, &mut Vec::new()).map_err(|text| {
        let message = format!(
            "{} in version \"{}\" cannot be handled as a {}: {text}",
            resource.kind, resource.version, resource.kind
        );
        Refusal::bad_request(message)
    })?;
    if resource.kind == "Secret" && resource.group.is_empty() {
        merge_string_data(&mut object);
    }
    if resource.kind == "DaemonSet" {
        // A field of the stored form that clients see as an annotation.
        let slot = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let Some(meta) = slot {
            let annotations = meta.entry("annotations").or_insert(Value::Null);
            if annotations.is_null() {
                *annotations = json!({});
            }
            if annotations.get(TEMPLATE_GENERATION).is_none_or(Value::is_null) {
                annotations[TEMPLATE_GENERATION] = Value::from("0");
            }
        }
    }
    defaults::fill(target.schema, resource, &mut object);
    normalise(target.schema, resource, &mut object);
    Ok(object)
}

/// Decodes and stores one top field of a built-in object; whether it is written at all.
pub(crate) fn decode_field(target: Target<'_>, field: &Field, value: &mut Value) -> Result<bool, Refusal> {
    let (schema, resource) = (target.schema, target.resource);
    check_scalars(schema, &field.ty, value, &mut vec![field.name.as_str()]).map_err(|text| {
        let message = format!(
            "{} in version \"{}\" cannot be handled as a {}: {text}",
            resource.kind, resource.version, resource.kind
        );
        Refusal::bad_request(message)
    })?;
    if value.is_null() && field.shape == Shape::Always {
        *value = json!({});
    }
    defaults::fill_value(schema, &field.ty, value);
    let kept = crate::normalise::keep(schema, field, value);
    crate::normalise::forget_empty(schema, &field.ty, value);
    Ok(kept)
}

/// Brings one value of a type into the server's form, as far as that does not depend on what surrounds it.
pub(crate) fn decode_value(schema: &Schema, ty: &Ty, value: &mut Value) {
    defaults::fill_value(schema, ty, value);
    crate::normalise::value(schema, ty, value);
}

/// `stringData` is a way to write `data`; it is never stored.
pub(crate) fn merge_string_data(secret: &mut Value) {
    let Some(map) = secret.as_object_mut() else { return };
    let Some(Value::Object(strings)) = map.shift_remove("stringData") else { return };
    if strings.is_empty() {
        return;
    }
    let data = map.entry("data").or_insert_with(|| json!({}));
    if data.is_null() {
        *data = json!({});
    }
    for (key, value) in strings {
        let text = value.as_str().unwrap_or_default();
        data[key] = Value::from(data_encoding::BASE64.encode(text.as_bytes()));
    }
}

/// Values whose JSON type cannot be read into the server's type.
fn check_scalars<'v>(
    schema: &Schema,
    ty: &Ty,
    value: &'v Value,
    path: &mut Vec<&'v str>,
) -> Result<(), String> {
    if value.is_null() {
        return Ok(());
    }
    let place = |path: &[&str]| path.join(".");
    match ty {
        Ty::Any => Ok(()),
        Ty::Scalar(kind) => match scalar_problem(*kind, value) {
            None => Ok(()),
            Some(text) => Err(text.replace("{path}", &place(path))),
        },
        Ty::List(list) => match value {
            Value::Array(items) => {
                items.iter().try_for_each(|item| check_scalars(schema, &list.item, item, path))
            }
            other => Err(unmarshal(other, &place(path), "[]")),
        },
        Ty::Map(map) => match value {
            Value::Object(items) => {
                items.values().try_for_each(|item| check_scalars(schema, &map.value, item, path))
            }
            other => Err(unmarshal(other, &place(path), "map[string]")),
        },
        Ty::Named { id, .. } => match value {
            Value::Object(items) => {
                let strukt = schema.get(*id);
                for (key, item) in items {
                    if let Some(field) = strukt.field(key) {
                        path.push(key);
                        check_scalars(schema, &field.ty, item, path)?;
                        path.pop();
                    }
                }
                Ok(())
            }
            other => Err(unmarshal(other, &place(path), short_name(schema.type_name(*id)))),
        },
    }
}

fn short_name(name: &str) -> &str {
    name.rsplit('.').next().unwrap_or(name)
}

fn unmarshal(value: &Value, path: &str, wanted: &str) -> String {
    let got = match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    format!("json: cannot unmarshal {got} into Go struct field {path} of type {wanted}")
}

fn scalar_problem(kind: ScalarKind, value: &Value) -> Option<String> {
    let wanted = match (kind, value) {
        (ScalarKind::Int32 | ScalarKind::Int64, Value::Number(n)) if n.as_i64().is_some() => return None,
        (ScalarKind::Int32 | ScalarKind::Int64, Value::Number(n))
            if n.as_f64().is_some_and(|f| f.fract() == 0.0) =>
        {
            return None;
        }
        (ScalarKind::Int32, _) => "int32",
        (ScalarKind::Int64, _) => "int64",
        (ScalarKind::Number, Value::Number(_)) | (ScalarKind::Bool, Value::Bool(_)) => return None,
        (ScalarKind::Number, _) => "float64",
        (ScalarKind::Bool, _) => "bool",
        (ScalarKind::Quantity, Value::String(_) | Value::Number(_)) => {
            let valid = crate::quantity::Quantity::from_json(value).is_some();
            let text =
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
            return (!valid).then(|| text.to_owned());
        }
        (ScalarKind::IntOrString, Value::String(_) | Value::Number(_)) => return None,
        (ScalarKind::Bytes, Value::String(s)) => {
            return decode_base64(s).is_none().then(|| "illegal base64 data at input byte 0".to_owned());
        }
        (ScalarKind::Time | ScalarKind::MicroTime, Value::String(s)) => {
            let text = || {
                format!("parsing time {s:?} as \"2006-01-02T15:04:05Z07:00\": cannot parse {s:?} as \"2006\"")
            };
            return crate::time::parse_time(s).is_none().then(text);
        }
        (ScalarKind::String, Value::String(_)) => return None,
        _ => "string",
    };
    Some(unmarshal(value, "{path}", wanted))
}
