//! Sets of field paths, as managedFields stores them (FieldsV1).
//!
//! In and out: the FieldsV1 JSON trie. Between: a sorted trie with set algebra.
//! Invariant: no node is both not a member and without children, so `is_empty` is a length check and equality is structural.

use serde_json::{Map, Value};

use crate::elem::Elem;

/// Depth at which parsing of foreign field sets stops.
pub(crate) const MAX_DEPTH: usize = 256;

/// A set of paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSet {
    nodes: Vec<(Elem, Node)>,
}

/// What is known below one step.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Node {
    /// The path that ends here is in the set.
    pub member: bool,
    /// Longer paths in the set.
    pub below: FieldSet,
}

impl FieldSet {
    /// The empty set.
    pub fn new() -> FieldSet {
        FieldSet::default()
    }

    /// Reads a FieldsV1 object. `None` when it is malformed.
    pub fn parse(fields: &Value) -> Option<FieldSet> {
        parse_level(fields.as_object()?, 0).map(|(_, set)| set)
    }

    /// Writes the FieldsV1 object.
    pub fn to_json(&self) -> Value {
        let mut map = Map::with_capacity(self.nodes.len());
        self.write_level(&mut map);
        Value::Object(map)
    }

    fn write_level(&self, map: &mut Map<String, Value>) {
        for (elem, node) in &self.nodes {
            let mut key = String::new();
            elem.write_key(&mut key);
            let mut below = Map::new();
            if !node.below.is_empty() {
                if node.member {
                    below.insert(".".to_owned(), Value::Object(Map::new()));
                }
                node.below.write_level(&mut below);
            }
            map.insert(key, Value::Object(below));
        }
    }

    /// Whether no path is in the set.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The steps at this level, in order.
    pub fn nodes(&self) -> &[(Elem, Node)] {
        &self.nodes
    }

    /// What is known below a step.
    pub fn get(&self, elem: &Elem) -> Option<&Node> {
        self.find(elem).ok().map(|i| &self.nodes[i].1)
    }

    /// What is known below a field, without building a step.
    pub fn get_field(&self, name: &str) -> Option<&Node> {
        let found = self.nodes.binary_search_by(|(elem, _)| match elem {
            Elem::Field(f) => f.as_str().cmp(name),
            _ => std::cmp::Ordering::Greater,
        });
        found.ok().map(|i| &self.nodes[i].1)
    }

    fn find(&self, elem: &Elem) -> Result<usize, usize> {
        // Field sets are mostly built and read in order: try the end first.
        match self.nodes.last() {
            Some((last, _)) if last < elem => Err(self.nodes.len()),
            _ => self.nodes.binary_search_by(|(e, _)| e.cmp(elem)),
        }
    }

    /// The node of a step, made when absent. Callers must leave it a member or with children.
    pub(crate) fn node_mut(&mut self, elem: Elem) -> &mut Node {
        let at = match self.find(&elem) {
            Ok(i) => i,
            Err(i) => {
                self.nodes.insert(i, (elem, Node::default()));
                i
            }
        };
        &mut self.nodes[at].1
    }

    /// Adds what is known below a step, unless that is nothing.
    pub(crate) fn insert_node(&mut self, elem: Elem, node: Node) {
        if !node.member && node.below.is_empty() {
            return;
        }
        match self.find(&elem) {
            Ok(i) => {
                let old = &mut self.nodes[i].1;
                old.member |= node.member;
                old.below = old.below.union(&node.below);
            }
            Err(i) => self.nodes.insert(i, (elem, node)),
        }
    }

    /// Adds one path.
    pub fn insert(&mut self, path: &[Elem]) {
        let Some((first, rest)) = path.split_first() else { return };
        let node = self.node_mut(first.clone());
        match rest.is_empty() {
            true => node.member = true,
            false => node.below.insert(rest),
        }
    }

    /// Whether exactly this path is in the set.
    pub fn has(&self, path: &[Elem]) -> bool {
        let Some((first, rest)) = path.split_first() else { return false };
        match self.get(first) {
            None => false,
            Some(node) if rest.is_empty() => node.member,
            Some(node) => node.below.has(rest),
        }
    }

    /// Paths of either set.
    pub fn union(&self, other: &FieldSet) -> FieldSet {
        if self.is_empty() {
            return other.clone();
        }
        let mut nodes = Vec::with_capacity(self.nodes.len().max(other.nodes.len()));
        let mut right = other.nodes.iter().peekable();
        for (elem, node) in &self.nodes {
            while let Some(entry) = right.next_if(|(e, _)| e < elem) {
                nodes.push(entry.clone());
            }
            match right.next_if(|(e, _)| e == elem) {
                None => nodes.push((elem.clone(), node.clone())),
                Some((_, twin)) => {
                    let member = node.member || twin.member;
                    nodes.push((elem.clone(), Node { member, below: node.below.union(&twin.below) }));
                }
            }
        }
        nodes.extend(right.cloned());
        FieldSet { nodes }
    }

    /// Paths of this set that are not in the other; a path of the other takes away only itself.
    pub fn difference(&self, other: &FieldSet) -> FieldSet {
        self.keep(other, |node, twin| match twin {
            None => node.clone(),
            Some(twin) => {
                Node { member: node.member && !twin.member, below: node.below.difference(&twin.below) }
            }
        })
    }

