//! Values of `-D` in texts that are shown: replaced by their name, because one may be a password.
//!
//! What a program says (its checks, its `print`) is its author's text, and may repeat what it was given. Elsewhere they are
//! ordinary values (`-D replicas=3`); what of them is a secret is known to the redactor of the process.

use base_diag::Diagnostic;
use base_secret::Redactor;
use serde_json::Value;

/// Replaces values of arguments.
pub(crate) struct Hush(Redactor);

impl Hush {
    pub(crate) fn new(arguments: &[(String, String)]) -> Self {
        let redactor = Redactor::default();
        for (name, value) in arguments {
            let mut texts = vec![value.clone()];
            if let Ok(json) = serde_json::from_str::<Value>(value) {
                leaves(&json, &mut texts);
            }
            texts.iter().for_each(|text| redactor.add_shown(text, &format!("(-D {name})")));
        }
        Hush(redactor)
    }

    /// A text without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        self.0.clean(text).into_owned()
    }

    /// A diagnostic without the values; its places stay.
    pub(crate) fn diagnostic(&self, diagnostic: &mut Diagnostic) {
        let telling = diagnostic.telling.iter_mut();
        let told = telling.flat_map(|t| t.labels.iter_mut().map(|l| &mut l.message).chain([&mut t.title]));
        let texts = diagnostic.labels.iter_mut().map(|label| &mut label.message);
        let texts = texts.chain(told).chain(diagnostic.notes.iter_mut()).chain(diagnostic.help.iter_mut());
        texts.for_each(|text| *text = self.text(text));
    }
}

fn leaves(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) => texts.push(text.clone()),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, texts)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, texts)),
        other => texts.push(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hush(arguments: &[(&str, &str)]) -> Hush {
        Hush::new(&arguments.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect::<Vec<_>>())
    }

    #[test]
    fn values_are_replaced_also_inside_of_json_and_escaped() {
        let hush =
            hush(&[("pw", "s3cret"), ("all", r#"{"a": ["deep"], "n": 4217}"#), ("q", "ab\"c"), ("x", "1")]);
        assert_eq!(hush.text("s3cret deep 4217 1 ab\\\"c"), "(-D pw) (-D all) (-D all) 1 (-D q)");
        assert_eq!(hush.text("xs3cretx"), "x(-D pw)x");
    }

    #[test]
    fn the_longest_value_counts_and_nothing_is_replaced_twice() {
        let hush = hush(&[("a", "pass"), ("b", "password"), ("c", "(-D")]);
        assert_eq!(hush.text("password pass"), "(-D b) (-D a)");
    }
}
