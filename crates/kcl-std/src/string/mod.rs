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
