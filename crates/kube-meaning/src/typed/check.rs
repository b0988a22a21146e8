//! Checks a value against its type, with the server's words for what is wrong.

use serde_json::{Map, Value};

use super::MAX_DEPTH;
use super::atom::{Atom, MapView, atom, item_elem};
use crate::elem::Elem;
use crate::schema::{List, ListKind, ScalarKind, Schema, Ty};

/// Whether an associative list may hold an item twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Duplicates {
    Refused,
    Allowed,
}

/// All type errors of a value, one line each as the server joins them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TypeError(pub(crate) Vec<String>);

impl std::fmt::Display for TypeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0.as_slice() {
            [one] => f.write_str(one),
            many => {
                f.write_str("errors:")?;
                many.iter().try_for_each(|line| write!(f, "\n  {line}"))
            }
        }
    }
}

struct Checker<'s> {
    schema: &'s Schema,
    duplicates: Duplicates,
    path: Vec<Elem>,
    errors: Vec<String>,
}

/// Checks a value. Unknown fields, wrong types and duplicate items are errors.
pub(crate) fn check(
    schema: &Schema,
    ty: &Ty,
    value: &Value,
    duplicates: Duplicates,
) -> Result<(), TypeError> {
    let mut checker = Checker { schema, duplicates, path: Vec::new(), errors: Vec::new() };
    checker.value(ty, value);
    match checker.errors.is_empty() {
        true => Ok(()),
        false => Err(TypeError(checker.errors)),
    }
}

impl<'s> Checker<'s> {
    fn error(&mut self, text: &str) {
        let path: String = self.path.iter().map(Elem::to_string).collect();
        self.errors.push(match path.is_empty() {
            true => text.to_owned(),
            false => format!("{path}: {text}"),
        });
    }

    fn value(&mut self, ty: &'s Ty, value: &Value) {
        if self.path.len() > MAX_DEPTH {
            return self.error("nested too deeply");
        }
        if value.is_null() {
            return;
        }
        match (atom(self.schema, ty, Some(value)), value) {
            (Atom::Scalar(kind), _) => self.scalar(kind, value),
            (Atom::Map(view), Value::Object(map)) => self.map(view, map),
            (Atom::Map(_), _) => self.error(&format!("expected map, got &{{{}}}", go_text(value))),
            (Atom::List(list), Value::Array(items)) => self.list(list, items),
            (Atom::List(_), _) => self.error(&format!("expected list, got &{{{}}}", go_text(value))),
        }
    }

    fn scalar(&mut self, kind: Option<ScalarKind>, value: &Value) {
        let text = match kind {
            Some(ScalarKind::Int32 | ScalarKind::Int64 | ScalarKind::Number) => match value {
                Value::Number(_) => return,
                _ => format!("expected numeric (int or float), got {}", go_type(value)),
            },
            Some(ScalarKind::Bool) => match value {
                Value::Bool(_) => return,
                _ => format!("expected boolean, got &{{{}}}", go_text(value)),
            },
            Some(ScalarKind::Quantity | ScalarKind::IntOrString) | None => match value {
                Value::Number(_) | Value::String(_) | Value::Bool(_) => return,
                _ => format!("expected any scalar, got &{{{}}}", go_text(value)),
            },
            Some(ScalarKind::String | ScalarKind::Bytes | ScalarKind::Time | ScalarKind::MicroTime) => {
                match value {
                    Value::String(_) => return,
                    _ => format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_text(value)),
                }
            }
        };
        self.error(&text);
    }

    fn map(&mut self, view: MapView<'s>, map: &Map<String, Value>) {
        for (key, value) in map {
            self.path.push(Elem::field(key));
            match view.ty(key) {
                None => self.error("field not declared in schema"),
                Some(ty) => self.value(ty, value),
            }
            self.path.pop();
        }
    }

    fn list(&mut self, list: &'s List, items: &[Value]) {
        let mut seen = rustc_hash::FxHashSet::default();
        for (i, item) in items.iter().enumerate() {
            let elem = match list.kind {
                ListKind::Atomic => Elem::Index(i),
                ListKind::Set | ListKind::Map(_) => match item_elem(self.schema, list, item) {
                    Ok(elem) => elem,
                    Err(text) => {
                        self.path.push(Elem::Index(i));
                        self.error(&format!("element {i}: {text}"));
                        self.path.pop();
                        continue;
                    }
                },
            };
            if list.kind != ListKind::Atomic
                && self.duplicates == Duplicates::Refused
                && !seen.insert(elem.clone())
            {
                self.error(&format!("duplicate entries for key {elem}"));
            }
            self.path.push(elem);
            self.value(&list.item, item);
            self.path.pop();
        }
    }
}

fn go_type(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(n) if n.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// A value as the server's language prints it.
fn go_text(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(s) => s.clone(),
        Value::Array(items) => format!("[{}]", items.iter().map(go_text).collect::<Vec<_>>().join(" ")),
        Value::Object(map) => {
            let mut keys: Vec<_> = map.iter().collect();
            keys.sort_by_key(|(k, _)| k.as_str());
            format!(
                "map[{}]",
                keys.iter().map(|(k, v)| format!("{k}:{}", go_text(v))).collect::<Vec<_>>().join(" ")
            )
        }
        other => other.to_string(),
    }
}
