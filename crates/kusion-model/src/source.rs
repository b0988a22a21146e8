//! Where a value was written: the KCL line behind a field.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::FieldPath;

/// A place in a source file; lines and columns count from 1, column 0 means the whole line.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SourceRef {
    pub file: Arc<str>,
    pub line: u32,
    #[serde(default)]
    pub col: u32,
}

impl fmt::Display for SourceRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The places behind the fields of one resource.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct SourceMap {
    places: BTreeMap<FieldPath, SourceRef>,
}

impl SourceMap {
    /// Remembers where the field at `path` was written.
    pub fn insert(&mut self, path: FieldPath, place: SourceRef) {
        self.places.insert(path, place);
    }

    /// Returns the place of exactly this field.
    #[must_use]
    pub fn get(&self, path: &FieldPath) -> Option<&SourceRef> {
        self.places.get(path)
    }

    /// Returns the place of the field, or of its nearest ancestor that has one.
    #[must_use]
    pub fn find(&self, path: &FieldPath) -> Option<&SourceRef> {
        (0..=path.0.len()).rev().find_map(|n| self.places.get(&FieldPath(path.0[..n].to_vec())))
    }

    /// Returns whether nothing is known.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_known_ancestor_answers_for_a_field() {
        let mut map = SourceMap::default();
        map.insert(FieldPath::keys(["spec"]), SourceRef { file: "base.k".into(), line: 3, col: 1 });
        let deep = map.find(&FieldPath::keys(["spec", "replicas"])).unwrap();
        assert_eq!(deep.to_string(), "base.k:3");
        assert_eq!(map.find(&FieldPath::keys(["metadata"])), None);
    }
}
