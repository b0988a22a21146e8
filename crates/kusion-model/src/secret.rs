//! Sensitive values: kept apart from everything that can be printed or stored.
//!
//! [`seal`] replaces each sensitive leaf of a tree by `(secret)#<keyed digest>` and puts the value in a [`SecretBag`]
//! under its path. Two sealed trees compare equal exactly if their secrets are equal, so diffs work on sealed trees.
//! The bag has no `Serialize`, its `Debug` shows paths only. [`SecretBag::unseal`] is for the last step before the wire.

use std::collections::BTreeMap;
use std::fmt;

use data_encoding::BASE64;
use serde_json::Value;

use crate::digest::hmac_sha256_hex;
use crate::{FieldPath, Segment};

const SEAL: &str = "(secret)#";
const DIGEST_LEN: usize = 32;
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The key of the digests; a digest cannot be guessed from a dictionary without it.
#[derive(Clone, PartialEq, Eq)]
pub struct DigestKey(pub [u8; 32]);

impl DigestKey {
    /// Returns what stands for a text that must not be kept: equal texts have equal seals, and nobody reads them back.
    #[must_use]
    pub fn sealed(&self, text: &str) -> String {
        format!("{SEAL}{}", &hmac_sha256_hex(&self.0, text.as_bytes())[..DIGEST_LEN])
    }
}

impl fmt::Debug for DigestKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DigestKey(…)")
    }
}

/// A value that prints as `(secret)`.
#[derive(Clone, PartialEq)]
pub struct Redacted(Value);

impl Redacted {
    /// Wraps a sensitive value.
    #[must_use]
    pub fn new(value: Value) -> Self {
        Redacted(value)
    }

    /// Gives the value out; only the code that sends it to its destination has a reason to call this.
    #[must_use]
    pub fn expose(&self) -> &Value {
        &self.0
    }
}

impl fmt::Debug for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

impl fmt::Display for Redacted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

/// The sensitive values of one resource, by path.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SecretBag {
    values: BTreeMap<FieldPath, Redacted>,
}

impl SecretBag {
    /// Returns whether the bag holds nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Returns the paths of the secrets.
    pub fn paths(&self) -> impl Iterator<Item = &FieldPath> {
        self.values.keys()
    }

    /// Returns the secret at a path.
    #[must_use]
    pub fn get(&self, path: &FieldPath) -> Option<&Redacted> {
        self.values.get(path)
    }

    /// Returns whether a path lies on or under a secret.
    #[must_use]
    pub fn covers(&self, path: &FieldPath) -> bool {
        self.values.keys().any(|secret| secret.covers(path))
    }

    /// Returns whether a sealed text holds a reference, which then could never be filled in.
    #[must_use]
    pub fn has_reference(&self) -> bool {
        self.values
            .values()
            .any(|secret| secret.0.as_str().is_some_and(|text| text.contains("${kusion_path")))
    }

    /// Puts a secret under a path and returns the sealed text to leave in the tree.
    pub fn put(&mut self, path: FieldPath, value: Value, key: &DigestKey) -> Value {
        let sealed = seal_text(&value, key);
        self.values.insert(path, Redacted(value));
        sealed
    }

    /// Puts a value under a path where its seal already stands.
    pub fn keep(&mut self, path: FieldPath, value: Redacted) {
        self.values.insert(path, value);
    }

    /// Writes the secrets back into a sealed tree. Returns the first sealed path for which the bag has no value.
    pub fn unseal(&self, tree: &mut Value) -> Result<(), FieldPath> {
        for (path, secret) in &self.values {
            if let Some(place) = path.get_mut(tree).filter(|place| is_sealed(place)) {
                *place = secret.0.clone();
            }
        }
        match has_seal(tree).then(|| find_sealed(tree, &FieldPath::root())).flatten() {
            Some(path) => Err(path),
            None => Ok(()),
        }
    }
}

/// Which subtrees of a resource are sensitive.
pub type Sensitivity = fn(&Value) -> Vec<FieldPath>;

/// Names what is sensitive in a Kubernetes object: the data of a `Secret`, and the copy of it that kubectl keeps.
#[must_use]
pub fn kubernetes_sensitivity(object: &Value) -> Vec<FieldPath> {
    let is = |key: &str, want: &str| object.get(key).and_then(Value::as_str) == Some(want);
    if !is("kind", "Secret") || !is("apiVersion", "v1") {
        return Vec::new();
    }
    vec![
        FieldPath::keys(["data"]),
        FieldPath::keys(["stringData"]),
        FieldPath::keys(["metadata", "annotations", LAST_APPLIED]),
    ]
}

