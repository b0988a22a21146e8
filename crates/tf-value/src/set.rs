//! The order and the equality of sets.
//!
//! Strings, numbers and bools have an order of their own. Other elements are sorted by a text: it has no meaning, but it is
//! the one that other programs use, so that the same set has the same bytes everywhere. Nobody may rely on it.

use std::cmp::Ordering;

use crate::value::Elements;
use crate::{MAX_DEPTH, Type, Value, ValueError};

/// What an element is sorted by: known ones first, then unknown ones, then null.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Key {
    Itself,
    Text(String),
    Unknown,
    Null,
}

pub(crate) fn build(items: Vec<Value>, of: &Type) -> Result<Elements, ValueError> {
    let mut keyed = Vec::with_capacity(items.len());
    for item in items {
        keyed.push((key(&item, of)?, item));
    }
    // Stable: what has the same key keeps the order in which it came.
    keyed.sort_by(|(a_key, a), (b_key, b)| a_key.cmp(b_key).then_with(|| primitive_order(a, b)));
    let mut kept: Vec<Value> = Vec::with_capacity(keyed.len());
    let mut keys: Vec<Key> = Vec::with_capacity(keyed.len());
    for (key, item) in keyed {
        // Equal elements have equal keys, so only the run with this key is looked at.
        let run =
            keys.iter().rev().zip(kept.iter().rev()).take_while(|(other, other_item)| {
                **other == key && primitive_order(other_item, &item).is_eq()
            });
        let known = item.is_wholly_known();
        if known && run.into_iter().any(|(_, other)| *other == item) {
            continue;
        }
        keys.push(key);
        kept.push(item);
    }
    Ok(Elements(kept))
}

fn primitive_order(a: &Value, b: &Value) -> Ordering {
    match (a.plain(), b.plain()) {
        (Value::String(a), Value::String(b)) => a.cmp(b),
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        _ => Ordering::Equal,
    }
}

fn key(item: &Value, of: &Type) -> Result<Key, ValueError> {
    Ok(match item.plain() {
        Value::Null => Key::Null,
        Value::Unknown(_) => Key::Unknown,
        Value::String(_) | Value::Number(_) | Value::Bool(_) => Key::Itself,
        _ => {
            let mut text = String::new();
            push_text(item, of, &mut text, 0)?;
            Key::Text(text)
        }
    })
}

fn push_text(value: &Value, of: &Type, out: &mut String, depth: usize) -> Result<(), ValueError> {
    if depth > MAX_DEPTH {
        return Err(ValueError::new(format!("a value is nested deeper than {MAX_DEPTH}")));
    }
    match (value, of) {
        (Value::Dynamic(dynamic), _) => push_text(&dynamic.value, &dynamic.ty, out, depth + 1)?,
        (Value::Unknown(_), _) => out.push('?'),
        (Value::Null, _) => out.push('~'),
        (Value::Bool(bool), _) => out.push(if *bool { 'T' } else { 'F' }),
        (Value::Number(number), _) => out.push_str(&number.sort_text()),
        (Value::String(text), _) => push_quoted(text, out),
        (Value::List(items), Type::List(of)) => push_items(items, |_| of, ('[', ']'), out, depth)?,
        (Value::Set(items), Type::Set(of)) => push_items(items, |_| of, ('[', ']'), out, depth)?,
        (Value::List(items), Type::Tuple(of)) if items.len() == of.len() => {
            push_items(items, |at| &of[at], ('<', '>'), out, depth)?;
        }
        (Value::Map(entries), Type::Map(of)) => {
            out.push('{');
            for (key, value) in entries {
                push_quoted(key, out);
                out.push(':');
                push_text(value, of, out, depth + 1)?;
                out.push(';');
            }
            out.push('}');
        }
        (Value::Map(entries), Type::Object(object)) => {
            out.push('<');
            for (name, of) in &object.attributes {
                push_text(entries.get(name).unwrap_or(&Value::Null), of, out, depth + 1)?;
                out.push(';');
            }
            out.push('>');
        }
        _ => return Err(ValueError::new(format!("an element of a set is no {of}"))),
    }
    Ok(())
}

fn push_items<'t>(
    items: &[Value],
    of: impl Fn(usize) -> &'t Type,
    (open, close): (char, char),
    out: &mut String,
    depth: usize,
) -> Result<(), ValueError> {
    out.push(open);
    for (at, item) in items.iter().enumerate() {
        push_text(item, of(at), out, depth + 1)?;
        out.push(';');
    }
    out.push(close);
    Ok(())
}

/// A string between quotes, with the escapes of the reference.
fn push_quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\x07' => out.push_str("\\a"),
            '\x08' => out.push_str("\\b"),
            '\x0c' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\x0b' => out.push_str("\\v"),
            c if (c as u32) < 0x20 || c == '\x7f' => out.push_str(&format!("\\x{:02x}", c as u32)),
            c if !is_shown(c) && (c as u32) < 0x10000 => out.push_str(&format!("\\u{:04x}", c as u32)),
            c if !is_shown(c) => out.push_str(&format!("\\U{:08x}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Letters, marks, numbers, punctuation, symbols and the plain space; marks are the ones that the standard library escapes
/// although they can be shown.
fn is_shown(c: char) -> bool {
    let mut escaped = c.escape_debug();
    c == '\''
        || escaped.len() == 1
        || (escaped.next() == Some('\\') && unicode_normalization::char::is_combining_mark(c))
}

/// Whether two sets of one length have the same elements; their order may differ where the keys are equal.
pub(crate) fn permuted(a: &[Value], b: &[Value]) -> bool {
    let mut used = vec![false; b.len()];
    a.iter().enumerate().all(|(at, item)| {
        // Nearly always the partner stands at the same place.
        let found = std::iter::once(at).chain(0..b.len()).find(|&place| !used[place] && b[place] == *item);
        found.is_some_and(|place| !std::mem::replace(&mut used[place], true))
    })
}
