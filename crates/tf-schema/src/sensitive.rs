//! Which places of an object are sensitive or write-only, by its schema.

use std::collections::BTreeMap;

use tf_value::{Path, Step, Value};

use crate::compare::attribute_step;
use crate::{Attribute, Block};

/// The sensitive places of an object, sorted; also where the value is null. Inside a set the whole set is sensitive.
#[must_use]
pub fn sensitive_paths(block: &Block, value: &Value) -> Vec<Path> {
    places(block, value, |attribute| attribute.sensitive || attribute.write_only)
}

/// The places that are sent to the provider and never kept.
#[must_use]
pub fn write_only_paths(block: &Block, value: &Value) -> Vec<Path> {
    places(block, value, |attribute| attribute.write_only)
}

fn places(block: &Block, value: &Value, wanted: impl Fn(&Attribute) -> bool) -> Vec<Path> {
    let mut walk = Walk { wanted: &wanted, found: Vec::new() };
    walk.block(block, value, &mut Path::default());
    walk.found.sort();
    walk.found.dedup();
    walk.found
}

struct Walk<'w> {
    wanted: &'w dyn Fn(&Attribute) -> bool,
    found: Vec<Path>,
}

impl Walk<'_> {
    fn block(&mut self, block: &Block, value: &Value, path: &mut Path) {
        let Value::Map(entries) = value.plain() else { return };
        self.attributes(&block.attributes, value, path);
        for (name, nested) in &block.blocks {
            let Some(blocks) = entries.get(name.as_str()) else { continue };
            path.within(attribute_step(name), |path| {
                self.each(blocks, is_single(nested.nesting), path, |walk, value, path| {
                    walk.block(&nested.block, value, path);
                });
            });
        }
    }

    fn attributes(&mut self, all: &BTreeMap<String, Attribute>, value: &Value, path: &mut Path) {
        let Value::Map(entries) = value.plain() else { return };
        for (name, attribute) in all {
            let Some(value) = entries.get(name.as_str()) else { continue };
            path.within(attribute_step(name), |path| {
                if (self.wanted)(attribute) {
                    self.found.push(path.clone());
                } else if let Some(nested) = attribute.nested() {
                    let single = nested.nesting == crate::ObjectNesting::Single;
                    self.each(value, single, path, |walk, value, path| {
                        walk.attributes(&nested.attributes, value, path);
                    });
                }
            });
        }
    }

    /// Goes into each object of a collection.
    fn each(
        &mut self,
        value: &Value,
        single: bool,
        path: &mut Path,
        inner: impl Fn(&mut Self, &Value, &mut Path),
    ) {
        match value.plain() {
            one if single => inner(self, one, path),
            Value::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    path.within(Step::Index(at as u64), |path| inner(self, item, path));
                }
            }
            Value::Map(entries) => {
                for (key, item) in entries {
                    path.within(Step::Key(key.clone()), |path| inner(self, item, path));
                }
            }
            Value::Set(items) => {
                let before = self.found.len();
                items.iter().for_each(|item| inner(self, item, &mut path.clone()));
                if self.found.len() > before {
                    self.found.truncate(before);
                    self.found.push(path.clone());
                }
            }
            _ => {}
        }
    }
}

fn is_single(nesting: crate::BlockNesting) -> bool {
    matches!(nesting, crate::BlockNesting::Single | crate::BlockNesting::Group)
}
