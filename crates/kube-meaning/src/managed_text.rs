//! `metadata.managedFields` as text: how a store keeps it, without a JSON tree between the text and the sets.
//!
//! In and out: the JSON of the list, and [`Managed`]. [`write()`] spells what [`Managed::to_json`] would, byte for byte. [`read`]
//! knows the compact form that `write` makes; whatever else the text may be is left to the JSON reader.

use std::borrow::Cow;

use ecow::EcoString;
use serde_json::Value;

use crate::elem::{Elem, Scalar};
use crate::fieldset::{FieldSet, MAX_DEPTH, Node};
use crate::managed::{Entry, Managed, Manager, Operation};

/// Reads a list. `None` when it is malformed.
pub fn read(text: &str) -> Option<Managed> {
    let mut reader = Reader { text, at: 0 };
    if let Some(managed) = reader.list().filter(|_| reader.at == text.len()) {
        return Some(managed);
    }
    Managed::parse(&serde_json::from_str(text).ok()?)
}

/// The list in the server's order; `None` when nobody owns anything.
pub fn write(managed: &Managed) -> Option<String> {
    let order = managed.in_order();
    if order.is_empty() {
        return None;
    }
    let mut out = String::with_capacity(1024);
    let mut key = String::with_capacity(64);
    for (at, entry) in order.into_iter().enumerate() {
        out.push(if at == 0 { '[' } else { ',' });
        write_entry(entry, &mut out, &mut key);
    }
    out.push(']');
    Some(out)
}

