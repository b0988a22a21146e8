//! Numbers that keep their exact value, however many digits they have.

use std::fmt;
use std::sync::Arc;

/// Powers of ten beyond this are refused: their digits would fill the memory.
const MAX_EXPONENT: i64 = 10_000;

/// A number. Two are equal if they have the same exact value, in whatever form they are held.
#[derive(Clone, Debug)]
pub struct Number(Held);

#[derive(Clone, Debug)]
enum Held {
    Int(i64),
    /// Above the largest `i64`.
    Uint(u64),
    Float(f64),
    /// Plain digits, perhaps with a sign and a fraction; no zero too many.
    Decimal(Arc<str>),
}

/// A text that is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no number")]
pub struct NumberError(pub String);

impl Number {
    /// Takes a float; `None` for what is no number.
    #[must_use]
    pub fn from_f64(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(Number(Held::Float(value)))
    }

    /// Reads decimal digits with an optional sign, fraction and exponent, or `Infinity`; keeps every digit.
    pub fn parse(text: &str) -> Result<Self, NumberError> {
        match text {
            "Infinity" => return Ok(Number(Held::Float(f64::INFINITY))),
            "-Infinity" => return Ok(Number(Held::Float(f64::NEG_INFINITY))),
            _ => {}
        }
        let plain = plain_digits(text).ok_or_else(|| NumberError(text.to_owned()))?;
        Ok(match (plain.parse::<i64>(), plain.parse::<u64>()) {
            (Ok(int), _) => Number(Held::Int(int)),
            (_, Ok(uint)) => Number(Held::Uint(uint)),
            _ => Number(Held::Decimal(plain.into())),
        })
    }

    /// Returns the exact value as plain digits without an exponent.
    #[must_use]
    pub fn to_digits(&self) -> String {
        match &self.0 {
            Held::Int(int) => int.to_string(),
            Held::Uint(uint) => uint.to_string(),
            Held::Float(float) if float.is_infinite() => {
                if *float > 0.0 {
                    "Infinity".to_owned()
                } else {
                    "-Infinity".to_owned()
                }
            }
            // A float has at most 1074 digits behind the point, and they are printed exactly.
            Held::Float(float) => plain_digits(&format!("{float:.1074}")).unwrap_or_default(),
            Held::Decimal(digits) => digits.to_string(),
        }
    }

    /// Returns the number as JSON has it; `None` if JSON would lose something.
    #[must_use]
    pub fn to_json(&self) -> Option<serde_json::Number> {
        match &self.0 {
            Held::Int(int) => Some((*int).into()),
            Held::Uint(uint) => Some((*uint).into()),
            Held::Float(float) => serde_json::Number::from_f64(*float),
            Held::Decimal(_) => None,
        }
    }

    /// Returns the nearest float.
    #[must_use]
    pub fn to_f64(&self) -> f64 {
        match &self.0 {
            Held::Float(float) => *float,
            _ => self.to_digits().parse().unwrap_or(f64::INFINITY),
        }
    }

    /// Returns the number if it is a whole one that fits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Held::Int(int) => Some(*int),
            _ => None,
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Held::Int(a), Held::Int(b)) => a == b,
            (Held::Uint(a), Held::Uint(b)) => a == b,
            (Held::Float(a), Held::Float(b)) => a == b,
            (Held::Decimal(a), Held::Decimal(b)) => a == b,
            _ => self.to_digits() == other.to_digits(),
        }
    }
}

impl Eq for Number {}

impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.to_json() {
            Some(number) => write!(f, "{number}"),
            None => f.write_str(&self.to_digits()),
        }
    }
}

impl From<i64> for Number {
    fn from(value: i64) -> Self {
        Number(Held::Int(value))
    }
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or(Number(Held::Uint(value)), Number::from)
    }
}

impl From<&serde_json::Number> for Number {
    fn from(number: &serde_json::Number) -> Self {
        match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => Number(Held::Int(int)),
            (None, Some(uint)) => Number(Held::Uint(uint)),
            (None, None) => Number(Held::Float(number.as_f64().unwrap_or_default())),
        }
    }
}

/// Brings a decimal text to plain digits: no `+`, no exponent, no zero in front or behind, no `-0`.
fn plain_digits(text: &str) -> Option<String> {
    let (negative, rest) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let usable = !whole.is_empty() && digits_only(whole) && digits_only(fraction);
    if !usable || exponent.abs() > MAX_EXPONENT || mantissa.ends_with('.') {
        return None;
    }
    let mut digits = format!("{whole}{fraction}");
    // Where the point stands, counted from the front of the digits.
    let mut point = i64::try_from(whole.len()).ok()? + exponent;
    while point < 0 {
        digits.insert(0, '0');
        point += 1;
    }
    let point = usize::try_from(point).ok()?;
    while digits.len() < point {
        digits.push('0');
    }
    let (whole, fraction) = digits.split_at(point);
    let (whole, fraction) = (whole.trim_start_matches('0'), fraction.trim_end_matches('0'));
    let mut out = String::new();
    if negative && !(whole.is_empty() && fraction.is_empty()) {
        out.push('-');
    }
    out.push_str(if whole.is_empty() { "0" } else { whole });
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::parse(text).unwrap()
    }

    #[test]
    fn every_digit_is_kept() {
        for (text, plain) in [
            ("100000000000000000000", "100000000000000000000"),
            ("1.50", "1.5"),
            ("-0.0", "0"),
            ("1e-5", "0.00001"),
            ("12.5e3", "12500"),
            ("+7", "7"),
            ("0.1000000000000000000000000000000001", "0.1000000000000000000000000000000001"),
        ] {
            assert_eq!(number(text).to_digits(), plain, "{text}");
        }
        for text in ["", "-", "1.", ".5", "0x10", "1e99999999", "NaN", "1e", "1,5"] {
            assert!(Number::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn numbers_are_equal_by_exact_value() {
        let float = |value| Number::from_f64(value).unwrap();
        assert_eq!(float(1.0), number("1"));
        assert_eq!(float(0.5), number("0.5"));
        assert_eq!(number("18446744073709551615"), Number::from(u64::MAX));
        assert_ne!(float(0.1), number("0.1"), "the float is not exactly a tenth");
        assert_ne!(number("9007199254740993"), number("9007199254740992"));
        assert_eq!(Number::from_f64(f64::NAN), None);
    }

    #[test]
    fn json_gets_what_it_can_hold_exactly() {
        assert_eq!(number("1").to_json().unwrap().to_string(), "1");
        assert_eq!(Number::from_f64(1.0).unwrap().to_json().unwrap().to_string(), "1.0");
        assert_eq!(number("100000000000000000000").to_json(), None);
    }
}
