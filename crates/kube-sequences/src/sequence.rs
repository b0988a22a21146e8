//! The generator: which write comes next.
//!
//! In: a seed, and before each step the live object (or nothing). Out: a request. Most steps are applies; the rest are
//! what people and controllers do beside them.

use serde_json::{Map, Value, json};

use crate::kinds::{choose, overlay};
use crate::rng::Rng;
use crate::{Kind, Operation, Request, kinds};

/// The managers of every sequence.
pub const MANAGERS: [&str; 3] = ["alpha", "beta", "gamma"];

/// One sequence: an object of one kind and what is done to it.
#[derive(Debug)]
pub struct Sequence {
    pub seed: u64,
    pub kind: &'static Kind,
    /// The object's name.
    pub name: String,
    /// How many steps it has.
    pub steps: usize,
    rng: Rng,
}

impl Sequence {
    /// The sequence of a seed. Consecutive seeds go through the kinds in turn.
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let kind = &kinds()[(seed % kinds().len() as u64) as usize];
        let steps = 6 + rng.below(6);
        Self { seed, kind, name: format!("s{seed}"), steps, rng }
    }

    /// The next write, given the object as it is now.
    pub fn next(&mut self, live: Option<&Value>) -> Request {
        let manager = MANAGERS[self.rng.below(MANAGERS.len())].to_owned();
        let Some(live) = live else {
            return self.first(manager);
        };
        let force = self.rng.chance(35);
        let (operation, subresource, body) = match self.rng.below(100) {
            0..57 => (Operation::Apply, None, self.intent(40)),
            57..62 => (Operation::Apply, None, self.header()),
            62..72 => (Operation::Update, None, self.update(live)),
            72..79 => (Operation::MergePatch, None, self.merge_patch(live)),
            79..85 => (Operation::JsonPatch, None, self.json_patch(live)),
            85..93 => self.strategic_patch(live),
            93..97 if !self.kind.status.is_empty() => self.status(live),
            97.. if self.kind.scale => (Operation::MergePatch, Some("scale"), self.scale()),
            _ => (Operation::Apply, None, self.intent(40)),
        };
        let force = force && operation == Operation::Apply;
        Request { manager, operation, subresource: subresource.map(str::to_owned), force, body }
    }

    /// Objects begin with an apply or a create that has the kind's core.
    fn first(&mut self, manager: String) -> Request {
        let operation = if self.rng.chance(30) { Operation::Create } else { Operation::Apply };
        Request { manager, operation, subresource: None, force: false, body: self.intent(100) }
    }

    fn header(&self) -> Value {
        json!({"apiVersion": self.kind.api_version, "kind": self.kind.kind, "metadata": {"name": self.name}})
    }

    /// What a manager wants: some fragments, in `core` percent of the cases with what a valid object needs.
    fn intent(&mut self, core: usize) -> Value {
        let mut intent = self.header();
        if self.rng.chance(core) {
            let core = choose(&mut self.rng, &self.kind.core);
            overlay(&mut intent, &core);
        }
        for _ in 0..1 + self.rng.below(4) {
            self.add_fragment(&mut intent);
        }
        intent
    }

    fn add_fragment(&mut self, intent: &mut Value) {
        let from = if self.rng.chance(5) { &self.kind.rare } else { &self.kind.fragments };
        if let Some(fragment) = self.rng.pick(from) {
            let fragment = choose(&mut self.rng, fragment);
            overlay(intent, &fragment);
        }
    }

    /// A full object as read, with something added, changed or taken away.
    fn update(&mut self, live: &Value) -> Value {
        let mut body = writable(live);
        if self.rng.chance(70) {
            self.add_fragment(&mut body);
        }
        if self.rng.chance(40) {
            let paths = leaves(&body);
            if let Some(path) = self.rng.pick(&paths) {
                remove(&mut body, path);
            }
        }
        if self.rng.chance(6) {
            // The documented way to forget all managed fields.
            body["metadata"]["managedFields"] = json!([{}]);
        }
        body
    }

    fn merge_patch(&mut self, live: &Value) -> Value {
        let mut body = json!({});
        self.add_fragment(&mut body);
        if self.rng.chance(40) {
            let paths: Vec<_> = leaves(live)
                .into_iter()
                .filter(|path| path.iter().all(|part| part.parse::<usize>().is_err()))
                .collect();
            if let Some(path) = self.rng.pick(&paths) {
                insert(&mut body, path, Value::Null);
            }
        }
        body
    }

    fn json_patch(&mut self, live: &Value) -> Value {
        let mut operations = Vec::new();
        let paths = leaves(live);
        for _ in 0..1 + self.rng.below(2) {
            let Some(path) = self.rng.pick(&paths) else { break };
            let pointer = pointer(path);
            match self.rng.below(4) {
                0 => operations.push(json!({"op": "remove", "path": pointer})),
                1 => operations.push(json!({"op": "test", "path": pointer, "value": live.pointer(&pointer)})),
                _ => {
                    let mut fragment = json!({});
                    self.add_fragment(&mut fragment);
                    operations.extend(as_operation(live, &fragment, &mut Vec::new()));
                }
            }
        }
        Value::Array(operations)
    }

    /// A strategic patch, or a merge patch for custom resources, which know no other.
    fn strategic_patch(&mut self, live: &Value) -> (Operation, Option<&'static str>, Value) {
        if self.kind.kind == "Widget" {
            return (Operation::MergePatch, None, self.merge_patch(live));
        }
        let mut body = json!({});
        self.add_fragment(&mut body);
        self.add_fragment(&mut body);
        if live.pointer("/spec/template/spec/containers").is_some() && self.rng.chance(30) {
            let extra = match self.rng.below(4) {
                0 => json!({"containers": [{"name": "side", "$patch": "delete"}]}),
                1 => json!({"volumes": [{"name": "data", "$patch": "delete"}]}),
                2 => json!({"nodeSelector": {"$patch": "replace", "disk": "nvme"}}),
                _ => json!({"containers": [{"name": "main", "env": [{"name": "A", "$patch": "delete"}]}]}),
            };
            overlay(&mut body, &json!({"spec": {"template": {"spec": extra}}}));
        } else if self.rng.chance(20) {
            overlay(
                &mut body,
                &json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["example.com/a"]}}),
            );
        }
        (Operation::StrategicPatch, None, body)
    }

    fn status(&mut self, live: &Value) -> (Operation, Option<&'static str>, Value) {
        let fragment = match self.rng.pick(&self.kind.status) {
            Some(fragment) => choose(&mut self.rng, fragment),
            None => json!({}),
        };
        let (operation, mut body) = match self.rng.below(3) {
            0 => (Operation::Apply, self.header()),
            1 => (Operation::Update, writable(live)),
            _ => (Operation::MergePatch, json!({})),
        };
        overlay(&mut body, &fragment);
        (operation, Some("status"), body)
    }

    fn scale(&mut self) -> Value {
        json!({"spec": {"replicas": 1 + self.rng.below(4)}})
    }
}

