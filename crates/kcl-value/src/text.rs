//! The text form: `str()`, `print`, interpolation, `join`.
//!
//! Strings inside a list are not quoted, direct string values of a dict are: a quirk that output depends on.

use std::fmt::Write;

use crate::{Value, float_text};

/// Returns the text form of a value.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write_text(&mut out, value);
    out
}

/// Appends the text form of a value.
pub fn write_text(out: &mut String, value: &Value) {
    match value {
        Value::Undefined => out.push_str("Undefined"),
        Value::None => out.push_str("None"),
        Value::Bool(true) => out.push_str("True"),
        Value::Bool(false) => out.push_str("False"),
        Value::Int(i) => base_yaml::push_int(out, *i),
        Value::Float(f) => out.push_str(&float_text(*f)),
        Value::Unit(unit) => {
            let _ = write!(out, "{unit}");
        }
        Value::Str(text) => out.push_str(text),
        Value::List(list) => {
            out.push('[');
            for (i, item) in list.items.iter().enumerate() {
                if i > 0 {
                    out.push_str(", ");
                }
                write_text(out, item);
            }
            out.push(']');
        }
        Value::Dict(_) | Value::Schema(_) => write_config(out, value),
        Value::Func(_) => out.push_str("function"),
    }
}

fn write_config(out: &mut String, value: &Value) {
    out.push('{');
    for (i, (key, entry)) in value.as_dict().into_iter().flat_map(|d| d.iter()).enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_quoted(out, key);
        out.push_str(": ");
        match &entry.value {
            Value::Str(text) => write_quoted(out, text),
            other => write_text(out, other),
        }
    }
    out.push('}');
}

/// Returns a string in quotes as dict text does: single ones, double ones if the text contains a double quote.
pub fn quoted_text(text: &str) -> String {
    let mut out = String::new();
    write_quoted(&mut out, text);
    out
}

fn write_quoted(out: &mut String, text: &str) {
    let quote = if text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    out.push_str(text);
    out.push(quote);
}
