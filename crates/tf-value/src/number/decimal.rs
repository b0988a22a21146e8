//! Decimal digits to binary numbers and back.
//!
//! Both directions agree digit by digit with the numbers of the reference: reading rounds half to even to 512 bits,
//! writing takes the shortest digits that lie within half a unit of the last bit.

use num_bigint::BigUint;

use super::{MAX_DIGITS, NumberError, PRECISION};

/// Reads digits: sign, mantissa, exponent of two; the mantissa has at most 512 bits.
pub(super) fn parse(text: &str) -> Result<(bool, BigUint, i64), NumberError> {
    let (negative, rest) = match text.as_bytes() {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        rest => (false, rest),
    };
    let mut digits = Vec::new();
    let mut n_fraction: Option<i64> = None;
    let mut rest = rest.iter();
    let mut power = 0;
    if rest.len() > 2 * MAX_DIGITS {
        return Err(NumberError::TooLong);
    }
    for (at, byte) in rest.as_slice().iter().enumerate() {
        match byte {
            b'0'..=b'9' => {
                digits.push(*byte);
                n_fraction = n_fraction.map(|n| n + 1);
            }
            b'.' if n_fraction.is_none() => n_fraction = Some(0),
            b'e' | b'E' => {
                rest = rest.as_slice()[at + 1..].iter();
                power = parse_power(rest.as_slice())?;
                break;
            }
            _ => return Err(NumberError::Syntax),
        }
    }
    if digits.is_empty() {
        return Err(NumberError::Syntax);
    }
    if digits.len() > MAX_DIGITS {
        return Err(NumberError::TooLong);
    }
    let whole = BigUint::parse_bytes(&digits, 10).ok_or(NumberError::Syntax)?;
    let (mantissa, exponent) = scale(whole, power - n_fraction.unwrap_or(0))?;
    Ok((negative, mantissa, exponent))
}

fn parse_power(bytes: &[u8]) -> Result<i64, NumberError> {
    let digits = bytes.strip_prefix(b"-").or_else(|| bytes.strip_prefix(b"+")).unwrap_or(bytes);
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(NumberError::Syntax);
    }
    let text = std::str::from_utf8(digits).map_err(|_| NumberError::Syntax)?;
    let power: i64 = text.parse().map_err(|_| NumberError::TooLong)?;
    if power > MAX_DIGITS as i64 {
        return Err(NumberError::TooLong);
    }
    Ok(if bytes[0] == b'-' { -power } else { power })
}

/// whole × 10^power, rounded.
fn scale(whole: BigUint, power: i64) -> Result<(BigUint, i64), NumberError> {
    if whole == BigUint::ZERO {
        return Ok((whole, 0));
    }
    let ten = u32::try_from(power.unsigned_abs()).map_err(|_| NumberError::TooLong)?;
    let five = BigUint::from(5u32).pow(ten);
    if power >= 0 {
        return Ok(round(whole * five, power, false));
    }
    // Two more bits than are kept, and whether anything is left over.
    let shift = (PRECISION + 2 + five.bits()).saturating_sub(whole.bits());
    let shifted = whole << shift;
    let quotient = &shifted / &five;
    let sticky = &quotient * &five != shifted;
    Ok(round(quotient, power - shift as i64, sticky))
}

/// Rounds half to even to the precision; `sticky` says that the true number is a little more.
fn round(mantissa: BigUint, exponent: i64, sticky: bool) -> (BigUint, i64) {
    let bits = mantissa.bits();
    if bits <= PRECISION {
        return (mantissa, exponent);
    }
    let cut = bits - PRECISION;
    let half = mantissa.bit(cut - 1);
    let more = sticky || mantissa.trailing_zeros().is_some_and(|zeros| zeros < cut - 1);
    let mut kept = mantissa >> cut;
    if half && (more || kept.bit(0)) {
        kept += 1u32;
    }
    (kept, exponent + cut as i64)
}

/// 0.d₁d₂d₃… × 10^exponent, without zeros at the end.
pub(super) struct Decimal {
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// All digits of mantissa × 2^exponent.
    pub(super) fn new(mantissa: &BigUint, exponent: i64) -> Self {
        let (whole, point) = if exponent >= 0 {
            (mantissa << exponent as u64, 0)
        } else {
            let five = BigUint::from(5u32).pow(exponent.unsigned_abs() as u32);
            (mantissa * five, exponent)
        };
        let digits = whole.to_str_radix(10).into_bytes();
        let exponent = digits.len() as i64 + point;
        let mut decimal = Self { digits, exponent };
        decimal.trim();
        decimal
    }

