//! Comparing values, and blocks whose members bring their own types.

use std::borrow::Cow;

use tf_value::{Map, Path, Step, Type, Value, concrete, convert};

use crate::{BlockNesting, NestedBlock};

/// A null for places that are not there.
pub(crate) static NULL: Value = Value::Null;

/// Whether two values are the same in every part; the bounds of unknown parts do not count.
pub(crate) fn equal(a: &Value, b: &Value) -> bool {
    a == b || (!a.is_wholly_known() && !b.is_wholly_known() && without_bounds(a) == without_bounds(b))
}

fn without_bounds(value: &Value) -> Value {
    match value {
        Value::Unknown(_) => Value::unknown(),
        Value::List(items) => Value::List(items.iter().map(without_bounds).collect()),
        // Only whether elements are unknown counts here: the order stays.
        Value::Set(items) => Value::List(items.iter().map(without_bounds).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), without_bounds(value))).collect())
        }
        Value::Dynamic(dynamic) => without_bounds(&dynamic.value).dynamic(dynamic.ty.clone()),
        leaf => leaf.clone(),
    }
}

/// A member of an object; null where there is none. Everything inside an unknown object is unknown.
pub(crate) fn member<'v>(object: &'v Value, name: &str) -> &'v Value {
    match object.plain() {
        unknown @ Value::Unknown(_) => unknown,
        Value::Map(entries) => entries.get(name).unwrap_or(&NULL),
        _ => &NULL,
    }
}

/// Finds a place; what lies inside something unknown is unknown, what lies inside null is not there.
pub(crate) fn lookup<'v>(value: &'v Value, path: &Path) -> Option<&'v Value> {
    let mut here = value;
    for step in path.steps() {
        if let unknown @ Value::Unknown(_) = here.plain() {
            return Some(unknown);
        }
        here = here.step(step)?;
    }
    Some(here)
}

pub(crate) fn attribute_step(name: &str) -> Step {
    Step::Attribute(name.into())
}

/// Whether blocks of this kind travel with a type of their own.
fn is_wrapped(nested: &NestedBlock) -> bool {
    matches!(nested.nesting, BlockNesting::List | BlockNesting::Map)
        && matches!(nested.implied_type(), Type::Dynamic)
}

/// The blocks as a list or map of objects of the block's type, also where they travel with a type of their own.
pub(crate) fn unwrap_blocks<'v>(nested: &NestedBlock, value: &'v Value) -> Cow<'v, Value> {
    let Value::Dynamic(dynamic) = value else { return Cow::Borrowed(value) };
    let of = nested.block.implied_type();
    let to_block = |item: &Value, from: &Type| convert(item, from, &of).unwrap_or(Value::Null);
    Cow::Owned(match (&dynamic.value, &dynamic.ty) {
        (Value::List(items), Type::Tuple(types)) => {
            Value::List(items.iter().zip(types.iter()).map(|(item, from)| to_block(item, from)).collect())
        }
        (Value::List(items), Type::List(from)) => {
            Value::List(items.iter().map(|item| to_block(item, from)).collect())
        }
        (Value::Map(entries), Type::Object(object)) => {
            let inner = |key: &str| object.attributes.get(key).unwrap_or(&Type::Dynamic);
            Value::Map(entries.iter().map(|(key, item)| (key.clone(), to_block(item, inner(key)))).collect())
        }
        (Value::Map(entries), Type::Map(from)) => {
            Value::Map(entries.iter().map(|(key, item)| (key.clone(), to_block(item, from))).collect())
        }
        (other, _) => other.clone(),
    })
}

/// The reverse of [`unwrap_blocks`].
pub(crate) fn wrap_blocks(nested: &NestedBlock, value: Value) -> Value {
    if !is_wrapped(nested) {
        return value;
    }
    let of = nested.block.implied_type();
    match value {
        Value::List(items) => {
            let (types, items): (Vec<Type>, Vec<Value>) =
                items.into_iter().map(|item| concrete(item, &of)).unzip();
            Value::List(items).dynamic(Type::tuple(types))
        }
        Value::Map(entries) => {
            let mut types = Vec::new();
            let mut members = Map::new();
            for (key, item) in entries {
                let (ty, item) = concrete(item, &of);
                types.push((key.clone(), ty));
                members.insert(key, item);
            }
            Value::Map(members).dynamic(Type::object(types))
        }
        other => other,
    }
}
