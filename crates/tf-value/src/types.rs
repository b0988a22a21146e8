//! Types of values and their JSON form.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use crate::json::{Json, push_string};
use crate::{MAX_DEPTH, ValueError, normal};

/// The type of a value. Cheap to copy.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Type {
    String,
    Number,
    Bool,
    /// The value brings its own type.
    Dynamic,
    List(Arc<Type>),
    Set(Arc<Type>),
    Map(Arc<Type>),
    Tuple(Arc<[Type]>),
    Object(Arc<ObjectType>),
}

/// The attributes of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ObjectType {
    pub attributes: BTreeMap<Arc<str>, Type>,
    /// Attributes that a conversion fills with null; only constraints have them.
    pub optional: BTreeSet<Arc<str>>,
}

impl Type {
    #[must_use]
    pub fn list(of: Type) -> Self {
        Type::List(Arc::new(of))
    }

    #[must_use]
    pub fn set(of: Type) -> Self {
        Type::Set(Arc::new(of))
    }

    #[must_use]
    pub fn map(of: Type) -> Self {
        Type::Map(Arc::new(of))
    }

    pub fn tuple(of: impl IntoIterator<Item = Type>) -> Self {
        Type::Tuple(of.into_iter().collect())
    }

    pub fn object<K: Into<Arc<str>>>(attributes: impl IntoIterator<Item = (K, Type)>) -> Self {
        let attributes = attributes.into_iter().map(|(name, of)| (name.into(), of)).collect();
        Type::Object(Arc::new(ObjectType { attributes, optional: BTreeSet::new() }))
    }

    /// Whether a dynamic type is inside.
    #[must_use]
    pub fn has_dynamic(&self) -> bool {
        match self {
            Type::Dynamic => true,
            Type::String | Type::Number | Type::Bool => false,
            Type::List(of) | Type::Set(of) | Type::Map(of) => of.has_dynamic(),
            Type::Tuple(of) => of.iter().any(Type::has_dynamic),
            Type::Object(object) => object.attributes.values().any(Type::has_dynamic),
        }
    }

    #[must_use]
    pub fn is_primitive(&self) -> bool {
        matches!(self, Type::String | Type::Number | Type::Bool)
    }

    /// The JSON form, `["list","string"]`: what the protocol and states carry.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::new();
        self.push_json(&mut out);
        out
    }

    fn push_json(&self, out: &mut String) {
        let of_one = |kind: &str, of: &Type, out: &mut String| {
            out.push_str("[\"");
            out.push_str(kind);
            out.push_str("\",");
            of.push_json(out);
            out.push(']');
        };
        match self {
            Type::String => out.push_str("\"string\""),
            Type::Number => out.push_str("\"number\""),
            Type::Bool => out.push_str("\"bool\""),
            Type::Dynamic => out.push_str("\"dynamic\""),
            Type::List(of) => of_one("list", of, out),
            Type::Set(of) => of_one("set", of, out),
            Type::Map(of) => of_one("map", of, out),
            Type::Tuple(of) => {
                out.push_str("[\"tuple\",[");
                for (number, of) in of.iter().enumerate() {
                    if number > 0 {
                        out.push(',');
                    }
                    of.push_json(out);
                }
                out.push_str("]]");
            }
            Type::Object(object) => object.push_json(out),
        }
    }

    /// Reads the JSON form.
    pub fn from_json(json: &Json) -> Result<Self, ValueError> {
        read(json, 0)
    }
}

impl ObjectType {
    fn push_json(&self, out: &mut String) {
        out.push_str("[\"object\",{");
        for (number, (name, of)) in self.attributes.iter().enumerate() {
            if number > 0 {
                out.push(',');
            }
            push_string(name, out);
            out.push(':');
            of.push_json(out);
        }
        out.push('}');
        if !self.optional.is_empty() {
            out.push_str(",[");
            for (number, name) in self.optional.iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                push_string(name, out);
            }
            out.push(']');
        }
        out.push(']');
    }
}

fn read(json: &Json, depth: usize) -> Result<Type, ValueError> {
    if depth > MAX_DEPTH {
        return Err(ValueError::new(format!("a type is nested deeper than {MAX_DEPTH}")));
    }
    let wrong = || ValueError::new("not the JSON form of a type");
    match json {
        Json::String(name) => match name.as_str() {
            "string" => Ok(Type::String),
            "number" => Ok(Type::Number),
            "bool" => Ok(Type::Bool),
            "dynamic" => Ok(Type::Dynamic),
            other => Err(ValueError::new(format!("there is no type {other:?}"))),
        },
        Json::Array(parts) => {
            let (Json::String(kind), rest) = parts.split_first().ok_or_else(wrong)? else {
                return Err(wrong());
            };
            match (kind.as_str(), rest) {
                ("list", [of]) => Ok(Type::list(read(of, depth + 1)?)),
                ("set", [of]) => Ok(Type::set(read(of, depth + 1)?)),
                ("map", [of]) => Ok(Type::map(read(of, depth + 1)?)),
                ("tuple", [Json::Array(of)]) => {
                    Ok(Type::Tuple(of.iter().map(|of| read(of, depth + 1)).collect::<Result<_, _>>()?))
                }
                ("object", [Json::Object(of), optional @ ..]) if optional.len() <= 1 => {
                    read_object(of, optional.first(), depth)
                }
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

fn read_object(of: &[(String, Json)], optional: Option<&Json>, depth: usize) -> Result<Type, ValueError> {
    let mut object = ObjectType::default();
    for (name, of) in of {
        object.attributes.insert(normal(name), read(of, depth + 1)?);
    }
    let names = match optional {
        None => &[][..],
        Some(Json::Array(names)) => names,
        Some(_) => return Err(ValueError::new("the optional attributes of an object type are no list")),
    };
    for name in names {
        let Json::String(name) = name else {
            return Err(ValueError::new("the name of an optional attribute is no string"));
        };
        let name = normal(name);
        if !object.attributes.contains_key(&name) {
            return Err(ValueError::new(format!(
                "the optional attribute {name:?} is not in the object type"
            )));
        }
        object.optional.insert(name);
    }
    Ok(Type::Object(Arc::new(object)))
}

impl FromStr for Type {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        Self::from_json(&Json::parse(text.as_bytes())?)
    }
}

/// For messages: `list of string`.
impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::String => f.write_str("string"),
            Type::Number => f.write_str("number"),
            Type::Bool => f.write_str("bool"),
            Type::Dynamic => f.write_str("any type"),
            Type::List(of) => write!(f, "list of {of}"),
            Type::Set(of) => write!(f, "set of {of}"),
            Type::Map(of) => write!(f, "map of {of}"),
            Type::Tuple(_) => f.write_str("tuple"),
            Type::Object(_) => f.write_str("object"),
        }
    }
}
