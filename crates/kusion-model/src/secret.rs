//! Sensitive values: part of a tree, and absent from everything that is printed or stored.
//!
//! A [`Secret`] is a keyed digest and, if it is known, the value ([`SecretValue`]: no `Serialize`, no `Display`, zeroed when
//! the last copy goes, known to the redactor of the process). Two secrets are equal if their digests are, so trees with secrets can be
//! compared and hashed. The stored form is `(secret)#<digest>`. [`Attr::expose`] is for the last step before the wire.

use std::fmt;
use std::sync::Arc;

use base_secret::{SecretKey, SecretValue};
use serde_json::Value;

use crate::digest::hmac_sha256_hex;
use crate::{Attr, FieldPath, RefError};

const SEAL: &str = "(secret)#";
const DIGEST_LEN: usize = 32;
/// The digest of everything that is only handed over: it says nothing, not even whether it changed.
const PASSING: &str = "00000000000000000000000000000000";

/// The key of the digests; a digest cannot be guessed from a dictionary without it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DigestKey(SecretKey);

impl DigestKey {
    /// Takes the bytes of a key.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        DigestKey(SecretKey::new(bytes))
    }

    /// Gives the bytes out, to derive other keys from.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        self.0.expose()
    }

    /// Returns what stands for a text that must not be kept: equal texts have equal seals, and nobody reads them back.
    #[must_use]
    pub fn sealed(&self, text: &str) -> String {
        format!("{SEAL}{}", &hmac_sha256_hex(self.expose(), text.as_bytes())[..DIGEST_LEN])
    }
}

impl From<SecretKey> for DigestKey {
    fn from(key: SecretKey) -> Self {
        DigestKey(key)
    }
}

/// A sensitive value, or what is known of it.
#[derive(Clone)]
pub struct Secret(Arc<Held>);

struct Held {
    /// Lower-case hex.
    digest: String,
    clear: Option<Arc<Clear>>,
}

/// The value: a text, or the JSON of another leaf.
struct Clear {
    value: SecretValue,
    is_text: bool,
}

fn digest_of(text: &str, key: &DigestKey) -> String {
    let mut digest = hmac_sha256_hex(key.expose(), text.as_bytes());
    digest.truncate(DIGEST_LEN);
    digest
}

impl Secret {
    /// Seals a value. What is a secret already stays as it is.
    #[must_use]
    pub fn new(value: &Attr, key: &DigestKey) -> Self {
        let (text, is_text) = match value {
            Attr::Secret(secret) => return secret.clone(),
            Attr::Text(text) => (text.to_string(), true),
            other => (other.to_string(), false),
        };
        let digest = digest_of(&text, key);
        let clear = Arc::new(Clear { value: SecretValue::from(text), is_text });
        Secret(Arc::new(Held { digest, clear: Some(clear) }))
    }

    /// The form in which a value would be stored as a secret, without making it one.
    #[must_use]
    pub fn stored_form(value: &Attr, key: &DigestKey) -> String {
        match value {
            Attr::Secret(secret) => secret.stored().to_string(),
            Attr::Text(text) => format!("{SEAL}{}", digest_of(text, key)),
            other => format!("{SEAL}{}", digest_of(&other.to_string(), key)),
        }
    }

    /// The same value as one that is handed over and kept nowhere, not even as a digest.
    #[must_use]
    pub fn passing(&self) -> Self {
        Secret(Arc::new(Held { digest: PASSING.to_owned(), clear: self.0.clear.clone() }))
    }

    /// Returns whether it is only handed over.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        self.0.digest == PASSING
    }

    /// A secret of which only the digest is known; `None` if that is no digest.
    #[must_use]
    pub fn known_by(digest: &str) -> Option<Self> {
        is_digest(digest).then(|| Secret(Arc::new(Held { digest: digest.to_owned(), clear: None })))
    }

    /// Reads the stored form; `None` if the text is something else.
    pub(crate) fn from_stored(text: &str) -> Option<Self> {
        text.strip_prefix(SEAL).and_then(Secret::known_by)
    }

    /// Returns the form in which a secret is stored.
    #[must_use]
    pub fn stored(&self) -> impl fmt::Display + '_ {
        fmt::from_fn(move |f| write!(f, "{SEAL}{}", self.0.digest))
    }

    /// Returns whether the value is here, not only its digest.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.0.clear.is_some()
    }

    /// Returns the value, if it is here.
    #[must_use]
    pub fn value(&self) -> Option<&SecretValue> {
        self.0.clear.as_ref().map(|clear| &clear.value)
    }

    /// Gives the text of the value out, to be sent or to be looked for in what others print.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        self.value()?.expose_text()
    }

    /// Gives the value out; only the code that sends it to its destination has a reason to call this.
    #[must_use]
    pub fn expose(&self) -> Option<Value> {
        let clear = self.0.clear.as_ref()?;
        if clear.is_text {
            return Some(Value::String(clear.value.expose_text()?.to_owned()));
        }
        serde_json::from_slice(clear.value.expose()).ok()
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.0.digest == other.0.digest
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("(secret)")
    }
}

