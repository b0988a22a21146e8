//! Numbers under a format spec.

use super::format_spec::Spec;
use crate::FormatMistake;

/// Formats an integer.
pub(crate) fn format_int(i: i64, spec: &Spec) -> Result<String, FormatMistake> {
    let magnitude = i.unsigned_abs();
    let (digits, prefix, group) = match spec.kind {
        None | Some('d' | 'n') => (magnitude.to_string(), "", 3),
        Some('b') => (format!("{magnitude:b}"), "0b", 4),
        Some('o') => (format!("{magnitude:o}"), "0o", 4),
        Some('x') => (format!("{magnitude:x}"), "0x", 4),
        Some('X') => (format!("{magnitude:X}"), "0x", 4),
        Some('e' | 'E' | 'f' | 'F' | 'g' | 'G' | '%') => return format_float(i as f64, spec),
        Some(code) => return Err(FormatMistake::WrongCode { code, ty: "int" }),
    };
    // A comma groups decimal digits only.
    let digits = match spec.grouping {
        Some('_') => grouped(&digits, '_', group),
        Some(',') if group == 3 => grouped(&digits, ',', 3),
        _ => digits,
    };
    let prefix = if spec.alternate { prefix } else { "" };
    Ok(padded(i < 0, &format!("{prefix}{digits}"), spec))
}

/// Formats a float.
pub(crate) fn format_float(f: f64, spec: &Spec) -> Result<String, FormatMistake> {
    let precision = spec.precision.unwrap_or(6);
    let magnitude = f.abs();
    let digits = match spec.kind {
        None | Some('e' | 'f' | 'g') if !f.is_finite() => magnitude.to_string().to_lowercase(),
        Some('E' | 'F' | 'G') if !f.is_finite() => magnitude.to_string().to_uppercase(),
        None => repr(magnitude),
        Some('f' | 'F') => format!("{magnitude:.precision$}"),
        Some('e') => exponent(magnitude, precision, 'e'),
        Some('E') => exponent(magnitude, precision, 'E'),
        Some('g') => general(magnitude, precision, 'e'),
        Some('G') => general(magnitude, precision, 'E'),
        Some('%') => format!("{:.precision$}%", magnitude * 100.0),
        Some('n') => return Err(FormatMistake::NoLocale),
        Some(code) => return Err(FormatMistake::WrongCode { code, ty: "float" }),
    };
    let digits = match spec.grouping {
        Some(separator) => {
            let end = digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len());
            format!("{}{}", grouped(&digits[..end], separator, 3), &digits[end..])
        }
        None => digits,
    };
    Ok(padded(f.is_sign_negative() && !f.is_nan(), &digits, spec))
}

/// The form of a float without spec: exponent below 1e-4 and from 1e16.
pub(crate) fn repr(magnitude: f64) -> String {
    if magnitude == 0.0 {
        return "0.0".to_owned();
    }
    if (1e-4..1e16).contains(&magnitude) {
        return kcl_value::float_text(magnitude);
    }
    let text = format!("{magnitude:e}");
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}e{}", exponent_text(exp.parse().unwrap_or(0)))
}

fn exponent_text(exp: i32) -> String {
    format!("{}{:02}", if exp < 0 { '-' } else { '+' }, exp.abs())
}

fn exponent(magnitude: f64, precision: usize, letter: char) -> String {
    let text = format!("{magnitude:.precision$e}");
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    format!("{mantissa}{letter}{}", exponent_text(exp.parse().unwrap_or(0)))
}

fn general(magnitude: f64, precision: usize, letter: char) -> String {
    let precision = precision.max(1);
    let text = format!("{magnitude:.*e}", precision - 1);
    let (mantissa, exp) = text.split_once('e').unwrap_or((&text, "0"));
    let exp: i32 = exp.parse().unwrap_or(0);
    let trim = |digits: &str| match digits.contains('.') {
        true => digits.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => digits.to_owned(),
    };
    if exp < -4 || exp >= precision as i32 {
        return format!("{}{letter}{}", trim(mantissa), exponent_text(exp));
    }
    let decimals = (precision as i32 - 1 - exp).max(0) as usize;
    trim(&format!("{magnitude:.decimals$}"))
}

/// Puts a separator between groups of digits, counted from the right.
fn grouped(digits: &str, separator: char, size: usize) -> String {
    let mut out = String::with_capacity(digits.len() * 4 / 3 + 1);
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(size) {
            out.push(separator);
        }
        out.push(c);
    }
    out
}

/// Adds sign and fill. Fill after the sign (`=`) stands before a radix prefix, as in the reference.
fn padded(negative: bool, magnitude: &str, spec: &Spec) -> String {
    let sign = match (negative, spec.sign) {
        (true, _) => "-",
        (false, '+') => "+",
        (false, ' ') => " ",
        _ => "",
    };
    let missing = spec.width.saturating_sub(sign.len() + magnitude.len());
    let fill = |n: usize| spec.fill.to_string().repeat(n);
    match spec.align {
        Some('<') => format!("{sign}{magnitude}{}", fill(missing)),
        Some('^') => format!("{}{sign}{magnitude}{}", fill(missing / 2), fill(missing - missing / 2)),
        Some('=') => format!("{sign}{}{magnitude}", fill(missing)),
        _ => format!("{}{sign}{magnitude}", fill(missing)),
    }
}
