//! The format spec of one replacement field:
//! `[[fill]align][sign][#][0][width][,|_][.precision][type]`.

use crate::FormatMistake;

/// Wider or more precise than this is refused before anything is allocated.
const MAX_COUNT: u64 = 1 << 20;

/// A parsed spec.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spec {
    pub(crate) fill: char,
    pub(crate) align: Option<char>,
    pub(crate) sign: char,
    pub(crate) alternate: bool,
    pub(crate) width: usize,
    pub(crate) grouping: Option<char>,
    pub(crate) precision: Option<usize>,
    pub(crate) kind: Option<char>,
}

impl Spec {
    /// Parses the text after the colon.
    pub(crate) fn parse(text: &str) -> Result<Spec, FormatMistake> {
        let bad = |plain: bool| FormatMistake::BadSpec { spec: text.into(), plain };
        if !text.is_ascii() {
            return Err(bad(false));
        }
        let mut rest = text;
        let (fill, align) = parse_align(&mut rest);
        let sign = take(&mut rest, |c| matches!(c, '+' | '-' | ' ')).unwrap_or('-');
        let alternate = take(&mut rest, |c| c == '#').is_some();
        let zero = rest.starts_with('0');
        let width = parse_count(&mut rest)?;
        let grouping = take(&mut rest, |c| matches!(c, ',' | '_'));
        let precision = match take(&mut rest, |c| c == '.') {
            Some(_) => Some(parse_count(&mut rest)?.ok_or_else(|| bad(true))?),
            None => None,
        };
        let kind = take(&mut rest, |c| "sbdoxXeEfFgGnc%".contains(c));
        if !rest.is_empty() {
            return Err(bad(true));
        }
        let fill_char = fill.unwrap_or(if zero { '0' } else { ' ' });
        let align = align.or(if zero { Some('=') } else { None });
        Ok(Spec {
            fill: fill_char,
            align,
            sign,
            alternate,
            width: width.unwrap_or(0),
            grouping,
            precision,
            kind,
        })
    }
}

fn take(rest: &mut &str, wanted: impl Fn(char) -> bool) -> Option<char> {
    let c = rest.chars().next().filter(|c| wanted(*c))?;
    *rest = &rest[c.len_utf8()..];
    Some(c)
}

fn parse_align(rest: &mut &str) -> (Option<char>, Option<char>) {
    let is_align = |c: char| matches!(c, '<' | '>' | '=' | '^');
    let mut chars = rest.chars();
    if let (Some(fill), Some(align)) = (chars.next(), chars.next())
        && is_align(align)
    {
        *rest = &rest[fill.len_utf8() + 1..];
        return (Some(fill), Some(align));
    }
    (None, take(rest, is_align))
}

fn parse_count(rest: &mut &str) -> Result<Option<usize>, FormatMistake> {
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if digits == 0 {
        return Ok(None);
    }
    let (digits, behind) = rest.split_at(digits);
    *rest = behind;
    match digits.parse().ok() {
        None => Err(FormatMistake::EndlessCount { digits: digits.into() }),
        Some(count) if count > MAX_COUNT => Err(FormatMistake::LargeCount { count }),
        Some(n) => Ok(Some(n as usize)),
    }
}
