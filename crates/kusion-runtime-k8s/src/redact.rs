//! Keeping secrets out of what leaves this crate: changes are sealed by value, texts lose every secret they quote.

use std::sync::OnceLock;

use base_secret::Redactor;
use kusion_model::{Attr, DigestKey, FieldPath, Observed, Secret, Segment};
use serde_json::Value;

use crate::platform::sensitive_fields;

/// The secrets of one comparison. They are collected when they are first needed: most comparisons find no difference.
pub(crate) struct Sealer<'a> {
    key: &'a DigestKey,
    wanted: &'a Attr,
    live: Option<&'a Observed>,
    redactor: OnceLock<Redactor>,
}

impl<'a> Sealer<'a> {
    pub(crate) fn new(key: &'a DigestKey, wanted: &'a Attr, live: Option<&'a Observed>) -> Self {
        Sealer { key, wanted, live, redactor: OnceLock::new() }
    }

    fn redactor(&self) -> &Redactor {
        self.redactor.get_or_init(|| {
            let redactor = Redactor::default();
            let mut see = |_: &FieldPath, leaf: &Attr| {
                let Attr::Secret(secret) = leaf else { return };
                secret.value().into_iter().for_each(|value| redactor.add(value));
            };
            self.wanted.for_each_leaf(&mut see);
            if let Some(live) = self.live {
                live.attributes.tree().for_each_leaf(&mut see);
            }
            redactor
        })
    }

    /// Seals the value of a changed field.
    pub(crate) fn seal(&self, path: &FieldPath, value: Value) -> Attr {
        let under_data =
            matches!(path.0.first(), Some(Segment::Key(key)) if key == "data" || key == "stringData");
        // The object itself is a Secret: its data is sealed wherever it stands.
        let all = under_data && !sensitive_fields(self.wanted).is_empty();
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
            Value::String(text) if all || self.redactor().knows(&text) => {
                Attr::Secret(Secret::new(&Attr::text(text), self.key))
            }
            other => Attr::from(other),
        }
    }

    /// Takes every secret out of a text of the server.
    pub(crate) fn clean(&self, text: &str) -> String {
        self.redactor().clean(text).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use data_encoding::BASE64;
    use serde_json::json;

    #[test]
    fn texts_and_changes_lose_the_secret_in_both_forms() {
        let key = DigestKey::new([1; 32]);
        let secret = Attr::Secret(Secret::new(&Attr::text("canary-42"), &key));
        let mut object = Attr::from(json!({"apiVersion": "v1", "kind": "Secret"}));
        object.as_map_mut().unwrap().insert("stringData".into(), Attr::map([("pw", secret)]));
        let sealer = Sealer::new(&key, &object, None);
        let text = format!("bad value \"canary-42\" or {}", BASE64.encode(b"canary-42"));
        assert_eq!(sealer.clean(&text), "bad value \"(secret)\" or (secret)");
        let sealed = sealer.seal(&FieldPath::keys(["data"]), json!({"other": "dmFsdWU="}));
        assert!(!sealed.to_string().contains("dmFsdWU="));
        let elsewhere = sealer.seal(&FieldPath::keys(["metadata"]), json!({"a": "canary-42", "b": "open"}));
        assert!(!elsewhere.to_string().contains("canary-42") && elsewhere["b"] == "open");
    }
}
