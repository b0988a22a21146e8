//! Paths to fields: `spec.template.spec.containers[frontend].env[0]["a.b"]`.
//!
//! A list entry is named by index, or by its key when the list is a map by meaning. The text form is also the stored
//! form and reads back to the same path.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::Attr;

/// One step into a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// A key of a mapping.
    Key(String),
    /// A position in a list.
    Index(usize),
    /// An entry of a keyed list, by the text of its key (`frontend`, or `80/TCP`).
    Item(String),
}

/// A path from the root of a value to a field.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FieldPath(pub Vec<Segment>);

/// A path text that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("field path `{text}` is not readable at character {at}: {what}")]
pub struct PathError {
    pub text: String,
    pub at: usize,
    pub what: &'static str,
}

/// What a path can lead through.
pub trait Tree: Sized {
    /// Returns the entry of a mapping.
    fn entry(&self, key: &str) -> Option<&Self>;
    fn entry_mut(&mut self, key: &str) -> Option<&mut Self>;
    /// Returns the items of a list.
    fn items(&self) -> Option<&[Self]>;
    fn items_mut(&mut self) -> Option<&mut [Self]>;
    /// Returns the text of the entry `name`.
    fn name(&self) -> Option<&str>;
}

impl Tree for Value {
    fn entry(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.get_mut(key)
    }

    fn items(&self) -> Option<&[Self]> {
        self.as_array().map(Vec::as_slice)
    }

    fn items_mut(&mut self) -> Option<&mut [Self]> {
        self.as_array_mut().map(Vec::as_mut_slice)
    }

    fn name(&self) -> Option<&str> {
        self.get("name").and_then(Value::as_str)
    }
}

impl Tree for Attr {
    fn entry(&self, key: &str) -> Option<&Self> {
        self.get(key)
    }

    fn entry_mut(&mut self, key: &str) -> Option<&mut Self> {
        self.get_mut(key)
    }

    fn items(&self) -> Option<&[Self]> {
        match self {
            Attr::List(items) | Attr::Set(items) => Some(items),
            _ => None,
        }
    }

    fn items_mut(&mut self) -> Option<&mut [Self]> {
        match self {
            Attr::List(items) | Attr::Set(items) => Some(std::sync::Arc::make_mut(items).as_mut_slice()),
            _ => None,
        }
    }

    fn name(&self) -> Option<&str> {
        self.get("name").and_then(Attr::as_str)
    }
}

impl FieldPath {
    /// Returns the path to the root.
    #[must_use]
    pub fn root() -> Self {
        Self::default()
    }

    /// Builds a path of mapping keys.
    pub fn keys<'a>(keys: impl IntoIterator<Item = &'a str>) -> Self {
        FieldPath(keys.into_iter().map(|key| Segment::Key(key.to_owned())).collect())
    }

    /// Returns this path with one more segment.
    #[must_use]
    pub fn child(&self, segment: Segment) -> Self {
        let mut segments = Vec::with_capacity(self.0.len() + 1);
        segments.extend_from_slice(&self.0);
        segments.push(segment);
        FieldPath(segments)
    }

    /// Returns this path with one more mapping key.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.child(Segment::Key(key.to_owned()))
    }

    /// Returns whether `self` is `other` or an ancestor of it.
    #[must_use]
    pub fn covers(&self, other: &FieldPath) -> bool {
        other.0.starts_with(&self.0)
    }

    /// Returns the value at this path; keyed items are looked up by `name`.
    #[must_use]
    pub fn get<'v, T: Tree>(&self, root: &'v T) -> Option<&'v T> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.entry(key),
            Segment::Index(at) => value.items()?.get(*at),
            Segment::Item(name) => value.items()?.iter().find(|item| item.name() == Some(name)),
        })
    }

    /// Returns the place at this path for writing, if it exists.
    pub fn get_mut<'v, T: Tree>(&self, root: &'v mut T) -> Option<&'v mut T> {
        self.0.iter().try_fold(root, |value, segment| match segment {
            Segment::Key(key) => value.entry_mut(key),
            Segment::Index(at) => value.items_mut()?.get_mut(*at),
            Segment::Item(name) => value.items_mut()?.iter_mut().find(|item| item.name() == Some(name)),
        })
    }

    /// Reads the text form.
    pub fn parse(text: &str) -> Result<Self, PathError> {
        let mut reader = PathReader { text, at: 0 };
        reader.read().map(FieldPath)
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Key(key) if is_plain(key) => {
                    write!(f, "{}{key}", if at > 0 { "." } else { "" })?;
                }
                Segment::Key(key) => write!(f, "[{}]", Value::String(key.clone()))?,
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Item(name) if needs_marker(name) => write!(f, "[={}]", Value::String(name.clone()))?,
                Segment::Item(name) => write!(f, "[{name}]")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// A key that may stand without quotes.
fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '[', ']', '"', ' ', '\\', '}'])
}

