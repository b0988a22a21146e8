//! References to secrets, the settings of stores, and the redactor.

use base_secret::{Redactor, SHORTEST, SHOWN, SecretValue};
use kusion_model::{SecretRef, StoreConfig};

/// The first line is a reference and a value, the rest is a text and the settings of a store: a reference that is read is written
/// back as itself, and a cleaned text shows the value nowhere.
pub fn secrets(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
    if let Some(Ok(reference)) = SecretRef::parse(first) {
        let again = SecretRef::parse(&reference.to_string());
        assert_eq!(again, Some(Ok(reference)), "{first}");
    }
    if let Ok(value) = serde_json::from_str(rest) {
        let _ = StoreConfig::from_value(&value);
    }
    let redactor = Redactor::default();
    redactor.add(&SecretValue::from(first.to_owned()));
    let escaped = serde_json::Value::from(first).to_string();
    let cleaned = redactor.clean(&format!("{rest}{first}{rest}{escaped}")).into_owned();
    if first.len() >= SHORTEST {
        assert!(cleaned.split(SHOWN).all(|piece| !piece.contains(first)), "{cleaned}");
    }
}
