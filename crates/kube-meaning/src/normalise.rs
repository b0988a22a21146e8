//! The form in which the server returns an object: what a round trip through its own types does to JSON.
//!
//! In: any value of a built-in type. Out, in place: unknown fields gone, optional zero values gone, always-written structs and
//! required zeros there, quantities, times and base64 in canonical form. Custom resources are not touched (their schema rules
//! live in [`crate::crd`]). Invariant: idempotent.

use serde_json::{Map, Value};

use crate::quantity::Quantity;
use crate::schema::{Field, Resource, ScalarKind, Schema, Shape, Struct, Ty};
use crate::time::{format_micro_time, format_time, parse_time};

/// Normalises a whole object.
pub fn normalise(schema: &Schema, resource: &Resource, object: &mut Value) {
    if !resource.custom {
        value(schema, &resource.ty, object);
    }
}

/// The form after storing: required lists and maps that are empty come back as null.
pub fn stored(schema: &Schema, resource: &Resource, object: &mut Value) {
    if !resource.custom {
        forget_empty(schema, &resource.ty, object);
    }
}

pub(crate) fn forget_empty(schema: &Schema, ty: &Ty, v: &mut Value) {
    match (ty, v) {
        (Ty::List(list), Value::Array(items)) if !matches!(list.item, Ty::Scalar(_) | Ty::Any) => {
            items.iter_mut().for_each(|item| forget_empty(schema, &list.item, item));
        }
        (Ty::Map(map), Value::Object(items)) if !matches!(map.value, Ty::Scalar(_) | Ty::Any) => {
            items.values_mut().for_each(|item| forget_empty(schema, &map.value, item));
        }
        (Ty::Named { id, .. }, Value::Object(map)) => {
            let strukt = schema.get(*id);
            for (key, child) in map.iter_mut() {
                let Some(field) = strukt.field(key).filter(|f| !matches!(f.ty, Ty::Scalar(_) | Ty::Any))
                else {
                    continue;
                };
                let empty = match (&field.ty, &*child) {
                    (Ty::List(_), Value::Array(items)) => items.is_empty(),
                    (Ty::Map(_), Value::Object(items)) => items.is_empty(),
                    _ => false,
                };
                match empty && field.shape == Shape::NullWritten {
                    true => *child = Value::Null,
                    false => forget_empty(schema, &field.ty, child),
                }
            }
        }
        _ => {}
    }
}

/// What the server compares a new object with: the kind's empty object.
pub fn empty_object(schema: &Schema, resource: &Resource) -> Value {
    let mut object = Map::new();
    object.insert("apiVersion".to_owned(), Value::from(resource.api_version().as_str()));
    object.insert("kind".to_owned(), Value::from(resource.kind.as_str()));
    let mut object = Value::Object(object);
    normalise(schema, resource, &mut object);
    object
}

/// Normalises a value of a type.
pub(crate) fn value(schema: &Schema, ty: &Ty, v: &mut Value) {
    match ty {
        Ty::Any => {}
        Ty::Scalar(kind) => scalar(*kind, v),
        Ty::List(list) => {
            for item in v.as_array_mut().into_iter().flatten() {
                fill_null(&list.item, item);
                value(schema, &list.item, item);
            }
        }
        Ty::Map(map) => {
            for (_, item) in v.as_object_mut().into_iter().flatten() {
                fill_null(&map.value, item);
                value(schema, &map.value, item);
            }
        }
        Ty::Named { id, .. } => {
            if let Value::Object(map) = v {
                strukt(schema, schema.get(*id), map);
            }
        }
    }
}

/// A null item or map value becomes the zero of its type.
fn fill_null(ty: &Ty, v: &mut Value) {
    if !v.is_null() {
        return;
    }
    match ty {
        Ty::Named { .. } => *v = Value::Object(Map::new()),
        Ty::Scalar(kind) => *v = zero(*kind),
        Ty::Any | Ty::List(_) | Ty::Map(_) => {}
    }
}

fn zero(kind: ScalarKind) -> Value {
    match kind {
        ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Number | ScalarKind::IntOrString => {
            Value::from(0)
        }
        ScalarKind::Bool => Value::Bool(false),
        ScalarKind::Quantity => Value::from("0"),
        ScalarKind::String => Value::from(""),
        ScalarKind::Bytes | ScalarKind::Time | ScalarKind::MicroTime => Value::Null,
    }
}

