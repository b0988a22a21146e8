//! Mutations of manifests, as a table: what is looked for, and what is put in its place.

use serde_json::Value;

use super::manifests::Manifest;

/// What stands at a place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    Text,
    Number,
    Bool,
    List,
    Map,
}

/// What becomes of it.
enum Change {
    /// This JSON stands there instead.
    Replace(&'static str),
    /// An attribute is added.
    Add(&'static str, &'static str),
    /// One of its attributes is gone.
    Remove,
}

const TABLE: &[(&str, Found, Change)] = &[
    ("text for a number", Found::Number, Change::Replace("\"nonsense\"")),
    ("list for a number", Found::Number, Change::Replace("[1]")),
    ("fraction for a number", Found::Number, Change::Replace("1.5")),
    ("too large a number", Found::Number, Change::Replace("99999999999")),
    ("number for a text", Found::Text, Change::Replace("12345")),
    ("map for a text", Found::Text, Change::Replace("{\"nonsense\": 1}")),
    ("list for a text", Found::Text, Change::Replace("[\"nonsense\"]")),
    ("bool for a text", Found::Text, Change::Replace("true")),
    ("unknown word", Found::Text, Change::Replace("\"Nonsense-Word\"")),
    ("empty text", Found::Text, Change::Replace("\"\"")),
    ("text for a bool", Found::Bool, Change::Replace("\"nonsense\"")),
    ("number for a bool", Found::Bool, Change::Replace("7")),
    ("text for a list", Found::List, Change::Replace("\"nonsense\"")),
    ("map for a list", Found::List, Change::Replace("{\"nonsense\": 1}")),
    ("list of numbers", Found::List, Change::Replace("[1, 2]")),
    ("empty list", Found::List, Change::Replace("[]")),
    ("text for a map", Found::Map, Change::Replace("\"nonsense\"")),
    ("list for a map", Found::Map, Change::Replace("[1]")),
    ("unknown attribute", Found::Map, Change::Add("nonsenseAttribute", "1")),
    ("missing attribute", Found::Map, Change::Remove),
];

/// A changed manifest with what was done where.
pub(super) struct Mutant {
    pub(super) manifest: Manifest,
    pub(super) row: &'static str,
    pub(super) place: String,
}

/// So many places of a manifest are tried for one row of the table.
const PLACES: usize = 3;

/// All mutants of a manifest; the same ones for the same manifest.
pub(super) fn mutants(manifest: &Manifest) -> Vec<Mutant> {
    let mut places = Vec::new();
    collect(&manifest.value, &mut String::new(), &mut places);
    let mut made = Vec::new();
    for (at, (row, found, change)) in TABLE.iter().enumerate() {
        let fitting: Vec<&String> =
            places.iter().filter(|(_, kind)| kind == found).map(|(place, _)| place).collect();
        // Spread over the manifest, not its first lines only.
        let step = (fitting.len() / PLACES).max(1);
        for place in fitting.iter().skip(at % step).step_by(step).take(PLACES) {
            let mut value = manifest.value.clone();
            if let Some(there) = value.pointer_mut(place)
                && change.make(there, at)
            {
                let manifest = Manifest { from: manifest.from.clone(), value };
                made.push(Mutant { manifest, row, place: (*place).clone() });
            }
        }
    }
    made
}

impl Change {
    fn make(&self, there: &mut Value, salt: usize) -> bool {
        let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or_default();
        match (self, there) {
            (Change::Replace(text), there) => *there = read(text),
            (Change::Add(key, text), Value::Object(entries)) => {
                entries.insert((*key).to_owned(), read(text));
            }
            (Change::Remove, Value::Object(entries)) if !entries.is_empty() => {
                let key = entries.keys().nth(salt % entries.len()).cloned().unwrap_or_default();
                return !matches!(key.as_str(), "apiVersion" | "kind" | "metadata")
                    && entries.remove(&key).is_some();
            }
            _ => return false,
        }
        true
    }
}

/// Every place below `spec` and its like with what stands there. What names and marks an object is the server's own business.
fn collect(value: &Value, at: &mut String, places: &mut Vec<(String, Found)>) {
    let kind = match value {
        Value::String(_) => Found::Text,
        Value::Number(_) => Found::Number,
        Value::Bool(_) => Found::Bool,
        Value::Array(_) => Found::List,
        Value::Object(_) => Found::Map,
        Value::Null => return,
    };
    if !at.is_empty() {
        places.push((at.clone(), kind));
    }
    let length = at.len();
    let mut inside = |key: &str, value: &Value, at: &mut String| {
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        collect(value, at, places);
        at.truncate(length);
    };
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                inside(&index.to_string(), item, at);
            }
        }
        Value::Object(entries) => {
            for (key, item) in entries {
                if !at.is_empty() || !matches!(key.as_str(), "apiVersion" | "kind" | "metadata" | "status") {
                    inside(key, item, at);
                }
            }
        }
        _ => {}
    }
}