    /// Like [`FieldSet::difference`], but a path of the other also takes away everything below it.
    pub fn difference_deep(&self, other: &FieldSet) -> FieldSet {
        self.keep(other, |node, twin| match twin {
            None => node.clone(),
            Some(twin) if twin.member => Node::default(),
            Some(twin) => Node { member: node.member, below: node.below.difference_deep(&twin.below) },
        })
    }

    /// Paths in both sets.
    pub fn intersection(&self, other: &FieldSet) -> FieldSet {
        self.keep(other, |node, twin| match twin {
            None => Node::default(),
            Some(twin) => {
                Node { member: node.member && twin.member, below: node.below.intersection(&twin.below) }
            }
        })
    }

    fn keep(&self, other: &FieldSet, pick: impl Fn(&Node, Option<&Node>) -> Node) -> FieldSet {
        let mut nodes = Vec::with_capacity(self.nodes.len());
        let mut right = other.nodes.iter().peekable();
        for (elem, node) in &self.nodes {
            while right.next_if(|(e, _)| e < elem).is_some() {}
            let twin = right.next_if(|(e, _)| e == elem).map(|(_, n)| n);
            let kept = pick(node, twin);
            if kept.member || !kept.below.is_empty() {
                nodes.push((elem.clone(), kept));
            }
        }
        FieldSet { nodes }
    }

    /// Whether every path of this set is in the other.
    pub fn is_subset(&self, other: &FieldSet) -> bool {
        let mut right = other.nodes.iter().peekable();
        self.nodes.iter().all(|(elem, node)| {
            while right.next_if(|(e, _)| e < elem).is_some() {}
            match right.next_if(|(e, _)| e == elem) {
                None => false,
                Some((_, twin)) => (!node.member || twin.member) && node.below.is_subset(&twin.below),
            }
        })
    }

    /// All paths: at each level the members first, then what lies below, as the server lists them.
    pub fn paths(&self) -> Vec<Vec<Elem>> {
        let mut out = Vec::new();
        self.collect(&mut Vec::new(), &mut out);
        out
    }

    fn collect(&self, prefix: &mut Vec<Elem>, out: &mut Vec<Vec<Elem>>) {
        for (elem, _) in self.nodes.iter().filter(|(_, node)| node.member) {
            prefix.push(elem.clone());
            out.push(prefix.clone());
            prefix.pop();
        }
        for (elem, node) in &self.nodes {
            prefix.push(elem.clone());
            node.below.collect(prefix, out);
            prefix.pop();
        }
    }
}

fn parse_level(map: &Map<String, Value>, depth: usize) -> Option<(bool, FieldSet)> {
    if depth > MAX_DEPTH {
        return None;
    }
    let mut set = FieldSet { nodes: Vec::with_capacity(map.len()) };
    let mut member = false;
    for (key, value) in map {
        if key == "." {
            member = true;
            continue;
        }
        let below = value.as_object()?;
        let (own, below) = parse_level(below, depth + 1)?;
        let node = Node { member: own || below.is_empty(), below };
        set.insert_node(Elem::parse(key)?, node);
    }
    Some((member, set))
}

/// Builds a set from dotted field names; for the constant sets of the crate.
pub(crate) fn set_of(paths: &[&[&str]]) -> FieldSet {
    let mut set = FieldSet::new();
    for path in paths {
        let elems: Vec<Elem> = path.iter().map(|name| Elem::field(name)).collect();
        set.insert(&elems);
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn set(value: Value) -> FieldSet {
        FieldSet::parse(&value).unwrap()
    }

    #[test]
    fn json_round_trips_with_dots_and_keys() {
        let value = json!({"f:metadata":{"f:labels":{".":{},"f:a":{}}},"f:spec":{"f:c":{"k:{\"name\":\"c\"}":{".":{},"f:image":{}}},"f:set":{"v:\"x\"":{}}}});
        assert_eq!(set(value.clone()).to_json().to_string(), value.to_string());
    }

    #[test]
    fn algebra_keeps_members_and_children_apart() {
        let a = set(json!({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{}}));
        let b = set(json!({"f:a":{"f:x":{}},"f:c":{}}));
        assert_eq!(a.difference(&b).to_json(), json!({"f:a":{".":{},"f:y":{}},"f:b":{}}));
        assert_eq!(a.intersection(&b).to_json(), json!({"f:a":{"f:x":{}}}));
        assert_eq!(a.union(&b).to_json(), json!({"f:a":{".":{},"f:x":{},"f:y":{}},"f:b":{},"f:c":{}}));
        assert!(a.intersection(&b).is_subset(&a));
        assert!(!a.is_subset(&b));
    }

    #[test]
    fn deep_difference_takes_the_subtree() {
        let a = set(json!({"f:status":{"f:x":{}},"f:spec":{"f:y":{}}}));
        assert_eq!(a.difference_deep(&set(json!({"f:status":{}}))).to_json(), json!({"f:spec":{"f:y":{}}}));
        assert_eq!(a.difference(&set(json!({"f:status":{}}))), a);
    }

    #[test]
    fn malformed_sets_are_refused_not_panicked_on() {
        for bad in [json!([]), json!({"x":{}}), json!({"f:a":1}), json!({"k:{":{}}), json!({"i:-1":{}})] {
            assert!(FieldSet::parse(&bad).is_none(), "{bad}");
        }
    }
}
