//! What readers give: a tree with places.

use std::fmt;

/// Where a node stands in its text.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// Byte behind the last.
    pub end: usize,
    /// Line of the first byte, from 1.
    pub line: u32,
    /// Column of the first byte in characters, from 1.
    pub column: u32,
}

/// A node of a document. An alias is expanded: its node is a copy of the anchor's, with the anchor's span.
#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    /// What it is.
    pub value: Data,
    /// Where it stands.
    pub span: Span,
}

/// The contents of a node.
#[derive(Clone, PartialEq, Debug)]
pub enum Data {
    /// Null.
    Null,
    /// A bool.
    Bool(bool),
    /// An integer of 64 bits.
    Int(i64),
    /// A float, or an integer that does not fit.
    Float(f64),
    /// Text.
    Str(String),
    /// A sequence.
    List(Vec<Node>),
    /// A mapping in the order of the text; of equal keys only the last is there, in the place of the first.
    Map(Vec<MapEntry>),
}

/// One entry of a mapping. A key is always text: `1: x` has the key `1`.
#[derive(Clone, PartialEq, Debug)]
pub struct MapEntry {
    /// The key.
    pub key: String,
    /// Where the key stands.
    pub key_span: Span,
    /// The value.
    pub value: Node,
}

impl Node {
    /// Returns the value of a key of a mapping.
    pub fn get(&self, key: &str) -> Option<&Node> {
        match &self.value {
            Data::Map(entries) => entries.iter().find(|e| e.key == key).map(|e| &e.value),
            _ => None,
        }
    }
}

/// Bounds against hostile texts.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// How deep collections may nest.
    pub depth: usize,
    /// How many nodes all documents may have together, expanded aliases included.
    pub nodes: usize,
    /// Whether a key that stands twice in a mapping, or that is no text (`1: x`), is an error.
    pub strict_keys: bool,
    /// Whether an integer of more than 64 bits is a float (its digits stand where its span says) instead of an error.
    pub long_integers: bool,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { depth: 128, nodes: 4_000_000, strict_keys: false, long_integers: false }
    }
}

/// Why a text could not be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct YamlError {
    /// Line of the problem, from 1; 0 if it has no place.
    pub line: u32,
    /// Column of the problem, from 1.
    pub col: u32,
    /// What is wrong, with its place in words as the reference has it.
    pub message: String,
    /// True if a document was read and what stands behind it begins no other one.
    pub behind_document: bool,
}

impl fmt::Display for YamlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for YamlError {}

/// Collects entries so that a repeated key replaces the value of the first.
#[derive(Default)]
pub(crate) struct MapBuilder {
    entries: Vec<MapEntry>,
    index: std::collections::HashMap<String, usize>,
}

impl MapBuilder {
    /// Returns where an equal key stands that was there before.
    pub(crate) fn insert(&mut self, entry: MapEntry) -> Option<Span> {
        // A scan is cheaper than hashing for the small maps that most are.
        const SCAN: usize = 8;
        if self.entries.len() == SCAN && self.index.is_empty() {
            self.index = self.entries.iter().enumerate().map(|(i, e)| (e.key.clone(), i)).collect();
        }
        let at = if self.entries.len() < SCAN {
            self.entries.iter().position(|e| e.key == entry.key)
        } else {
            self.index.get(&entry.key).copied()
        };
        match at {
            Some(at) => Some(std::mem::replace(&mut self.entries[at], entry).key_span),
            None => {
                if self.entries.len() >= SCAN {
                    self.index.insert(entry.key.clone(), self.entries.len());
                }
                self.entries.push(entry);
                None
            }
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(crate) fn finish(self) -> Data {
        Data::Map(self.entries)
    }
}
