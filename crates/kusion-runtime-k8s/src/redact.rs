//! Keeping secrets out of what leaves this crate: changes are sealed by value, texts lose every secret they quote.

use std::collections::BTreeSet;

use data_encoding::BASE64;
use kusion_model::{DigestKey, FieldPath, SecretBag, Segment, kubernetes_sensitivity};
use serde_json::Value;

/// Shorter values are no secrets worth a search through every text.
const MIN_LEN: usize = 4;

/// The secrets of one comparison.
pub(crate) struct Redactor<'a> {
    key: &'a DigestKey,
    texts: BTreeSet<String>,
    /// The object itself is a Secret: its data is sealed wherever it stands.
    is_secret: bool,
}

impl<'a> Redactor<'a> {
    pub(crate) fn new<'b>(
        key: &'a DigestKey,
        object: &Value,
        bags: impl IntoIterator<Item = &'b SecretBag>,
    ) -> Self {
        let mut texts = BTreeSet::new();
        for bag in bags {
            for secret in bag.paths().filter_map(|path| bag.get(path)) {
                let text = match secret.expose() {
                    Value::String(text) => text.clone(),
                    other => other.to_string(),
                };
                // The server stores data in base64 and may quote either form.
                if let Some(plain) = decoded(&text) {
                    texts.insert(plain);
                }
                texts.insert(BASE64.encode(text.as_bytes()));
                texts.insert(text);
            }
        }
        texts.retain(|text| text.len() >= MIN_LEN);
        Redactor { key, texts, is_secret: !kubernetes_sensitivity(object).is_empty() }
    }

    /// Seals the value of a changed field.
    pub(crate) fn seal(&self, path: &FieldPath, value: Value) -> Value {
        let under_data =
            matches!(path.0.first(), Some(Segment::Key(key)) if key == "data" || key == "stringData");
        self.seal_value(value, self.is_secret && under_data)
    }

    fn seal_value(&self, value: Value, all: bool) -> Value {
        match value {
            Value::Object(map) => {
                map.into_iter().map(|(key, item)| (key, self.seal_value(item, all))).collect()
            }
            Value::Array(items) => items.into_iter().map(|item| self.seal_value(item, all)).collect(),
            Value::String(text) if all || self.texts.contains(&text) => {
                SecretBag::default().put(FieldPath::root(), Value::String(text), self.key)
            }
            other => other,
        }
    }

    /// Takes every secret out of a text of the server.
    pub(crate) fn clean(&self, text: &str) -> String {
        // Longer ones first: one secret may be part of another.
        let mut secrets: Vec<&String> = self.texts.iter().collect();
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        secrets.into_iter().fold(text.to_owned(), |text, secret| text.replace(secret.as_str(), "(secret)"))
    }
}

fn decoded(text: &str) -> Option<String> {
    String::from_utf8(BASE64.decode(text.as_bytes()).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn texts_and_changes_lose_the_secret_in_both_forms() {
        let key = DigestKey([1; 32]);
        let mut bag = SecretBag::default();
        bag.put(FieldPath::keys(["stringData", "pw"]), json!("canary-42"), &key);
        let object = json!({"apiVersion": "v1", "kind": "Secret"});
        let redactor = Redactor::new(&key, &object, [&bag]);
        let text = format!("bad value \"canary-42\" or {}", BASE64.encode(b"canary-42"));
        assert_eq!(redactor.clean(&text), "bad value \"(secret)\" or (secret)");
        let sealed = redactor.seal(&FieldPath::keys(["data"]), json!({"other": "dmFsdWU="}));
        assert!(!sealed.to_string().contains("dmFsdWU="));
        let elsewhere = redactor.seal(&FieldPath::keys(["metadata"]), json!({"a": "canary-42", "b": "open"}));
        assert!(!elsewhere.to_string().contains("canary-42") && elsewhere["b"] == "open");
    }
}