    /// The fewest digits that are still this number among those of `precision` bits.
    pub(super) fn shortest(mantissa: &BigUint, exponent: i64, precision: u64) -> Self {
        let mut decimal = Self::new(mantissa, exponent);
        // One bit more than the precision: the last one is half a unit.
        let shift = precision as i64 + 1 - mantissa.bits() as i64;
        let halves = if shift >= 0 { mantissa << shift as u64 } else { mantissa >> shift.unsigned_abs() };
        let exponent = exponent - shift;
        let inclusive = !halves.bit(1);
        let lower = Self::new(&(&halves - 1u32), exponent);
        let upper = Self::new(&(&halves + 1u32), exponent);
        for at in 0..decimal.digits.len() {
            let (low, middle, high) = (lower.at(at), decimal.digits[at], upper.at(at));
            let down = low != middle || (inclusive && at + 1 == lower.digits.len());
            let up = middle != high && (inclusive || middle + 1 < high || at + 1 < upper.digits.len());
            match (down, up) {
                (true, true) => decimal.round(at + 1),
                (true, false) => decimal.round_down(at + 1),
                (false, true) => decimal.round_up(at + 1),
                (false, false) => continue,
            }
            break;
        }
        decimal
    }

    fn at(&self, place: usize) -> u8 {
        self.digits.get(place).copied().unwrap_or(b'0')
    }

    fn trim(&mut self) {
        while self.digits.last() == Some(&b'0') {
            self.digits.pop();
        }
        if self.digits.is_empty() {
            self.exponent = 0;
        }
    }

    /// Keeps so many digits, rounded half to even.
    pub(super) fn round(&mut self, keep: usize) {
        if keep >= self.digits.len() {
            return;
        }
        let next = self.digits[keep];
        let exactly_half = next == b'5' && keep + 1 == self.digits.len();
        let up =
            if exactly_half { keep > 0 && (self.digits[keep - 1] - b'0') % 2 == 1 } else { next >= b'5' };
        if up { self.round_up(keep) } else { self.round_down(keep) }
    }

    fn round_down(&mut self, keep: usize) {
        self.digits.truncate(keep);
        self.trim();
    }

    fn round_up(&mut self, mut keep: usize) {
        if keep >= self.digits.len() {
            return;
        }
        while keep > 0 && self.digits[keep - 1] == b'9' {
            keep -= 1;
        }
        self.digits.truncate(keep);
        match self.digits.last_mut() {
            Some(last) => *last += 1,
            None => {
                self.digits.push(b'1');
                self.exponent += 1;
            }
        }
    }

    fn digits(&self, range: std::ops::Range<usize>) -> impl Iterator<Item = char> {
        range.map(|place| char::from(self.at(place)))
    }

    /// Digits without an exponent.
    pub(super) fn plain(&self, negative: bool) -> String {
        let n_digits = self.digits.len();
        let n_whole = usize::try_from(self.exponent).unwrap_or(0);
        let mut out = String::with_capacity(n_digits + n_whole + 3);
        if negative {
            out.push('-');
        }
        if n_whole == 0 {
            out.push('0');
        }
        out.extend(self.digits(0..n_whole));
        if n_digits > n_whole {
            out.push('.');
            let zeros = usize::try_from(-self.exponent).unwrap_or(0);
            out.extend(std::iter::repeat_n('0', zeros));
            out.extend(self.digits(n_whole..n_digits));
        }
        out
    }

    /// With an exponent where it is small or large, else plain.
    pub(super) fn general(&self, negative: bool, precision: i64) -> String {
        let n_digits = self.digits.len() as i64;
        let limit = if precision > n_digits && n_digits >= self.exponent { n_digits } else { precision };
        let power = self.exponent - 1;
        if (-4..limit).contains(&power) {
            return self.plain(negative);
        }
        let mut out = String::new();
        if negative {
            out.push('-');
        }
        out.extend(self.digits(0..1));
        if n_digits > 1 {
            out.push('.');
            out.extend(self.digits(1..self.digits.len()));
        }
        let sign = if power < 0 { '-' } else { '+' };
        out.push_str(&format!("e{sign}{:02}", power.abs()));
        out
    }
}
