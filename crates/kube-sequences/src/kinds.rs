//! The kinds that sequences are made of, as data: `kinds.json`.
//!
//! A kind has a core (what an object of it needs to be valid), ordinary fragments, rare fragments (often refused) and
//! fragments of its status. `{"$pick":[…]}` stands for one of the listed values. Shared fragments are listed once.

use std::sync::OnceLock;

use serde_json::{Map, Value};

use crate::rng::Rng;

/// One kind.
#[derive(Debug)]
pub struct Kind {
    pub kind: String,
    pub api_version: String,
    pub plural: String,
    /// Whether it has the `scale` sub-resource.
    pub scale: bool,
    pub(crate) core: Value,
    pub(crate) fragments: Vec<Value>,
    pub(crate) rare: Vec<Value>,
    pub(crate) status: Vec<Value>,
}

impl Kind {
    /// The path of an object, or of the collection without a name.
    pub fn path(&self, namespace: &str, name: Option<&str>) -> String {
        let root = if self.api_version.contains('/') { "/apis/" } else { "/api/" };
        let mut path = format!("{root}{}/namespaces/{namespace}/{}", self.api_version, self.plural);
        if let Some(name) = name {
            path.push('/');
            path.push_str(name);
        }
        path
    }
}

/// All kinds, in file order.
pub fn kinds() -> &'static [Kind] {
    static KINDS: OnceLock<Vec<Kind>> = OnceLock::new();
    KINDS.get_or_init(|| {
        let shared = &data()["shared"];
        list(&data()["kinds"]).iter().map(|entry| kind(entry, shared)).collect()
    })
}

/// The CustomResourceDefinition of the custom kind.
pub fn definition() -> &'static Value {
    &data()["definition"]
}

fn data() -> &'static Value {
    static DATA: OnceLock<Value> = OnceLock::new();
    DATA.get_or_init(|| serde_json::from_str(include_str!("kinds.json")).expect("kinds.json is JSON"))
}

fn kind(entry: &Value, shared: &Value) -> Kind {
    let text = |key: &str| entry[key].as_str().expect("kinds.json names every kind").to_owned();
    let part = |key: &str| {
        let mut items = Vec::new();
        for name in list(&entry["uses"]).iter().filter_map(Value::as_str) {
            items.extend_from_slice(list(&shared[name][key]));
        }
        items.extend_from_slice(list(&entry[key]));
        items
    };
    Kind {
        kind: text("kind"),
        api_version: text("apiVersion"),
        plural: text("plural"),
        scale: entry["scale"] == Value::Bool(true),
        core: entry["core"].clone(),
        fragments: part("fragments"),
        rare: part("rare"),
        status: part("status"),
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// Replaces every `$pick` by one of its values.
pub(crate) fn choose(rng: &mut Rng, template: &Value) -> Value {
    match template {
        Value::Object(map) => {
            if let Some(choices) = map.get("$pick") {
                return rng.pick(list(choices)).map(|choice| choose(rng, choice)).unwrap_or(Value::Null);
            }
            let mut chosen = Map::new();
            for (key, value) in map {
                chosen.insert(key.clone(), choose(rng, value));
            }
            Value::Object(chosen)
        }
        Value::Array(items) => items.iter().map(|item| choose(rng, item)).collect(),
        other => other.clone(),
    }
}

/// Lays `over` on `base` as a writer of manifests would: maps are joined, list items of the same identity too.
pub(crate) fn overlay(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(key) {
                    Some(place) => overlay(place, value),
                    None => drop(base.insert(key.clone(), value.clone())),
                }
            }
        }
        (Value::Array(base), Value::Array(over)) => {
            // Twice the same within one list is on purpose: only items of the base are joined.
            let length = base.len();
            for item in over {
                match base[..length].iter_mut().find(|place| same_item(place, item)) {
                    Some(place) => overlay(place, item),
                    None => base.push(item.clone()),
                }
            }
        }
        (base, over) => *base = over.clone(),
    }
}

fn same_item(a: &Value, b: &Value) -> bool {
    for keys in [
        &["containerPort", "protocol"][..],
        &["port", "protocol"],
        &["uid"],
        &["topologyKey"],
        &["ip"],
        &["name", "zone"],
    ] {
        if a.get(keys[0]).is_some() && b.get(keys[0]).is_some() {
            return keys.iter().all(|key| field(a, key) == field(b, key));
        }
    }
    match (a, b) {
        (Value::Object(_), Value::Object(_)) => false,
        _ => a == b,
    }
}

/// The value of a key; a port without protocol is a TCP port.
fn field(item: &Value, key: &str) -> Option<Value> {
    item.get(key).cloned().or_else(|| (key == "protocol").then(|| Value::from("TCP")))
}
