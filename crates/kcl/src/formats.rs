//! TOML and XML of a result.
//!
//! In: the documents of a result, as plain data: names that are hidden and values that are not written are gone already.
//! Out: text, or the mistake that the format cannot say it.

use kcl_value::{Str, Value, to_text};

use crate::Data;
use crate::mistake::Mistake;

/// Returns TOML: scalars and arrays first, then arrays of tables, then tables, in order within each class.
///
/// # Errors
/// A stream, a result that is no mapping, None inside an array.
pub(crate) fn toml_text(documents: &[Data]) -> Result<String, Mistake> {
    let root = match documents {
        [] => return Ok(String::new()),
        [Data::Map(entries)] => table(entries)?,
        [_] => return Err(Mistake::NoTable),
        _ => return Err(Mistake::TomlStream),
    };
    let text = toml::to_string(&root).map_err(|error| Mistake::Toml { why: error.to_string() })?;
    Ok(text.trim_end_matches('\n').to_owned())
}

fn table(entries: &[(Str, Data)]) -> Result<toml::Table, Mistake> {
    let mut rows = Vec::new();
    for (key, value) in entries.iter().filter(|(_, value)| *value != Data::Null) {
        rows.push((key.to_string(), toml_value(value)?));
    }
    rows.sort_by_key(|(_, value)| class(value));
    Ok(rows.into_iter().collect())
}

fn class(value: &toml::Value) -> u8 {
    match value {
        toml::Value::Array(items) if !items.is_empty() && items.iter().all(toml::Value::is_table) => 1,
        toml::Value::Table(_) => 2,
        _ => 0,
    }
}

fn toml_value(value: &Data) -> Result<toml::Value, Mistake> {
    Ok(match value {
        Data::Null => return Err(Mistake::TomlNull),
        Data::Bool(b) => toml::Value::Boolean(*b),
        Data::Int(i) => toml::Value::Integer(*i),
        Data::Float(f) => toml::Value::Float(*f),
        Data::Text(text) => toml::Value::String(text.to_string()),
        Data::List(items) => {
            let items: Result<Vec<_>, Mistake> = items.iter().map(toml_value).collect();
            toml::Value::Array(items?)
        }
        Data::Map(entries) => toml::Value::Table(table(entries)?),
    })
}

/// Returns XML: a `root` element with one child per key and `item` elements in lists; a stream stands in `results`.
pub(crate) fn xml_text(documents: &[Data]) -> String {
    let mut out = String::new();
    match documents {
        [] => {}
        [one] => element(&mut out, "root", one, 0),
        many => {
            out.push_str("<results>\n");
            many.iter().for_each(|document| element(&mut out, "root", document, 1));
            out.push_str("</results>\n");
        }
    }
    out.truncate(out.trim_end_matches('\n').len());
    out
}

fn element(out: &mut String, name: &str, value: &Data, depth: usize) {
    let (name, indent) = (element_name(name), "  ".repeat(depth));
    let mut leaf = |text: &str| out.push_str(&format!("{indent}<{name}>{}</{name}>\n", escaped(text)));
    let children: Vec<(&str, &Data)> = match value {
        Data::Map(entries) => entries.iter().map(|(key, value)| (key.as_str(), value)).collect(),
        Data::List(items) => items.iter().map(|item| ("item", item)).collect(),
        Data::Null => Vec::new(),
        Data::Bool(b) => return leaf(&b.to_string()),
        Data::Int(i) => return leaf(&i.to_string()),
        Data::Float(f) => return leaf(&to_text(&Value::Float(*f))),
        Data::Text(text) => return leaf(text),
    };
    if children.is_empty() {
        out.push_str(&format!("{indent}<{name}></{name}>\n"));
        return;
    }
    out.push_str(&format!("{indent}<{name}>\n"));
    for (key, child) in children {
        element(out, key, child, depth + 1);
    }
    out.push_str(&format!("{indent}</{name}>\n"));
}

// A key that is no XML name: what does not fit becomes `_`.
fn element_name(key: &str) -> String {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    let mut name: String = key.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    name
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            // Control characters have no form in XML.
            c if c.is_control() && !matches!(c, '\n' | '\t' | '\r') => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}
