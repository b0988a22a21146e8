//! One step of a field path, as managedFields knows it.
//!
//! In: the strings `f:name`, `k:{"name":"c"}`, `v:"x"`, `i:3`. Out: the same steps as ordered data, their server text
//! (`.spec.containers[name="c"].image`) and their text for people (`spec.containers[c].image`).
//! Invariant: the order of `Elem` is the order in which the server writes field sets.

use std::cmp::Ordering;
use std::fmt;

use ecow::EcoString;
use serde_json::Value;

use crate::managed_text;

/// A scalar that identifies an item of a list.
#[derive(Clone, Debug)]
pub enum Scalar {
    Int(i64),
    Float(f64),
    Str(EcoString),
    Bool(bool),
    Null,
}

/// One step of a path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Elem {
    /// A struct field or a map key.
    Field(EcoString),
    /// An item of a list with key fields; sorted by field name.
    Key(Box<[(EcoString, Scalar)]>),
    /// An item of a set.
    Value(Scalar),
    /// An item by position; never produced for built-in kinds.
    Index(usize),
}

impl Scalar {
    /// The scalar of a JSON value; lists and maps have none.
    pub fn from_json(value: &Value) -> Option<Scalar> {
        Some(match value {
            Value::Null => Scalar::Null,
            Value::Bool(b) => Scalar::Bool(*b),
            Value::String(s) => Scalar::Str(s.as_str().into()),
            Value::Number(n) => match n.as_i64() {
                Some(i) => Scalar::Int(i),
                None => Scalar::Float(n.as_f64().unwrap_or(0.0)),
            },
            Value::Array(_) | Value::Object(_) => return None,
        })
    }

    /// The JSON value of the scalar.
    pub fn to_json(&self) -> Value {
        match self {
            Scalar::Int(i) => Value::from(*i),
            Scalar::Float(f) => Value::from(*f),
            Scalar::Str(s) => Value::from(s.as_str()),
            Scalar::Bool(b) => Value::from(*b),
            Scalar::Null => Value::Null,
        }
    }

    /// Whether a JSON value is this scalar.
    pub fn is_json(&self, value: &Value) -> bool {
        match (self, value) {
            (Scalar::Str(a), Value::String(b)) => a == b,
            (Scalar::Bool(a), Value::Bool(b)) => a == b,
            (Scalar::Null, Value::Null) => true,
            (Scalar::Int(a), Value::Number(b)) => b.as_i64() == Some(*a) || b.as_f64() == Some(*a as f64),
            (Scalar::Float(a), Value::Number(b)) => b.as_f64() == Some(*a),
            _ => false,
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Scalar::Int(_) | Scalar::Float(_) => 0,
            Scalar::Str(_) => 1,
            Scalar::Bool(_) => 2,
            Scalar::Null => 3,
        }
    }

    fn as_f64(&self) -> f64 {
        match self {
            Scalar::Int(i) => *i as f64,
            Scalar::Float(f) => *f,
            _ => 0.0,
        }
    }
}

impl Ord for Scalar {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Scalar::Int(a), Scalar::Int(b)) => a.cmp(b),
            (Scalar::Str(a), Scalar::Str(b)) => a.cmp(b),
            (Scalar::Bool(a), Scalar::Bool(b)) => a.cmp(b),
            _ if self.rank() == 0 && other.rank() == 0 => self.as_f64().total_cmp(&other.as_f64()),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Scalar {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Scalar {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Scalar {}

impl std::hash::Hash for Scalar {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        match self {
            Scalar::Int(_) | Scalar::Float(_) => self.as_f64().to_bits().hash(state),
            Scalar::Str(s) => s.hash(state),
            Scalar::Bool(b) => b.hash(state),
            Scalar::Null => 0u8.hash(state),
        }
    }
}

impl fmt::Display for Scalar {
    /// The scalar as the server prints it in paths: strings quoted.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Scalar::Int(i) => write!(f, "{i}"),
            Scalar::Float(x) => write!(f, "{x}"),
            Scalar::Str(s) => write!(f, "{s:?}"),
            Scalar::Bool(b) => write!(f, "{b}"),
            Scalar::Null => f.write_str("null"),
        }
    }
}

impl Elem {
    /// A field step.
    pub fn field(name: &str) -> Elem {
        Elem::Field(name.into())
    }

