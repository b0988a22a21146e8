//! Number helpers that several modules share: quantity suffixes and the overflow messages.

use crate::{Error, Host, Mistake};

/// The suffixes of quantities and what they multiply by; two-letter ones first.
pub(crate) const SUFFIXES: [(&str, f64); 14] = [
    ("Ki", 1024.0),
    ("Mi", 1_048_576.0),
    ("Gi", 1_073_741_824.0),
    ("Ti", 1_099_511_627_776.0),
    ("Pi", 1_125_899_906_842_624.0),
    ("n", 1e-9),
    ("u", 1e-6),
    ("m", 1e-3),
    ("k", 1e3),
    ("K", 1e3),
    ("M", 1e6),
    ("G", 1e9),
    ("T", 1e12),
    ("P", 1e15),
];

/// Splits a quantity into its digits and the factor of its suffix.
pub(crate) fn suffix_factor(text: &str) -> (&str, Option<f64>) {
    for (suffix, factor) in SUFFIXES {
        if let Some(digits) = text.strip_suffix(suffix) {
            return (digits, Some(factor));
        }
    }
    (text, None)
}

/// The error of an integer that does not fit.
pub(crate) fn int_overflow(exact: i128) -> Error {
    Mistake::IntegerOverflow { exact: ecow::eco_format!("{exact}"), bits: 64 }.into()
}

/// Refuses a float that does not fit: 64 bits, or 32 in a strict program.
pub(crate) fn check_float(host: &dyn Host, f: f64) -> Result<f64, Error> {
    let strict = host.strict_range();
    if f.is_infinite() || strict && f.is_finite() && (f as f32).is_infinite() {
        let bits = if strict { 32 } else { 64 };
        return Err(Mistake::FloatOverflow { bits }.into());
    }
    Ok(f)
}

/// Narrows an exact result.
pub(crate) fn narrow(exact: i128) -> Result<i64, Error> {
    i64::try_from(exact).map_err(|_| int_overflow(exact))
}

/// Narrows the result of an addition, to 32 bits in a strict program.
pub(crate) fn narrow_in(host: &dyn Host, exact: i128) -> Result<i64, Error> {
    if host.strict_range() && i32::try_from(exact).is_err() {
        return Err(Mistake::IntegerOverflow { exact: ecow::eco_format!("{exact}"), bits: 32 }.into());
    }
    narrow(exact)
}
