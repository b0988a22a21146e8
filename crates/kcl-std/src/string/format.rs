//! `str.format`: replacement fields.
//!
//! A field is `{name[!conversion][:spec]}`; the conversion is ignored, the spec applies to numbers only.

use kcl_value::{Value, write_text};

use super::format_number::{format_float, format_int};
use super::format_spec::Spec;
use super::text_of;
use crate::host::Growing;
use crate::{Args, Error, FormatMistake, Host};

/// `format(*xs, **kw)`.
pub(crate) fn format(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let mut out = String::new();
    let mut rest = text_of(this);
    let mut automatic = 0usize;
    let mut growing = Growing::default();
    while let Some(at) = rest.find(['{', '}']) {
        out.push_str(&rest[..at]);
        let (brace, tail) = rest[at..].split_at(1);
        if let Some(after) = tail.strip_prefix(brace) {
            out.push_str(brace);
            rest = after;
            continue;
        }
        if brace == "}" {
            return Err(FormatMistake::LoneBrace { brace: '}' }.into());
        }
        let end = field_end(tail).ok_or(FormatMistake::LoneBrace { brace: '{' })?;
        format_field(&mut out, &tail[..end], &mut automatic, args)?;
        growing.reach(host, out.len())?;
        rest = &tail[end + 1..];
    }
    out.push_str(rest);
    host.charge(out.len() as u64 / 16)?;
    Ok(Value::from(out))
}

/// Finds the closing brace of a field; braces inside a spec nest.
fn field_end(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, b) in text.bytes().enumerate() {
        match b {
            b'{' => depth += 1,
            b'}' if depth == 0 => return Some(at),
            b'}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn format_field(out: &mut String, field: &str, automatic: &mut usize, args: Args<'_>) -> Result<(), Error> {
    let (head, spec) = field.split_once(':').unwrap_or((field, ""));
    let name = head.split_once('!').map_or(head, |(name, _)| name);
    let value = lookup(name, automatic, args)?;
    match value {
        Value::Int(i) => out.push_str(&format_int(*i, &Spec::parse(spec)?)?),
        Value::Float(f) => out.push_str(&format_float(*f, &Spec::parse(spec)?)?),
        other => write_text(out, other),
    }
    Ok(())
}

fn lookup<'a>(name: &str, automatic: &mut usize, args: Args<'a>) -> Result<&'a Value, Error> {
    let end = name.find(['.', '[']).unwrap_or(name.len());
    let (first, path) = name.split_at(end);
    let value = if first.is_empty() {
        *automatic += 1;
        positional(args, *automatic - 1)?
    } else if let Ok(index) = first.parse::<usize>() {
        if *automatic > 0 {
            return Err(FormatMistake::MixedFields.into());
        }
        positional(args, index)?
    } else {
        args.keyword(first).ok_or_else(|| FormatMistake::NoKeyword { name: first.into() })?
    };
    Ok(walk(value, name, path)?)
}

fn positional(args: Args<'_>, index: usize) -> Result<&Value, FormatMistake> {
    let given = args.positional.len();
    args.positional.get(index).ok_or(FormatMistake::NoPosition { index, given })
}

/// Follows `.attr` and `[key]` of a field.
fn walk<'a>(mut value: &'a Value, field: &str, mut path: &str) -> Result<&'a Value, FormatMistake> {
    let bad = |why| FormatMistake::BadField { name: field.into(), why };
    while !path.is_empty() {
        let key;
        if let Some(rest) = path.strip_prefix('.') {
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            (key, path) = rest.split_at(end);
        } else if let Some(rest) = path.strip_prefix('[') {
            let end = rest.find(']').ok_or_else(|| bad(Some("missing ']' in the field name")))?;
            key = &rest[..end];
            path = &rest[end + 1..];
        } else {
            return Err(bad(None));
        }
        if key.is_empty() {
            return Err(bad(Some("empty attribute in the field name")));
        }
        value = member(value, key)?;
    }
    Ok(value)
}

fn member<'a>(value: &'a Value, key: &str) -> Result<&'a Value, FormatMistake> {
    let absent = || (key.into(), value.type_name());
    if !value.is_config() && value.as_list().is_none() && key.parse::<usize>().is_ok() {
        let (key, ty) = absent();
        return Err(FormatMistake::NoPartByNumber { key, ty });
    }
    let found = match value {
        Value::List(list) => key.parse::<usize>().ok().and_then(|i| list.items.get(i)),
        other => other.as_dict().and_then(|dict| dict.get(key)),
    };
    found.ok_or_else(|| {
        let (key, ty) = absent();
        FormatMistake::NoPart { key, ty }
    })
}
