//! Text of YAML or JSON documents to values.
//!
//! In: a text. Out: one value per document, in order; empty YAML documents are left out. JSON (also several texts behind
//! each other) is read as JSON, everything else as YAML, so that numbers keep their exact form where JSON has one.

use base_yaml::{Data, Limits, Node};
use serde_json::{Map, Number, Value};

/// A text that is neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct DocumentError {
    /// Line of the problem, from 1; 0 if it has no place.
    pub line: usize,
    pub message: String,
}

/// Reads all documents of a text.
///
/// # Errors
/// The first problem, with its line.
pub fn read_documents(text: &str) -> Result<Vec<Value>, DocumentError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.trim_start().starts_with(['{', '[']) {
        let json: Result<Vec<Value>, _> = serde_json::Deserializer::from_str(text).into_iter().collect();
        if let Ok(values) = json {
            return Ok(values);
        }
    }
    let nodes = base_yaml::parse_documents(text, &Limits::default());
    let nodes = nodes.map_err(|e| DocumentError { line: e.line as usize, message: e.message })?;
    Ok(nodes.into_iter().map(value_of).filter(|value| !value.is_null()).collect())
}

/// Turns a node into a value; the reader bounds its depth.
pub(crate) fn value_of(node: Node) -> Value {
    match node.value {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(value),
        Data::Int(value) => Value::from(value),
        Data::Float(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        Data::Str(text) => Value::String(text),
        Data::List(items) => Value::Array(items.into_iter().map(value_of).collect()),
        Data::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for entry in entries {
                map.insert(entry.key, value_of(entry.value));
            }
            Value::Object(map)
        }
    }
}

/// Turns what a program gave into a value.
pub(crate) fn value_of_data(data: kcl::Data) -> Value {
    match data {
        kcl::Data::Null => Value::Null,
        kcl::Data::Bool(value) => Value::Bool(value),
        kcl::Data::Int(value) => Value::from(value),
        kcl::Data::Float(value) => Number::from_f64(value).map_or(Value::Null, Value::Number),
        kcl::Data::Text(text) => Value::String(text.into()),
        kcl::Data::List(items) => Value::Array(items.into_iter().map(value_of_data).collect()),
        kcl::Data::Map(entries) => Value::Object(
            entries.into_iter().map(|(key, value)| (key.into(), value_of_data(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn yaml_streams_and_json_texts_give_the_same_documents() {
        let expected = vec![json!({"a": 1}), json!({"b": ["x", null, true, 1.5]})];
        assert_eq!(read_documents("---\na: 1\n---\n---\nb: [x, null, true, 1.5]\n").unwrap(), expected);
        assert_eq!(read_documents("{\"a\": 1}\n{\"b\": [\"x\", null, true, 1.5]}").unwrap(), expected);
        assert_eq!(read_documents("{a: 1}\n---\n{b: [x, ~, true, 1.5]}").unwrap(), expected);
    }

    #[test]
    fn a_broken_text_names_its_line_and_an_empty_one_has_no_documents() {
        assert!(read_documents("a: 1\nb: [\n").unwrap_err().line > 0);
        assert_eq!(read_documents("\n# nothing\n"), Ok(Vec::new()));
    }
}
