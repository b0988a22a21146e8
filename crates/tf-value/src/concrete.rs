//! Values that bring their own type, and collections of them.

use crate::{Map, Type, Value, ValueError};

/// A value and its type without dynamic places, as far as the value tells: what is known has a type of its own.
#[must_use]
pub fn concrete(value: Value, ty: &Type) -> (Type, Value) {
    if !ty.has_dynamic() {
        return (ty.clone(), value);
    }
    match (value, ty) {
        (Value::Dynamic(dynamic), _) => concrete(dynamic.value, &dynamic.ty),
        (Value::Map(entries), Type::Object(object)) => {
            let mut types = Vec::new();
            let mut members = Map::new();
            for (name, member) in entries {
                let (of, member) = concrete(member, object.attributes.get(&name).unwrap_or(&Type::Dynamic));
                types.push((name.clone(), of));
                members.insert(name, member);
            }
            (Type::object(types), Value::Map(members))
        }
        (Value::List(items), Type::Tuple(of)) => {
            let (types, items): (Vec<Type>, Vec<Value>) =
                items.into_iter().zip(of.iter()).map(|(item, of)| concrete(item, of)).unzip();
            (Type::tuple(types), Value::List(items))
        }
        (Value::List(items), Type::List(of)) => {
            let (of, items) = concrete_items(items, of);
            (Type::list(of), Value::List(items))
        }
        (Value::Set(items), Type::Set(of)) => {
            let (of, items) = concrete_items(items.0, of);
            let elements = crate::value::Elements(items);
            (Type::set(of), Value::Set(elements))
        }
        (Value::Map(entries), Type::Map(of)) => {
            let (keys, items): (Vec<_>, Vec<_>) = entries.into_iter().unzip();
            let (of, items) = concrete_items(items, of);
            (Type::map(of), Value::Map(keys.into_iter().zip(items).collect()))
        }
        (value, ty) => (ty.clone(), value),
    }
}

/// The elements of a collection have one type: that of the first that tells it.
fn concrete_items(items: Vec<Value>, of: &Type) -> (Type, Vec<Value>) {
    let (types, items): (Vec<Type>, Vec<Value>) = items.into_iter().map(|item| concrete(item, of)).unzip();
    let told = types.iter().find(|ty| !ty.has_dynamic()).or(types.first()).cloned();
    (told.unwrap_or_else(|| of.clone()), items)
}

/// Where the elements of a collection bring their own types, these must be one; elements without a type get it.
pub(crate) fn unite<'v>(of: &Type, items: impl Iterator<Item = &'v mut Value>) -> Result<(), ValueError> {
    if !matches!(of, Type::Dynamic) {
        return Ok(());
    }
    let mut one: Option<Type> = None;
    let mut bare = Vec::new();
    for item in items {
        match item {
            Value::Dynamic(dynamic) => match &one {
                None => one = Some(dynamic.ty.clone()),
                Some(first) if *first == dynamic.ty => {}
                Some(first) => {
                    let message = format!("elements of one collection are {first} and {}", dynamic.ty);
                    return Err(ValueError::new(message));
                }
            },
            other => bare.push(other),
        }
    }
    if let Some(ty) = one {
        for item in bare {
            *item = std::mem::take(item).dynamic(ty.clone());
        }
    }
    Ok(())
}
