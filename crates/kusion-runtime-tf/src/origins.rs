//! The values of a whole state: which of them nobody may read, and from which object one comes.
//!
//! A state of another tool tells values, not expressions. Where an argument has the value of an attribute of an object that
//! it depends on, a reference says the same; and what is sensitive in one place is so wherever it stands.

use std::collections::{BTreeMap, BTreeSet};

use base_secret::{Redactor, SHORTEST, SHOWN};
use kusion_model::{Attr, FieldPath, Reference, ResourceKey, Segment};
use tf_schema::sensitive_paths;
use tf_value::{Path, Value};

use crate::attr::field_path;
use crate::runtime::Seen;

/// So many characters at least has a secret that is looked for inside other texts: shorter ones are words.
const INSIDE: usize = 8;

/// What the objects of a state hold.
#[derive(Default)]
pub(crate) struct Origins {
    secrets: BTreeSet<String>,
    /// Finds secrets inside other texts, in all their forms.
    inside: Redactor,
    /// Texts of each object, and where they stand first.
    places: BTreeMap<ResourceKey, BTreeMap<String, FieldPath>>,
}

impl Origins {
    /// Learns an object; `sensitive` are places that are so although the schema does not say it.
    pub(crate) fn add(&mut self, key: &ResourceKey, seen: &Seen, sensitive: &[Path]) {
        for path in sensitive_paths(&seen.of.schema.block, &seen.state).iter().chain(sensitive) {
            let Some(value) = seen.state.at(path) else { continue };
            for_each_text(value, &mut |_, text| {
                if text.len() >= INSIDE {
                    self.inside.add_shown(text, SHOWN);
                }
                self.secrets.insert(text.to_owned());
            });
        }
        let places = self.places.entry(key.clone()).or_default();
        for_each_text(&seen.state, &mut |path, text| {
            let Some(path) = path else { return };
            let is_better = |before: &FieldPath| path.0.len() < before.0.len();
            if places.get(text).is_none_or(is_better) {
                places.insert(text.to_owned(), path.clone());
            }
        });
    }

    /// Whether a text is a secret, or shows one.
    pub(crate) fn is_secret(&self, text: &str) -> bool {
        self.secrets.contains(text) || self.inside.knows(text)
    }

    /// Where a text comes from, among some objects.
    pub(crate) fn source(&self, text: &str, among: &[ResourceKey]) -> Option<Reference> {
        among.iter().find_map(|key| {
            let path = self.places.get(key)?.get(text)?.clone();
            Some(Reference { stack: None, id: key.id.clone(), path })
        })
    }

    /// The leaves of an object that are secrets, or show one.
    pub(crate) fn secrets_in(&self, state: &Value) -> Vec<Attr> {
        let mut found = Vec::new();
        for_each_text(state, &mut |_, text| {
            if self.is_secret(text) {
                found.push(Attr::text(text));
            }
        });
        found
    }
}

/// Calls `see` for each text that is long enough to be told from others, with its place; what stands in a set has none.
fn for_each_text(value: &Value, see: &mut dyn FnMut(Option<&FieldPath>, &str)) {
    fn walk(
        value: &Value,
        path: &mut FieldPath,
        has_place: bool,
        see: &mut dyn FnMut(Option<&FieldPath>, &str),
    ) {
        match value.plain() {
            Value::Map(entries) => {
                for (name, item) in entries {
                    path.0.push(Segment::Key(name.to_string()));
                    walk(item, path, has_place, see);
                    path.0.pop();
                }
            }
            Value::String(text) if text.len() >= SHORTEST => see(has_place.then_some(&*path), text),
            plain => {
                let has_place = has_place && matches!(plain, Value::List(_));
                for (at, item) in plain.elements().unwrap_or_default().iter().enumerate() {
                    path.0.push(Segment::Index(at));
                    walk(item, path, has_place, see);
                    path.0.pop();
                }
            }
        }
    }
    walk(value, &mut FieldPath::root(), true, see);
}

/// Whether a place is one of some, or inside one of them. Types say whether a step is an attribute or a key; here both are names.
pub(crate) fn is_among(path: &Path, places: &[Path]) -> bool {
    let path = field_path(path);
    places.iter().any(|place| field_path(place).covers(&path))
}
