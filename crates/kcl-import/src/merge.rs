//! The attributes of an object with those of its `allOf`, and those that only some of its alternatives have.

use base_yaml::{Data, Node};

use crate::object::{entries, is_true, items, text, texts};
use crate::schema::Reader;

/// Objects that are added up for one schema: parts of parts that contain themselves have no end.
const MAX_PARTS: u32 = 2_000;

/// An attribute as its document has it.
#[derive(Clone)]
pub(crate) struct Property {
    pub(crate) key: String,
    pub(crate) node: Node,
    pub(crate) document: usize,
}

/// What `allOf` adds up to.
#[derive(Default)]
pub(crate) struct Merged {
    pub(crate) properties: Vec<Property>,
    pub(crate) required: Vec<String>,
    pub(crate) additional: Option<Node>,
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
    let property =
        |(key, text): &(&str, &str)| Some(Property { key: (*key).to_owned(), node: read(text)?, document });
    TYPES.iter().filter_map(property).collect()
}

/// What must be there and is described nowhere may be anything.
fn required_ones(document: usize, merged: &mut Merged) {
    let Ok(anything) = base_yaml::parse_json("{}", &base_yaml::Limits::default()) else { return };
    for name in &merged.required {
        if !merged.properties.iter().any(|known| known.key == *name) {
            merged.properties.push(Property { key: name.clone(), node: anything.clone(), document });
        }
    }
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
                .map(|entry| Property { key: entry.key.clone(), node: entry.value.clone(), document })
                .collect(),
            required: texts(node, "required").into_iter().map(str::to_owned).collect(),
            additional: node.get("additionalProperties").cloned(),
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
