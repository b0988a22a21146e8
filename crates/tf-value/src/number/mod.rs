//! Exact numbers.
//!
//! The protocol's number is a binary float with up to 512 bits. What came as an integer, as a 64-bit float or as decimal
//! digits stays that: the text of a number depends on the precision it came with, its order and equality never do.

mod decimal;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use num_bigint::BigUint;

use decimal::{Decimal, parse};

/// The first integer that is too large.
const TWO_63: f64 = (1_u64 << 63) as f64;
/// Bits of a number that was written with digits.
const PRECISION: u64 = 512;
/// The longest number that is read, in digits, and the greatest power of ten.
pub const MAX_DIGITS: usize = 4096;

/// A number: an integer, a float, or a decimal rounded to 512 bits; also infinite.
#[derive(Clone)]
pub struct Number(Repr);

#[derive(Clone)]
enum Repr {
    Int(i64),
    /// Finite, and no integer below 2⁵³: those are [`Repr::Int`].
    Float(f64),
    /// What neither of them holds exactly, or came as digits.
    Big(Box<Big>),
    NegativeZero,
    Infinite {
        negative: bool,
    },
}

/// ± mantissa × 2^exponent; the mantissa is odd.
#[derive(Clone)]
struct Big {
    negative: bool,
    mantissa: BigUint,
    exponent: i64,
}

/// Why a text is no number.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberError {
    #[error("a number is required")]
    Syntax,
    #[error("the number has more than {MAX_DIGITS} digits")]
    TooLong,
    #[error("not a number")]
    NotANumber,
}

impl Number {
    pub const POSITIVE_INFINITY: Number = Number(Repr::Infinite { negative: false });
    pub const NEGATIVE_INFINITY: Number = Number(Repr::Infinite { negative: true });

    /// Takes a float as it is; only NaN is refused.
    pub fn from_f64(float: f64) -> Result<Self, NumberError> {
        if float.is_nan() {
            return Err(NumberError::NotANumber);
        }
        if float.is_infinite() {
            return Ok(Self(Repr::Infinite { negative: float < 0.0 }));
        }
        if float == 0.0 && float.is_sign_negative() {
            return Ok(Self(Repr::NegativeZero));
        }
        // Integers below 2⁵³ are exact in both forms and have the same text.
        let whole = float.fract() == 0.0 && float.abs() < 9_007_199_254_740_992.0;
        Ok(Self(if whole { Repr::Int(float as i64) } else { Repr::Float(float) }))
    }

    /// The integer, if it is one of 64 bits.
    #[must_use]
    pub fn as_i64(&self) -> Option<i64> {
        match &self.0 {
            Repr::Int(int) => Some(*int),
            Repr::NegativeZero => Some(0),
            // 2⁶³ itself is outside; every whole float below is exact.
            Repr::Float(f) => {
                let inside = f.fract() == 0.0 && (-TWO_63..TWO_63).contains(f);
                inside.then_some(*f as i64)
            }
            Repr::Big(_) | Repr::Infinite { .. } => None,
        }
    }

    /// The float that is exactly this number, if there is one.
    #[must_use]
    pub fn as_f64(&self) -> Option<f64> {
        match &self.0 {
            Repr::Int(int) => {
                let float = *int as f64;
                (float < TWO_63 && float as i64 == *int).then_some(float)
            }
            Repr::Float(float) => Some(*float),
            Repr::Big(big) => big.as_f64(),
            Repr::NegativeZero => Some(-0.0),
            Repr::Infinite { negative } => Some(if *negative { f64::NEG_INFINITY } else { f64::INFINITY }),
        }
    }

    /// Whether it has no fraction.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        match &self.0 {
            Repr::Int(_) | Repr::NegativeZero => true,
            Repr::Float(float) => float.fract() == 0.0,
            Repr::Big(big) => big.exponent >= 0,
            Repr::Infinite { .. } => false,
        }
    }

    #[must_use]
    pub fn is_infinite(&self) -> bool {
        matches!(self.0, Repr::Infinite { .. })
    }

    #[must_use]
    pub fn is_negative(&self) -> bool {
        match &self.0 {
            Repr::Int(int) => *int < 0,
            Repr::Float(float) => *float < 0.0,
            Repr::Big(big) => big.negative,
            Repr::NegativeZero => false,
            Repr::Infinite { negative } => *negative,
        }
    }

    /// The text of at most ten digits by which sets of compound values are sorted.
    pub(crate) fn sort_text(&self) -> String {
        match &self.0 {
            Repr::Infinite { negative } => if *negative { "-Inf" } else { "+Inf" }.to_owned(),
            Repr::NegativeZero | Repr::Int(0) => self.to_string(),
            _ => {
                let mut decimal = self.exact_decimal();
                decimal.round(10);
                decimal.general(self.is_negative(), 10)
            }
        }
    }

    fn exact_decimal(&self) -> Decimal {
        let (mantissa, exponent) = self.magnitude();
        Decimal::new(&mantissa, exponent)
    }

    /// Mantissa and exponent of a finite number without its sign.
    fn magnitude(&self) -> (BigUint, i64) {
        match &self.0 {
            Repr::Int(int) => (BigUint::from(int.unsigned_abs()), 0),
            Repr::Float(float) => {
                let (mantissa, exponent) = float_parts(*float);
                (BigUint::from(mantissa), exponent)
            }
            Repr::Big(big) => (big.mantissa.clone(), big.exponent),
            Repr::NegativeZero | Repr::Infinite { .. } => (BigUint::ZERO, 0),
        }
    }

    /// Makes the number ± mantissa × 2^exponent, which must be rounded already.
    fn from_parts(negative: bool, mut mantissa: BigUint, mut exponent: i64) -> Self {
        let Some(zeros) = mantissa.trailing_zeros() else {
            return Self(if negative { Repr::NegativeZero } else { Repr::Int(0) });
        };
        mantissa >>= zeros;
        exponent += zeros as i64;
        if exponent >= 0 && mantissa.bits() + exponent as u64 <= 64 {
            let whole = i128::from(u64::try_from(&mantissa).unwrap_or(0)) << exponent;
            if let Ok(int) = i64::try_from(if negative { -whole } else { whole }) {
                return Self(Repr::Int(int));
            }
        }
        Self(Repr::Big(Box::new(Big { negative, mantissa, exponent })))
    }
}

