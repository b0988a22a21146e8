//! Between attributes and plain JSON: documents come in, and a platform that speaks JSON gets it back.

use std::sync::Arc;

use ecow::EcoString;
use serde_json::{Map, Value};

use super::stored::is_mark;
use super::{Attr, Number};
use crate::{FieldPath, RefError, Secret, Segment, Template};

/// Deeper trees are refused rather than overflowing the call stack.
const MAX_DEPTH: usize = 256;

/// Why a tree is no plain JSON.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotPlain {
    /// A secret of which only the digest is known.
    Secret(FieldPath),
    /// A value that is not known yet.
    Unknown(FieldPath),
}

/// What becomes of values that are not known yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknowns {
    Refuse,
    LeaveOut,
}

/// Plain data: texts are texts, whatever they look like.
impl From<&Value> for Attr {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Attr::Null,
            Value::Bool(value) => Attr::Bool(*value),
            Value::Number(number) => Attr::Number(Number::from(number)),
            Value::String(text) => Attr::Text(text.into()),
            Value::Array(items) => Attr::list(items.iter().map(Attr::from).collect()),
            Value::Object(map) => {
                Attr::map(map.iter().map(|(key, item)| (EcoString::from(key), Attr::from(item))))
            }
        }
    }
}

impl From<Value> for Attr {
    fn from(value: Value) -> Self {
        Attr::from(&value)
    }
}

impl Attr {
    /// Reads data as people write it, and what `kusion generate` wrote: texts may be references or hold some. One that cannot
    /// be read stays a text, and the problem is added to the list.
    pub fn read(value: Value, problems: &mut Vec<RefError>) -> Attr {
        read_at(value, 0, problems)
    }

    /// Returns plain JSON with every secret in clear: for the wire, never for a file or a screen.
    pub fn expose(&self, unknowns: Unknowns) -> Result<Value, NotPlain> {
        let path = &mut FieldPath::root();
        Ok(plain(self, path, unknowns)?.unwrap_or(Value::Null))
    }

    /// Returns the stored form as a value, for documents that people and programs read.
    #[must_use]
    pub fn to_shown(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

fn read_at(value: Value, depth: usize, problems: &mut Vec<RefError>) -> Attr {
    if depth > MAX_DEPTH {
        if !problems.contains(&RefError::TooDeep) {
            problems.push(RefError::TooDeep);
        }
        return Attr::Null;
    }
    match value {
        Value::String(text) => match Template::parse(&text) {
            None => Secret::from_stored(&text).map_or_else(|| Attr::Text(text.into()), Attr::Secret),
            Some(Ok(template)) => Attr::Reference(Arc::new(template)),
            Some(Err(problem)) => {
                problems.push(problem);
                Attr::Text(text.into())
            }
        },
        Value::Array(items) => {
            Attr::list(items.into_iter().map(|item| read_at(item, depth + 1, problems)).collect())
        }
        Value::Object(map) if is_mark(map.keys().next()) => serde_json::from_value(Value::Object(map))
            .unwrap_or_else(|e| {
                problems.push(RefError::Unreadable { text: "$kusion:".to_owned(), what: e.to_string() });
                Attr::Null
            }),
        Value::Object(map) => {
            Attr::map(map.into_iter().map(|(key, item)| (key, read_at(item, depth + 1, problems))))
        }
        leaf => Attr::from(leaf),
    }
}

/// `None` for a value that is left out.
fn plain(attr: &Attr, path: &mut FieldPath, unknowns: Unknowns) -> Result<Option<Value>, NotPlain> {
    Ok(Some(match attr {
        Attr::Null => Value::Null,
        Attr::Bool(value) => Value::Bool(*value),
        // A platform that speaks JSON has floats for what is longer than 64 bits.
        Attr::Number(number) => match number.to_json() {
            Some(number) => Value::Number(number),
            None => serde_json::Number::from_f64(number.to_f64()).map_or(Value::Null, Value::Number),
        },
        Attr::Text(text) => Value::String(text.to_string()),
        Attr::Secret(secret) => match secret.expose() {
            Some(value) => value,
            None => return Err(NotPlain::Secret(path.clone())),
        },
        Attr::Reference(_) | Attr::Unknown => match unknowns {
            Unknowns::LeaveOut => return Ok(None),
            Unknowns::Refuse => return Err(NotPlain::Unknown(path.clone())),
        },
        Attr::List(items) | Attr::Set(items) => {
            let mut list = Vec::with_capacity(items.len());
            for (index, item) in items.iter().enumerate() {
                path.0.push(Segment::Index(index));
                list.extend(plain(item, path, unknowns)?);
                path.0.pop();
            }
            Value::Array(list)
        }
        Attr::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for (key, item) in entries.iter() {
                // Leaves are most of a tree, and only a branch or an error needs to know where it stands.
                let value = match item {
                    Attr::Text(text) => Some(Value::String(text.to_string())),
                    Attr::Null | Attr::Bool(_) | Attr::Number(_) => plain(item, path, unknowns)?,
                    _ => {
                        path.0.push(Segment::Key(key.to_string()));
                        let value = plain(item, path, unknowns)?;
                        path.0.pop();
                        value
                    }
                };
                if let Some(value) = value {
                    map.insert(key.to_string(), value);
                }
            }
            Value::Object(map)
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DigestKey;
    use serde_json::json;

    #[test]
    fn plain_data_comes_back_as_it_went_in() {
        let data = json!({"b": [1, 1.0, -3, 18446744073709551615_u64, 0.1, null, true, "x"], "a": {"": {}}});
        let tree = Attr::from(data.clone());
        assert_eq!(tree.expose(Unknowns::Refuse).unwrap().to_string(), data.to_string());
    }

    #[test]
    fn reading_finds_references_and_reports_broken_ones() {
        let mut problems = Vec::new();
        let data =
            json!({"a": "$kusion_path.v1:Service:a:b.spec.clusterIP", "b": "$kusion_path.", "c": "plain"});
        let tree = Attr::read(data, &mut problems);
        assert!(
            matches!(tree["a"], Attr::Reference(_)) && tree["b"] == "$kusion_path." && tree["c"] == "plain"
        );
        assert_eq!(problems.len(), 1);
    }

    #[test]
    fn bottomless_trees_are_refused() {
        let mut value = json!("x");
        for _ in 0..1_000 {
            value = Value::Array(vec![value]);
        }
        let mut problems = Vec::new();
        Attr::read(value, &mut problems);
        assert_eq!(problems, [RefError::TooDeep]);
    }

    #[test]
    fn what_is_not_known_is_left_out_or_named() {
        let secret = Attr::Secret(Secret::known_by("0123456789abcdef0123456789abcdef").unwrap());
        let open = Attr::map([("a", Attr::list(vec![1.into(), Attr::Unknown])), ("b", Attr::Unknown)]);
        assert_eq!(open.expose(Unknowns::LeaveOut), Ok(json!({"a": [1]})));
        let at = FieldPath::parse("a[1]").unwrap();
        assert_eq!(open.expose(Unknowns::Refuse), Err(NotPlain::Unknown(at)));
        let shut = Attr::map([("s", secret)]);
        assert_eq!(shut.expose(Unknowns::LeaveOut), Err(NotPlain::Secret(FieldPath::keys(["s"]))));
        let known =
            Attr::map([("s", Attr::Secret(Secret::new(&Attr::text("pw"), &DigestKey::new([1; 32]))))]);
        assert_eq!(known.expose(Unknowns::Refuse), Ok(json!({"s": "pw"})));
    }
}
