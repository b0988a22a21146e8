//! Unit numbers and the text form of floats.

use std::fmt;

/// `1Ki`: what was written and what it is worth.
#[derive(Clone, Debug, PartialEq)]
pub struct Unit {
    /// The number before the suffix.
    pub raw: i64,
    /// The suffix.
    pub suffix: &'static str,
    /// The product.
    pub value: f64,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.raw, self.suffix)
    }
}

/// Returns the text of a float as `str()` prints it: shortest digits, never an exponent, `.0` where there is no point.
pub fn float_text(f: f64) -> String {
    let mut text = f.to_string();
    if !text.contains('.') {
        text.push_str(".0");
    }
    text
}
