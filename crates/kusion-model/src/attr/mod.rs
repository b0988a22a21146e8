//! Attributes of a resource as a tree of their own.
//!
//! Beside what JSON has, a tree can hold exact numbers, sets, references to other resources, values that are not known
//! yet, and secrets. Lists, maps and long texts are shared: a copy costs nothing until it is changed. Text forms of all
//! this exist only where files are read ([`Attr::read`]) and written (`stored.rs`), and where a platform wants JSON
//! (`json.rs`).

mod json;
mod number;
mod stored;

use std::fmt;
use std::ops::Index;
use std::sync::Arc;

use ecow::EcoString;
use indexmap::IndexMap;

pub use json::{NotPlain, Unknowns};
pub use number::{Number, NumberError};

use crate::{FieldPath, Secret, Segment, Template};

/// The entries of a map, in the order in which they were written.
pub type AttrMap = IndexMap<EcoString, Attr>;

/// One value in the attributes of a resource.
#[derive(Clone, Default)]
pub enum Attr {
    #[default]
    Null,
    Bool(bool),
    Number(Number),
    Text(EcoString),
    List(Arc<Vec<Attr>>),
    Map(Arc<AttrMap>),
    /// No order, and no two are equal.
    Set(Arc<Vec<Attr>>),
    /// The value of another resource, or a text with such values in it; not filled in yet.
    Reference(Arc<Template>),
    /// Known only after the resource itself was applied.
    Unknown,
    Secret(Secret),
}

impl Attr {
    /// Makes a text.
    pub fn text(text: impl Into<EcoString>) -> Self {
        Attr::Text(text.into())
    }

    /// Makes a list.
    #[must_use]
    pub fn list(items: Vec<Attr>) -> Self {
        Attr::List(Arc::new(items))
    }

    /// Makes a map.
    pub fn map<K: Into<EcoString>>(entries: impl IntoIterator<Item = (K, Attr)>) -> Self {
        Attr::Map(Arc::new(entries.into_iter().map(|(key, value)| (key.into(), value)).collect()))
    }

    /// Makes a set; what is equal to an earlier entry is left out.
    #[must_use]
    pub fn set(items: Vec<Attr>) -> Self {
        let mut kept: Vec<Attr> = Vec::with_capacity(items.len());
        for item in items {
            // Two values that are not known yet may still turn out to be different.
            if !item.is_known() || !kept.contains(&item) {
                kept.push(item);
            }
        }
        Attr::Set(Arc::new(kept))
    }

    /// Returns the entry of a map.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Attr> {
        self.as_map()?.get(key)
    }

    /// Returns the entry of a map for writing.
    pub fn get_mut(&mut self, key: &str) -> Option<&mut Attr> {
        self.as_map_mut()?.get_mut(key)
    }

    /// Returns a text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Attr::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the entries of a map.
    #[must_use]
    pub fn as_map(&self) -> Option<&AttrMap> {
        match self {
            Attr::Map(map) => Some(map),
            _ => None,
        }
    }

    /// Returns the entries of a map for writing; a shared one is copied first.
    pub fn as_map_mut(&mut self) -> Option<&mut AttrMap> {
        match self {
            Attr::Map(map) => Some(Arc::make_mut(map)),
            _ => None,
        }
    }

    /// Returns the items of a list.
    #[must_use]
    pub fn as_list(&self) -> Option<&[Attr]> {
        match self {
            Attr::List(items) => Some(items),
            _ => None,
        }
    }

    /// Returns the value at a path of map keys and list positions: `/spec/ports/0`.
    #[must_use]
    pub fn pointer(&self, pointer: &str) -> Option<&Attr> {
        pointer.split('/').skip(1).try_fold(self, |at, step| match at {
            Attr::Map(map) => map.get(step),
            Attr::List(items) => items.get(step.parse::<usize>().ok()?),
            _ => None,
        })
    }

    /// Returns whether this is null.
    #[must_use]
    pub fn is_null(&self) -> bool {
        matches!(self, Attr::Null)
    }

    /// Returns whether this is a secret.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        matches!(self, Attr::Secret(_))
    }

    /// Returns whether nothing in the tree waits for an apply.
    #[must_use]
    pub fn is_known(&self) -> bool {
        !self.any(&|leaf| matches!(leaf, Attr::Reference(_) | Attr::Unknown))
    }

    /// Returns whether there is a secret anywhere in the tree.
    #[must_use]
    pub fn has_secret(&self) -> bool {
        self.any(&Attr::is_secret)
    }

    /// Returns whether some leaf is so.
    pub fn any(&self, is: &dyn Fn(&Attr) -> bool) -> bool {
        match self {
            Attr::Map(map) => map.values().any(|item| item.any(is)),
            Attr::List(items) | Attr::Set(items) => items.iter().any(|item| item.any(is)),
            leaf => is(leaf),
        }
    }

    /// Shows every leaf with its path, in order. The items of a set have positions, though no order.
    pub fn for_each_leaf<'a>(&'a self, see: &mut dyn FnMut(&FieldPath, &'a Attr)) {
        fn walk<'a>(at: &'a Attr, path: &mut FieldPath, see: &mut dyn FnMut(&FieldPath, &'a Attr)) {
            match at {
                Attr::Map(map) => {
                    for (key, item) in map.iter() {
                        path.0.push(Segment::Key(key.to_string()));
                        walk(item, path, see);
                        path.0.pop();
                    }
                }
                Attr::List(items) | Attr::Set(items) => {
                    for (index, item) in items.iter().enumerate() {
                        path.0.push(Segment::Index(index));
                        walk(item, path, see);
                        path.0.pop();
                    }
                }
                leaf => see(path, leaf),
            }
        }
        walk(self, &mut FieldPath::root(), see);
    }

    /// Shows every text in clear.
    pub fn for_each_text<'a>(&'a self, see: &mut dyn FnMut(&'a str)) {
        match self {
            Attr::Map(map) => map.values().for_each(|item| item.for_each_text(see)),
            Attr::List(items) | Attr::Set(items) => items.iter().for_each(|item| item.for_each_text(see)),
            Attr::Text(text) => see(text),
            _ => {}
        }
    }

    /// Returns the word for what this is.
    #[must_use]
    pub fn what(&self) -> &'static str {
        match self {
            Attr::Null => "null",
            Attr::Bool(_) => "truth value",
            Attr::Number(_) => "number",
            Attr::Text(_) => "text",
            Attr::List(_) => "list",
            Attr::Map(_) => "mapping",
            Attr::Set(_) => "set",
            Attr::Reference(_) => "reference",
            Attr::Unknown => "value that is not known yet",
            Attr::Secret(_) => "secret",
        }
    }
}

