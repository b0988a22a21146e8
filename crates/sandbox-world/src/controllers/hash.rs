//! Hashes of templates, as labels carry them: stable, short, in the alphabet of generated names.

use serde_json::Value;

const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";

/// FNV-1a, 32 bits, over the text of a value with its keys sorted.
pub(crate) fn fnv(value: &Value, salt: &str) -> u32 {
    let mut hash = 0x811c_9dc5;
    feed(value, &mut hash, 0);
    mix(salt.as_bytes(), &mut hash);
    hash
}

/// FNV-1a, 32 bits, over a text.
pub(crate) fn fnv_text(text: &str) -> u32 {
    let mut hash = 0x811c_9dc5;
    mix(text.as_bytes(), &mut hash);
    hash
}

/// A number as a label shows it.
pub(crate) fn encode(hash: u32) -> String {
    let letter = |digit: u8| char::from(ALPHABET[usize::from(digit) % ALPHABET.len()]);
    hash.to_string().bytes().map(letter).collect()
}

fn mix(bytes: &[u8], hash: &mut u32) {
    for byte in bytes {
        *hash = (*hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193);
    }
}

fn feed(value: &Value, hash: &mut u32, depth: usize) {
    match value {
        Value::Object(map) if depth < 200 => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort();
            mix(b"{", hash);
            for key in keys {
                mix(key.as_bytes(), hash);
                mix(b":", hash);
                feed(&map[key], hash, depth + 1);
            }
            mix(b"}", hash);
        }
        Value::Array(list) if depth < 200 => {
            mix(b"[", hash);
            for item in list {
                feed(item, hash, depth + 1);
                mix(b",", hash);
            }
            mix(b"]", hash);
        }
        other => mix(other.to_string().as_bytes(), hash),
    }
}
