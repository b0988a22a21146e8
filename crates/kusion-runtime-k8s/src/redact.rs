//! Keeping secrets out of what leaves this crate: changes are sealed by value, texts lose every secret they quote.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use data_encoding::BASE64;
use kusion_model::{Attr, DigestKey, FieldPath, Observed, Platform, Secret, Segment};
use serde_json::Value;

use crate::platform::KubePlatform;

/// Shorter values are no secrets worth a search through every text.
const MIN_LEN: usize = 4;

/// The secrets of one comparison. They are collected when they are first needed: most comparisons find no difference.
pub(crate) struct Redactor<'a> {
    key: &'a DigestKey,
    wanted: &'a Attr,
    live: Option<&'a Observed>,
    texts: OnceLock<BTreeSet<String>>,
}

impl<'a> Redactor<'a> {
    pub(crate) fn new(key: &'a DigestKey, wanted: &'a Attr, live: Option<&'a Observed>) -> Self {
        Redactor { key, wanted, live, texts: OnceLock::new() }
    }

    fn texts(&self) -> &BTreeSet<String> {
        self.texts.get_or_init(|| {
            let mut texts = BTreeSet::new();
            let mut see = |_: &FieldPath, leaf: &Attr| {
                let Attr::Secret(secret) = leaf else { return };
                let Some(text) = secret.text() else { return };
                // The server stores data in base64 and may quote either form.
                texts.extend(decoded(text));
                texts.insert(BASE64.encode(text.as_bytes()));
                texts.insert(text.to_owned());
            };
            self.wanted.for_each_leaf(&mut see);
            if let Some(live) = self.live {
                live.attributes.tree().for_each_leaf(&mut see);
            }
            texts.retain(|text| text.len() >= MIN_LEN);
            texts
        })
    }

    /// Seals the value of a changed field.
    pub(crate) fn seal(&self, path: &FieldPath, value: Value) -> Attr {
        let under_data =
            matches!(path.0.first(), Some(Segment::Key(key)) if key == "data" || key == "stringData");
        // The object itself is a Secret: its data is sealed wherever it stands.
        let all = under_data && !KubePlatform.sensitive(self.wanted).is_empty();
        self.seal_value(value, all)
    }

    fn seal_value(&self, value: Value, all: bool) -> Attr {
        match value {
            Value::Object(map) => {
                Attr::map(map.into_iter().map(|(key, item)| (key, self.seal_value(item, all))))
            }
            Value::Array(items) => {
                Attr::list(items.into_iter().map(|item| self.seal_value(item, all)).collect())
            }
            Value::String(text) if all || self.texts().contains(&text) => {
                Attr::Secret(Secret::new(&Attr::text(text), self.key))
            }
            other => Attr::from(other),
        }
    }

    /// Takes every secret out of a text of the server.
    pub(crate) fn clean(&self, text: &str) -> String {
        // Longer ones first: one secret may be part of another.
        let mut secrets: Vec<&String> = self.texts().iter().collect();
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
        let secret = Attr::Secret(Secret::new(&Attr::text("canary-42"), &key));
        let mut object = Attr::from(json!({"apiVersion": "v1", "kind": "Secret"}));
        object.as_map_mut().unwrap().insert("stringData".into(), Attr::map([("pw", secret)]));
        let redactor = Redactor::new(&key, &object, None);
        let text = format!("bad value \"canary-42\" or {}", BASE64.encode(b"canary-42"));
        assert_eq!(redactor.clean(&text), "bad value \"(secret)\" or (secret)");
        let sealed = redactor.seal(&FieldPath::keys(["data"]), json!({"other": "dmFsdWU="}));
        assert!(!sealed.to_string().contains("dmFsdWU="));
        let elsewhere = redactor.seal(&FieldPath::keys(["metadata"]), json!({"a": "canary-42", "b": "open"}));
        assert!(!elsewhere.to_string().contains("canary-42") && elsewhere["b"] == "open");
    }
}
