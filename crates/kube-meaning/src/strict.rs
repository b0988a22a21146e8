//! Strict field validation: fields that the schema does not know, and keys written twice.
//!
//! In: a decoded value or the raw JSON text. Out: the server's complaints (`unknown field "spec.x"`, `duplicate field "data.a"`),
//! to be sent as a refusal or as warnings.

use serde_json::Value;

use crate::crd;
use crate::schema::{Resource, Schema, Ty};
use crate::status::Refusal;
use crate::typed::MAX_DEPTH;

/// Complaints about unknown fields of an object.
pub fn unknown_fields(schema: &Schema, resource: &Resource, object: &Value) -> Vec<String> {
    let paths = match &resource.structural {
        Some(structural) => crd::unknown_fields(structural, object),
        None => {
            let mut found = Vec::new();
            walk(schema, &resource.ty, object, &mut String::new(), &mut found, 0);
            found
        }
    };
    paths.into_iter().map(|path| format!("unknown field {path:?}")).collect()
}

fn walk(schema: &Schema, ty: &Ty, value: &Value, path: &mut String, found: &mut Vec<String>, depth: usize) {
    if depth > MAX_DEPTH {
        return;
    }
    match (ty, value) {
        (Ty::List(list), Value::Array(items)) => {
            for (i, item) in items.iter().enumerate() {
                let len = descend(path, &format!("[{i}]"));
                walk(schema, &list.item, item, path, found, depth + 1);
                path.truncate(len);
            }
        }
        (Ty::Map(map), Value::Object(items)) => {
            for (key, item) in items {
                let len = descend(path, key);
                walk(schema, &map.value, item, path, found, depth + 1);
                path.truncate(len);
            }
        }
        (Ty::Named { id, .. }, Value::Object(map)) => {
            let strukt = schema.get(*id);
            for (key, item) in map {
                let len = descend(path, key);
                match strukt.field(key) {
                    Some(field) => walk(schema, &field.ty, item, path, found, depth + 1),
                    None if strukt.open => {}
                    None => found.push(path.clone()),
                }
                path.truncate(len);
            }
        }
        _ => {}
    }
}

/// Appends a step and returns the length to go back to.
fn descend(path: &mut String, part: &str) -> usize {
    let len = path.len();
    if !part.starts_with('[') && !path.is_empty() {
        path.push('.');
    }
    path.push_str(part);
    len
}

/// Complaints about keys that a JSON text has twice. Text that is not JSON has none: parsing reports that.
pub fn duplicate_fields(json: &str) -> Vec<String> {
    let mut scan = Scan { bytes: json.as_bytes(), at: 0, path: Vec::new(), found: Vec::new() };
    scan.value();
    scan.found
}

/// The refusal of a strict create or update.
pub fn strict_refusal(resource: &Resource, complaints: &[String]) -> Refusal {
    let Resource { kind, version, .. } = resource;
    let list = complaints.join(", ");
    Refusal::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {list}"
    ))
}

/// A scanner that only follows structure; its stack is the path, so depth is bounded by a check, not by the call stack.
struct Scan<'j> {
    bytes: &'j [u8],
    at: usize,
    path: Vec<String>,
    found: Vec<String>,
}

impl Scan<'_> {
    fn peek(&mut self) -> Option<u8> {
        while self.bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        self.bytes.get(self.at).copied()
    }

    fn value(&mut self) -> Option<()> {
        if self.path.len() > MAX_DEPTH {
            return None;
        }
        match self.peek()? {
            b'{' => self.object(),
            b'[' => self.list(),
            b'"' => self.string().map(drop),
            _ => {
                let start = self.at;
                while self
                    .bytes
                    .get(self.at)
                    .is_some_and(|b| !matches!(b, b',' | b'}' | b']') && !b.is_ascii_whitespace())
                {
                    self.at += 1;
                }
                (self.at > start).then_some(())
            }
        }
    }

    fn object(&mut self) -> Option<()> {
        self.at += 1;
        let mut seen = rustc_hash::FxHashSet::default();
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    return Some(());
                }
                b',' => self.at += 1,
                b'"' => {
                    let key = self.string()?;
                    (self.peek()? == b':').then(|| self.at += 1)?;
                    self.path.push(key.clone());
                    if !seen.insert(key) {
                        self.found.push(format!("duplicate field {:?}", self.place()));
                    }
                    self.value()?;
                    self.path.pop();
                }
                _ => return None,
            }
        }
    }

    fn list(&mut self) -> Option<()> {
        self.at += 1;
        let mut index = 0;
        loop {
            match self.peek()? {
                b']' => {
                    self.at += 1;
                    return Some(());
                }
                b',' => {
                    self.at += 1;
                    index += 1;
                }
                _ => {
                    self.path.push(format!("[{index}]"));
                    self.value()?;
                    self.path.pop();
                }
            }
        }
    }

    fn string(&mut self) -> Option<String> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.bytes.get(self.at)? {
                b'\\' => self.at += 2,
                b'"' => break,
                _ => self.at += 1,
            }
        }
        self.at += 1;
        serde_json::from_slice(self.bytes.get(start..self.at)?).ok()
    }

    fn place(&self) -> String {
        let mut out = String::new();
        for part in &self.path {
            if !out.is_empty() && !part.starts_with('[') {
                out.push('.');
            }
            out.push_str(part);
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;
    use serde_json::json;

    #[test]
    fn unknown_fields_are_all_named() {
        let resource = builtin().resource("", "v1", "ConfigMap").unwrap();
        let found = unknown_fields(
            builtin(),
            resource,
            &json!({"metadata": {"foo": 1, "labels": {"x": "y"}}, "dataa": {}}),
        );
        assert_eq!(found, ["unknown field \"metadata.foo\"", "unknown field \"dataa\""]);
        let refusal = strict_refusal(resource, &found);
        assert_eq!(
            refusal.message,
            "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"metadata.foo\", unknown field \"dataa\""
        );
        let pod = builtin().resource("", "v1", "Pod").unwrap();
        assert_eq!(
            unknown_fields(builtin(), pod, &json!({"spec": {"containers": [{"imag": 1}]}})),
            ["unknown field \"spec.containers[0].imag\""]
        );
    }

    #[test]
    fn duplicate_keys_are_found_in_the_text() {
        assert_eq!(
            duplicate_fields(r#"{"data":{"a":"1","a":"2"},"l":[{"x":1,"x":{}}]}"#),
            ["duplicate field \"data.a\"", "duplicate field \"l[0].x\""]
        );
        for odd in ["", "{", "{\"a\":", "[[", "\"\\", "{\"a\" 1}", "nonsense"] {
            assert!(duplicate_fields(odd).is_empty(), "{odd}");
        }
    }
}