    /// Reads one key of a FieldsV1 object. `None` when it is not one.
    pub fn parse(text: &str) -> Option<Elem> {
        let (tag, rest) = text.split_at_checked(2)?;
        match tag {
            "f:" => Some(Elem::Field(rest.into())),
            "i:" => rest.parse().ok().map(Elem::Index),
            "v:" => match managed_text::read_scalar(rest) {
                Some(scalar) => Some(Elem::Value(scalar)),
                None => Scalar::from_json(&serde_json::from_str(rest).ok()?).map(Elem::Value),
            },
            "k:" => {
                if let Some(keys) = managed_text::read_keys(rest) {
                    return Some(Elem::Key(keys.into()));
                }
                let Value::Object(map) = serde_json::from_str(rest).ok()? else { return None };
                let mut keys = Vec::with_capacity(map.len());
                for (name, value) in &map {
                    keys.push((EcoString::from(name.as_str()), Scalar::from_json(value)?));
                }
                keys.sort();
                Some(Elem::Key(keys.into()))
            }
            _ => None,
        }
    }

    /// Appends the FieldsV1 spelling.
    pub fn write_key(&self, out: &mut String) {
        match self {
            Elem::Field(name) => {
                out.push_str("f:");
                out.push_str(name);
            }
            Elem::Index(i) => {
                out.push_str("i:");
                out.push_str(&i.to_string());
            }
            Elem::Value(v) => {
                out.push_str("v:");
                write_json(v, out);
            }
            Elem::Key(keys) => {
                out.push_str("k:{");
                for (i, (name, value)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    write_json(&Scalar::Str(name.clone()), out);
                    out.push(':');
                    write_json(value, out);
                }
                out.push('}');
            }
        }
    }

    /// Appends the text for people: `.image`, `[main]`, `["a.b/c"]`. A leading dot is left out at the start of a path.
    pub fn write_short(&self, out: &mut String) {
        match self {
            Elem::Field(name) if is_plain(name) => {
                if !out.is_empty() {
                    out.push('.');
                }
                out.push_str(name);
            }
            Elem::Field(name) => out.push_str(&format!("[{name:?}]")),
            Elem::Key(keys) => {
                out.push('[');
                for (i, (_, value)) in keys.iter().enumerate() {
                    if i > 0 {
                        out.push(',');
                    }
                    match value {
                        Scalar::Str(s) => out.push_str(s),
                        other => out.push_str(&other.to_string()),
                    }
                }
                out.push(']');
            }
            Elem::Value(v) => out.push_str(&format!("[={v}]")),
            Elem::Index(i) => out.push_str(&format!("[{i}]")),
        }
    }
}

fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-' || b == b'$')
}

fn write_json(scalar: &Scalar, out: &mut String) {
    match scalar {
        Scalar::Str(text) if text.bytes().all(|b| b >= 0x20 && b != b'"' && b != b'\\') => {
            out.push('"');
            out.push_str(text);
            out.push('"');
        }
        Scalar::Int(i) => out.push_str(&i.to_string()),
        other => out.push_str(&other.to_json().to_string()),
    }
}

impl fmt::Display for Elem {
    /// The server's text: `.name`, `[name="c"]`, `[="x"]`, `[0]`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Elem::Field(name) => write!(f, ".{name}"),
            Elem::Key(keys) => {
                f.write_str("[")?;
                for (i, (name, value)) in keys.iter().enumerate() {
                    let comma = if i > 0 { "," } else { "" };
                    write!(f, "{comma}{name}={value}")?;
                }
                f.write_str("]")
            }
            Elem::Value(v) => write!(f, "[={v}]"),
            Elem::Index(i) => write!(f, "[{i}]"),
        }
    }
}

/// A path as the server prints it.
pub fn path_text(path: &[Elem]) -> String {
    path.iter().map(Elem::to_string).collect()
}

/// A path as people read it: `spec.template.spec.containers[main].image`.
pub fn path_short(path: &[Elem]) -> String {
    let mut out = String::new();
    for elem in path {
        elem.write_short(&mut out);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_round_trip_and_sort_like_the_server() {
        for text in [
            r#"f:app.kubernetes.io/name"#,
            r#"k:{"containerPort":80,"protocol":"TCP"}"#,
            r#"v:"a.b/x""#,
            "v:3",
            "i:2",
        ] {
            let mut out = String::new();
            Elem::parse(text).unwrap().write_key(&mut out);
            assert_eq!(out, text);
        }
        assert!(Elem::parse("f:z").unwrap() < Elem::parse(r#"k:{"a":1}"#).unwrap());
        assert!(Elem::parse("é").is_none());
    }

    #[test]
    fn paths_have_a_server_text_and_a_short_text() {
        let path = [
            Elem::field("spec"),
            Elem::field("containers"),
            Elem::parse(r#"k:{"name":"main"}"#).unwrap(),
            Elem::field("image"),
        ];
        assert_eq!(path_text(&path), r#".spec.containers[name="main"].image"#);
        assert_eq!(path_short(&path), "spec.containers[main].image");
        let label = [Elem::field("metadata"), Elem::field("labels"), Elem::field("app.kubernetes.io/name")];
        assert_eq!(path_short(&label), r#"metadata.labels["app.kubernetes.io/name"]"#);
    }
}