/// Moves the plain texts of a Kubernetes Secret into its data, as the server does: then what is wanted, recorded and live
/// has one form, and equal secrets have equal seals. A reference stays where it is until it is filled in.
pub(crate) fn settle_kubernetes_secret(object: &mut Value) {
    if kubernetes_sensitivity(object).is_empty() {
        return;
    }
    let Some(Value::Object(mut plain)) = object.get_mut("stringData").map(Value::take) else { return };
    let mut data = match object.get_mut("data").map(Value::take) {
        Some(Value::Object(data)) => data,
        _ => serde_json::Map::new(),
    };
    let keys: Vec<String> = plain.keys().cloned().collect();
    for key in keys {
        let text = plain.get(&key).and_then(Value::as_str).filter(|text| !text.contains("kusion_path"));
        if let Some(encoded) = text.map(|text| BASE64.encode(text.as_bytes())) {
            data.insert(key.clone(), Value::String(encoded));
            plain.shift_remove(&key);
        }
    }
    if let Some(object) = object.as_object_mut() {
        object.shift_remove("stringData");
        object.shift_remove("data");
        if !data.is_empty() {
            object.insert("data".to_owned(), Value::Object(data));
        }
        if !plain.is_empty() {
            object.insert("stringData".to_owned(), Value::Object(plain));
        }
    }
}

/// Seals every leaf under the sensitive subtrees and returns the bag. Sealing twice changes nothing.
pub fn seal(tree: &mut Value, sensitivity: Sensitivity, key: &DigestKey) -> SecretBag {
    let mut bag = SecretBag::default();
    for subtree in sensitivity(tree) {
        if let Some(place) = subtree.get_mut(tree) {
            seal_leaves(place, &subtree, key, &mut bag);
        }
    }
    bag
}