fn is_digest(text: &str) -> bool {
    text.len() == DIGEST_LEN && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns whether a text is the stored form of a secret.
#[must_use]
pub fn is_seal(text: &str) -> bool {
    text.strip_prefix(SEAL).is_some_and(is_digest)
}

/// Seals every leaf under the named subtrees. A whole reference stays readable until it is filled in; a text with a
/// reference in it is sealed and reported, because its other parts may be secret. Sealing twice changes nothing.
pub fn seal(tree: &mut Attr, subtrees: &[FieldPath], key: &DigestKey, problems: &mut Vec<RefError>) {
    for subtree in subtrees {
        if let Some(place) = subtree.get_mut(tree) {
            seal_leaves(place, key, problems);
        }
    }
}

fn seal_leaves(place: &mut Attr, key: &DigestKey, problems: &mut Vec<RefError>) {
    match place {
        Attr::Map(map) => {
            Arc::make_mut(map).values_mut().for_each(|item| seal_leaves(item, key, problems));
        }
        Attr::List(items) | Attr::Set(items) => {
            Arc::make_mut(items).iter_mut().for_each(|item| seal_leaves(item, key, problems));
        }
        Attr::Null | Attr::Unknown | Attr::Secret(_) => {}
        Attr::Reference(template) if template.is_whole() => {}
        Attr::Reference(template) => {
            let what =
                "a reference inside a text that is secret; let the whole value be the reference".to_owned();
            problems.push(RefError::Unreadable { text: "(secret)".to_owned(), what });
            *place = Attr::Secret(Secret::new(&Attr::text(template.source()), key));
        }
        leaf => *leaf = Attr::Secret(Secret::new(leaf, key)),
    }
}

/// Makes every value in a tree one that is handed over and kept nowhere.
pub fn seal_passing(tree: &mut Attr, key: &DigestKey) {
    match tree {
        Attr::Map(map) => Arc::make_mut(map).values_mut().for_each(|item| seal_passing(item, key)),
        Attr::List(items) | Attr::Set(items) => {
            Arc::make_mut(items).iter_mut().for_each(|item| seal_passing(item, key));
        }
        Attr::Null | Attr::Unknown | Attr::Reference(_) => {}
        leaf => *leaf = Attr::Secret(Secret::new(leaf, key).passing()),
    }
}

/// Seals the leaves of a tree where another tree of the same shape has secrets: a platform does not know that a plain
/// field was filled from a secret, the record does. List entries pair by `name` if they have one, else by position.
pub fn seal_like(tree: &mut Attr, like: &Attr, key: &DigestKey) {
    pair(tree, like, &|leaf, like| {
        // What is not known yet has no value to seal.
        if like.is_secret() && leaf.is_known() && !leaf.is_null() && !leaf.is_secret() {
            *leaf = Attr::Secret(Secret::new(leaf, key));
        }
    });
}

/// Takes the values of secrets that are known by digest only from a tree of the same shape that has the same secrets.
pub fn adopt(tree: &mut Attr, from: &Attr) {
    pair(tree, from, &|leaf, from| match (&*leaf, from) {
        (Attr::Secret(wanted), Attr::Secret(known)) if !wanted.is_known() && wanted == known => {
            *leaf = from.clone();
        }
        _ => {}
    });
}

/// Visits the leaves of a tree that have a secret at the same place in another one.
fn pair(tree: &mut Attr, like: &Attr, see: &dyn Fn(&mut Attr, &Attr)) {
    if !like.has_secret() {
        return;
    }
    match (tree, like) {
        (Attr::Map(tree), Attr::Map(like)) => {
            for (name, like) in like.iter().filter(|(_, like)| like.has_secret()) {
                if let Some(item) = Arc::make_mut(tree).get_mut(name) {
                    pair(item, like, see);
                }
            }
        }
        (Attr::List(tree), Attr::List(like)) => {
            for (at, like) in like.iter().enumerate().filter(|(_, like)| like.has_secret()) {
                let name = like.get("name").filter(|name| name.as_str().is_some());
                let at = match name {
                    Some(name) => tree.iter().position(|item| item.get("name") == Some(name)),
                    None => Some(at),
                };
                if let Some(item) = at.and_then(|at| Arc::make_mut(tree).get_mut(at)) {
                    pair(item, like, see);
                }
            }
        }
        (leaf, like @ Attr::Secret(_)) => see(leaf, like),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Unknowns;
    use serde_json::json;

    const CANARY: &str = "Y2FuYXJ5LTQyMTc=";
    const KEY: DigestKey = DigestKey::new([7; 32]);

    fn clear() -> Value {
        json!({"data": {"a.b": CANARY, "n": 4217, "none": null}, "note": "plain"})
    }

    #[test]
    fn what_is_handed_over_is_equal_to_all_of_its_kind_and_stored_as_nothing() {
        let mut tree = Attr::from(json!({"pw": CANARY, "n": [1], "none": null}));
        seal_passing(&mut tree, &KEY);
        let mut other = Attr::from(json!({"pw": "else", "n": [2], "none": null}));
        seal_passing(&mut other, &KEY);
        assert_eq!(tree, other);
        let stored = serde_json::to_string(&tree).unwrap();
        assert_eq!(stored, serde_json::to_string(&other).unwrap());
        assert!(!stored.contains(CANARY));
        assert_eq!(tree.expose(Unknowns::Refuse).unwrap()["pw"], CANARY);
        let read: Attr = serde_json::from_str(&stored).unwrap();
        assert!(matches!(&read["pw"], Attr::Secret(secret) if secret.is_passing() && !secret.is_known()));
    }

    fn sealed(key: &DigestKey) -> Attr {
        let mut tree = Attr::from(clear());
        seal(&mut tree, &[FieldPath::keys(["data"]), FieldPath::keys(["nowhere"])], key, &mut Vec::new());
        tree
    }

    #[test]
    fn a_sealed_tree_never_shows_the_value() {
        let tree = sealed(&KEY);
        let shown =
            format!("{tree} {tree:?} {} {:?}", tree.to_shown(), Secret::new(&Attr::text(CANARY), &KEY));
        assert!(!shown.contains(CANARY) && !shown.contains("4217"), "{shown}");
        assert_eq!(tree["note"], "plain");
    }

    #[test]
    fn exposing_gives_the_values_back_unless_only_digests_are_known() {
        assert_eq!(sealed(&KEY).expose(Unknowns::Refuse), Ok(clear()));
        let stored: Attr = serde_json::from_value(sealed(&KEY).to_shown()).unwrap();
        assert_eq!(stored, sealed(&KEY));
        assert!(stored.expose(Unknowns::Refuse).is_err());
    }

    #[test]
    fn equal_secrets_are_equal_only_under_one_key() {
        assert_eq!(sealed(&KEY), sealed(&KEY));
        assert_ne!(sealed(&KEY), sealed(&DigestKey::new([8; 32])));
    }

    #[test]
    fn sealing_twice_is_sealing_once_and_a_whole_reference_stays() {
        let mut tree = sealed(&KEY);
        seal(&mut tree, &[FieldPath::keys(["data"])], &KEY, &mut Vec::new());
        assert_eq!(tree, sealed(&KEY));
        let reference = "$kusion_path.v1:Secret:ns:s.data.x";
        let text = json!({"data": {"a": reference, "b": format!("hunter2 ${{{}}}", &reference[1..])}});
        let (mut tree, mut problems) = (Attr::read(text, &mut Vec::new()), Vec::new());
        seal(&mut tree, &[FieldPath::keys(["data"])], &KEY, &mut problems);
        assert!(matches!(tree["data"]["a"], Attr::Reference(_)) && tree["data"]["b"].is_secret());
        assert_eq!(problems.len(), 1);
        assert!(!format!("{tree} {problems:?}").contains("hunter2"));
    }

    #[test]
    fn plain_field_filled_from_a_secret_is_sealed_like_its_record() {
        let mut record =
            Attr::from(json!({"env": [{"name": "b", "value": "x"}, {"name": "PW", "value": CANARY}]}));
        let place = FieldPath::parse("env[1].value").unwrap();
        *place.get_mut(&mut record).unwrap() = Attr::Secret(Secret::new(&Attr::text(CANARY), &KEY));
        let plain =
            json!({"env": [{"name": "PW", "value": CANARY}, {"name": "b", "value": "x"}], "status": 1});
        let mut live = Attr::from(plain.clone());
        seal_like(&mut live, &record, &KEY);
        assert!(!live.to_string().contains(CANARY));
        assert_eq!(live["env"][0]["value"], record["env"][1]["value"]);
        assert_eq!(live.expose(Unknowns::Refuse), Ok(plain));
    }

    #[test]
    fn values_are_adopted_where_the_digests_are_equal() {
        let mut stored: Attr = serde_json::from_value(sealed(&KEY).to_shown()).unwrap();
        adopt(&mut stored, &sealed(&DigestKey::new([8; 32])));
        assert!(stored.expose(Unknowns::Refuse).is_err());
        adopt(&mut stored, &sealed(&KEY));
        assert_eq!(stored.expose(Unknowns::Refuse), Ok(clear()));
    }
}
