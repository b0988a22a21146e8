//! Searching: `count`, `find`, `index`, `startswith` and their mirror images.
//!
//! Offsets are bytes, negative ones count from the end. The search itself works on bytes, so an offset inside a
//! character finds nothing there instead of failing. These methods take no keywords: the reference ignores them.

use kcl_value::Value;

use super::text_of;
use crate::{Args, Error, Host, Missing, Mistake};

type Answer = Result<Value, Error>;

/// The part of a text that `start` and `end` leave, and where it starts; None if start lies behind end.
fn window<'a>(text: &'a str, args: Args<'_>) -> Option<(&'a [u8], usize)> {
    let len = text.len() as i64;
    let offset = |at: usize, otherwise: i64| match args.positional.get(at) {
        Some(Value::Int(i)) if *i < 0 => (len + i).max(0),
        Some(Value::Int(i)) => *i,
        _ => otherwise,
    };
    let (start, end) = (offset(1, 0), offset(2, len).min(len));
    let bytes = text.as_bytes().get(start as usize..end as usize)?;
    Some((bytes, start as usize))
}

fn needle<'a>(args: Args<'a>, method: &'static str, name: &'static str) -> Result<&'a str, Error> {
    match args.positional.first() {
        Some(Value::Str(text)) => Ok(text),
        Some(other) => Err(Mistake::NotASubstring { method, got: other.type_name() }.into()),
        None => Err(Mistake::MissingArgument { function: method, name, said: Missing::AtLeastOne }.into()),
    }
}

fn first_at(hay: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(0);
    }
    hay.windows(needle.len()).position(|w| w == needle)
}

fn last_at(hay: &[u8], needle: &[u8]) -> Option<usize> {
    if needle.is_empty() {
        return Some(hay.len());
    }
    hay.windows(needle.len()).rposition(|w| w == needle)
}

type Search = fn(&[u8], &[u8]) -> Option<usize>;

fn locate(this: &Value, args: Args<'_>, name: &'static str, search: Search) -> Result<Option<i64>, Error> {
    let needle = needle(args, name, "sub")?;
    Ok(window(text_of(this), args).and_then(|(hay, from)| {
        let found = search(hay, needle.as_bytes())?;
        Some((found + from) as i64)
    }))
}

/// `find(sub, start, end)`.
pub(crate) fn find(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Int(locate(this, args, "find", first_at)?.unwrap_or(-1)))
}

/// `rfind(sub, start, end)`.
pub(crate) fn rfind(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Int(locate(this, args, "rfind", last_at)?.unwrap_or(-1)))
}

/// A place that must be there.
fn found(place: Option<i64>, args: Args<'_>) -> Answer {
    let text = || args.positional.first().and_then(Value::as_str).unwrap_or("").into();
    Ok(place.map(Value::Int).ok_or_else(|| Mistake::NoSubstring { text: text() })?)
}

/// `index(sub, start, end)`.
pub(crate) fn index(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    found(locate(this, args, "index", first_at)?, args)
}

/// `rindex(sub, start, end)`.
pub(crate) fn rindex(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    found(locate(this, args, "rindex", last_at)?, args)
}

/// `count(sub, start, end)`: without overlaps; the empty text stands around every character.
pub(crate) fn count(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let needle = needle(args, "count", "sub")?.as_bytes();
    let Some((mut hay, _)) = window(text_of(this), args) else { return Ok(Value::Int(0)) };
    if needle.is_empty() {
        let chars = hay.iter().filter(|b| **b & 0xC0 != 0x80).count();
        return Ok(Value::Int(chars as i64 + 1));
    }
    let mut count = 0;
    while let Some(at) = first_at(hay, needle) {
        count += 1;
        hay = &hay[at + needle.len()..];
    }
    Ok(Value::Int(count))
}

/// `startswith(val, start, end)`.
pub(crate) fn starts_with(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let needle = needle(args, "startswith", "val")?.as_bytes();
    Ok(Value::Bool(window(text_of(this), args).is_some_and(|(hay, _)| hay.starts_with(needle))))
}

/// `endswith(val, start, end)`.
pub(crate) fn ends_with(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let needle = needle(args, "endswith", "val")?.as_bytes();
    Ok(Value::Bool(window(text_of(this), args).is_some_and(|(hay, _)| hay.ends_with(needle))))
}
