//! What an object is made of: references, what stands beside them, and the parts of `allOf`.

use base_yaml::{Data, Node};

use crate::inside::is_silent;
use crate::merge::{says_a_type, says_a_type_by};
use crate::object::{all, entries, items, text};
use crate::schema::Reader;

impl Reader<'_, '_> {
    /// The object that a reference leads to.
    pub(crate) fn target(&mut self, node: &Node, document: usize) -> (Node, usize) {
        let (mut node, mut document) = (node.clone(), document);
        for _ in 0..8 {
            let Some(reference) = text(&node, "$ref") else { break };
            let Ok(spot) = self.documents.find(document, reference) else { break };
            let Some(found) = self.documents.node(&spot) else { break };
            (node, document) = (found.clone(), spot.document);
        }
        (node, document)
    }

    /// The object behind references to things that are no schemas: their rules count where they are used. What stands beside a reference
    /// or in other parts is put into `rest`.
    pub(crate) fn resolved(
        &mut self,
        node: &Node,
        mut document: usize,
        rest: &mut Vec<(Node, usize)>,
    ) -> (Node, usize) {
        let mut node = node.clone();
        for _ in 0..8 {
            if self.is_schema(&node, document) {
                break;
            }
            let own = without(&node, &["$ref", "allOf"]);
            let (mut parts, main) = match typed_part(&node) {
                Some(main) => (vec![own], Some(main)),
                None if node.get("allOf").is_some() => (Vec::new(), Some(&own)),
                None => (vec![own], None),
            };
            parts.extend(items(&node, "allOf").iter().filter(|part| Some(*part) != main).cloned());
            let (next, at) = match (text(&node, "$ref"), main) {
                (Some(reference), _) => {
                    let Ok(spot) = self.documents.find(document, reference) else { break };
                    let Some(found) = self.documents.node(&spot) else { break };
                    let found = found.clone();
                    parts.extend(items(&node, "allOf").iter().filter(|part| Some(*part) == main).cloned());
                    if !self.documents.has_siblings(document) {
                        parts.clear();
                    }
                    (found, spot.document)
                }
                (None, Some(main)) => (main.clone(), document),
                (None, None) => break,
            };
            rest.extend(parts.into_iter().filter(|part| !is_silent(part)).map(|part| (part, document)));
            (node, document) = (next, at);
        }
        (node, document)
    }

    /// Whether an object becomes a schema: it has attributes, or is made of parts that have, or may have none.
    pub(crate) fn is_schema(&mut self, node: &Node, document: usize) -> bool {
        self.is_schema_at(node, document, 0)
    }

    fn is_schema_at(&mut self, node: &Node, document: usize, depth: u32) -> bool {
        if node.get("enum").is_some() || node.get("const").is_some() {
            return false;
        }
        if text(node, "$ref").is_some() {
            // More attributes than what is referred to has.
            let more =
                ["properties", "required", "patternProperties"].iter().any(|word| node.get(word).is_some());
            let parts = !items(node, "allOf").is_empty();
            return depth < 8
                && (more || parts)
                && self.documents.has_siblings(document)
                && self.is_part(node, document, depth);
        }
        if is_object(node) || self.structural && is_closed(node) {
            return true;
        }
        let parts = items(node, "allOf");
        depth < 8 && parts.len() > 1 && parts.iter().any(|part| self.is_part(part, document, depth))
    }

    /// Whether an object, or what it refers to, has attributes.
    fn is_part(&mut self, part: &Node, document: usize, depth: u32) -> bool {
        let (target, at) = self.target(part, document);
        self.is_schema_at(&target, at, depth + 1)
    }
}

/// The part of `allOf` that says of which type an object is, if it does not say so itself.
pub(crate) fn typed_part(node: &Node) -> Option<&Node> {
    let own = all(node).iter().any(|entry| entry.key != "allOf" && says_a_type_by(&entry.key));
    let parts = items(node, "allOf");
    match parts {
        _ if own => None,
        [one] => Some(one),
        parts => parts.iter().find(|part| says_a_type(part)),
    }
}

/// An object without some of its words.
fn without(node: &Node, words: &[&str]) -> Node {
    let mut node = node.clone();
    if let Data::Map(entries) = &mut node.value {
        entries.retain(|entry| !words.contains(&entry.key.as_str()));
    }
    node
}

/// An object of a CRD that has no attributes and keeps none.
fn is_closed(node: &Node) -> bool {
    const OPEN: &[&str] = &[
        "additionalProperties",
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
        "x-kubernetes-int-or-string",
    ];
    text(node, "type") == Some("object") && !OPEN.iter().any(|word| node.get(word).is_some())
}

/// Whether an object becomes a schema by what it says itself.
fn is_object(node: &Node) -> bool {
    let closed = node.get("additionalProperties").is_some_and(|more| more.value == Data::Bool(false))
        && text(node, "type") == Some("object");
    !entries(node, "properties").is_empty() || !entries(node, "patternProperties").is_empty() || closed
}
