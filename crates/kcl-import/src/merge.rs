//! The attributes of an object with those of its `allOf`, and those that only some of its alternatives have.

use std::rc::Rc;

use base_yaml::{Data, Node};
use fancy_regex::Regex;

use crate::object::{entries, is_true, items, text, texts};
use crate::schema::Reader;

/// Objects that are added up for one schema: parts of parts that contain themselves have no end.
const MAX_PARTS: u32 = 2_000;

/// An attribute as its document has it.
#[derive(Clone)]
pub(crate) struct Property {
    pub(crate) key: String,
    pub(crate) node: Rc<Node>,
    pub(crate) document: usize,
    /// The node describes other names, too: it is read once for all of them.
    pub(crate) shared: bool,
}

/// What `allOf` adds up to.
#[derive(Default)]
pub(crate) struct Merged {
    pub(crate) properties: Vec<Property>,
    pub(crate) required: Vec<String>,
    /// With its document.
    pub(crate) additional: Option<(Rc<Node>, usize)>,
    /// The object and the parts of its `allOf`, with their documents: each has rules of its own.
    pub(crate) parts: Vec<(Node, usize)>,
}

impl Merged {
    fn add(&mut self, other: Merged) {
        for entry in other.properties {
            match self.properties.iter_mut().find(|known| known.key == entry.key) {
                // A part that only narrows an attribute does not take its type away.
                Some(known) if says_a_type(&entry.node) || !says_a_type(&known.node) => *known = entry,
                Some(_) => {}
                None => self.properties.push(entry),
            }
        }
        self.required.extend(other.required);
        self.additional = other.additional.or(self.additional.take());
        self.parts.extend(other.parts);
    }
}

/// What every object of Kubernetes has, also inside of another one.
fn embedded(document: usize) -> Vec<Property> {
    const TYPES: &[(&str, &str)] = &[
        ("apiVersion", r#"{"type": "string"}"#),
        ("kind", r#"{"type": "string"}"#),
        ("metadata", r#"{"type": "object", "additionalProperties": true}"#),
    ];
    let read = |text: &str| base_yaml::parse_json(text, &base_yaml::Limits::default()).ok();
    let property = |(key, text): &(&str, &str)| {
        Some(Property { key: (*key).to_owned(), node: Rc::new(read(text)?), document, shared: false })
    };
    TYPES.iter().filter_map(property).collect()
}

/// What must be there and has no description of its own is what its pattern says, or what others are; else it may be anything.
fn required_ones(document: usize, merged: &mut Merged) {
    let mut missing: Vec<String> = Vec::new();
    for name in &merged.required {
        if !missing.contains(name) && !merged.properties.iter().any(|known| known.key == *name) {
            missing.push(name.clone());
        }
    }
    // What a part names is an attribute already, unless it says `false`: nobody may set that.
    let named = |name: &String| {
        merged
            .parts
            .iter()
            .any(|(part, _)| entries(part, "properties").iter().any(|entry| entry.key == *name))
    };
    missing.retain(|name| !named(name));
    if missing.is_empty() {
        return;
    }
    let Ok(anything) = base_yaml::parse_json("{}", &base_yaml::Limits::default()) else { return };
    let anything = Rc::new(anything);
    let patterns = patterns(&merged.parts);
    for key in missing {
        let matching = patterns.iter().find(|(regex, ..)| regex.is_match(&key).unwrap_or(false));
        let matching = matching.map(|(_, node, document)| (node.clone(), *document));
        if matching.as_ref().is_some_and(|(node, _)| node.value == Data::Bool(false)) {
            continue;
        }
        let found = match matching.or_else(|| merged.additional.clone()) {
            Some((node, document)) if matches!(node.value, Data::Map(_)) => {
                Property { key, node, document, shared: true }
            }
            _ => Property { key, node: anything.clone(), document, shared: false },
        };
        merged.properties.push(found);
    }
}

/// The patterns of all parts that can be read, with what they say and its document.
fn patterns(parts: &[(Node, usize)]) -> Vec<(Regex, Rc<Node>, usize)> {
    let mut patterns = Vec::new();
    for (part, document) in parts {
        for entry in entries(part, "patternProperties") {
            let regex = Regex::new(&entry.key).ok();
            patterns.extend(regex.map(|regex| (regex, Rc::new(entry.value.clone()), *document)));
        }
    }
    patterns
}

fn says_a_type(node: &Node) -> bool {
    ["type", "$ref", "properties", "items", "allOf", "anyOf", "oneOf", "enum", "const"]
        .iter()
        .any(|word| node.get(word).is_some())
}

impl Reader<'_, '_> {
    /// Adds up an object.
    pub(crate) fn merged(&mut self, node: &Node, document: usize, depth: u32) -> Result<Merged, String> {
        let mut merged = Merged::default();
        self.steps += 1;
        if depth > 16 || self.steps > MAX_PARTS {
            return Ok(merged);
        }
        let reference = text(node, "$ref").filter(|_| depth > 0);
        if let Some(reference) = reference {
            let spot = self.documents.find(document, reference)?;
            if let Some(found) = self.documents.node(&spot).cloned() {
                merged.add(self.merged(&found, spot.document, depth + 1)?);
            }
        }
        for part in items(node, "allOf") {
            merged.add(self.merged(part, document, depth + 1)?);
        }
        merged.add(Merged {
            properties: entries(node, "properties")
                .iter()
                // What nobody may set is no attribute.
                .filter(|entry| entry.value.value != Data::Bool(false))
                .map(|entry| Property {
                    key: entry.key.clone(),
                    node: Rc::new(entry.value.clone()),
                    document,
                    shared: false,
                })
                .collect(),
            required: texts(node, "required").into_iter().map(str::to_owned).collect(),
            additional: node.get("additionalProperties").map(|others| (Rc::new(others.clone()), document)),
            parts: vec![(node.clone(), document)],
        });
        if is_true(node, "x-kubernetes-embedded-resource") {
            merged.add(Merged { properties: embedded(document), ..Merged::default() });
        }
        self.optional_ones(node, document, depth, &mut merged)?;
        if depth == 0 {
            required_ones(document, &mut merged);
        }
        Ok(merged)
    }

    /// Attributes that stand in alternatives only: whoever has one of them is not wrong for that.
    fn optional_ones(
        &mut self,
        node: &Node,
        document: usize,
        depth: u32,
        merged: &mut Merged,
    ) -> Result<(), String> {
        let words = ["oneOf", "anyOf"].into_iter().flat_map(|word| items(node, word));
        let branches: Vec<Node> =
            words.chain(["then", "else"].into_iter().filter_map(|word| node.get(word))).cloned().collect();
        for branch in branches {
            let inner = self.merged(&branch, document, depth + 1)?;
            for entry in inner.properties {
                if says_a_type(&entry.node) && !merged.properties.iter().any(|known| known.key == entry.key) {
                    merged.properties.push(entry);
                }
            }
        }
        Ok(())
    }
}
