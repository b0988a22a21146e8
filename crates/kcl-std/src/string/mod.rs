//! Methods of strings. The receiver is always a string; offsets count bytes.

pub(crate) mod case;
pub(crate) mod find;
pub(crate) mod format;
mod format_number;
mod format_spec;
pub(crate) mod join;
pub(crate) mod split;
pub(crate) mod strip;

use kcl_value::Value;

/// Returns the receiver's text.
pub(crate) fn text_of(receiver: &Value) -> &str {
    receiver.as_str().unwrap_or("")
}

/// How often to split or replace: nothing and negative numbers mean as often as possible, what is no number never.
fn count_of(count: &Value) -> usize {
    match count {
        Value::None | Value::Undefined => usize::MAX,
        Value::Int(i) => usize::try_from(*i).unwrap_or(usize::MAX),
        Value::Float(f) if *f > -1.0 => *f as usize,
        Value::Float(_) => usize::MAX,
        _ => 0,
    }
}
