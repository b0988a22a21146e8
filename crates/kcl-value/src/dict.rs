//! Ordered entries that remember how they were written.

use std::cell::OnceCell;

use crate::{KeyIndex, Str, Value};

/// How an entry was written, which decides how it merges.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Op {
    /// `k: v` merges.
    #[default]
    Union,
    /// `k = v` replaces.
    Override,
    /// `k += v` appends.
    Insert,
}

/// The index of an entry that was written without one.
pub const NO_INDEX: i32 = i32::MIN;

/// Where a value came from: a row of the evaluator's origin table; 0 is "not recorded".
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct OriginId(pub u32);

/// The right side of a key.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    /// The value.
    pub value: Value,
    /// The list index of `k[i] OP v`, or [`NO_INDEX`].
    pub index: i32,
    /// Where it came from.
    pub origin: OriginId,
    /// The operator.
    pub op: Op,
}

impl Entry {
    /// Makes an entry without index and origin.
    pub fn new(value: Value, op: Op) -> Self {
        Entry { value, index: NO_INDEX, origin: OriginId::default(), op }
    }
}

/// From this many entries on a hash index answers; below it a linear scan is faster.
const INDEX_FROM: usize = 13;

/// An insertion-ordered map from string to [`Entry`].
#[derive(Clone, Debug, Default)]
pub struct Dict {
    slots: Vec<(Str, Entry)>,
    /// Made when a large dict is first asked for a key (most never are).
    index: OnceCell<Box<KeyIndex>>,
}

impl Dict {
    /// Makes an empty dict with room for `n` entries.
    pub fn with_capacity(n: usize) -> Self {
        Dict { slots: Vec::with_capacity(n), index: OnceCell::new() }
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Returns true if there is no entry.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// Returns the position of a key.
    #[inline]
    pub fn position(&self, key: &str) -> Option<usize> {
        if self.slots.len() < INDEX_FROM {
            return self.slots.iter().position(|(k, _)| is_same(k, key));
        }
        self.indexed_position(key)
    }

    // Apart, so that the usual scan stays small.
    #[inline(never)]
    fn indexed_position(&self, key: &str) -> Option<usize> {
        let index = self.index.get_or_init(|| Box::new(index_of(&self.slots)));
        index.find(key, |i| &self.slots[i].0)
    }

    /// Returns the entry of a key.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        self.position(key).map(|i| &self.slots[i].1)
    }

    /// Returns the entry of a key for change.
    pub fn entry_mut(&mut self, key: &str) -> Option<&mut Entry> {
        self.position(key).map(|i| &mut self.slots[i].1)
    }

    /// Returns the value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.entry(key).map(|e| &e.value)
    }

    /// Returns true if the key is there.
    pub fn contains(&self, key: &str) -> bool {
        self.position(key).is_some()
    }

    /// Sets a key, keeping the position of one that is there already.
    pub fn insert(&mut self, key: Str, entry: Entry) {
        match self.position(&key) {
            Some(i) => self.slots[i].1 = entry,
            None => self.push_new(key, entry),
        }
    }

    /// Sets a key to a value with operator and no origin.
    pub fn set(&mut self, key: impl Into<Str>, value: Value, op: Op) {
        self.insert(key.into(), Entry::new(value, op));
    }

    /// Adds an entry whose key is known not to be there.
    #[inline]
    pub fn push_new(&mut self, key: Str, entry: Entry) {
        if let Some(index) = self.index.get_mut() {
            index.insert_new(&key, self.slots.len());
        }
        self.slots.push((key, entry));
    }

    /// Removes a key, keeping the order of the others.
    pub fn remove(&mut self, key: &str) -> Option<Entry> {
        let i = self.position(key)?;
        let (_, entry) = self.slots.remove(i);
        self.index.take();
        Some(entry)
    }

    /// Removes a key by moving the last entry into its place.
    pub fn swap_remove(&mut self, key: &str) -> Option<Entry> {
        let i = self.position(key)?;
        let (_, entry) = self.slots.swap_remove(i);
        self.index.take();
        Some(entry)
    }

    /// Walks the entries in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&Str, &Entry)> {
        self.slots.iter().map(|(k, e)| (k, e))
    }

    /// Walks the entries in order, values changeable.
    pub fn iter_mut(&mut self) -> impl ExactSizeIterator<Item = (&Str, &mut Entry)> {
        self.slots.iter_mut().map(|(k, e)| (&*k, e))
    }

    /// Walks the keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Str> {
        self.slots.iter().map(|(k, _)| k)
    }

    /// Returns the entry at a position.
    pub fn at(&self, i: usize) -> Option<(&Str, &Entry)> {
        self.slots.get(i).map(|(k, e)| (k, e))
    }

    /// Returns the entry of a key that is probably at a position, for change.
    pub fn entry_near(&mut self, i: usize, key: &str) -> Option<&mut Entry> {
        let i = match self.slots.get(i) {
            Some((k, _)) if is_same(k, key) => i,
            _ => self.position(key)?,
        };
        self.at_mut(i)
    }

    /// Returns the entry at a position for change.
    pub fn at_mut(&mut self, i: usize) -> Option<&mut Entry> {
        self.slots.get_mut(i).map(|(_, e)| e)
    }
}

/// Most names differ in their length or their first letter: then nothing is called to compare them.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.as_bytes().first() == b.as_bytes().first() && a == b
}

fn index_of(slots: &[(Str, Entry)]) -> KeyIndex {
    let mut index = KeyIndex::with_capacity(slots.len() * 2);
    for (i, (key, _)) in slots.iter().enumerate() {
        index.insert_new(key, i);
    }
    index
}

impl FromIterator<(Str, Entry)> for Dict {
    fn from_iter<T: IntoIterator<Item = (Str, Entry)>>(iter: T) -> Self {
        let mut dict = Dict::default();
        for (key, entry) in iter {
            dict.insert(key, entry);
        }
        dict
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_across_the_index_threshold() {
        let mut dict = Dict::default();
        for i in 0..40 {
            dict.set(format!("k{i}"), Value::Int(i), Op::Union);
        }
        dict.set("k3", Value::Int(-3), Op::Override);
        assert_eq!(dict.position("k3"), Some(3));
        dict.remove("k0");
        assert_eq!(dict.position("k3"), Some(2));
        dict.swap_remove("k1");
        assert_eq!(dict.at(0).map(|(k, _)| k.as_str()), Some("k39"));
        assert_eq!(dict.len(), 38);
        assert!(matches!(dict.get("k3"), Some(Value::Int(-3))));
    }
}
