//! Numbers: how far one reaches, and what it means.
//!
//! `scan` finds the token and the mistakes the lexer reports; `int` and `float` read the value of a scanned text.

use crate::ast::UnitSuffix;
use crate::mistake::Mistake;

/// What [`scan`] found.
pub(crate) struct Scanned {
    /// Bytes of the whole token, suffix included.
    pub(crate) len: usize,
    /// True for floats.
    pub(crate) float: bool,
    /// A mistake, with its range in the token.
    pub(crate) error: Option<ScanError>,
}

/// A mistake inside a number.
pub(crate) enum ScanError {
    /// The whole token is wrong.
    Whole(Mistake),
    /// A digit (at this offset) that the base does not have.
    Digit {
        /// Base of the literal.
        base: u32,
        /// Offset of the digit in the token.
        at: usize,
    },
}

/// Reads an int that is nothing but digits: nearly all are. Others are left to [`split_suffix`] and [`int`].
pub(crate) fn plain_int(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let fits = (1..=18).contains(&bytes.len()) && (bytes[0] != b'0' || bytes.len() == 1);
    let plain = fits && bytes.iter().all(u8::is_ascii_digit);
    plain.then(|| bytes.iter().fold(0, |value, digit| value * 10 + i64::from(digit - b'0')))
}

/// How many digits begin a text, if they are a whole number without prefix, fraction and suffix.
fn plain_digits(bytes: &[u8]) -> Option<usize> {
    let len = bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = |byte: &u8| byte.is_ascii() && !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'.');
    let plain = (bytes.first() != Some(&b'0') || len == 1) && bytes.get(len).is_none_or(ends);
    plain.then_some(len)
}

/// Finds the end of the number at the start of `text`, which begins with a digit.
pub(crate) fn scan(text: &str) -> Scanned {
    match plain_digits(text.as_bytes()) {
        Some(len) => Scanned { len, float: false, error: None },
        None => scan_any(text),
    }
}

fn scan_any(text: &str) -> Scanned {
    let bytes = text.as_bytes();
    let (base, prefix) = base_of(bytes);
    let mut pos = prefix;
    let is_digit = |b: u8| b == b'_' || if base == 16 { b.is_ascii_hexdigit() } else { b.is_ascii_digit() };
    while bytes.get(pos).is_some_and(|b| is_digit(*b)) {
        pos += 1;
    }
    let digits = &bytes[prefix..pos];
    let mut error = None;
    let mut float = false;
    if base != 10 && !digits.iter().any(|b| *b != b'_') {
        error = Some(ScanError::Whole(Mistake::NoDigits));
    } else {
        let bad = digits.iter().position(|b| *b != b'_' && !(*b as char).is_digit(base));
        error = error.or(bad.map(|i| ScanError::Digit { base, at: prefix + i }));
        (pos, float) = fraction(text, pos, &mut error);
        if float && error.is_none() {
            error = (base != 10).then_some(ScanError::Whole(Mistake::FloatBase { base }));
        }
    }
    let rest = &text[pos..];
    let suffix = rest.find(|c| !unicode_ident::is_xid_continue(c)).unwrap_or(rest.len());
    if !float && error.is_none() && suffix > 0 && !known_suffix(&rest[..suffix]) {
        error = Some(ScanError::Whole(Mistake::InvalidNumberSuffix));
    }
    Scanned { len: pos + suffix, float, error }
}

/// Returns base and length of the prefix. A leading zero and the digit after it are a prefix of their own (quirk:
/// `01` has no digits, `017` is 15).
fn base_of(bytes: &[u8]) -> (u32, usize) {
    match (bytes.first(), bytes.get(1)) {
        (Some(b'0'), Some(b'x')) => (16, 2),
        (Some(b'0'), Some(b'o')) => (8, 2),
        (Some(b'0'), Some(b'b')) => (2, 2),
        (Some(b'0'), Some(b'0'..=b'9')) => (8, 2),
        _ => (10, 0),
    }
}

/// Takes fraction and exponent after the digits; returns the new end and whether there were any.
fn fraction(text: &str, start: usize, error: &mut Option<ScanError>) -> (usize, bool) {
    let bytes = text.as_bytes();
    let digits = |mut pos: usize| {
        while bytes.get(pos).is_some_and(|b| *b == b'_' || b.is_ascii_digit()) {
            pos += 1;
        }
        pos
    };
    let mut pos = start;
    let mut float = false;
    if bytes.get(pos) == Some(&b'.') {
        let next = text[pos + 1..].chars().next();
        if next.is_some_and(|c| c == '.' || c == '_' || unicode_ident::is_xid_start(c)) {
            return (pos, false);
        }
        float = true;
        pos = digits(pos + 1);
    }
    if let Some(b'e' | b'E') = bytes.get(pos) {
        float = true;
        pos += 1;
        if let Some(b'+' | b'-') = bytes.get(pos) {
            pos += 1;
        }
        let end = digits(pos);
        if !bytes[pos..end].iter().any(u8::is_ascii_digit) {
            *error = Some(ScanError::Whole(Mistake::EmptyExponent));
        }
        pos = end;
    }
    (pos, float)
}

