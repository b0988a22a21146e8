//! Values to JSON and back, driven by the type.

use super::Json;
use crate::concrete::unite;
use crate::{MAX_DEPTH, Map, Number, NumberError, Path, Step, Type, Value, ValueError, normal};

/// Writes a value of a type. Unknown and infinite values have no JSON form.
pub fn encode(value: &Value, ty: &Type) -> Result<String, ValueError> {
    to_tree(value, ty).map(|tree| tree.compact())
}

/// Reads a value of a type.
pub fn decode(bytes: &[u8], ty: &Type) -> Result<Value, ValueError> {
    from_tree(&Json::parse(bytes)?, ty)
}

/// The JSON tree of a value.
pub fn to_tree(value: &Value, ty: &Type) -> Result<Json, ValueError> {
    write(value, ty, &mut Path::default())
}

/// The value of a JSON tree.
pub fn from_tree(json: &Json, ty: &Type) -> Result<Value, ValueError> {
    read(json, ty, &mut Path::default())
}

fn write(value: &Value, ty: &Type, path: &mut Path) -> Result<Json, ValueError> {
    if path.len() > MAX_DEPTH {
        return Err(ValueError::at(path, format!("nested deeper than {MAX_DEPTH}")));
    }
    Ok(match (value, ty) {
        (Value::Unknown(_), _) => return Err(ValueError::at(path, "the value is not known yet")),
        (Value::Dynamic(dynamic), Type::Dynamic) => Json::Object(vec![
            ("value".to_owned(), write(&dynamic.value, &dynamic.ty, path)?),
            ("type".to_owned(), Json::parse(dynamic.ty.to_json().as_bytes())?),
        ]),
        (Value::Null, _) => Json::Null,
        (Value::Bool(bool), Type::Bool) => Json::Bool(*bool),
        (Value::Number(number), Type::Number) if number.is_infinite() => {
            return Err(ValueError::at(path, "an infinite number has no JSON form"));
        }
        (Value::Number(number), Type::Number) => Json::Number(number.to_string()),
        (Value::String(text), Type::String) => Json::String(text.to_string()),
        (Value::List(items), Type::List(of)) => write_items(items, |_| of, path)?,
        (Value::Set(items), Type::Set(of)) => write_items(items, |_| of, path)?,
        (Value::List(items), Type::Tuple(of)) if items.len() == of.len() => {
            write_items(items, |at| &of[at], path)?
        }
        (Value::Map(entries), Type::Map(of)) => {
            let mut members = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let json = path.within(Step::Key(key.clone()), |path| write(value, of, path))?;
                members.push((key.to_string(), json));
            }
            Json::Object(members)
        }
        (Value::Map(entries), Type::Object(object)) => {
            let mut members = Vec::with_capacity(entries.len());
            for (name, of) in &object.attributes {
                let Some(value) = entries.get(name) else {
                    return Err(ValueError::at(path, format!("the attribute {name:?} is missing")));
                };
                let json = path.within(Step::Attribute(name.clone()), |path| write(value, of, path))?;
                members.push((name.to_string(), json));
            }
            Json::Object(members)
        }
        _ => return Err(ValueError::at(path, format!("{ty} is required"))),
    })
}

fn write_items<'t>(
    items: &[Value],
    of: impl Fn(usize) -> &'t Type,
    path: &mut Path,
) -> Result<Json, ValueError> {
    let mut out = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        out.push(path.within(Step::Index(at as u64), |path| write(item, of(at), path))?);
    }
    Ok(Json::Array(out))
}