/// A read object as it is sent back: without what the server owns. The caller adds the resource version.
fn writable(live: &Value) -> Value {
    let mut body = live.clone();
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        for key in ["managedFields", "uid", "resourceVersion", "creationTimestamp", "generation"] {
            metadata.shift_remove(key);
        }
    }
    body
}

/// Paths of scalars and empty containers that a client may touch.
fn leaves(object: &Value) -> Vec<Vec<String>> {
    let mut paths = Vec::new();
    let mut open: Vec<(Vec<String>, &Value)> = Vec::new();
    for key in ["spec", "data", "rules", "stringData", "binaryData", "type"] {
        open.extend(object.get(key).map(|value| (vec![key.to_owned()], value)));
    }
    for key in ["labels", "annotations", "finalizers"] {
        let value = object.get("metadata").and_then(|metadata| metadata.get(key));
        open.extend(value.map(|value| (vec!["metadata".to_owned(), key.to_owned()], value)));
    }
    while let Some((path, value)) = open.pop() {
        let children: Vec<(String, &Value)> = match value {
            Value::Object(map) => map.iter().map(|(key, value)| (key.clone(), value)).collect(),
            Value::Array(items) => {
                items.iter().enumerate().map(|(n, value)| (n.to_string(), value)).collect()
            }
            _ => Vec::new(),
        };
        if path.get(1).is_some_and(|part| part.starts_with("clusterIP")) {
            continue; // drawn by the server: not the same on every run
        }
        if children.is_empty() {
            paths.push(path);
            continue;
        }
        for (key, child) in children {
            let mut longer = path.clone();
            longer.push(key);
            open.push((longer, child));
        }
    }
    paths.sort();
    paths
}

fn pointer(path: &[String]) -> String {
    path.iter().map(|part| format!("/{}", part.replace('~', "~0").replace('/', "~1"))).collect()
}

fn remove(object: &mut Value, path: &[String]) {
    let Some((last, parents)) = path.split_last() else { return };
    match object.pointer_mut(&pointer(parents)) {
        Some(Value::Object(map)) => drop(map.shift_remove(last)),
        Some(Value::Array(items)) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < items.len()) {
                items.remove(index);
            }
        }
        _ => {}
    }
}

fn insert(object: &mut Value, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        *object = value;
        return;
    };
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    if let Value::Object(map) = object {
        insert(map.entry(first.clone()).or_insert(Value::Null), rest, value);
    }
}

/// An `add` of the first part of the fragment that the live object does not have, or a change of a scalar.
fn as_operation(live: &Value, fragment: &Value, path: &mut Vec<String>) -> Option<Value> {
    let here = live.pointer(&pointer(path));
    match (here, fragment) {
        (Some(Value::Object(_)), Value::Object(map)) => {
            for (key, value) in map {
                path.push(key.clone());
                let operation = as_operation(live, value, path);
                path.pop();
                if operation.is_some() {
                    return operation;
                }
            }
            None
        }
        (Some(Value::Array(items)), Value::Array(new)) if !items.is_empty() => {
            let value = new.first()?;
            path.push("-".into());
            let operation = json!({"op": "add", "path": pointer(path), "value": value});
            path.pop();
            Some(operation)
        }
        (Some(_), value) => Some(json!({"op": "replace", "path": pointer(path), "value": value})),
        (None, value) => Some(json!({"op": "add", "path": pointer(path), "value": value})),
    }
}