fn write_entry(entry: &Entry, out: &mut String, key: &mut String) {
    out.push_str("{\"manager\":");
    push_text(out, &entry.manager.name);
    out.push_str(",\"operation\":");
    push_text(out, entry.manager.operation.as_str());
    out.push_str(",\"apiVersion\":");
    push_text(out, &entry.manager.api_version);
    if let Some(time) = &entry.time {
        out.push_str(",\"time\":");
        push_text(out, time);
    }
    out.push_str(",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    write_set(&entry.fields, false, out, key);
    if !entry.manager.subresource.is_empty() {
        out.push_str(",\"subresource\":");
        push_text(out, &entry.manager.subresource);
    }
    out.push('}');
}

fn write_set(set: &FieldSet, dot: bool, out: &mut String, key: &mut String) {
    out.push('{');
    if dot {
        out.push_str("\".\":{}");
    }
    for (at, (elem, node)) in set.nodes().iter().enumerate() {
        if at > 0 || dot {
            out.push(',');
        }
        key.clear();
        elem.write_key(key);
        push_text(out, key);
        out.push(':');
        match node.below.is_empty() {
            true => out.push_str("{}"),
            false => write_set(&node.below, node.member, out, key),
        }
    }
    out.push('}');
}

/// A text as JSON.
fn push_text(out: &mut String, text: &str) {
    if text.bytes().any(|b| b < 0x20) {
        // Control characters have spellings of their own.
        out.push_str(&Value::from(text).to_string());
        return;
    }
    out.push('"');
    let mut from = 0;
    for (at, _) in text.match_indices(['"', '\\']) {
        out.push_str(&text[from..at]);
        out.push('\\');
        from = at;
    }
    out.push_str(&text[from..]);
    out.push('"');
}

/// Reads one key of a FieldsV1 object in the form that is written here. `None` when it must be read as any JSON.
pub(crate) fn read_keys(text: &str) -> Option<Vec<(EcoString, Scalar)>> {
    let mut reader = Reader { text, at: 0 };
    let mut keys = Vec::with_capacity(2);
    reader.eat(b'{')?;
    loop {
        let name = reader.string()?;
        reader.eat(b':')?;
        keys.push((EcoString::from(&*name), reader.scalar()?));
        if reader.eat(b',').is_none() {
            break;
        }
    }
    reader.eat(b'}')?;
    (reader.at == text.len() && keys.windows(2).all(|pair| pair[0].0 < pair[1].0)).then_some(keys)
}

/// Reads one scalar in the form that is written here.
pub(crate) fn read_scalar(text: &str) -> Option<Scalar> {
    let mut reader = Reader { text, at: 0 };
    reader.scalar().filter(|_| reader.at == text.len())
}

/// Reads compact JSON from left to right. `None` is "not in this form", never an error.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn eat(&mut self, byte: u8) -> Option<()> {
        (self.peek()? == byte).then(|| self.at += 1)
    }

    fn word(&mut self, word: &str) -> Option<()> {
        self.text[self.at..].starts_with(word).then(|| self.at += word.len())
    }

    /// A text whose only escapes are those of quote and backslash.
    fn string(&mut self) -> Option<Cow<'t, str>> {
        self.eat(b'"')?;
        let start = self.at;
        let mut escapes = false;
        loop {
            match self.peek()? {
                b'"' => break,
                b'\\' => {
                    escapes = true;
                    self.at += 1;
                    matches!(self.peek()?, b'"' | b'\\').then_some(())?;
                }
                0..0x20 => return None,
                _ => {}
            }
            self.at += 1;
        }
        let raw = &self.text[start..self.at];
        self.at += 1;
        if !escapes {
            return Some(Cow::Borrowed(raw));
        }
        let mut out = String::with_capacity(raw.len());
        let mut chars = raw.chars();
        while let Some(c) = chars.next() {
            out.extend(if c == '\\' { chars.next() } else { Some(c) });
        }
        Some(Cow::Owned(out))
    }

    fn scalar(&mut self) -> Option<Scalar> {
        match self.peek()? {
            b'"' => self.string().map(|text| Scalar::Str(EcoString::from(&*text))),
            b't' => self.word("true").map(|()| Scalar::Bool(true)),
            b'f' => self.word("false").map(|()| Scalar::Bool(false)),
            b'n' => self.word("null").map(|()| Scalar::Null),
            _ => {
                let rest = &self.text[self.at..];
                let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
                let plain = digits > 0 && (digits == 1 || !rest.starts_with('0'));
                let number = rest.get(..digits).filter(|_| plain)?.parse().ok()?;
                self.at += digits;
                // A fraction or an exponent is not in this form.
                (!matches!(self.peek(), Some(b'.' | b'e' | b'E'))).then_some(Scalar::Int(number))
            }
        }
    }

    fn list(&mut self) -> Option<Managed> {
        let mut managed = Managed::default();
        self.eat(b'[')?;
        loop {
            let entry = self.entry()?;
            // Two entries with one identity are a matter for the JSON reader.
            managed.get(&entry.manager).is_none().then_some(())?;
            managed.entries.push(entry);
            if self.eat(b',').is_none() {
                break;
            }
        }
        self.eat(b']')?;
        Some(managed)
    }

    fn member(&mut self, name: &str) -> Option<Cow<'t, str>> {
        self.word(name)?;
        self.string()
    }

    fn entry(&mut self) -> Option<Entry> {
        let name = self.member("{\"manager\":")?;
        let operation = match &*self.member(",\"operation\":")? {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let api_version = self.member(",\"apiVersion\":").filter(|text| !text.is_empty())?;
        let time = self.member(",\"time\":").map(|time| EcoString::from(&*time));
        self.word(",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":")?;
        let fields = self.set(0)?.1;
        let subresource = self.member(",\"subresource\":").unwrap_or_default();
        self.eat(b'}')?;
        let manager = Manager {
            name: EcoString::from(&*name),
            operation,
            api_version: EcoString::from(&*api_version),
            subresource: EcoString::from(&*subresource),
        };
        Some(Entry { manager, time, fields })
    }

    /// A set, and whether it has the mark of its own path.
    fn set(&mut self, depth: usize) -> Option<(bool, FieldSet)> {
        (depth <= MAX_DEPTH).then_some(())?;
        let (mut dot, mut set) = (false, FieldSet::new());
        self.eat(b'{')?;
        if self.eat(b'}').is_some() {
            return Some((dot, set));
        }
        loop {
            let key = self.string()?;
            self.eat(b':')?;
            if key == "." {
                self.word("{}")?;
                dot = true;
            } else {
                let (own, below) = self.set(depth + 1)?;
                set.insert_node(Elem::parse(&key)?, Node { member: own || below.is_empty(), below });
            }
            if self.eat(b',').is_none() {
                break;
            }
        }
        self.eat(b'}')?;
        Some((dot, set))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn list() -> Value {
        let fields = json!({"f:metadata": {"f:labels": {".": {}, "f:a\"b\\\u{1}": {}}}, "f:spec": {"f:ports": {
            "k:{\"containerPort\":80,\"protocol\":\"T\\\"P\"}": {".": {}, "f:name": {}}}, "f:set": {"v:\"é\"": {}, "v:1.5": {}}}});
        json!([
            {"manager": "a", "operation": "Apply", "apiVersion": "v1", "time": "t", "fieldsType": "FieldsV1", "fieldsV1": fields},
            {"manager": "a", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:x": {}}, "subresource": "status"},
        ])
    }

    #[test]
    fn text_and_tree_say_the_same() {
        let managed = Managed::parse(&list()).unwrap();
        let text = write(&managed).unwrap();
        assert_eq!(text, managed.to_json().to_string());
        assert_eq!(read(&text).unwrap(), managed);
    }

    #[test]
    fn the_short_way_reads_what_was_written() {
        let plain = json!([{"manager": "m", "operation": "Apply", "apiVersion": "apps/v1", "time": "t",
            "fieldsType": "FieldsV1", "fieldsV1": {"f:c": {"k:{\"name\":\"c\"}": {".": {}, "f:i": {}}}}}]);
        let text = plain.to_string();
        let mut reader = Reader { text: &text, at: 0 };
        assert_eq!(reader.list(), Managed::parse(&plain));
        assert_eq!(reader.at, text.len());
    }

    #[test]
    fn any_other_spelling_is_read_as_json() {
        let pretty = serde_json::to_string_pretty(&list()).unwrap();
        assert_eq!(read(&pretty), Managed::parse(&list()));
        for bad in ["", "[", "{}", "[{}]", r#"[{"manager":"a"}]"#, "null"] {
            let value: Option<Value> = serde_json::from_str(bad).ok();
            assert_eq!(read(bad), value.and_then(|value| Managed::parse(&value)), "{bad}");
        }
        assert!(read("[]").is_some_and(|managed| managed.entries.is_empty()));
        assert!(write(&Managed::default()).is_none());
    }
}
