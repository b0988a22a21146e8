//! Which version of each package is taken: the greatest of those that are asked for, never a newer one.
//!
//! Whoever fetches asks [`Graph::unknown`] for the packages whose own needs are not known yet, learns them, and asks again; at the end
//! [`Graph::choose`] decides. The graph does not know how a package is fetched.

use std::collections::{BTreeMap, BTreeSet};

use crate::requirement::{Requirement, Source};
use crate::version::{compare, is_version};

/// A state of a package, with what was asked for.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Node {
    /// The name in imports.
    pub name: String,
    /// Where it comes from.
    pub identity: String,
    /// Which state of it.
    pub version: String,
}

impl Node {
    /// Returns the node that a requirement asks for.
    pub fn of(requirement: &Requirement) -> Node {
        let version = requirement.asked().to_owned();
        Node { name: requirement.import_name(), identity: requirement.identity(), version }
    }
}

/// What is known of who needs what.
#[derive(Debug, Default)]
pub struct Graph {
    root: Vec<Requirement>,
    known: BTreeMap<Node, Vec<Requirement>>,
    asked: BTreeMap<Node, Requirement>,
}

/// What was chosen, in the order of names.
#[derive(Debug, PartialEq, Eq)]
pub struct Choice {
    /// The packages.
    pub packages: Vec<(Node, Requirement)>,
    /// Who needs whom, by name; the module itself is the empty name.
    pub edges: Vec<(String, String)>,
    /// States without a version that were asked for, where another state was taken.
    pub passed: Vec<Passed>,
}

/// A branch or commit that somebody asked for, and that was not taken: it cannot be compared with a version.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Passed {
    /// The name in imports.
    pub name: String,
    /// Who asks for it; the module itself is the empty name.
    pub by: String,
    /// What was asked for.
    pub asked: String,
    /// What was taken.
    pub taken: String,
}

/// Two packages of one name.
#[derive(Debug, PartialEq, Eq)]
pub struct Clash {
    /// The name in imports.
    pub name: String,
    /// Who asks for it (empty: the module itself), and where it would come from.
    pub asks: Vec<(String, String)>,
}

impl Graph {
    /// Starts with what the module itself needs.
    pub fn new(root: Vec<Requirement>) -> Graph {
        let mut graph = Graph::default();
        graph.note(&root);
        graph.root = root;
        graph
    }

    fn note(&mut self, needs: &[Requirement]) {
        for need in needs {
            self.asked.entry(Node::of(need)).or_insert_with(|| need.clone());
        }
    }

    /// Returns the packages whose needs have to be learnt.
    pub fn unknown(&self) -> Vec<(Node, Requirement)> {
        let open = self.asked.iter().filter(|(node, _)| !self.known.contains_key(*node));
        open.map(|(node, need)| (node.clone(), need.clone())).collect()
    }

    /// Learns what a package needs.
    pub fn learn(&mut self, node: &Node, needs: Vec<Requirement>) {
        self.note(&needs);
        self.known.insert(node.clone(), needs);
    }

    /// Chooses. What the module itself asks for decides where a package comes from.
    ///
    /// # Errors
    /// Two packages of one name that come from different places, where the module does not say which.
    pub fn choose(&self) -> Result<Choice, Clash> {
        let mut best: BTreeMap<&str, &Node> = BTreeMap::new();
        for node in self.asked.keys() {
            let rooted =
                self.root.iter().find(|need| need.import_name() == node.name).map(Requirement::identity);
            if rooted.is_some_and(|identity| identity != node.identity) {
                continue;
            }
            match best.get(node.name.as_str()) {
                Some(other) if other.identity != node.identity => return Err(self.clash(&node.name)),
                Some(other) if compare(&other.version, &node.version).is_ge() => {}
                _ => _ = best.insert(&node.name, node),
            }
        }
        Ok(self.reached(&best))
    }

