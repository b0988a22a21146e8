//! The attributes of an object with those of its `allOf`, and those that only some of its alternatives have.

use std::rc::Rc;

use base_yaml::{Data, Node};
use fancy_regex::Regex;

use crate::object::{entries, is_true, items, text, texts, value};
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
    /// Attributes that several documents describe: only one of these descriptions counts.
    pub(crate) apart: Vec<String>,
    /// The object and the parts of its `allOf`, with their documents: each has rules of its own.
    pub(crate) parts: Vec<(Node, usize)>,
}

impl Merged {
    /// Whether the object may have attributes that have no name.
    pub(crate) fn is_open(&self) -> bool {
        self.additional.as_ref().is_some_and(|(more, _)| more.value != Data::Bool(false))
            || self.parts.iter().any(|(part, _)| {
                is_true(part, "x-kubernetes-preserve-unknown-fields")
                    || !entries(part, "patternProperties").is_empty()
            })
    }

    fn add(&mut self, other: Merged) {
        for entry in other.properties {
            match self.properties.iter_mut().find(|known| known.key == entry.key) {
                Some(known) if value(&known.node) == value(&entry.node) => {}
                Some(known) if known.document != entry.document => {
                    self.apart.push(entry.key.clone());
                    if says_a_type(&entry.node) || !says_a_type(&known.node) {
                        *known = entry;
                    }
                }
                // The later one is narrower as a rule: its type comes first.
                Some(known) => {
                    known.node = Rc::new(made_of("allOf", &[&entry.node, &known.node]));
                    known.shared = false;
                }
                None => self.properties.push(entry),
            }
        }
        self.required.extend(other.required);
        self.additional = other.additional.or(self.additional.take());
        self.parts.extend(other.parts);
        self.apart.extend(other.apart);
    }
}

/// An object that is made of others.
fn made_of(word: &str, parts: &[&Node]) -> Node {
    let span = parts.first().map(|part| part.span).unwrap_or_default();
    let list = Node { value: Data::List(parts.iter().map(|part| (*part).clone()).collect()), span };
    let entry = base_yaml::MapEntry { key: word.to_owned(), key_span: span, value: list };
    Node { value: Data::Map(vec![entry]), span }
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
pub(crate) fn patterns(parts: &[(Node, usize)]) -> Vec<(Regex, Rc<Node>, usize)> {
    let mut patterns = Vec::new();
    for (part, document) in parts {
        for entry in entries(part, "patternProperties") {
            let regex = Regex::new(&entry.key).ok();
            patterns.extend(regex.map(|regex| (regex, Rc::new(entry.value.clone()), *document)));
        }
    }
    patterns
}

pub(crate) fn says_a_type(node: &Node) -> bool {
    crate::object::all(node).iter().any(|entry| says_a_type_by(&entry.key))
}

/// Whether a word says of which type a value is.
pub(crate) fn says_a_type_by(word: &str) -> bool {
    ["type", "$ref", "properties", "items", "allOf", "anyOf", "oneOf", "enum", "const"].contains(&word)
}

impl Reader<'_, '_> {
    /// Adds up an object.
    pub(crate) fn merged(&mut self, node: &Node, document: usize, depth: u32) -> Result<Merged, String> {
        let mut merged = Merged::default();
        self.steps += 1;
        if depth > 16 || self.steps > MAX_PARTS {
            return Ok(merged);
        }
        if let Some(reference) = text(node, "$ref") {
            let spot = self.documents.find(document, reference)?;
            if let Some(found) = self.documents.node(&spot).cloned() {
                merged.add(self.merged(&found, spot.document, depth + 1)?);
            }
            if !self.documents.has_siblings(document) {
                return Ok(merged);
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
            apart: Vec::new(),
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
        let before = merged.properties.len();
        for branch in branches {
            let inner = self.merged(&branch, document, depth + 1)?;
            for entry in inner.properties.into_iter().filter(|entry| says_a_type(&entry.node)) {
                match merged.properties.iter().position(|known| known.key == entry.key) {
                    None => merged.properties.push(entry),
                    // Two alternatives describe the attribute differently: it may be either, and the check of the alternatives decides.
                    Some(at) if at >= before => {
                        let known = &mut merged.properties[at];
                        if value(&known.node) != value(&entry.node) && known.document == entry.document {
                            known.node = Rc::new(made_of("anyOf", &[&known.node, &entry.node]));
                        }
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(())
    }
}
