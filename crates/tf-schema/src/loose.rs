//! Configuration before it has a type.

use std::sync::Arc;

use tf_value::{Dynamic, Map, Number, Type, Value, normal};

/// Plain data, as it is read from a file, with values of other resources in it.
#[derive(Clone, Debug, Default)]
pub enum Loose {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    String(Arc<str>),
    List(Vec<Loose>),
    /// Later entries win over earlier ones of the same name.
    Map(Vec<(Arc<str>, Loose)>),
    /// A value that has its type already: the result of another resource, perhaps unknown.
    Typed(Box<Dynamic>),
}

impl Loose {
    /// A value about which nothing is known, not even its type.
    #[must_use]
    pub fn unknown() -> Self {
        Self::typed(Type::Dynamic, Value::unknown())
    }

    #[must_use]
    pub fn typed(ty: Type, value: Value) -> Self {
        Loose::Typed(Box::new(match value {
            Value::Dynamic(dynamic) => *dynamic,
            value => Dynamic { ty, value },
        }))
    }

    /// The value with the type that it has by its form: lists are tuples, maps are objects.
    #[must_use]
    pub fn natural(&self) -> (Type, Value) {
        match self {
            Loose::Null => (Type::Dynamic, Value::Null),
            Loose::Bool(bool) => (Type::Bool, Value::Bool(*bool)),
            Loose::Number(number) => (Type::Number, Value::Number(number.clone())),
            Loose::String(text) => (Type::String, Value::string(text)),
            Loose::List(items) => {
                let (types, items): (Vec<Type>, Vec<Value>) = items.iter().map(Loose::natural).unzip();
                (Type::tuple(types), Value::List(items))
            }
            Loose::Map(entries) => {
                let mut types = std::collections::BTreeMap::new();
                let mut members = Map::new();
                for (name, entry) in entries {
                    let (ty, value) = entry.natural();
                    let name = normal(name);
                    types.insert(name.clone(), ty);
                    members.insert(name, value);
                }
                (Type::object(types), Value::Map(members))
            }
            Loose::Typed(typed) => (typed.ty.clone(), typed.value.clone()),
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        match self {
            Loose::Null => true,
            Loose::Typed(typed) => typed.value.is_null(),
            _ => false,
        }
    }

    /// The bounds of a value that is unknown as a whole.
    pub(crate) fn as_unknown(&self) -> Option<&Value> {
        match self {
            Loose::Typed(typed) if typed.value.is_unknown() => Some(typed.value.plain()),
            _ => None,
        }
    }

    /// One level of a typed value as plain data, so that its parts can be looked at.
    pub(crate) fn opened(&self) -> std::borrow::Cow<'_, Loose> {
        use std::borrow::Cow;
        let Loose::Typed(typed) = self else { return Cow::Borrowed(self) };
        match (&typed.value, &typed.ty) {
            (Value::List(items), Type::Tuple(of)) => Cow::Owned(Loose::List(
                items
                    .iter()
                    .zip(of.iter())
                    .map(|(item, of)| Loose::typed(of.clone(), item.clone()))
                    .collect(),
            )),
            (Value::List(items), Type::List(of)) => Cow::Owned(opened_items(items, of)),
            (Value::Set(items), Type::Set(of)) => Cow::Owned(opened_items(items, of)),
            (Value::Map(entries), ty) => {
                let of = |name: &str| match ty {
                    Type::Map(of) => Type::clone(of),
                    Type::Object(object) => object.attributes.get(name).cloned().unwrap_or(Type::Dynamic),
                    _ => Type::Dynamic,
                };
                let entries =
                    entries.iter().map(|(name, value)| (name.clone(), Loose::typed(of(name), value.clone())));
                Cow::Owned(Loose::Map(entries.collect()))
            }
            _ => Cow::Borrowed(self),
        }
    }
}

fn opened_items(items: &[Value], of: &Type) -> Loose {
    Loose::List(items.iter().map(|item| Loose::typed(of.clone(), item.clone())).collect())
}

impl From<&str> for Loose {
    fn from(text: &str) -> Self {
        Loose::String(text.into())
    }
}

impl From<bool> for Loose {
    fn from(bool: bool) -> Self {
        Loose::Bool(bool)
    }
}

impl From<i64> for Loose {
    fn from(int: i64) -> Self {
        Loose::Number(int.into())
    }
}

/// JSON as plain data; digits stay exact.
impl TryFrom<&tf_value::json::Json> for Loose {
    type Error = tf_value::NumberError;

    fn try_from(json: &tf_value::json::Json) -> Result<Self, Self::Error> {
        use tf_value::json::Json;
        Ok(match json {
            Json::Null => Loose::Null,
            Json::Bool(bool) => Loose::Bool(*bool),
            Json::Number(digits) => Loose::Number(digits.parse()?),
            Json::String(text) => Loose::String(text.as_str().into()),
            Json::Array(items) => Loose::List(items.iter().map(Loose::try_from).collect::<Result<_, _>>()?),
            Json::Object(members) => {
                let entry =
                    |(name, json): &(String, Json)| Ok((Arc::from(name.as_str()), Loose::try_from(json)?));
                Loose::Map(members.iter().map(entry).collect::<Result<_, _>>()?)
            }
        })
    }
}