    /// Only what is still needed: a version that was not chosen needs nothing.
    fn reached(&self, best: &BTreeMap<&str, &Node>) -> Choice {
        let mut open = vec![String::new()];
        let mut seen: BTreeSet<String> = BTreeSet::new();
        let mut edges = Vec::new();
        let (mut packages, mut passed) = (Vec::new(), Vec::new());
        while let Some(from) = open.pop() {
            let needs = match best.get(from.as_str()) {
                None => &self.root,
                Some(node) => self.known.get(*node).unwrap_or(&self.root),
            };
            for need in needs {
                let name = need.import_name();
                edges.push((from.clone(), name.clone()));
                passed.extend(best.get(name.as_str()).and_then(|taken| passed_over(&from, need, taken)));
                let Some(node) = best.get(name.as_str()).filter(|_| seen.insert(name.clone())) else {
                    continue;
                };
                let asked = self.asked.get(*node).unwrap_or(need);
                packages.push(((*node).clone(), asked.clone()));
                open.push(name);
            }
        }
        packages.sort_by(|a, b| a.0.cmp(&b.0));
        edges.sort();
        edges.dedup();
        passed.sort();
        Choice { packages, edges, passed }
    }

    fn clash(&self, name: &str) -> Clash {
        let mut asks: BTreeSet<(String, String)> = BTreeSet::new();
        let root = self.root.iter().map(|need| (String::new(), need));
        let others = self
            .known
            .iter()
            .flat_map(|(node, needs)| needs.iter().map(move |need| (node.name.clone(), need)));
        for (who, need) in root.chain(others).filter(|(_, need)| need.import_name() == name) {
            asks.insert((who, need.identity()));
        }
        Clash { name: name.to_owned(), asks: asks.into_iter().collect() }
    }
}

fn passed_over(by: &str, need: &Requirement, taken: &Node) -> Option<Passed> {
    let (name, asked) = (need.import_name(), need.asked());
    let lost = !asked.is_empty() && !is_version(asked) && asked != taken.version;
    (lost && need.identity() == taken.identity).then(|| Passed {
        name,
        by: by.to_owned(),
        asked: asked.to_owned(),
        taken: taken.version.clone(),
    })
}

impl Choice {
    /// Returns true if a package is a folder beside the module.
    pub fn is_folder(requirement: &Requirement) -> bool {
        matches!(requirement.source, Source::Path(_))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needs(text: &str) -> Vec<Requirement> {
        crate::requirements(&format!("[dependencies]\n{text}").parse().unwrap()).0
    }

    fn graph(root: &str, packages: &[(&str, &str)]) -> Graph {
        let mut graph = Graph::new(needs(root));
        loop {
            let unknown = graph.unknown();
            if unknown.is_empty() {
                return graph;
            }
            for (node, _) in unknown {
                let key = format!("{}@{}", node.name, node.version);
                let text = packages.iter().find(|(name, _)| *name == key).map_or("", |(_, text)| text);
                graph.learn(&node, needs(text));
            }
        }
    }

    fn chosen(graph: &Graph) -> Vec<String> {
        let choice = graph.choose().unwrap();
        choice.packages.iter().map(|(node, _)| format!("{}@{}", node.name, node.version)).collect()
    }

    #[test]
    fn the_greatest_of_those_asked_for_is_taken() {
        let all =
            [("a@1.0", "c = \"1.2\""), ("b@1.0", "c = \"1.10\""), ("c@1.2", "d = \"1.0\""), ("c@1.10", "")];
        assert_eq!(chosen(&graph("a = \"1.0\"\nb = \"1.0\"", &all)), ["a@1.0", "b@1.0", "c@1.10"]);
    }

    #[test]
    fn a_circle_ends() {
        let all = [("a@1.0", "b = \"1.0\""), ("b@1.0", "a = \"1.0\"")];
        let graph = graph("a = \"1.0\"", &all);
        assert_eq!(chosen(&graph), ["a@1.0", "b@1.0"]);
        let edge = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(graph.choose().unwrap().edges, [edge("", "a"), edge("a", "b"), edge("b", "a")]);
    }

    #[test]
    fn two_sources_of_one_name_are_a_clash_unless_the_module_says_which() {
        let all = [("a@1.0", "c = \"1.0\""), ("b@1.0", "c = { git = \"https://x/c\", tag = \"1.0\" }")];
        let clash = graph("a = \"1.0\"\nb = \"1.0\"", &all).choose().unwrap_err();
        assert_eq!(clash.name, "c");
        assert_eq!(clash.asks.iter().map(|(who, _)| who.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        let decided = graph("a = \"1.0\"\nb = \"1.0\"\nc = \"0.9\"", &all);
        assert_eq!(chosen(&decided), ["a@1.0", "b@1.0", "c@1.0"]);
    }
}