/// An item name that would read back as something else.
fn needs_marker(name: &str) -> bool {
    name.is_empty() || name.bytes().all(|b| b.is_ascii_digit()) || name.contains(['[', ']', '"', '=', '\\'])
}

struct PathReader<'a> {
    text: &'a str,
    at: usize,
}

impl PathReader<'_> {
    fn read(&mut self) -> Result<Vec<Segment>, PathError> {
        let mut segments = Vec::new();
        while self.at < self.text.len() {
            match self.text.as_bytes()[self.at] {
                b'[' => segments.push(self.bracket()?),
                b'.' if segments.is_empty() => return Err(self.error("a path does not start with `.`")),
                b'.' => {
                    self.at += 1;
                    segments.push(self.plain_key()?);
                }
                _ if segments.is_empty() => segments.push(self.plain_key()?),
                _ => return Err(self.error("expected `.` or `[`")),
            }
        }
        Ok(segments)
    }

    fn plain_key(&mut self) -> Result<Segment, PathError> {
        let rest = &self.text[self.at..];
        let end = rest.find(['.', '[']).unwrap_or(rest.len());
        if end == 0 {
            return Err(self.error("a key is empty"));
        }
        self.at += end;
        Ok(Segment::Key(rest[..end].to_owned()))
    }

    fn bracket(&mut self) -> Result<Segment, PathError> {
        self.at += 1;
        let marked = self.text[self.at..].starts_with('=');
        if marked {
            self.at += 1;
        }
        if self.text[self.at..].starts_with('"') {
            let key = self.quoted()?;
            self.expect_close()?;
            return Ok(if marked { Segment::Item(key) } else { Segment::Key(key) });
        }
        let rest = &self.text[self.at..];
        let end = rest.find(']').ok_or_else(|| self.error("`[` is not closed"))?;
        let inner = &rest[..end];
        if inner.is_empty() {
            return Err(self.error("`[]` is empty"));
        }
        self.at += end + 1;
        Ok(match inner.parse::<usize>() {
            Ok(index) => Segment::Index(index),
            Err(_) => Segment::Item(inner.to_owned()),
        })
    }

    fn quoted(&mut self) -> Result<String, PathError> {
        let mut stream = serde_json::Deserializer::from_str(&self.text[self.at..]).into_iter::<String>();
        match stream.next() {
            Some(Ok(key)) => {
                self.at += stream.byte_offset();
                Ok(key)
            }
            _ => Err(self.error("a quoted key is not readable")),
        }
    }

    fn expect_close(&mut self) -> Result<(), PathError> {
        if !self.text[self.at..].starts_with(']') {
            return Err(self.error("expected `]`"));
        }
        self.at += 1;
        Ok(())
    }

    fn error(&self, what: &'static str) -> PathError {
        PathError { text: self.text.to_owned(), at: self.at, what }
    }
}

impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for FieldPath {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_segment_reads_back_as_itself() {
        let path = FieldPath(vec![
            Segment::Key("metadata".into()),
            Segment::Key("a.b/c".into()),
            Segment::Index(0),
            Segment::Item("web".into()),
            Segment::Item("80".into()),
            Segment::Item("80/TCP".into()),
            Segment::Key("quote\"d]".into()),
            Segment::Key("last".into()),
        ]);
        let text = path.to_string();
        assert_eq!(text, r#"metadata["a.b/c"][0][web][="80"][80/TCP]["quote\"d]"].last"#);
        assert_eq!(FieldPath::parse(&text), Ok(path));
    }

    #[test]
    fn lookups_follow_keys_indexes_and_names() {
        let value = json!({"spec": {"containers": [{"name": "a"}, {"name": "b", "image": "x"}]}});
        let by_name = FieldPath::parse("spec.containers[b].image").unwrap();
        let by_index = FieldPath::parse("spec.containers[1].image").unwrap();
        assert_eq!(by_name.get(&value), Some(&json!("x")));
        assert_eq!(by_index.get(&value), Some(&json!("x")));
        assert_eq!(FieldPath::parse("spec.missing[3]").unwrap().get(&value), None);
    }

    #[test]
    fn unreadable_paths_name_the_place() {
        for (text, at) in [(".a", 0), ("a..b", 2), ("a[", 2), ("a[]", 2), ("a[\"x]", 2), ("a[0]b", 4)] {
            assert_eq!(FieldPath::parse(text).unwrap_err().at, at, "{text}");
        }
    }
}
