//! The value type.

use std::rc::Rc;

use crate::{Dict, Function, Instance, OriginId, Unit};

/// Runtime and key strings: short ones inline, long ones shared.
pub type Str = ecow::EcoString;

/// A run-time value. Cloning never copies contents.
// A wide tag keeps every payload at offset 8: values are then moved in whole words, not in bytes from offset 1.
#[derive(Clone, Debug, Default)]
#[repr(u64)]
pub enum Value {
    /// Not set. Never emitted.
    #[default]
    Undefined,
    /// `None`.
    None,
    /// `True`, `False`.
    Bool(bool),
    /// 64-bit signed.
    Int(i64),
    /// IEEE double.
    Float(f64),
    /// `1Ki`.
    Unit(Rc<Unit>),
    /// UTF-8 text.
    Str(Str),
    /// A list.
    List(Rc<List>),
    /// A dict.
    Dict(Rc<Dict>),
    /// A schema instance.
    Schema(Rc<Instance>),
    /// A lambda, built-in, schema type, …
    Func(Rc<Function>),
}

/// Items of a list, with their origins when tracking is on.
#[derive(Clone, Debug, Default)]
pub struct List {
    /// The items.
    pub items: Vec<Value>,
    /// Empty, or one origin per item.
    pub origins: Vec<OriginId>,
}

impl List {
    /// Returns the origin of an item, if one was recorded.
    pub fn origin(&self, idx: usize) -> OriginId {
        self.origins.get(idx).copied().unwrap_or_default()
    }

    /// Appends an item with its origin.
    pub fn push(&mut self, item: Value, origin: OriginId) {
        if origin != OriginId::default() && self.origins.len() < self.items.len() {
            self.origins.resize(self.items.len(), OriginId::default());
        }
        if origin != OriginId::default() || !self.origins.is_empty() {
            self.origins.push(origin);
        }
        self.items.push(item);
    }
}

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Self {
        Value::List(Rc::new(List { items, origins: Vec::new() }))
    }
}

impl From<List> for Value {
    fn from(list: List) -> Self {
        Value::List(Rc::new(list))
    }
}

impl From<Dict> for Value {
    fn from(dict: Dict) -> Self {
        Value::Dict(Rc::new(dict))
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Value::Str(text.into())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Value::Str(text.into())
    }
}

impl From<bool> for Value {
    fn from(b: bool) -> Self {
        Value::Bool(b)
    }
}

impl From<i64> for Value {
    fn from(i: i64) -> Self {
        Value::Int(i)
    }
}

impl From<f64> for Value {
    fn from(f: f64) -> Self {
        Value::Float(f)
    }
}

impl Value {
    /// Returns true for None and Undefined.
    pub fn is_nullish(&self) -> bool {
        matches!(self, Value::None | Value::Undefined)
    }

    /// Returns true for Undefined.
    pub fn is_undefined(&self) -> bool {
        matches!(self, Value::Undefined)
    }

    /// Returns true for a dict or an instance.
    pub fn is_config(&self) -> bool {
        matches!(self, Value::Dict(_) | Value::Schema(_))
    }

    /// Returns the entries of a dict or an instance.
    pub fn as_dict(&self) -> Option<&Dict> {
        match self {
            Value::Dict(dict) => Some(dict),
            Value::Schema(inst) => Some(&inst.attrs),
            _ => None,
        }
    }

    /// Returns the items of a list.
    pub fn as_list(&self) -> Option<&[Value]> {
        match self {
            Value::List(list) => Some(&list.items),
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Value::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Returns what `if` makes of it. An instance is false only when it has no attributes at all.
    pub fn truthy(&self) -> bool {
        match self {
            Value::Undefined | Value::None => false,
            Value::Bool(b) => *b,
            Value::Int(i) => *i != 0,
            Value::Float(f) => *f != 0.0,
            Value::Unit(unit) => unit.value != 0.0,
            Value::Str(text) => !text.is_empty(),
            Value::List(list) => !list.items.is_empty(),
            Value::Dict(dict) => !dict.is_empty(),
            Value::Schema(inst) => !inst.attrs.is_empty(),
            Value::Func(_) => true,
        }
    }

    /// Returns the name that `typeof` and run-time messages use (`NoneType` in messages, see [`Value::typeof_name`]).
    pub fn type_name(&self) -> Str {
        match self {
            Value::Undefined => "UndefinedType".into(),
            Value::None => "NoneType".into(),
            Value::Bool(_) => "bool".into(),
            Value::Int(_) => "int".into(),
            Value::Float(_) => "float".into(),
            Value::Unit(unit) => format!("number_multiplier({unit})").into(),
            Value::Str(_) => "str".into(),
            Value::List(_) => "list".into(),
            Value::Dict(_) => "dict".into(),
            Value::Schema(inst) => inst.schema.name.clone(),
            Value::Func(func) => func.type_name().into(),
        }
    }

    /// Returns what `typeof(x)` gives: as [`Value::type_name`], but `None` for None.
    pub fn typeof_name(&self) -> Str {
        match self {
            Value::None => "None".into(),
            other => other.type_name(),
        }
    }
}
