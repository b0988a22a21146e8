//! Quantities (`500m`, `1.5Gi`, `1e3`): exact value, canonical text, comparison by meaning.
//!
//! Invariant: a quantity is a whole number of billionths, rounded away from zero, capped at the server's maximum; the suffix
//! family (decimal, binary, exponent) is remembered because the canonical text keeps it.

use std::cmp::Ordering;

use serde_json::Value;

/// The suffix family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Family {
    Decimal,
    Binary,
    Exponent,
}

/// A parsed quantity.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    family: Family,
}

const NANO: i128 = 1_000_000_000;
const MAX: i128 = (i64::MAX as i128) * NANO;

impl Quantity {
    /// Parses the text form. `None` when it is not a quantity.
    pub fn parse(text: &str) -> Option<Quantity> {
        let text = text.trim();
        let (negative, rest) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, suffix) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (family, base, power) = parse_suffix(suffix)?;
        let nanos = scale(whole, fraction, base, power)?.min(MAX);
        Some(Quantity { nanos: if negative { -nanos } else { nanos }, family })
    }

    /// Reads a JSON string or number.
    pub fn from_json(value: &Value) -> Option<Quantity> {
        match value {
            Value::String(s) => Quantity::parse(s),
            Value::Number(n) => Quantity::parse(&n.to_string()),
            _ => None,
        }
    }

    /// The value in billionths.
    pub fn nanos(&self) -> i128 {
        self.nanos
    }

    /// The value in whole units, rounded up.
    pub fn ceil(&self) -> i128 {
        self.nanos.div_euclid(NANO) + i128::from(self.nanos.rem_euclid(NANO) != 0)
    }

    /// A decimal quantity from billionths.
    pub fn from_nanos(nanos: i128) -> Quantity {
        Quantity { nanos: nanos.clamp(-MAX, MAX), family: Family::Decimal }
    }

    /// The sum, in the family of the left side.
    pub fn plus(&self, other: &Quantity) -> Quantity {
        Quantity { nanos: (self.nanos + other.nanos).clamp(-MAX, MAX), family: self.family }
    }

    /// The canonical text: largest suffix without a fraction.
    pub fn canonical(&self) -> String {
        if self.nanos == 0 {
            return "0".to_owned();
        }
        // A binary quantity below 1024 or with a fraction of a unit is written as a decimal one (`0.1Gi` is `107374182400m`).
        let binary = self.nanos.abs() >= 1024 * NANO && self.nanos % NANO == 0;
        match self.family {
            Family::Binary if binary => self.binary(),
            Family::Exponent => self.decimal(|exponent| match exponent {
                0 => String::new(),
                other => format!("e{other}"),
            }),
            _ => self.decimal(|exponent| {
                DECIMAL.iter().find(|(_, e)| *e == exponent).map_or("", |(s, _)| *s).to_owned()
            }),
        }
    }

    fn decimal(&self, suffix: impl Fn(i32) -> String) -> String {
        let (mut mantissa, mut exponent) = (self.nanos, -9);
        while mantissa % 1000 == 0 && exponent < 18 {
            mantissa /= 1000;
            exponent += 3;
        }
        format!("{mantissa}{}", suffix(exponent))
    }

    fn binary(&self) -> String {
        let (mut mantissa, mut step) = (self.nanos / NANO, 0);
        while mantissa % 1024 == 0 && step < BINARY.len() {
            mantissa /= 1024;
            step += 1;
        }
        let suffix = if step == 0 { "" } else { BINARY[step - 1] };
        format!("{mantissa}{suffix}")
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

const DECIMAL: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

fn parse_suffix(suffix: &str) -> Option<(Family, i128, i32)> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(s, _)| *s == suffix) {
        return Some((Family::Decimal, 10, *exponent));
    }
    if let Some(step) = BINARY.iter().position(|s| *s == suffix) {
        return Some((Family::Binary, 1024, step as i32 + 1));
    }
    let exponent = suffix.strip_prefix(['e', 'E'])?;
    Some((Family::Exponent, 10, exponent.parse::<i32>().ok()?))
}

/// `whole.fraction × base^power` in billionths, rounded up; saturating.
fn scale(whole: &str, fraction: &str, base: i128, power: i32) -> Option<i128> {
    let digits: String = [whole, fraction].concat();
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() {
        return Some(0);
    }
    let decimal =
        9 - i32::try_from(fraction.len()).ok()? + if base == 10 { power.clamp(-1000, 1000) } else { 0 };
    let factor = if base == 10 { 1 } else { 1024i128.pow(power.unsigned_abs()) };
    // More digits than any accepted value has are cut, remembering that something was there.
    let (head, tail) = digits.split_at(digits.len().min(20));
    let exponent = decimal + i32::try_from(tail.len()).ok()?;
    let mut sticky = tail.bytes().any(|b| b != b'0');
    let mut value = head.parse::<i128>().ok()?;
    if exponent > 40 {
        return Some(MAX);
    }
    value = value.saturating_mul(factor);
    for _ in 0..exponent.max(0) {
        value = value.saturating_mul(10);
    }
    for _ in 0..(-exponent).clamp(0, 60) {
        sticky |= value % 10 != 0;
        value /= 10;
    }
    Some(value.saturating_add(i128::from(sticky)))
}

/// Whether two JSON values are the same quantity.
pub fn same_quantity(a: &Value, b: &Value) -> bool {
    match (Quantity::from_json(a), Quantity::from_json(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_is_the_servers() {
        for (given, wanted) in [
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1024Mi", "1Gi"),
            ("1.5Gi", "1536Mi"),
            ("0.1", "100m"),
            ("2000000Ki", "2000000Ki"),
            ("1e3", "1e3"),
            ("2", "2"),
            ("0.5Ki", "512"),
            ("1000", "1k"),
            ("100e1", "1e3"),
            ("-1500m", "-1500m"),
            ("0Gi", "0"),
            ("1E", "1E"),
            ("0.0000000001", "1n"),
            ("99999999999999999999999999", "9223372036854775807"),
        ] {
            assert_eq!(Quantity::parse(given).unwrap().canonical(), wanted, "{given}");
        }
    }

    #[test]
    fn bad_text_is_refused() {
        for bad in ["", "x", "1.2.3", "1Kib", "--1", "1e", ".", "1 Gi", "9e99999999999999999999"] {
            assert!(Quantity::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn comparison_is_by_meaning() {
        assert!(same_quantity(&Value::from("1Gi"), &Value::from(1_073_741_824_i64)));
        assert!(same_quantity(&Value::from("1"), &Value::from("1000m")));
        assert!(Quantity::parse("1G").unwrap() < Quantity::parse("1Gi").unwrap());
    }
}
