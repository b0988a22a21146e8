//! `split`, `rsplit`, `splitlines`.

use kcl_value::Value;

use super::text_of;
use crate::{Args, Error, Host};

type Answer = Result<Value, Error>;

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0B' | '\x0C')
}

/// How often to split: negative or absent means as often as possible.
fn limit(args: Args<'_>) -> usize {
    match args.get(1, "maxsplit") {
        Some(count) => super::count_of(count),
        None => usize::MAX,
    }
}

/// What is no string separates like the empty one.
fn separator(args: Args<'_>) -> Option<&str> {
    args.positional
        .first()
        .or_else(|| args.keyword("sep"))
        .filter(|v| !v.is_nullish())
        .map(|v| v.as_str().unwrap_or(""))
}

fn to_list(host: &mut dyn Host, parts: Vec<&str>) -> Answer {
    host.charge(parts.len() as u64)?;
    Ok(Value::from(parts.into_iter().map(Value::from).collect::<Vec<_>>()))
}

/// `split(sep, maxsplit)`: without `sep` runs of blanks separate.
pub(crate) fn split(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let (text, limit) = (text_of(this), limit(args));
    let parts = match separator(args) {
        Some(sep) if limit == usize::MAX => text.split(sep).collect(),
        Some(sep) => text.splitn(limit.saturating_add(1), sep).collect(),
        None => split_blanks(text, limit),
    };
    to_list(host, parts)
}

fn split_blanks(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_blank);
    while !rest.is_empty() {
        let end = if parts.len() < limit { rest.find(is_blank).unwrap_or(rest.len()) } else { rest.len() };
        parts.push(&rest[..end]);
        rest = rest[end..].trim_start_matches(is_blank);
    }
    parts
}

/// `rsplit(sep, maxsplit)`: counts from the right.
pub(crate) fn rsplit(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let (text, limit) = (text_of(this), limit(args));
    let mut parts: Vec<&str> = match separator(args) {
        Some(sep) if limit == usize::MAX => text.rsplit(sep).collect(),
        Some(sep) => text.rsplitn(limit.saturating_add(1), sep).collect(),
        None => rsplit_blanks(text, limit),
    };
    parts.reverse();
    to_list(host, parts)
}

fn rsplit_blanks(text: &str, limit: usize) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_blank);
    while !rest.is_empty() {
        let start = match rest.rfind(is_blank) {
            // All blanks are ASCII: one byte each.
            Some(at) if parts.len() < limit => at + 1,
            _ => 0,
        };
        parts.push(&rest[start..]);
        rest = rest[..start].trim_end_matches(is_blank);
    }
    parts
}

/// `splitlines(keepends)`: at `\n`, `\r\n` and `\r`.
pub(crate) fn split_lines(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let keep = args.get(0, "keepends").is_some_and(Value::truthy);
    let mut parts = Vec::new();
    let mut rest = text_of(this);
    while !rest.is_empty() {
        let end = rest.find(['\n', '\r']).unwrap_or(rest.len());
        let width = match rest.as_bytes().get(end..) {
            Some([b'\r', b'\n', ..]) => 2,
            Some([_, ..]) => 1,
            _ => 0,
        };
        parts.push(&rest[..end + if keep { width } else { 0 }]);
        rest = &rest[end + width..];
    }
    to_list(host, parts)
}