fn known_suffix(text: &str) -> bool {
    text == "i" || UnitSuffix::from_text(text).is_some()
}

/// Splits a scanned int token into its digits and its suffix.
pub(crate) fn split_suffix(text: &str) -> (&str, Option<UnitSuffix>) {
    let bytes = text.as_bytes();
    let (base, prefix) = base_of(bytes);
    let end = bytes[prefix.min(bytes.len())..]
        .iter()
        .position(|b| !(*b == b'_' || if base == 16 { b.is_ascii_hexdigit() } else { b.is_ascii_digit() }))
        .map_or(text.len(), |i| i + prefix);
    (&text[..end], UnitSuffix::from_text(&text[end..]))
}

/// Reads the digits of an int (no suffix). Up to 2^64-1, wrapped into i64.
pub(crate) fn int(digits: &str) -> Option<i64> {
    let bytes = digits.as_bytes();
    let (base, rest) = match base_of(bytes) {
        (10, _) => (10, digits),
        (8, _) if bytes.get(1).is_some_and(u8::is_ascii_digit) => (8, &digits[1..]),
        (base, prefix) => (base, &digits[prefix..]),
    };
    let mut value: u64 = 0;
    let mut after_digit = base != 10 && bytes.get(1).is_some_and(|b| !b.is_ascii_digit());
    let mut last_underscore = true;
    for c in rest.chars() {
        if c == '_' {
            if !after_digit {
                return None;
            }
            (after_digit, last_underscore) = (false, true);
            continue;
        }
        value = value.checked_mul(u64::from(base))?.checked_add(u64::from(c.to_digit(base)?))?;
        (after_digit, last_underscore) = (true, false);
    }
    if last_underscore { None } else { Some(value as i64) }
}

/// Splits the ignored suffix off a scanned float token.
pub(crate) fn float_text(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut pos = 0;
    while let Some(&b) = bytes.get(pos) {
        let sign = matches!(b, b'+' | b'-') && pos > 0 && matches!(bytes[pos - 1], b'e' | b'E');
        if b.is_ascii_digit()
            || matches!(b, b'_' | b'.')
            || sign
            || (matches!(b, b'e' | b'E') && !seen_e(&bytes[..pos]))
        {
            pos += 1;
        } else {
            break;
        }
    }
    &text[..pos]
}

fn seen_e(bytes: &[u8]) -> bool {
    bytes.iter().any(|b| matches!(b, b'e' | b'E'))
}

/// Reads a float without suffix; `_` is not allowed.
pub(crate) fn float(text: &str) -> Option<f64> {
    text.parse().ok()
}

/// True if the lexer has already reported a mistake in these digits.
pub(crate) fn lexer_reported(digits: &str) -> bool {
    let plain = digits.as_bytes().first() != Some(&b'0') || digits.len() == 1;
    !plain && scan(digits).error.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NUMBERS: [&str; 16] = [
        "0",
        "7",
        "12",
        "007",
        "08",
        "017",
        "0x1f",
        "0b1",
        "1_0",
        "1_",
        "12Ki",
        "1i",
        "1e3",
        "999999999999999999",
        "9223372036854775808",
        "18446744073709551616",
    ];

    #[test]
    fn plain_numbers_end_where_all_numbers_end() {
        for number in NUMBERS {
            for end in ["", " ", "\n", ",", "]", ".", ".5", "..", ".x", "_", "a", "é", "\u{2028}", "-1"] {
                let text = format!("{number}{end}");
                let (ours, all) = (scan(&text), scan_any(&text));
                let told = (all.len, all.float, all.error.is_some());
                assert_eq!((ours.len, ours.float, ours.error.is_some()), told, "{text:?}");
            }
        }
    }

    #[test]
    fn a_plain_int_is_the_int_of_its_digits() {
        let mut plain = 0;
        for number in NUMBERS {
            if let Some(value) = plain_int(number) {
                plain += 1;
                let (digits, suffix) = split_suffix(number);
                assert!(suffix.is_none() && !lexer_reported(digits), "{number}");
                assert_eq!(Some(value), int(digits), "{number}");
            }
        }
        assert_eq!(plain, 4);
    }
}
