//! What a plain word means: null, bool, number or text (YAML 1.2 core, with a few freedoms of the reference).

use crate::node::Data;
use crate::number::lossy_float;

/// The same, where an integer that is too long is a float.
pub(super) fn plain_or_long(text: &str) -> Result<Data, String> {
    plain(text).or_else(|what| float(text).map(Data::Float).ok_or(what))
}

/// Returns the meaning of a plain scalar, or why it has none.
pub(super) fn plain(text: &str) -> Result<Data, String> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Data::Null),
        "true" | "True" | "TRUE" => return Ok(Data::Bool(true)),
        "false" | "False" | "FALSE" => return Ok(Data::Bool(false)),
        _ => {}
    }
    // Numbers begin like numbers: most words are done here.
    if !matches!(text.as_bytes()[0], b'0'..=b'9' | b'+' | b'-' | b'.') {
        return Ok(Data::Str(text.to_owned()));
    }
    if let Some(number) = integer(text)? {
        return Ok(number);
    }
    Ok(float(text).map_or_else(|| Data::Str(text.to_owned()), Data::Float))
}

/// Returns an integer of 64 bits, a float for up to 2^64; larger ones up to 128 bits are refused.
pub(super) fn integer(text: &str) -> Result<Option<Data>, String> {
    let (negative, digits) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x") => (16, &digits[2..]),
        Some("0o") => (8, &digits[2..]),
        Some("0b") => (2, &digits[2..]),
        _ => (10, digits),
    };
    if digits.is_empty() || !digits.bytes().all(|b| char::from(b).is_digit(radix)) {
        return Ok(None);
    }
    // `017` is text: too many people mean something else by it.
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Ok(None);
    }
    let Ok(magnitude) = u128::from_str_radix(digits, radix) else { return Ok(None) };
    let signed = i128::try_from(magnitude).map(|n| if negative { -n } else { n });
    if let Some(i) = signed.ok().and_then(|n| i64::try_from(n).ok()) {
        return Ok(Some(Data::Int(i)));
    }
    match u64::try_from(magnitude) {
        Ok(n) if !negative => Ok(Some(Data::Float(n as f64))),
        _ => {
            let (sign, kind) = if negative { ("-", "i128") } else { ("", "u128") };
            Err(format!("invalid type: integer `{sign}{magnitude}` as {kind}, expected any valid JSON value"))
        }
    }
}

/// Returns a float: decimal digits, or one of the special words.
pub(super) fn float(text: &str) -> Option<f64> {
    match text {
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => return Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => return Some(f64::NEG_INFINITY),
        ".nan" | ".NaN" | ".NAN" => return Some(f64::NAN),
        _ => {}
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    if unsigned.len() > 1 && unsigned.starts_with('0') && unsigned.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value: f64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    value.is_finite().then(|| lossy_float(value))
}