fn seal_leaves(place: &mut Value, path: &FieldPath, key: &DigestKey, bag: &mut SecretBag) {
    match place {
        Value::Object(map) => {
            for (name, item) in map {
                seal_leaves(item, &path.key(name), key, bag);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter_mut().enumerate() {
                seal_leaves(item, &path.child(Segment::Index(at)), key, bag);
            }
        }
        Value::Null => {}
        // A reference is not a secret: it stays readable until it is filled in.
        Value::String(text) if text.starts_with("$kusion_path") => {}
        leaf => {
            if !is_sealed(leaf) {
                *leaf = bag.put(path.clone(), leaf.clone(), key);
            }
        }
    }
}

/// Seals the leaves of a tree where another tree of the same shape has seals: a platform does not know that a plain
/// field was filled from a secret, the record does. List entries pair by `name` if they have one, else by position.
pub fn seal_like(tree: &mut Value, like: &Value, key: &DigestKey, bag: &mut SecretBag) {
    if has_seal(like) {
        seal_pair(tree, like, &FieldPath::root(), key, bag);
    }
}

fn seal_pair(tree: &mut Value, like: &Value, path: &FieldPath, key: &DigestKey, bag: &mut SecretBag) {
    match (tree, like) {
        (Value::Object(tree), Value::Object(like)) => {
            for (name, like) in like {
                if let Some(item) = tree.get_mut(name) {
                    seal_pair(item, like, &path.key(name), key, bag);
                }
            }
        }
        (Value::Array(tree), Value::Array(like)) => {
            for (at, like) in like.iter().enumerate() {
                let name = like.get("name").filter(|name| name.is_string());
                let by_name =
                    name.and_then(|name| tree.iter().position(|item| item.get("name") == Some(name)));
                let at = if name.is_some() { by_name } else { Some(at) };
                if let Some((at, item)) = at.and_then(|at| tree.get_mut(at).map(|item| (at, item))) {
                    seal_pair(item, like, &path.child(Segment::Index(at)), key, bag);
                }
            }
        }
        (leaf, like) if is_sealed(like) && !leaf.is_null() && !is_sealed(leaf) => {
            *leaf = bag.put(path.clone(), leaf.clone(), key);
        }
        _ => {}
    }
}

fn seal_text(value: &Value, key: &DigestKey) -> Value {
    Value::String(match value {
        Value::String(text) => key.sealed(text),
        other => key.sealed(&other.to_string()),
    })
}

/// Returns whether a value is the sealed text of a secret.
#[must_use]
pub fn is_sealed(value: &Value) -> bool {
    value.as_str().is_some_and(is_seal)
}

/// Returns whether a text is a seal.
#[must_use]
pub fn is_seal(text: &str) -> bool {
    let digest = text.strip_prefix(SEAL);
    digest.is_some_and(|d| d.len() == DIGEST_LEN && d.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Returns whether a tree has a seal anywhere. Most have none, and then nobody need walk it with a path in hand.
#[must_use]
pub fn has_seal(tree: &Value) -> bool {
    match tree {
        Value::Object(map) => map.values().any(has_seal),
        Value::Array(items) => items.iter().any(has_seal),
        leaf => is_sealed(leaf),
    }
}

fn find_sealed(value: &Value, path: &FieldPath) -> Option<FieldPath> {
    match value {
        Value::Object(map) => map.iter().find_map(|(key, item)| find_sealed(item, &path.key(key))),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(at, item)| find_sealed(item, &path.child(Segment::Index(at))))
        }
        leaf => is_sealed(leaf).then(|| path.clone()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const CANARY: &str = "Y2FuYXJ5LTQyMTc=";

    fn secret() -> Value {
        json!({"apiVersion": "v1", "kind": "Secret",
               "metadata": {"name": "db", "annotations": {LAST_APPLIED: CANARY, "note": "plain"}},
               "data": {"a.b": CANARY}, "stringData": {"n": 4217}})
    }

    #[test]
    fn sealed_tree_and_bag_never_show_the_value() {
        let mut tree = secret();
        let bag = seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32]));
        let shown = format!("{tree} {tree:?} {bag:?} {:?}", bag.get(&FieldPath::keys(["data", "a.b"])));
        assert!(!shown.contains(CANARY) && !shown.contains("4217"), "{shown}");
        assert_eq!(tree["metadata"]["annotations"]["note"], "plain");
    }

    #[test]
    fn plain_texts_become_data_and_references_wait() {
        let mut object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="},
            "stringData": {"b": "canary", "c": "$kusion_path.v1:Secret:ns:s.data.x", "n": 1}});
        settle_kubernetes_secret(&mut object);
        assert_eq!(object["data"], json!({"a": "eA==", "b": "Y2FuYXJ5"}));
        assert_eq!(object["stringData"], json!({"c": "$kusion_path.v1:Secret:ns:s.data.x", "n": 1}));
        let mut other = json!({"apiVersion": "v1", "kind": "ConfigMap", "stringData": {"b": "x"}});
        let before = other.clone();
        settle_kubernetes_secret(&mut other);
        assert_eq!(other, before);
    }

    #[test]
    fn unseal_gives_the_tree_back() {
        let mut tree = secret();
        let bag = seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32]));
        bag.unseal(&mut tree).unwrap();
        assert_eq!(tree, secret());
    }

    #[test]
    fn equal_secrets_have_equal_seals_only_under_one_key() {
        let sealed = |key| {
            let mut tree = secret();
            seal(&mut tree, kubernetes_sensitivity, &DigestKey(key));
            tree
        };
        assert_eq!(sealed([7; 32]), sealed([7; 32]));
        assert_ne!(sealed([7; 32]), sealed([8; 32]));
    }

    #[test]
    fn missing_value_is_reported_by_path_instead_of_sent() {
        let mut tree = secret();
        seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32]));
        assert!(SecretBag::default().unseal(&mut tree).is_err());
    }

    #[test]
    fn sealing_twice_is_sealing_once() {
        let mut tree = secret();
        seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32]));
        let once = tree.clone();
        assert!(seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32])).is_empty());
        assert_eq!(tree, once);
    }

    #[test]
    fn plain_field_filled_from_a_secret_is_sealed_like_its_record() {
        let key = DigestKey([7; 32]);
        let mut record = json!({"env": [{"name": "b", "value": "x"}, {"name": "PW", "value": CANARY}]});
        let mut bag = SecretBag::default();
        record["env"][1]["value"] = bag.put(FieldPath::root(), json!(CANARY), &key);
        let mut live =
            json!({"env": [{"name": "PW", "value": CANARY}, {"name": "b", "value": "x"}], "status": 1});
        let mut live_bag = SecretBag::default();
        seal_like(&mut live, &record, &key, &mut live_bag);
        assert!(!live.to_string().contains(CANARY));
        assert_eq!(live["env"][0]["value"], record["env"][1]["value"]);
        live_bag.unseal(&mut live).unwrap();
        assert_eq!(live["env"][0]["value"], CANARY);
    }

    #[test]
    fn other_kinds_are_left_alone() {
        let mut tree = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
        assert!(seal(&mut tree, kubernetes_sensitivity, &DigestKey([7; 32])).is_empty());
        assert_eq!(tree["data"]["a"], "b");
    }
}
