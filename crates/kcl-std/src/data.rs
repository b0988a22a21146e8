//! Between text and values: what `json`, `yaml`, `-D`, settings files and interpolation share.

use base_yaml::{Data, JsonWriter, Limits, Node, YamlWriter};
use kcl_value::{Dict, Entry, Op, OutputOptions, Str, Value, write_value};

const ALL: OutputOptions =
    OutputOptions { disable_none: false, show_hidden: true, sort_keys: false, schema_type_path: false };

/// Returns one line of JSON (`${x:#json}`).
pub fn format_json_inline(value: &Value) -> String {
    json_text(value, 0)
}

fn json_text(value: &Value, indent: usize) -> String {
    let mut writer = JsonWriter::indented(indent);
    write_value(&mut writer, value, &ALL);
    writer.into_string()
}

/// Returns YAML with its final newline (`${x:#yaml}`).
pub fn format_yaml_inline(value: &Value) -> String {
    let mut writer = YamlWriter::new();
    write_value(&mut writer, value, &ALL);
    writer.into_document()
}

/// Reads JSON text.
pub fn value_from_json(text: &str) -> Result<Value, base_yaml::YamlError> {
    base_yaml::parse_json(text, &Limits::default()).map(|node| value_from_node(&node))
}

/// Reads a stream of YAML documents; no document at all gives an empty list.
pub fn values_from_yaml(text: &str) -> Result<Vec<Value>, base_yaml::YamlError> {
    let documents = base_yaml::parse_documents(text, &Limits::default())?;
    Ok(documents.iter().map(value_from_node).collect())
}

/// Turns a node into a value. Infinities and NaN become None: they cannot pass the reference's road through JSON.
pub fn value_from_node(node: &Node) -> Value {
    match &node.value {
        Data::Null => Value::None,
        Data::Bool(b) => Value::Bool(*b),
        Data::Int(i) => Value::Int(*i),
        Data::Float(f) if f.is_finite() => Value::Float(*f),
        Data::Float(_) => Value::None,
        Data::Str(text) => Value::from(text.as_str()),
        Data::List(items) => Value::from(items.iter().map(value_from_node).collect::<Vec<_>>()),
        Data::Map(entries) => {
            let mut dict = Dict::with_capacity(entries.len());
            for entry in entries {
                let value = value_from_node(&entry.value);
                dict.insert(Str::from(entry.key.as_str()), Entry::new(value, Op::Union));
            }
            Value::from(dict)
        }
    }
}

/// Returns the JSON form of an output that `manifests.yaml_stream` has set: one mapping per line, those inside lists
/// included; what is no mapping is shown only when it stands alone. `indent` 0 is one line each.
pub fn json_of_stream(yaml: &str, indent: usize) -> String {
    let Ok(mut documents) = values_from_yaml(yaml) else { return String::new() };
    if documents.is_empty() {
        documents.push(Value::None);
    }
    if let [single] = &documents[..]
        && single.as_list().is_none()
    {
        return json_text(single, indent);
    }
    let mut lines = Vec::new();
    mappings(&documents, indent, &mut lines);
    lines.join("\n")
}

fn mappings(values: &[Value], indent: usize, lines: &mut Vec<String>) {
    for value in values {
        match value {
            Value::List(list) => mappings(&list.items, indent, lines),
            Value::Dict(_) => lines.push(json_text(value, indent)),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_as_json_is_one_mapping_per_line() {
        for (yaml, json) in [
            ("1", "1"),
            ("", "null"),
            ("- 1", ""),
            ("a: 1\n---\n1\n---\nb: 2", "{\"a\": 1}\n{\"b\": 2}"),
            ("- - a: 1\n- 1\n---\n- b: {}", "{\"a\": 1}\n{\"b\": {}}"),
            ("c: 9007199254740990.0", "{\"c\": 9007199254740990.0}"),
        ] {
            assert_eq!(json_of_stream(yaml, 0), json, "{yaml}");
        }
    }

    #[test]
    fn values_survive_both_inline_forms() {
        let value = value_from_json("{\"a\": [1, 1.5, null, true, \"x\"], \"_p\": {}}").unwrap();
        assert_eq!(format_json_inline(&value), "{\"a\": [1, 1.5, null, true, \"x\"], \"_p\": {}}");
        assert_eq!(format_yaml_inline(&value), "a:\n- 1\n- 1.5\n- null\n- true\n- x\n_p: {}\n");
        assert!(kcl_value::equal(&values_from_yaml(&format_yaml_inline(&value)).unwrap()[0], &value));
        let error = value_from_json("{").unwrap_err();
        assert_eq!(error.to_string(), "EOF while parsing an object at line 1 column 1");
    }
}
