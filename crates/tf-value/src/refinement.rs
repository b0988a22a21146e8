//! What is known about a value that is not known yet.

use std::sync::Arc;

use crate::{Number, Type, Value};

/// Bounds of an unknown value. All parts absent says nothing; such a refinement is never kept.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Refinement {
    /// The value will not be null.
    pub not_null: bool,
    /// What a string will begin with.
    pub prefix: Option<Arc<str>>,
    /// The lower bound of a number, and whether it is allowed itself.
    pub lower: Option<(Number, bool)>,
    /// The upper bound of a number, and whether it is allowed itself.
    pub upper: Option<(Number, bool)>,
    /// The least number of elements of a collection.
    pub min_length: Option<u64>,
    /// The greatest number of elements of a collection.
    pub max_length: Option<u64>,
}

impl Refinement {
    /// Whether nothing is said.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The unknown value with these bounds.
    #[must_use]
    pub fn unknown(self) -> Value {
        Value::Unknown((!self.is_empty()).then(|| Arc::new(self)))
    }

    /// What stays true after a conversion to another type.
    #[must_use]
    pub fn converted(&self, to: &Type) -> Self {
        let collection = matches!(to, Type::List(_) | Type::Map(_));
        Self {
            not_null: self.not_null,
            min_length: self.min_length.filter(|_| collection),
            max_length: self.max_length.filter(|_| collection),
            ..Self::default()
        }
    }

    /// Says why a value is outside the bounds, if it is. Parts of the value that are unknown are within.
    #[must_use]
    pub fn broken_by(&self, value: &Value) -> Option<String> {
        match value.plain() {
            Value::Unknown(_) => None,
            Value::Null => self.not_null.then(|| "null, although it was promised not to be".to_owned()),
            Value::String(text) => {
                let prefix = self.prefix.as_deref().filter(|prefix| !text.starts_with(prefix))?;
                Some(format!("does not begin with {prefix:?}, as was promised"))
            }
            Value::Number(number) => {
                let below =
                    |(bound, inclusive): &(Number, bool)| number < bound || (!inclusive && number == bound);
                let above =
                    |(bound, inclusive): &(Number, bool)| number > bound || (!inclusive && number == bound);
                let outside =
                    self.lower.as_ref().is_some_and(below) || self.upper.as_ref().is_some_and(above);
                outside.then(|| "outside the promised range".to_owned())
            }
            Value::List(items) => self.length_broken_by(items.len(), items.len()),
            // Elements that are unknown may turn out to be equal to others.
            Value::Set(items) => {
                let sure = items.iter().filter(|item| item.is_wholly_known()).count();
                self.length_broken_by(sure.max(usize::from(!items.is_empty())), items.len())
            }
            Value::Map(entries) => self.length_broken_by(entries.len(), entries.len()),
            Value::Bool(_) | Value::Dynamic(_) => None,
        }
    }

    fn length_broken_by(&self, least: usize, most: usize) -> Option<String> {
        let few = self.min_length.is_some_and(|bound| (most as u64) < bound);
        let many = self.max_length.is_some_and(|bound| (least as u64) > bound);
        (few || many).then(|| format!("{most} elements, outside the promised number"))
    }
}