fn scalar(kind: ScalarKind, v: &mut Value) {
    match kind {
        ScalarKind::Quantity => {
            if let Some(quantity) = Quantity::from_json(v) {
                let text = quantity.canonical();
                if v.as_str() != Some(&text) {
                    *v = Value::String(text);
                }
            }
        }
        ScalarKind::Bytes => {
            if let Some(bytes) = v.as_str().and_then(decode_base64) {
                let text = data_encoding::BASE64.encode(&bytes);
                if v.as_str() != Some(&text) {
                    *v = Value::String(text);
                }
            }
        }
        ScalarKind::Time => {
            if let Some((seconds, _)) = v.as_str().filter(|s| !is_plain_time(s)).and_then(parse_time) {
                *v = Value::String(format_time(seconds));
            }
        }
        ScalarKind::MicroTime => {
            if let Some((seconds, nanos)) = v.as_str().and_then(parse_time) {
                *v = Value::String(format_micro_time(seconds, nanos));
            }
        }
        ScalarKind::Int32 | ScalarKind::Int64 => {
            // 3.0 and 3 are one number to the server.
            if let Some(float) =
                v.as_f64().filter(|_| v.is_f64() && v.as_f64().is_some_and(|f| f.fract() == 0.0))
            {
                *v = Value::from(float as i64);
            }
        }
        ScalarKind::String | ScalarKind::Number | ScalarKind::Bool | ScalarKind::IntOrString => {}
    }
}

/// Standard base64 with line breaks ignored, as the server reads it.
pub(crate) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let clean: Vec<u8> = text.bytes().filter(|b| !matches!(b, b'\n' | b'\r')).collect();
    data_encoding::BASE64.decode(&clean).ok()
}

fn is_plain_time(text: &str) -> bool {
    text.len() == 20 && text.ends_with('Z')
}

fn strukt(schema: &Schema, strukt: &Struct, map: &mut Map<String, Value>) {
    if strukt.fields.is_empty() {
        return;
    }
    map.retain(|key, v| match strukt.field(key) {
        None => strukt.open,
        Some(field) => keep(schema, field, v),
    });
    for field in &strukt.fields {
        if writes_absent(field.shape)
            && !map.contains_key(field.name.as_str())
            && let Some(v) = absent(schema, field)
        {
            map.insert(field.name.to_string(), v);
        }
    }
}

fn writes_absent(shape: Shape) -> bool {
    matches!(
        shape,
        Shape::Always
            | Shape::ZeroWritten
            | Shape::NullWritten
            | Shape::TimeNull
            | Shape::QuantityZero
            | Shape::IntZero
    )
}

/// Normalises a field and says whether it is written.
pub(crate) fn keep(schema: &Schema, field: &Field, v: &mut Value) -> bool {
    if field.name == "managedFields" {
        return !v.is_null();
    }
    if v.is_null() {
        let Some(zero) = writes_absent(field.shape).then(|| absent(schema, field)).flatten() else {
            return false;
        };
        *v = zero;
        return true;
    }
    value(schema, &field.ty, v);
    match field.shape {
        Shape::ZeroVanishes => match v {
            Value::String(s) => !s.is_empty(),
            Value::Bool(b) => *b,
            Value::Number(n) => n.as_f64() != Some(0.0),
            _ => true,
        },
        Shape::EmptyVanishes => match v {
            Value::Array(list) => !list.is_empty(),
            Value::Object(map) => !map.is_empty(),
            // Base64 is a list of bytes.
            Value::String(s) => !s.is_empty(),
            _ => true,
        },
        Shape::ZeroStruct => !v.as_object().is_some_and(Map::is_empty),
        _ => true,
    }
}

/// What is written for a field that has no value.
fn absent(schema: &Schema, field: &Field) -> Option<Value> {
    Some(match field.shape {
        Shape::Always => {
            let mut empty = Value::Object(Map::new());
            value(schema, &field.ty, &mut empty);
            empty
        }
        Shape::ZeroWritten => match &field.ty {
            Ty::Scalar(kind) => zero(*kind),
            _ => return None,
        },
        Shape::NullWritten | Shape::TimeNull => Value::Null,
        Shape::QuantityZero => Value::from("0"),
        Shape::IntZero => Value::from(0),
        _ => return None,
    })
}
