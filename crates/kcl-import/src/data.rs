//! Data to a configuration: a statement per key, or a stream.

use base_yaml::{Limits, parse_documents};
use kcl_model::{Value, is_identifier, quote, quote_name};

use crate::object::{finite, value};
use crate::refs::parse;
use crate::write::{formatted, header};
use crate::{Imported, Input, Mode};

/// A list of short scalars stays on a line of this length.
const LINE: usize = 80;

pub(crate) fn import(input: &Input<'_>, mode: Mode) -> Result<Imported, String> {
    let mut imported = Imported::default();
    let body = body(input, mode, &mut imported.warnings)?;
    let text = formatted(&format!("{}\n{body}", header(&input.name)))?;
    imported.files.push(("main.k".into(), text));
    Ok(imported)
}

/// Makes the statements of data (JSON, YAML or TOML), without a note of what they were made from: the text is an answer, not a file.
///
/// # Errors
/// A sentence with the place: not the format.
pub fn data_statements(input: &Input<'_>, mode: Mode) -> Result<String, String> {
    formatted(&body(input, mode, &mut Vec::new())?)
}

fn body(input: &Input<'_>, mode: Mode, warnings: &mut Vec<String>) -> Result<String, String> {
    let mut documents = match mode {
        Mode::Toml => vec![toml_value(&input.name, &input.text)?],
        Mode::Yaml => {
            let text = input.text.strip_prefix('\u{feff}').unwrap_or(&input.text);
            let nodes =
                parse_documents(text, &Limits::default()).map_err(|e| format!("{}: {e}", input.name))?;
            nodes.iter().try_for_each(|node| finite(&input.name, node))?;
            nodes.iter().map(value).collect()
        }
        _ => vec![value(&parse(&input.name, &input.text)?)],
    };
    Ok(match (documents.len(), documents.pop()) {
        (1, Some(Value::Map(entries))) => one(&entries, warnings),
        (1, Some(_)) => {
            return Err(format!(
                "{}: the data must be a mapping: what are the names of its values?",
                input.name
            ));
        }
        (_, last) => {
            documents.extend(last);
            documents.retain(|document| *document != Value::None);
            let mut out = String::from("import manifests\n\nmanifests.yaml_stream(");
            write(&Value::List(documents), 0, &mut out);
            out.push_str(")\n");
            out
        }
    })
}

fn one(entries: &[(String, Value)], warnings: &mut Vec<String>) -> String {
    for (key, _) in entries.iter().filter(|(key, _)| key.starts_with('_')) {
        warnings.push(format!("`{key}`: KCL does not print names that begin with `_`"));
    }
    let mut out = String::new();
    // A statement needs a name; data with other keys is one value.
    if entries.iter().any(|(key, _)| quote_name(key).starts_with('"')) {
        write(&Value::Map(entries.to_vec()), 0, &mut out);
        out.push('\n');
        return out;
    }
    for (key, value) in entries {
        out.push_str(&quote_name(key));
        out.push_str(" = ");
        write(value, 0, &mut out);
        out.push('\n');
    }
    out
}

/// Writes a value over several lines.
fn write(value: &Value, indent: usize, out: &mut String) {
    let pad = |out: &mut String, indent: usize| out.push_str(&" ".repeat(indent));
    match value {
        Value::Map(entries) if !entries.is_empty() => {
            out.push_str("{\n");
            for (key, value) in entries {
                pad(out, indent + 4);
                out.push_str(&if is_identifier(key) { key.clone() } else { quote(key) });
                out.push_str(" = ");
                write(value, indent + 4, out);
                out.push('\n');
            }
            pad(out, indent);
            out.push('}');
        }
        Value::List(items) if items.iter().any(|i| !is_scalar(i)) || value.to_kcl().len() + indent > LINE => {
            out.push_str("[\n");
            for item in items {
                pad(out, indent + 4);
                write(item, indent + 4, out);
                out.push('\n');
            }
            pad(out, indent);
            out.push(']');
        }
        other => out.push_str(&other.to_kcl()),
    }
}

fn is_scalar(value: &Value) -> bool {
    match value {
        Value::Map(entries) => entries.is_empty(),
        Value::List(items) => items.is_empty(),
        _ => true,
    }
}

fn toml_value(name: &str, text: &str) -> Result<Value, String> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| {
        let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
        format!("{name}:{}: {}", before.matches('\n').count() + 1, error.message())
    })?;
    let table = toml::Value::Table(table);
    match not_finite(&table) {
        None => Ok(of_toml(&table)),
        Some(path) => Err(format!(
            "{name}: `{path}` is not finite, which KCL has no literal for: write a number or a text"
        )),
    }
}

/// The path of the first number that is none.
fn not_finite(value: &toml::Value) -> Option<String> {
    match value {
        toml::Value::Float(f) if !f.is_finite() => Some(String::new()),
        toml::Value::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(at, item)| not_finite(item).map(|rest| format!("[{at}]{rest}"))),
        toml::Value::Table(table) => table.iter().find_map(|(key, value)| {
            let rest = not_finite(value)?;
            let dot = if rest.is_empty() || rest.starts_with('[') { "" } else { "." };
            Some(format!("{key}{dot}{rest}"))
        }),
        _ => None,
    }
}

fn of_toml(value: &toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::Str(text.clone()),
        toml::Value::Integer(i) => Value::Int(*i),
        toml::Value::Float(f) => Value::Float(*f),
        toml::Value::Boolean(b) => Value::Bool(*b),
        toml::Value::Datetime(date) => Value::Str(date.to_string()),
        toml::Value::Array(items) => Value::List(items.iter().map(of_toml).collect()),
        toml::Value::Table(table) => {
            Value::Map(table.iter().map(|(key, value)| (key.clone(), of_toml(value))).collect())
        }
    }
}
