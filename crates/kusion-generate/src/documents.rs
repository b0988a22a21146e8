//! Text of YAML or JSON documents to values.
//!
//! In: a text. Out: one value per document, in order; empty YAML documents are left out. JSON (also several texts behind
//! each other) is read as JSON, everything else as YAML, so that numbers keep their exact form where JSON has one.

use base_yaml::{Data, Limits, Node, Span};
use serde_json::{Map, Number, Value, json};

/// So many digits may need more than 64 bits.
const LONG: usize = 19;

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
            return Ok(with_digits(text, values));
        }
    }
    read_yaml(text)
}

/// JSON with the digits of its long integers. The other reader knows where they stand, but not all that JSON can be: several
/// texts behind each other, or letters written as two escapes. What it does not read stays as it is.
fn with_digits(text: &str, values: Vec<Value>) -> Vec<Value> {
    if !has_long_integers(text) {
        return values;
    }
    match read_yaml(text) {
        Ok(exact) if exact.len() == values.len() => exact,
        _ => values,
    }
}

fn read_yaml(text: &str) -> Result<Vec<Value>, DocumentError> {
    let limits = Limits { long_integers: true, ..Limits::default() };
    let nodes = base_yaml::parse_documents(text, &limits);
    let nodes = nodes.map_err(|e| DocumentError { line: e.line as usize, message: e.message })?;
    Ok(nodes.into_iter().map(|node| value_of(node, text)).filter(|value| !value.is_null()).collect())
}

/// Whether there may be integers that a float does not hold exactly.
fn has_long_integers(text: &str) -> bool {
    text.as_bytes().split(|byte| !byte.is_ascii_digit()).any(|digits| digits.len() >= LONG)
}

/// The digits of an integer that stands where a float was read; `None` if it is a real one.
fn integer_at(text: &str, span: Span) -> Option<&str> {
    let word = text.get(span.start..span.end)?;
    let digits = word.strip_prefix('-').unwrap_or(word);
    (digits.len() >= LONG && digits.bytes().all(|byte| byte.is_ascii_digit())).then_some(word)
}

/// A float, or the integer that was written. What needs more than 64 bits has the form in which attributes are stored.
fn number_of(value: f64, text: &str, span: Span) -> Value {
    match integer_at(text, span) {
        Some(digits) => match digits.parse::<u64>() {
            Ok(exact) => Value::from(exact),
            Err(_) => json!({"$kusion:number": digits}),
        },
        None => Number::from_f64(value).map_or(Value::Null, Value::Number),
    }
}

/// Turns a node of a text into a value; the reader bounds its depth.
pub(crate) fn value_of(node: Node, text: &str) -> Value {
    match node.value {
        Data::Null => Value::Null,
        Data::Bool(value) => Value::Bool(value),
        Data::Int(value) => Value::from(value),
        Data::Float(value) => number_of(value, text, node.span),
        Data::Str(text) => Value::String(text),
        Data::List(items) => Value::Array(items.into_iter().map(|item| value_of(item, text)).collect()),
        Data::Map(entries) => {
            let mut map = Map::with_capacity(entries.len());
            for entry in entries {
                map.insert(entry.key, value_of(entry.value, text));
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

    #[test]
    fn long_integers_keep_their_digits() {
        let long = "123456789012345678901234567890123456789012345";
        let expected =
            json!({"a": 18_446_744_073_709_551_615_u64, "b": {"$kusion:number": long}, "c": [-1, 1.5]});
        let yaml = format!("a: 18446744073709551615\nb: {long}\nc: [-1, 1.5]\n");
        assert_eq!(read_documents(&yaml).as_deref(), Ok(std::slice::from_ref(&expected)));
        let json = format!("{{\"a\": 18446744073709551615, \"b\": {long}, \"c\": [-1, 1.5]}}");
        assert_eq!(read_documents(&json).unwrap(), [expected]);
        let stream = "{\"a\": \"1234567890123456789012\"}\n{\"b\": \"\\ud83d\\ude00\"}";
        let expected = [json!({"a": "1234567890123456789012"}), json!({"b": "😀"})];
        assert_eq!(read_documents(stream).unwrap(), expected, "what only JSON can be is still read");
        assert_eq!(
            read_documents("a: '12345678901234567890123'").unwrap(),
            [json!({"a": "12345678901234567890123"})]
        );
    }
}
