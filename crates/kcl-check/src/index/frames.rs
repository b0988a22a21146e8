//! The frames of names around a place: loop variables, locals, keys written so far.

use rustc_hash::FxHashMap;

use super::Spot;
use crate::ty::SchemaId;

/// What a frame belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum FrameKind {
    Braces,
    Loop,
    Lambda,
    Schema(SchemaId),
}

/// A frame; names are borrowed from the tree.
pub(super) struct Frame<'a> {
    pub(super) kind: FrameKind,
    names: Vec<(&'a str, Spot)>,
    /// Last places in `names`, once somebody asks a large frame; covers its first `indexed` rows.
    index: FxHashMap<&'a str, usize>,
    indexed: usize,
}

/// Names up to this number are compared.
const SCAN: usize = 16;

impl<'a> Frame<'a> {
    pub(super) fn new(kind: FrameKind) -> Self {
        Frame { kind, names: Vec::new(), index: FxHashMap::default(), indexed: 0 }
    }

    pub(super) fn declare(&mut self, name: &'a str, spot: Spot) {
        self.names.push((name, spot));
    }

    pub(super) fn get(&mut self, name: &str) -> Option<Spot> {
        if self.names.len() <= SCAN {
            return self.names.iter().rev().find(|(known, _)| *known == name).map(|(_, spot)| *spot);
        }
        let rows = self.names.iter().enumerate().skip(self.indexed);
        self.index.extend(rows.map(|(at, (name, _))| (*name, at)));
        self.indexed = self.names.len();
        self.index.get(name).map(|at| self.names[*at].1)
    }
}
