//! Constant values.

use std::fmt::Write;

use crate::quote::{is_identifier, quote};

/// A value that is known without running anything.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Value {
    None,
    Bool(bool),
    Int(i64),
    Float(f64),
    Str(String),
    List(Vec<Value>),
    /// Entries in order; no key stands twice.
    Map(Vec<(String, Value)>),
}

impl Value {
    /// Returns the value as KCL writes it, on one line.
    pub fn to_kcl(&self) -> String {
        let mut out = String::new();
        self.write_kcl(&mut out);
        out
    }

    fn write_kcl(&self, out: &mut String) {
        // Writing to a String cannot fail.
        let _ = match self {
            Value::None => write!(out, "None"),
            Value::Bool(true) => write!(out, "True"),
            Value::Bool(false) => write!(out, "False"),
            // The literal of the smallest number is too large for its own minus.
            Value::Int(i64::MIN) => write!(out, "-9223372036854775807 - 1"),
            Value::Int(i) => write!(out, "{i}"),
            Value::Float(f) => write!(out, "{}", float_text(*f)),
            Value::Str(text) => write!(out, "{}", quote(text)),
            Value::List(items) => {
                out.push('[');
                for (i, item) in items.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    item.write_kcl(out);
                }
                write!(out, "]")
            }
            Value::Map(entries) => {
                out.push('{');
                for (i, (key, value)) in entries.iter().enumerate() {
                    out.push_str(if i > 0 { ", " } else { "" });
                    out.push_str(&key_text(key));
                    out.push_str(" = ");
                    value.write_kcl(out);
                }
                write!(out, "}}")
            }
        };
    }

    /// Drives an emitter over the value.
    pub fn write(&self, sink: &mut dyn base_yaml::Sink) {
        match self {
            Value::None => sink.null(),
            Value::Bool(b) => sink.bool(*b),
            Value::Int(i) => sink.int(*i),
            Value::Float(f) => sink.float(*f),
            Value::Str(text) => sink.str(text),
            Value::List(items) => {
                sink.begin_list();
                items.iter().for_each(|item| item.write(sink));
                sink.end_list();
            }
            Value::Map(entries) => {
                sink.begin_map();
                for (key, value) in entries {
                    sink.key(key);
                    value.write(sink);
                }
                sink.end_map();
            }
        }
    }
}

/// The key of an entry: a name where it can be one.
pub(crate) fn key_text(key: &str) -> String {
    if is_identifier(key) { key.to_owned() } else { quote(key) }
}

/// A float with a point or an exponent, so that it stays one.
pub(crate) fn float_text(f: f64) -> String {
    let text = format!("{f:?}");
    match text.contains(['.', 'e', 'N', 'i']) {
        true => text,
        false => format!("{text}.0"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_written_as_kcl() {
        let map = Value::Map(vec![
            ("a".into(), Value::List(vec![Value::Int(-1), Value::Float(2.0), Value::None])),
            ("if".into(), Value::Str("x\"${y}\"".into())),
            ("b-c".into(), Value::Bool(true)),
        ]);
        assert_eq!(map.to_kcl(), r#"{a = [-1, 2.0, None], "if" = "x\"\x24{y}\"", "b-c" = True}"#);
    }
}
