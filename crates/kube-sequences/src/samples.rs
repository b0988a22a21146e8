//! Valid objects of nearly every built-in kind, small and large: what defaults and immutable fields are learnt from.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use serde_json::Value;
use testenv::http::Client;

/// The objects of `samples.jsonl`, without namespace.
pub fn samples() -> &'static [Value] {
    static SAMPLES: OnceLock<Vec<Value>> = OnceLock::new();
    SAMPLES.get_or_init(|| {
        let lines = include_str!("samples.jsonl").lines();
        lines.map(|line| serde_json::from_str(line).expect("samples.jsonl is JSON lines")).collect()
    })
}

/// Where the objects of each kind live, asked from a server once per version.
#[derive(Debug, Default)]
pub struct Places {
    /// By `apiVersion`, then kind: plural and whether it has a namespace.
    known: BTreeMap<String, BTreeMap<String, (String, bool)>>,
}

impl Places {
    /// The path of the collection that an object belongs to.
    pub fn collection(
        &mut self,
        client: &mut Client,
        object: &Value,
        namespace: &str,
    ) -> Result<String, String> {
        let version = object["apiVersion"].as_str().ok_or("an object without apiVersion")?;
        let kind = object["kind"].as_str().ok_or("an object without kind")?;
        let root = format!("{}{version}", if version.contains('/') { "/apis/" } else { "/api/" });
        if !self.known.contains_key(version) {
            let answer = client.get(&root).map_err(|error| error.to_string())?;
            let document: Value =
                serde_json::from_slice(&answer.body).map_err(|error| format!("{root}: {error}"))?;
            self.known.insert(version.to_owned(), resources(&document));
        }
        let place = self.known.get(version).and_then(|kinds| kinds.get(kind));
        match place.ok_or_else(|| format!("the server has no {version} {kind}"))? {
            (plural, true) => Ok(format!("{root}/namespaces/{namespace}/{plural}")),
            (plural, false) => Ok(format!("{root}/{plural}")),
        }
    }
}

fn resources(document: &Value) -> BTreeMap<String, (String, bool)> {
    let mut found = BTreeMap::new();
    for entry in document["resources"].as_array().into_iter().flatten() {
        let (Some(name), Some(kind)) = (entry["name"].as_str(), entry["kind"].as_str()) else { continue };
        if !name.contains('/') {
            found.insert(kind.to_owned(), (name.to_owned(), entry["namespaced"] == Value::Bool(true)));
        }
    }
    found
}