fn read(json: &Json, ty: &Type, path: &mut Path) -> Result<Value, ValueError> {
    if path.len() > MAX_DEPTH {
        return Err(ValueError::at(path, format!("nested deeper than {MAX_DEPTH}")));
    }
    let number = |digits: &str, path: &Path| {
        digits.parse::<Number>().map_err(|error: NumberError| ValueError::at(path, error.to_string()))
    };
    Ok(match (ty, json) {
        (_, Json::Null) => Value::Null,
        (Type::Dynamic, Json::Object(members)) => read_dynamic(members, path)?,
        (Type::Bool, Json::Bool(bool)) => Value::Bool(*bool),
        (Type::Bool, Json::String(text)) if matches!(text.as_str(), "true" | "1") => Value::Bool(true),
        (Type::Bool, Json::String(text)) if matches!(text.as_str(), "false" | "0") => Value::Bool(false),
        (Type::Number, Json::Number(digits) | Json::String(digits)) => Value::Number(number(digits, path)?),
        (Type::String, Json::String(text)) => Value::string(text),
        (Type::String, Json::Number(digits)) => Value::string(digits),
        (Type::String, Json::Bool(bool)) => Value::string(if *bool { "true" } else { "false" }),
        (Type::List(of), Json::Array(items)) => {
            let mut items = read_items(items, |_| of, path)?;
            one_type(of, items.iter_mut(), path)?;
            Value::List(items)
        }
        (Type::Set(of), Json::Array(items)) => {
            let mut items = read_items(items, |_| of, path)?;
            one_type(of, items.iter_mut(), path)?;
            Value::set(items, of).map_err(|error| ValueError::at(path, error.message))?
        }
        (Type::Tuple(of), Json::Array(items)) => {
            if items.len() != of.len() {
                let message = format!("a tuple of {} is required, not of {}", of.len(), items.len());
                return Err(ValueError::at(path, message));
            }
            Value::List(read_items(items, |at| &of[at], path)?)
        }
        (Type::Map(of), Json::Object(members)) => {
            let mut entries = Map::new();
            for (key, json) in members {
                let key = normal(key);
                let value = path.within(Step::Key(key.clone()), |path| read(json, of, path))?;
                entries.insert(key, value);
            }
            one_type(of, entries.values_mut(), path)?;
            Value::Map(entries)
        }
        (Type::Object(object), Json::Object(members)) => read_object(object, members, path)?,
        _ => return Err(ValueError::at(path, format!("{ty} is required"))),
    })
}

fn read_items<'t>(
    items: &[Json],
    of: impl Fn(usize) -> &'t Type,
    path: &mut Path,
) -> Result<Vec<Value>, ValueError> {
    let mut out = Vec::with_capacity(items.len());
    for (at, item) in items.iter().enumerate() {
        out.push(path.within(Step::Index(at as u64), |path| read(item, of(at), path))?);
    }
    Ok(out)
}

/// Attributes that are not there are null.
fn read_object(
    object: &crate::ObjectType,
    members: &[(String, Json)],
    path: &mut Path,
) -> Result<Value, ValueError> {
    let mut entries: Map = object.attributes.keys().map(|name| (name.clone(), Value::Null)).collect();
    for (name, json) in members {
        let Some((name, of)) = object.attributes.get_key_value(name.as_str()) else {
            return Err(ValueError::at(path, format!("there is no attribute {name:?}")));
        };
        let value = path.within(Step::Attribute(name.clone()), |path| read(json, of, path))?;
        entries.insert(name.clone(), value);
    }
    Ok(Value::Map(entries))
}

fn read_dynamic(members: &[(String, Json)], path: &mut Path) -> Result<Value, ValueError> {
    let wrong = || ValueError::at(path, "a dynamic value is an object with `value` and `type`");
    if members.iter().any(|(name, _)| name != "value" && name != "type") {
        return Err(wrong());
    }
    let part = |wanted: &str| members.iter().rev().find(|(name, _)| name == wanted).map(|(_, json)| json);
    let (value, ty) = (part("value").ok_or_else(wrong)?, part("type").ok_or_else(wrong)?);
    let ty = Type::from_json(ty).map_err(|error| ValueError::at(path, error.message))?;
    Ok(read(value, &ty, path)?.dynamic(ty))
}

fn one_type<'v>(
    of: &Type,
    items: impl Iterator<Item = &'v mut Value>,
    path: &Path,
) -> Result<(), ValueError> {
    unite(of, items).map_err(|error| ValueError::at(path, error.message))
}
