//! What is kept of an object: the whole state with its real values, for the provider alone.
//!
//! A provider needs the values of sensitive attributes back, and records travel: into plan files (a record that is brought
//! up to date, an object that was replaced), into views. So what is kept is sealed by itself under a key that follows from
//! the stack's, and beside it stands a tree that has digests where values are sensitive. Equal states have equal seals:
//! whoever compares two records sees whether anything moved.

use blake3::derive_key;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use kusion_model::{Attr, Blob, DigestKey, Kept, Secret};
use serde::{Deserialize, Serialize};

use crate::connection::Passing;

const SEAL_KEY: &str = "kusion 2026 state of Terraform providers: seal";
const NONCE_KEY: &str = "kusion 2026 state of Terraform providers: nonce";
const NONCE: usize = 24;
/// Says what the bytes are; part of what is authenticated.
const FORM: &[u8] = b"tf1";

/// An object as its provider wants it back.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// `host/namespace/name` of the provider.
    pub provider: String,
    pub type_name: String,
    pub schema_version: u64,
    /// In the JSON form of states.
    pub state: String,
    #[serde(default, with = "bytes", skip_serializing_if = "Vec::is_empty")]
    pub private: Vec<u8>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// The version of the schema that the identity follows.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub identity_version: u64,
    /// Left of a failed create.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tainted: bool,
    /// Digests of what came in as a secret: the provider may have put it elsewhere, too.
    #[serde(default, skip_serializing_if = "std::collections::BTreeSet::is_empty")]
    pub secrets: std::collections::BTreeSet<String>,
    /// The configuration that the provider had; null for none.
    #[serde(default, skip_serializing_if = "serde_json::Value::is_null")]
    pub config: serde_json::Value,
    /// What was only handed over to it.
    #[serde(default, skip_serializing_if = "Passing::is_none")]
    pub passing: Passing,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

mod bytes {
    use data_encoding::BASE64;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map_err(serde::de::Error::custom)
    }
}

impl Held {
    /// Seals it; `shown` is the same state with digests for what is sensitive.
    ///
    /// # Errors
    /// Never for states of a size that fits into memory.
    pub fn seal(&self, shown: Attr, key: &DigestKey) -> Result<Kept, String> {
        let clear = serde_json::to_vec(self).map_err(|e| e.to_string())?;
        let nonce_key = derive_key(NONCE_KEY, key.expose());
        let nonce = &blake3::keyed_hash(&nonce_key, &clear).as_bytes()[..NONCE].to_owned();
        let cipher = cipher(key)?;
        let nonce_array = XNonce::try_from(&nonce[..]).map_err(|e| e.to_string())?;
        let payload = Payload { msg: &clear, aad: FORM };
        let sealed =
            cipher.encrypt(&nonce_array, payload).map_err(|_| "the state cannot be sealed".to_owned())?;
        let bytes = [FORM, nonce, &sealed].concat();
        Ok(Kept { state: shown, private: Some(Blob::from(&bytes[..])), schema_version: self.schema_version })
    }

    /// Opens what was sealed.
    ///
    /// # Errors
    /// Bytes of another stack, or that were changed.
    pub fn open(kept: &Kept, key: &DigestKey) -> Result<Self, String> {
        let bytes = kept.private.as_ref().map(|blob| &*blob.0).unwrap_or_default();
        let rest = bytes.strip_prefix(FORM).ok_or("what is recorded of it is not in a form that is known")?;
        let (nonce, sealed) = rest.split_at_checked(NONCE).ok_or("what is recorded of it is cut short")?;
        let nonce = XNonce::try_from(nonce).map_err(|e| e.to_string())?;
        let opened = cipher(key)?.decrypt(&nonce, Payload { msg: sealed, aad: FORM });
        let clear = opened.map_err(|_| "what is recorded of it was sealed by another stack, or changed")?;
        serde_json::from_slice(&clear).map_err(|_| "what is recorded of it cannot be read".to_owned())
    }
}

/// The secrets of what is kept, with their values: where the shown tree has one, the value of the state.
#[must_use]
pub fn secrets_kept(kept: &Kept, key: &DigestKey) -> Vec<Secret> {
    let Ok(held) = Held::open(kept, key) else { return Vec::new() };
    let Ok(state) = serde_json::from_str::<serde_json::Value>(&held.state) else { return Vec::new() };
    let (state, mut found) = (Attr::from(state), Vec::new());
    kept.state.for_each_leaf(&mut |path, leaf| {
        if let (Attr::Secret(_), Some(value)) = (leaf, path.get(&state)) {
            found.push(Secret::new(value, key));
        }
    });
    found
}

fn cipher(key: &DigestKey) -> Result<XChaCha20Poly1305, String> {
    XChaCha20Poly1305::new_from_slice(&derive_key(SEAL_KEY, key.expose())).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_opens_only_with_its_key_and_shows_nothing() {
        let key = DigestKey::new([7; 32]);
        let held = Held {
            type_name: "random_password".into(),
            state: r#"{"result":"canary"}"#.into(),
            private: vec![0, 255],
            ..Held::default()
        };
        let kept = held.seal(Attr::Null, &key).unwrap();
        assert_eq!(Held::open(&kept, &key).as_ref(), Ok(&held));
        assert_eq!(held.seal(Attr::Null, &key).unwrap(), kept, "equal states, equal seals");
        assert!(Held::open(&kept, &DigestKey::new([8; 32])).is_err());
        let text = serde_json::to_string(&kept).unwrap();
        assert!(!text.contains("canary") && !text.contains("Y2FuYXJ5"));
        let mut bytes = kept.private.clone().unwrap().0.to_vec();
        bytes[40] ^= 1;
        let changed = Kept { private: Some(Blob::from(&bytes[..])), ..kept };
        assert!(Held::open(&changed, &key).unwrap_err().contains("changed"));
        assert!(Held::open(&Kept::default(), &key).is_err());
    }
}
