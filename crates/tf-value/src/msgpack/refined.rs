//! Unknown values with bounds: an extension that holds a map.

use std::sync::Arc;

use super::read::Reader;
use super::write::{put_int, put_map_header, put_number, put_string, put_unknown};
use crate::value::Elements;
use crate::{Number, Refinement, Type, Value, ValueError, normal};

/// The extension code of bounds.
const CODE: u8 = 12;
/// The longest body of an extension that is read.
const MAX_BODY: usize = 1024;
/// A longer prefix is cut when it is written.
const MAX_PREFIX: usize = 256;

const NULLNESS: i64 = 1;
const PREFIX: i64 = 2;
const LOWER: i64 = 3;
const UPPER: i64 = 4;
const MIN_LENGTH: i64 = 5;
const MAX_LENGTH: i64 = 6;

/// Writes an unknown value with those bounds that the type can have.
pub(super) fn put(out: &mut Vec<u8>, bounds: &Refinement, ty: &Type) -> Result<(), ValueError> {
    let mut body = Vec::new();
    let mut n_entries = 0;
    if bounds.not_null {
        n_entries += 1;
        body.extend([NULLNESS as u8, 0xc2]);
    }
    match ty {
        Type::Number => {
            for (key, bound) in [(LOWER, &bounds.lower), (UPPER, &bounds.upper)] {
                // An infinite bound says nothing.
                let Some((number, inclusive)) = bound.as_ref().filter(|(number, _)| !number.is_infinite())
                else {
                    continue;
                };
                n_entries += 1;
                body.extend([key as u8, 0x92]);
                put_number(&mut body, number)?;
                body.push(if *inclusive { 0xc3 } else { 0xc2 });
            }
        }
        Type::String => {
            if let Some(prefix) = bounds.prefix.as_deref().map(cut).filter(|prefix| !prefix.is_empty()) {
                n_entries += 1;
                body.push(PREFIX as u8);
                put_string(&mut body, prefix)?;
            }
        }
        Type::List(_) | Type::Set(_) | Type::Map(_) => {
            let min_length = bounds.min_length.filter(|bound| *bound > 0);
            for (key, bound) in [(MIN_LENGTH, min_length), (MAX_LENGTH, bounds.max_length)] {
                let Some(bound) = bound.and_then(|bound| i64::try_from(bound).ok()) else { continue };
                n_entries += 1;
                body.push(key as u8);
                put_int(&mut body, bound);
            }
        }
        Type::Bool | Type::Dynamic | Type::Tuple(_) | Type::Object(_) => {}
    }
    if n_entries == 0 {
        put_unknown(out);
        return Ok(());
    }
    let mut whole = Vec::with_capacity(body.len() + 1);
    put_map_header(&mut whole, n_entries)?;
    whole.extend(body);
    put_extension_header(out, whole.len());
    out.extend(whole);
    Ok(())
}

fn put_extension_header(out: &mut Vec<u8>, n: usize) {
    match n {
        1 => out.push(0xd4),
        2 => out.push(0xd5),
        4 => out.push(0xd6),
        8 => out.push(0xd7),
        16 => out.push(0xd8),
        0..=0xff => out.extend([0xc7, n as u8]),
        _ => {
            out.push(0xc8);
            out.extend((n as u16).to_be_bytes());
        }
    }
    out.push(CODE);
}

/// A prefix of at most the allowed length. What a following character could still change is cut off as well.
fn cut(prefix: &str) -> &str {
    if prefix.len() <= MAX_PREFIX {
        return prefix;
    }
    let mut end = MAX_PREFIX - 1;
    while !prefix.is_char_boundary(end) {
        end -= 1;
    }
    let kept = &prefix[..end];
    // The last character may combine with what follows.
    kept.char_indices().next_back().map_or(kept, |(at, _)| &kept[..at])
}

/// Reads the value that an extension stands for; the reader stands behind its code.
pub(super) fn read(reader: &mut Reader<'_>, code: u8, n: usize, ty: &Type) -> Result<Value, ValueError> {
    if n <= 1 {
        reader.take(n)?;
        return Ok(Value::unknown());
    }
    if code != CODE {
        return Err(reader.error(format!("there is no extension {code} of {n} bytes")));
    }
    if n > MAX_BODY {
        return Err(
            reader.error(format!("an unknown value with {n} bytes of bounds; the limit is {MAX_BODY}"))
        );
    }
    let body = reader.take(n)?;
    let mut inner = reader.over(body);
    let n_entries = inner.map_header()?;
    if matches!(ty, Type::Dynamic) {
        return Ok(Value::unknown());
    }
    let mut bounds = Refinement::default();
    let mut null = false;
    for _ in 0..n_entries {
        match (inner.int()?, ty) {
            (NULLNESS, _) => {
                null = inner.bool()?;
                bounds.not_null = !null;
            }
            (PREFIX, Type::String) => {
                let prefix = normal(&inner.text()?);
                bounds.prefix = Some(prefix).filter(|prefix| !prefix.is_empty());
            }
            (LOWER, Type::Number) => {
                bounds.lower = Some(bound(&mut inner)?).filter(|(n, _)| !n.is_infinite())
            }
            (UPPER, Type::Number) => {
                bounds.upper = Some(bound(&mut inner)?).filter(|(n, _)| !n.is_infinite())
            }
            (MIN_LENGTH, Type::List(_) | Type::Set(_) | Type::Map(_)) => {
                bounds.min_length = Some(length(&mut inner)?).filter(|bound| *bound > 0);
            }
            (MAX_LENGTH, Type::List(_) | Type::Set(_) | Type::Map(_)) => {
                bounds.max_length = Some(length(&mut inner)?);
            }
            (NULLNESS..=MAX_LENGTH, _) => {
                return Err(reader.error(format!("an unknown {ty} has bounds of another type")));
            }
            _ => inner.skip()?,
        }
    }
    Ok(if null { Value::Null } else { settle(bounds, ty) })
}

/// The longest list of unknown elements that bounds can stand for.
const MAX_SETTLED: u64 = 1024;

/// Bounds that leave only one value are that value; the same is done by everybody who reads them.
fn settle(bounds: Refinement, ty: &Type) -> Value {
    let min_length = bounds.min_length.unwrap_or(0);
    if bounds.not_null && bounds.max_length == Some(min_length) {
        match (ty, min_length) {
            (Type::List(_), n @ 0..=MAX_SETTLED) => return Value::List(vec![Value::unknown(); n as usize]),
            (Type::Set(_), 0) => return Value::Set(Elements::default()),
            (Type::Set(_), 1) => return Value::Set(Elements(vec![Value::unknown()])),
            (Type::Map(_), 0) => return Value::Map(crate::Map::new()),
            _ => {}
        }
    }
    if let (true, Some((lower, true)), Some((upper, true))) = (bounds.not_null, &bounds.lower, &bounds.upper)
        && lower == upper
    {
        return Value::Number(lower.clone());
    }
    match Arc::new(bounds) {
        bounds if bounds.is_empty() => Value::unknown(),
        bounds => Value::Unknown(Some(bounds)),
    }
}

fn bound(inner: &mut Reader<'_>) -> Result<(Number, bool), ValueError> {
    if inner.array_header()? != 2 {
        return Err(inner.error("a bound of a number is no pair".to_owned()));
    }
    Ok((inner.number()?, inner.bool()?))
}

fn length(inner: &mut Reader<'_>) -> Result<u64, ValueError> {
    let length = inner.int()?;
    u64::try_from(length).map_err(|_| inner.error("a negative length".to_owned()))
}
