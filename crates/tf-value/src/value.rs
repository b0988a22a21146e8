//! Values.

use std::collections::BTreeMap;
use std::sync::Arc;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use crate::{Number, Path, Refinement, Step, Type, ValueError, concrete, set};

/// The entries of a map or the attributes of an object, sorted bytewise.
pub type Map = BTreeMap<Arc<str>, Value>;

/// A value; its type is known by whoever holds it.
///
/// Two values are equal if they are the same in every part: numbers by value, sets as sets, an unknown only to an unknown
/// with the same bounds. What is *the same for sure* is [`Value::same`].
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Value {
    #[default]
    Null,
    /// Not known yet, perhaps within bounds.
    Unknown(Option<Arc<Refinement>>),
    Bool(bool),
    Number(Number),
    /// In normal form C: made by [`Value::string`].
    String(Arc<str>),
    /// A list or a tuple.
    List(Vec<Value>),
    /// In canonical order and without duplicates: made by [`Value::set`].
    Set(Elements),
    /// A map or an object; an object has all its attributes.
    Map(Map),
    /// Where the type is dynamic: a value that brings its own type. Null and unknown without a type stand bare.
    Dynamic(Box<Dynamic>),
}

/// A value with its type.
#[derive(Clone, Debug, PartialEq)]
pub struct Dynamic {
    pub ty: Type,
    pub value: Value,
}

/// The elements of a set.
#[derive(Clone, Debug, Default)]
pub struct Elements(pub(crate) Vec<Value>);

impl std::ops::Deref for Elements {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        &self.0
    }
}

impl<'a> IntoIterator for &'a Elements {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl PartialEq for Elements {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (self.0 == other.0 || set::permuted(self, other))
    }
}

/// A text in normal form C.
#[must_use]
pub fn normal(text: &str) -> Arc<str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        return text.into();
    }
    text.nfc().collect::<String>().into()
}

impl Value {
    /// Makes a string, in normal form C.
    #[must_use]
    pub fn string(text: &str) -> Self {
        Value::String(normal(text))
    }

    /// A value about which nothing is known.
    #[must_use]
    pub fn unknown() -> Self {
        Value::Unknown(None)
    }

    /// Makes a map or an object.
    pub fn map<K: AsRef<str>>(entries: impl IntoIterator<Item = (K, Value)>) -> Self {
        Value::Map(entries.into_iter().map(|(key, value)| (normal(key.as_ref()), value)).collect())
    }

    pub fn list(items: impl IntoIterator<Item = Value>) -> Self {
        Value::List(items.into_iter().collect())
    }

    /// Makes a set: in canonical order, and of what is the same for sure only the first.
    pub fn set(items: impl IntoIterator<Item = Value>, of: &Type) -> Result<Self, ValueError> {
        set::build(items.into_iter().collect(), of).map(Value::Set)
    }

    /// Wraps a value for a place whose type is dynamic. Null and unknown values of no type of their own stay bare.
    #[must_use]
    pub fn dynamic(self, ty: Type) -> Self {
        match (self, ty) {
            (value @ Value::Dynamic(_), _) | (value, Type::Dynamic) => value,
            (value, ty) => {
                let (ty, value) = concrete(value, &ty);
                Value::Dynamic(Box::new(Dynamic { ty, value }))
            }
        }
    }

    /// The value without the wrapper of a dynamic place.
    #[must_use]
    pub fn plain(&self) -> &Value {
        match self {
            Value::Dynamic(dynamic) => dynamic.value.plain(),
            value => value,
        }
    }

    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self.plain(), Value::Null)
    }

    #[must_use]
    pub fn is_unknown(&self) -> bool {
        matches!(self.plain(), Value::Unknown(_))
    }

    /// Whether nothing inside is unknown.
    #[must_use]
    pub fn is_wholly_known(&self) -> bool {
        match self {
            Value::Unknown(_) => false,
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
            Value::List(items) => items.iter().all(Value::is_wholly_known),
            Value::Set(items) => items.iter().all(Value::is_wholly_known),
            Value::Map(entries) => entries.values().all(Value::is_wholly_known),
            Value::Dynamic(dynamic) => dynamic.value.is_wholly_known(),
        }
    }

    /// Whether both are known and equal; what is not known is never the same as anything.
    #[must_use]
    pub fn same(&self, other: &Value) -> bool {
        self == other && self.is_wholly_known()
    }

    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self.plain() {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_bool(&self) -> Option<bool> {
        match self.plain() {
            Value::Bool(bool) => Some(*bool),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_number(&self) -> Option<&Number> {
        match self.plain() {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    #[must_use]
    pub fn as_map(&self) -> Option<&Map> {
        match self.plain() {
            Value::Map(entries) => Some(entries),
            _ => None,
        }
    }

    /// The elements of a list, tuple or set.
    #[must_use]
    pub fn elements(&self) -> Option<&[Value]> {
        match self.plain() {
            Value::List(items) => Some(items),
            Value::Set(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the attribute or entry with a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.as_map()?.get(name)
    }

    /// Goes one step inside. Elements of sets have no place of their own.
    #[must_use]
    pub fn step(&self, step: &Step) -> Option<&Value> {
        match (self.plain(), step) {
            (Value::Map(entries), Step::Attribute(name) | Step::Key(name)) => entries.get(name),
            (Value::List(items), Step::Index(index)) => items.get(usize::try_from(*index).ok()?),
            _ => None,
        }
    }

    /// Goes to a place inside.
    #[must_use]
    pub fn at(&self, path: &Path) -> Option<&Value> {
        path.steps().iter().try_fold(self, Value::step)
    }

    /// Calls `visit` for every unknown part, with its place.
    pub fn each_unknown(&self, path: &mut Path, visit: &mut impl FnMut(&Path)) {
        match self {
            Value::Unknown(_) => visit(path),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
            Value::List(items) => each_item(items, path, visit),
            Value::Set(items) => each_item(items, path, visit),
            Value::Map(entries) => {
                for (name, value) in entries {
                    path.within(Step::Attribute(name.clone()), |path| value.each_unknown(path, visit));
                }
            }
            Value::Dynamic(dynamic) => dynamic.value.each_unknown(path, visit),
        }
    }
}

fn each_item(items: &[Value], path: &mut Path, visit: &mut impl FnMut(&Path)) {
    for (index, item) in items.iter().enumerate() {
        path.within(Step::Index(index as u64), |path| item.each_unknown(path, visit));
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::string(text)
    }
}

impl From<bool> for Value {
    fn from(bool: bool) -> Self {
        Value::Bool(bool)
    }
}

impl From<i64> for Value {
    fn from(int: i64) -> Self {
        Value::Number(int.into())
    }
}

impl From<Number> for Value {
    fn from(number: Number) -> Self {
        Value::Number(number)
    }
}
