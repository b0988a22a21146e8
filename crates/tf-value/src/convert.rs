//! Values of one type as values of another.

use crate::{Map, Number, ObjectType, Path, Step, Type, Value, ValueError};

/// Converts a value of type `from` to type `to`; what has no counterpart there is an error with its place.
///
/// Numbers and bools become text and back, tuples become lists, lists sets, objects maps and the reverse, member by member.
pub fn convert(value: &Value, from: &Type, to: &Type) -> Result<Value, ValueError> {
    convert_at(value, from, to, &mut Path::default())
}

fn convert_at(value: &Value, from: &Type, to: &Type, path: &mut Path) -> Result<Value, ValueError> {
    if path.len() > crate::MAX_DEPTH {
        return Err(ValueError::at(path, format!("nested deeper than {}", crate::MAX_DEPTH)));
    }
    if from == to && !from.has_dynamic() {
        return Ok(value.clone());
    }
    if matches!(to, Type::Dynamic) {
        return Ok(value.clone().dynamic(from.clone()));
    }
    match (value, from, to) {
        (Value::Dynamic(dynamic), ..) => convert_at(&dynamic.value, &dynamic.ty, to, path),
        (Value::Null, ..) => Ok(Value::Null),
        (Value::Unknown(bounds), ..) => Ok(match bounds {
            Some(bounds) if from == to => Value::Unknown(Some(bounds.clone())),
            Some(bounds) => bounds.converted(to).unknown(),
            None => Value::unknown(),
        }),
        (Value::Bool(bool), _, Type::Bool) => Ok(Value::Bool(*bool)),
        (Value::Number(number), _, Type::Number) => Ok(Value::Number(number.clone())),
        (Value::String(text), _, Type::String) => Ok(Value::String(text.clone())),
        (Value::Bool(bool), _, Type::String) => Ok(Value::string(if *bool { "true" } else { "false" })),
        (Value::Number(number), _, Type::String) => Ok(Value::string(&number.to_string())),
        (Value::String(text), _, Type::Number) => text_to_number(text, path),
        (Value::String(text), _, Type::Bool) => text_to_bool(text, path),
        (Value::List(items), _, Type::List(of)) => {
            Ok(Value::List(one_type(convert_items(items, from, |_| of, path)?, of, path)?))
        }
        (Value::Set(items), _, Type::List(of)) => {
            Ok(Value::List(one_type(convert_items(items, from, |_| of, path)?, of, path)?))
        }
        (Value::List(items), _, Type::Set(of)) => to_set(items, from, of, path),
        (Value::Set(items), _, Type::Set(of)) => to_set(items, from, of, path),
        (Value::List(items), Type::Tuple(_), Type::Tuple(of)) if items.len() == of.len() => {
            convert_items(items, from, |at| &of[at], path).map(Value::List)
        }
        (Value::Map(entries), _, Type::Map(of)) => {
            let mut out = Map::new();
            for (key, value) in entries {
                let from = member_type(from, key, path)?;
                let value = path.within(Step::Key(key.clone()), |path| convert_at(value, from, of, path))?;
                out.insert(key.clone(), value);
            }
            if matches!(**of, Type::Dynamic) {
                let values = one_type(out.values().cloned().collect(), of, path)?;
                out = out.into_keys().zip(values).collect();
            }
            Ok(Value::Map(out))
        }
        (Value::Map(entries), _, Type::Object(object)) => to_object(entries, from, object, path),
        _ => Err(ValueError::at(path, format!("{to} is required"))),
    }
}

fn text_to_number(text: &str, path: &Path) -> Result<Value, ValueError> {
    text.parse::<Number>().map(Value::Number).map_err(|error| ValueError::at(path, error.to_string()))
}

fn text_to_bool(text: &str, path: &Path) -> Result<Value, ValueError> {
    match text {
        "true" | "1" => Ok(Value::Bool(true)),
        "false" | "0" => Ok(Value::Bool(false)),
        _ => Err(ValueError::at(path, "a bool is required: true or false")),
    }
}

/// The type of an element of a list, set or tuple.
fn element_type<'t>(from: &'t Type, at: usize, path: &Path) -> Result<&'t Type, ValueError> {
    match from {
        Type::List(of) | Type::Set(of) => Ok(of),
        Type::Tuple(of) if at < of.len() => Ok(&of[at]),
        _ => Err(ValueError::at(path, format!("the value is no {from}"))),
    }
}

fn member_type<'t>(from: &'t Type, name: &str, path: &Path) -> Result<&'t Type, ValueError> {
    let found = match from {
        Type::Map(of) => Some(&**of),
        Type::Object(object) => object.attributes.get(name),
        _ => None,
    };
    found.ok_or_else(|| ValueError::at(path, format!("the value is no {from}")))
}

fn convert_items<'t>(
    items: &[Value],
    from: &Type,
    to: impl Fn(usize) -> &'t Type,
    path: &mut Path,
) -> Result<Vec<Value>, ValueError> {
    let mut out = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        let from = element_type(from, at, path)?;
        out.push(path.within(Step::Index(at as u64), |path| convert_at(item, from, to(at), path))?);
    }
    Ok(out)
}

fn to_set(items: &[Value], from: &Type, of: &Type, path: &mut Path) -> Result<Value, ValueError> {
    let items = one_type(convert_items(items, from, |_| of, path)?, of, path)?;
    Value::set(items, of).map_err(|error| ValueError::at(path, error.message))
}

/// Members that the target does not have are dropped; those that are missing must be optional there.
fn to_object(entries: &Map, from: &Type, object: &ObjectType, path: &mut Path) -> Result<Value, ValueError> {
    let mut out = Map::new();
    for (name, of) in &object.attributes {
        let value = match entries.get(name) {
            Some(value) => {
                let from = member_type(from, name, path)?;
                path.within(Step::Attribute(name.clone()), |path| convert_at(value, from, of, path))?
            }
            None if object.optional.contains(name) => Value::Null,
            None => return Err(ValueError::at(path, format!("the attribute {name:?} is required"))),
        };
        out.insert(name.clone(), value);
    }
    Ok(Value::Map(out))
}

/// Where the elements of a collection bring their own types, they must be one: text, if text is among plain ones.
fn one_type(items: Vec<Value>, of: &Type, path: &Path) -> Result<Vec<Value>, ValueError> {
    if !matches!(of, Type::Dynamic) {
        return Ok(items);
    }
    let types: Vec<&Type> = items
        .iter()
        .filter_map(|item| match item {
            Value::Dynamic(dynamic) => Some(&dynamic.ty),
            _ => None,
        })
        .collect();
    let Some((first, rest)) = types.split_first() else { return Ok(items) };
    if rest.iter().all(|other| other == first) {
        return Ok(items);
    }
    let mixable = types.iter().all(|ty| ty.is_primitive()) && types.contains(&&Type::String);
    if !mixable {
        return Err(ValueError::at(path, "all elements must have one type"));
    }
    let mut out = Vec::with_capacity(items.len());
    for item in items {
        let bare = matches!(item, Value::Null | Value::Unknown(_));
        let text = convert(&item, &Type::Dynamic, &Type::String)?;
        out.push(if bare { text } else { text.dynamic(Type::String) });
    }
    Ok(out)
}
