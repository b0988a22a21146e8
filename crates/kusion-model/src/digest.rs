//! Hashes over data: the same content gives the same hash whatever the order of keys.

use data_encoding::HEXLOWER;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Attr;

/// Appends the compact JSON of a value with sorted keys.
pub(crate) fn write_canonical(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(&String, &Value)> = map.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_scalar(key, out);
                out.push(b':');
                write_canonical(item, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_canonical(item, out);
            }
            out.push(b']');
        }
        scalar => write_scalar(scalar, out),
    }
}

/// Appends the same for a tree of attributes, without a copy of it.
pub(crate) fn write_attr(attr: &Attr, out: &mut Vec<u8>) {
    match attr {
        Attr::Map(map) => {
            let mut entries: Vec<(&str, &Attr)> =
                map.iter().map(|(key, item)| (key.as_str(), item)).collect();
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push(b'{');
            for (at, (key, item)) in entries.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_scalar(&key, out);
                out.push(b':');
                write_attr(item, out);
            }
            out.push(b'}');
        }
        Attr::List(items) => {
            out.push(b'[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                write_attr(item, out);
            }
            out.push(b']');
        }
        // The items of a set have no order, so their texts are put into one.
        Attr::Set(items) => {
            let text = |item: &Attr| {
                let mut text = Vec::new();
                write_attr(item, &mut text);
                text
            };
            let mut texts: Vec<Vec<u8>> = items.iter().map(text).collect();
            texts.sort_unstable();
            out.extend_from_slice(b"set[");
            out.extend_from_slice(&texts.join(&b','));
            out.push(b']');
        }
        leaf => write_scalar(leaf, out),
    }
}

fn write_scalar(value: &impl serde::Serialize, out: &mut Vec<u8>) {
    // Memory takes every write, and a text, a number, a truth value or null is always JSON.
    let _ = serde_json::to_writer(out, value);
}

/// Returns the SHA-256 of bytes.
#[must_use]
pub fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Returns the SHA-256 of bytes as lower-case hex.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    HEXLOWER.encode(&sha256(bytes))
}

/// Returns HMAC-SHA-256 of a message as lower-case hex.
pub(crate) fn hmac_sha256_hex(key: &[u8; 32], message: &[u8]) -> String {
    // A shorter key counts as one filled up with zeros to the length of a block.
    let mut block = [0; 64];
    block[..32].copy_from_slice(key);
    let mut mac = Hmac::<Sha256>::new(&block.into());
    mac.update(message);
    HEXLOWER.encode(&mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn canonical_json(value: &Value) -> String {
        let mut out = Vec::new();
        write_canonical(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn key_order_does_not_matter_list_order_does() {
        assert_eq!(canonical_json(&json!({"b": 1, "a": [1, 2]})), r#"{"a":[1,2],"b":1}"#);
        assert_ne!(canonical_json(&json!([1, 2])), canonical_json(&json!([2, 1])));
    }

    #[test]
    fn hashes_match_published_vectors() {
        assert_eq!(sha256_hex(b"abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        let mut key = [0; 32];
        key[..4].copy_from_slice(b"Jefe");
        assert_eq!(
            hmac_sha256_hex(&key, b"what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
        );
    }
}
