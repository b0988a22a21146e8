//! Small questions about nodes.

use base_yaml::{Data, MapEntry, Node};
use kcl_model::Value;

/// The text of a key.
pub(crate) fn text<'n>(node: &'n Node, key: &str) -> Option<&'n str> {
    match &node.get(key)?.value {
        Data::Str(text) => Some(text),
        _ => None,
    }
}

/// Whether a key is true.
pub(crate) fn is_true(node: &Node, key: &str) -> bool {
    matches!(node.get(key).map(|n| &n.value), Some(Data::Bool(true)))
}

/// The items of a key that is a list.
pub(crate) fn items<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    match node.get(key).map(|n| &n.value) {
        Some(Data::List(items)) => items,
        _ => &[],
    }
}

/// The entries of a key that is a mapping.
pub(crate) fn entries<'n>(node: &'n Node, key: &str) -> &'n [MapEntry] {
    node.get(key).map_or(&[], all)
}

/// The entries of a mapping.
pub(crate) fn all(node: &Node) -> &[MapEntry] {
    match &node.value {
        Data::Map(entries) => entries,
        _ => &[],
    }
}

/// The texts of a key that is a list of them.
pub(crate) fn texts<'n>(node: &'n Node, key: &str) -> Vec<&'n str> {
    let text = |node: &'n Node| match &node.value {
        Data::Str(text) => Some(text.as_str()),
        _ => None,
    };
    items(node, key).iter().filter_map(text).collect()
}

/// A node as a constant.
pub(crate) fn value(node: &Node) -> Value {
    match &node.value {
        Data::Null => Value::None,
        Data::Bool(b) => Value::Bool(*b),
        Data::Int(i) => Value::Int(*i),
        Data::Float(f) => Value::Float(*f),
        Data::Str(text) => Value::Str(text.clone()),
        Data::List(items) => Value::List(items.iter().map(value).collect()),
        Data::Map(entries) => Value::Map(entries.iter().map(|e| (e.key.clone(), value(&e.value))).collect()),
    }
}

/// Whether all numbers of a document are some: KCL has neither infinities nor what is no number.
///
/// # Errors
/// The first that is none, with its place.
pub(crate) fn finite(name: &str, node: &Node) -> Result<(), String> {
    match &node.value {
        Data::Float(f) if !f.is_finite() => {
            let what = if f.is_nan() { "not a number" } else { "infinite" };
            let (line, column) = (node.span.line, node.span.column);
            Err(format!(
                "{name}:{line}:{column}: this is {what}, which KCL has no literal for: write a number or a text"
            ))
        }
        Data::List(items) => items.iter().try_for_each(|item| finite(name, item)),
        Data::Map(entries) => entries.iter().try_for_each(|entry| finite(name, &entry.value)),
        _ => Ok(()),
    }
}

/// A number as a constant; one without a fraction is an integer.
pub(crate) fn number(node: &Node) -> Option<Value> {
    match node.value {
        Data::Int(i) => Some(Value::Int(i)),
        Data::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => Some(Value::Int(f as i64)),
        Data::Float(f) if f.is_finite() => Some(Value::Float(f)),
        _ => None,
    }
}
