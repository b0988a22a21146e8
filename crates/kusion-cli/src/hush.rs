//! Values of `-D` in texts that are shown: replaced by their name, because one may be a password.
//!
//! What a program says (its checks, its `print`) is its author's text, and may repeat what it was given. Texts of fewer than
//! three characters are left alone: they are no secrets, and replacing them would make every message unreadable.

use base_diag::Diagnostic;
use serde_json::Value;

/// Replaces values of arguments.
pub(crate) struct Hush {
    /// Texts and what stands for them, the longest first.
    pairs: Vec<(String, String)>,
}

impl Hush {
    pub(crate) fn new(arguments: &[(String, String)]) -> Self {
        let mut pairs = Vec::new();
        for (name, value) in arguments {
            let shown = format!("(-D {name})");
            let mut texts = vec![value.clone()];
            if let Ok(json) = serde_json::from_str::<Value>(value) {
                leaves(&json, &mut texts);
            }
            for text in texts.into_iter().filter(|text| text.chars().count() >= 3) {
                let quoted = Value::from(text.as_str()).to_string();
                let escaped = quoted[1..quoted.len() - 1].to_owned();
                if escaped != text {
                    pairs.push((escaped, shown.clone()));
                }
                pairs.push((text, shown.clone()));
            }
        }
        pairs.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        Hush { pairs }
    }

    /// A text without the values.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        // One pass: what was put in is not looked at again.
        while let Some(first) = rest.chars().next() {
            match self.pairs.iter().find(|(value, _)| rest.starts_with(value.as_str())) {
                Some((value, shown)) => {
                    out.push_str(shown);
                    rest = &rest[value.len()..];
                }
                None => {
                    out.push(first);
                    rest = &rest[first.len_utf8()..];
                }
            }
        }
        out
    }

    /// A diagnostic without the values; its places stay.
    pub(crate) fn diagnostic(&self, diagnostic: &mut Diagnostic) {
        if self.pairs.is_empty() {
            return;
        }
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
            hush(&[("pw", "s3cret"), ("all", r#"{"a": ["deep"], "n": 4217}"#), ("q", "a\"b"), ("x", "1")]);
        assert_eq!(hush.text("s3cret deep 4217 1 a\\\"b"), "(-D pw) (-D all) (-D all) 1 (-D q)");
        assert_eq!(hush.text("xs3cretx"), "x(-D pw)x");
    }

    #[test]
    fn the_longest_value_counts_and_nothing_is_replaced_twice() {
        let hush = hush(&[("a", "pass"), ("b", "password"), ("c", "(-D")]);
        assert_eq!(hush.text("password pass"), "(-D b) (-D a)");
    }
}