impl PartialEq for Attr {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Attr::Null, Attr::Null) | (Attr::Unknown, Attr::Unknown) => true,
            (Attr::Bool(a), Attr::Bool(b)) => a == b,
            (Attr::Number(a), Attr::Number(b)) => a == b,
            (Attr::Text(a), Attr::Text(b)) => a == b,
            (Attr::List(a), Attr::List(b)) => Arc::ptr_eq(a, b) || a == b,
            (Attr::Map(a), Attr::Map(b)) => Arc::ptr_eq(a, b) || a == b,
            (Attr::Set(a), Attr::Set(b)) => {
                Arc::ptr_eq(a, b) || (a.len() == b.len() && a.iter().all(|item| b.contains(item)))
            }
            (Attr::Reference(a), Attr::Reference(b)) => a == b,
            (Attr::Secret(a), Attr::Secret(b)) => a == b,
            _ => false,
        }
    }
}

impl PartialEq<&str> for Attr {
    fn eq(&self, other: &&str) -> bool {
        self.as_str() == Some(other)
    }
}

impl PartialEq<serde_json::Value> for Attr {
    fn eq(&self, other: &serde_json::Value) -> bool {
        let other = Attr::from(other);
        self.eq(&other)
    }
}

/// The stored form, so that nothing secret can be printed.
impl fmt::Display for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).unwrap_or_default())
    }
}

impl fmt::Debug for Attr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The entry of a map; null if there is none.
impl Index<&str> for Attr {
    type Output = Attr;

    fn index(&self, key: &str) -> &Attr {
        self.get(key).unwrap_or(&Attr::Null)
    }
}

/// The item of a list; null if there is none.
impl Index<usize> for Attr {
    type Output = Attr;

    fn index(&self, at: usize) -> &Attr {
        self.as_list().and_then(|items| items.get(at)).unwrap_or(&Attr::Null)
    }
}

impl From<bool> for Attr {
    fn from(value: bool) -> Self {
        Attr::Bool(value)
    }
}

impl From<i64> for Attr {
    fn from(value: i64) -> Self {
        Attr::Number(value.into())
    }
}

impl From<&str> for Attr {
    fn from(text: &str) -> Self {
        Attr::Text(text.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn sets_have_no_order_and_no_doubles() {
        let set = |items: &[i64]| Attr::set(items.iter().map(|&item| item.into()).collect());
        assert_eq!(set(&[1, 2, 2]), set(&[2, 1]));
        assert_ne!(set(&[1, 2]), set(&[1, 3]));
        assert_ne!(set(&[1]), Attr::list(vec![1.into()]));
        assert_ne!(Attr::set(vec![Attr::Unknown, Attr::Unknown]), Attr::set(vec![Attr::Unknown]));
    }

    #[test]
    fn a_copy_is_shared_until_it_is_written_to() {
        let tree = Attr::from(json!({"a": {"b": [1, 2]}, "c": "x"}));
        let mut copy = tree.clone();
        let (Attr::Map(one), Attr::Map(two)) = (&tree, &copy) else { panic!("a map") };
        assert!(Arc::ptr_eq(one, two));
        *FieldPath::parse("a.b[1]").unwrap().get_mut(&mut copy).unwrap() = Attr::text("new");
        assert_eq!(tree, json!({"a": {"b": [1, 2]}, "c": "x"}));
        assert_eq!(copy, json!({"a": {"b": [1, "new"]}, "c": "x"}));
    }

    #[test]
    fn places_are_found_by_key_position_and_pointer() {
        let tree = Attr::from(json!({"spec": {"ports": [{"name": "http", "port": 80}]}}));
        assert_eq!(tree.pointer("/spec/ports/0/name").unwrap(), &"http");
        assert_eq!(tree["spec"]["ports"][0]["port"], json!(80));
        assert!(tree["spec"]["nothing"][7].is_null());
        assert_eq!(tree.pointer("/spec/x"), None);
    }
}