impl Big {
    fn as_f64(&self) -> Option<f64> {
        let bits = self.mantissa.bits();
        if bits > 53 {
            return None;
        }
        let top = self.exponent + bits as i64;
        // 2⁻¹⁰⁷⁴ is the last bit of a float, 2¹⁰²⁴ the first number beyond them.
        if self.exponent < -1074 || top > 1024 {
            return None;
        }
        let mantissa = u64::try_from(&self.mantissa).ok()? as f64;
        // In two halves: each power alone is a normal float.
        let half = self.exponent / 2;
        let float = mantissa * power_of_two(half) * power_of_two(self.exponent - half);
        Some(if self.negative { -float } else { float })
    }
}

fn power_of_two(exponent: i64) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}

/// The mantissa and the exponent of a finite float, without its sign.
fn float_parts(float: f64) -> (u64, i64) {
    let bits = float.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64;
    let fraction = bits & ((1 << 52) - 1);
    if exponent == 0 { (fraction, -1074) } else { (fraction | (1 << 52), exponent - 1075) }
}

impl From<i64> for Number {
    fn from(int: i64) -> Self {
        Self(Repr::Int(int))
    }
}

impl From<i32> for Number {
    fn from(int: i32) -> Self {
        Self(Repr::Int(int.into()))
    }
}

impl From<u64> for Number {
    fn from(int: u64) -> Self {
        match i64::try_from(int) {
            Ok(int) => int.into(),
            Err(_) => Self::from_parts(false, BigUint::from(int), 0),
        }
    }
}

/// Decimal digits with an optional fraction and exponent, rounded half to even to 512 bits.
impl FromStr for Number {
    type Err = NumberError;

    fn from_str(text: &str) -> Result<Self, NumberError> {
        // Short integers are nearly all there are.
        if text.len() <= 18 && text.as_bytes().iter().all(u8::is_ascii_digit) && !text.is_empty() {
            return text.parse::<i64>().map(Self::from).map_err(|_| NumberError::Syntax);
        }
        let (negative, mantissa, exponent) = parse(text)?;
        Ok(Self::from_parts(negative, mantissa, exponent))
    }
}

/// Plain digits without an exponent, the shortest that are this number at its precision.
impl fmt::Display for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Repr::Int(int) => write!(f, "{int}"),
            Repr::NegativeZero => f.write_str("-0"),
            Repr::Infinite { negative } => f.write_str(if *negative { "-Inf" } else { "+Inf" }),
            Repr::Float(_) | Repr::Big(_) => {
                let (mantissa, exponent) = self.magnitude();
                let precision = if matches!(self.0, Repr::Float(_)) { 53 } else { PRECISION };
                let decimal = Decimal::shortest(&mantissa, exponent, precision);
                f.write_str(&decimal.plain(self.is_negative()))
            }
        }
    }
}

impl fmt::Debug for Number {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        if let (Repr::Int(a), Repr::Int(b)) = (&self.0, &other.0) {
            return a.cmp(b);
        }
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() || self.sign() == 0 {
            return by_sign;
        }
        let order = match (self.is_infinite(), other.is_infinite()) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) => compare(self.magnitude(), other.magnitude()),
        };
        if self.is_negative() { order.reverse() } else { order }
    }
}

impl Number {
    fn sign(&self) -> i8 {
        match self.0 {
            Repr::Int(0) | Repr::NegativeZero => 0,
            _ if self.is_negative() => -1,
            _ => 1,
        }
    }
}

/// Compares positive numbers: first by their highest bit, so that no shift is longer than a mantissa.
fn compare((a, a_exponent): (BigUint, i64), (b, b_exponent): (BigUint, i64)) -> Ordering {
    let top = |mantissa: &BigUint, exponent: i64| mantissa.bits() as i64 + exponent;
    top(&a, a_exponent).cmp(&top(&b, b_exponent)).then_with(|| {
        let low = a_exponent.min(b_exponent);
        (a << (a_exponent - low) as u64).cmp(&(b << (b_exponent - low) as u64))
    })
}
