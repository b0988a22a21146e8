//! Numbers in text: the two float layouts, and the non-exact reading that YAML output passes through.

use std::io::Write;

/// The largest power of ten that is exact enough to be a table row: above it a division is split.
const MAX_POW: i32 = 308;

/// From here to its double the distance of neighbouring floats is 1/4.
const TWO_POW_50: f64 = 1_125_899_906_842_624.0;

/// The shortest decimal digits of a finite float: `digits` without point, value = 0.digits × 10^point.
struct Shortest {
    digits: [u8; 20],
    len: usize,
    /// Where the decimal point stands, counted from the first digit.
    point: i32,
}

/// Splits a finite, positive float into its shortest digits.
fn shortest(f: f64) -> Shortest {
    let mut buf = [0u8; 32];
    let mut rest = &mut buf[..];
    // `{:e}` prints d.ddde-NNN: at most 17 digits, so the buffer is always large enough.
    let _ = write!(rest, "{f:e}");
    let left = rest.len();
    let text = &buf[..32 - left];
    let mut out = Shortest { digits: [0; 20], len: 0, point: 1 };
    let mut bytes = text.iter().copied();
    for b in bytes.by_ref() {
        match b {
            b'e' => break,
            b'.' => {}
            digit => {
                out.digits[out.len] = digit;
                out.len += 1;
            }
        }
    }
    let (mut exp, mut negative) = (0i32, false);
    for b in bytes {
        match b {
            b'-' => negative = true,
            digit => exp = exp * 10 + i32::from(digit - b'0'),
        }
    }
    out.point += if negative { -exp } else { exp };
    // The only floats with two shortest forms equally near end in .25 where the step is .25 (.75 has the even digit
    // already): the standard library rounds up, the reference to even.
    if (TWO_POW_50..TWO_POW_50 * 2.0).contains(&f) && f.fract() == 0.25 {
        out.digits[out.len - 1] = b'2';
    }
    out
}

/// Appends a float: decimal notation for 1e-5 ≤ |f| < 1e16, otherwise an exponent, with `plus` before a positive one.
/// NaN and infinities are `null`.
pub(crate) fn push_float(out: &mut String, f: f64, plus: bool) {
    if !f.is_finite() {
        out.push_str("null");
        return;
    }
    if f.is_sign_negative() {
        out.push('-');
    }
    if f == 0.0 {
        out.push_str("0.0");
        return;
    }
    let s = shortest(f.abs());
    let digits = std::str::from_utf8(&s.digits[..s.len]).expect("digits are ASCII");
    if (1..=16).contains(&s.point) {
        let point = s.point as usize;
        if s.len <= point {
            out.push_str(digits);
            out.extend(std::iter::repeat_n('0', point - s.len));
            out.push_str(".0");
        } else {
            out.push_str(&digits[..point]);
            out.push('.');
            out.push_str(&digits[point..]);
        }
    } else if (-4..=0).contains(&s.point) {
        out.push_str("0.");
        out.extend(std::iter::repeat_n('0', -s.point as usize));
        out.push_str(digits);
    } else {
        out.push_str(&digits[..1]);
        if s.len > 1 {
            out.push('.');
            out.push_str(&digits[1..]);
        }
        push_exponent(out, s.point - 1, plus);
    }
}

fn push_exponent(out: &mut String, exp: i32, plus: bool) {
    out.push('e');
    if plus && exp >= 0 {
        out.push('+');
    }
    push_int(out, i64::from(exp));
}

/// Appends a decimal integer.
pub fn push_int(out: &mut String, i: i64) {
    out.push_str(itoa::Buffer::new().format(i));
}

/// Returns significand × 10^exponent in one rounding step of plain double arithmetic; None if it overflows.
pub(crate) fn from_parts(significand: u64, mut exponent: i32) -> Option<f64> {
    let mut f = significand as f64;
    if f == 0.0 {
        return Some(0.0);
    }
    while exponent < -MAX_POW && f != 0.0 {
        f /= 1e308;
        exponent += MAX_POW;
    }
    if f == 0.0 {
        return Some(0.0);
    }
    if exponent > MAX_POW {
        return None;
    }
    let pow = pow10(exponent.unsigned_abs());
    f = if exponent >= 0 { f * pow } else { f / pow };
    f.is_finite().then_some(f)
}

/// The powers that are exact; most numbers need no others.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Returns 10^n, correctly rounded, for n ≤ 308.
fn pow10(n: u32) -> f64 {
    if let Some(power) = EXACT_POWERS.get(n as usize) {
        return *power;
    }
    let mut buf = [0u8; 8];
    let mut rest = &mut buf[..];
    let _ = write!(rest, "1e{n}");
    let left = rest.len();
    std::str::from_utf8(&buf[..8 - left]).ok().and_then(|t| t.parse().ok()).unwrap_or(f64::INFINITY)
}

/// Returns what remains of a float after the reference's road through JSON text and its non-exact number parser.
///
/// The digits of the JSON form, point left out, become an integer; that is converted to double and then divided or
/// multiplied once by a power of ten. Most floats come back unchanged, some differ in the last place.
pub fn lossy_float(f: f64) -> f64 {
    if !f.is_finite() || f == 0.0 {
        return f;
    }
    let s = shortest(f.abs());
    let mut significand = s.digits[..s.len].iter().fold(0u64, |n, d| n * 10 + u64::from(d - b'0'));
    let mut exponent = s.point - s.len as i32;
    if (1..=16).contains(&s.point) && exponent >= 0 {
        // The JSON form is `1200.0`: the written zeros count as digits.
        significand *= 10u64.pow(exponent as u32 + 1);
        exponent = -1;
    }
    let value = from_parts(significand, exponent).unwrap_or(f.abs());
    if f.is_sign_negative() { -value } else { value }
}

/// Reads a JSON number's text the way [`lossy_float`] describes. The text must be a valid JSON number.
pub fn lossy_parse(text: &str) -> Option<f64> {
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (mantissa, exp) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], parse_exponent(&text[at + 1..])),
        None => (text, 0),
    };
    let (mut significand, mut exponent, mut after_point, mut full) = (0u64, 0i32, false, false);
    for b in mantissa.bytes() {
        if b == b'.' {
            after_point = true;
            continue;
        }
        if !b.is_ascii_digit() {
            return None;
        }
        let next = significand.checked_mul(10).and_then(|n| n.checked_add(u64::from(b - b'0')));
        match next.filter(|_| !full) {
            Some(n) => {
                significand = n;
                exponent -= i32::from(after_point);
            }
            None => {
                full = true;
                exponent = exponent.saturating_add(i32::from(!after_point));
            }
        }
    }
    let value = from_parts(significand, exponent.saturating_add(exp))?;
    Some(if negative { -value } else { value })
}

fn parse_exponent(text: &str) -> i32 {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = digits
        .bytes()
        .fold(0i32, |n, b| n.saturating_mul(10).saturating_add(i32::from(b.wrapping_sub(b'0'))));
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(f: f64, plus: bool) -> String {
        let mut out = String::new();
        push_float(&mut out, f, plus);
        out
    }

    #[test]
    fn floats_have_two_layouts() {
        for (f, yaml) in [
            (1.0, "1.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e16"),
            (1.2345678901234568e17, "1.2345678901234568e17"),
            (1e-5, "0.00001"),
            (1e-6, "1e-6"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-0.0, "-0.0"),
            (-12.5, "-12.5"),
            (f64::NAN, "null"),
            (f64::NEG_INFINITY, "null"),
            (5e-324, "5e-324"),
            (1_805_224_660_758_715.0 + 0.25, "1805224660758715.2"),
            (1_805_224_660_758_715.0 + 0.75, "1805224660758715.8"),
        ] {
            assert_eq!(text(f, false), yaml);
        }
        assert_eq!(text(1e16, true), "1e+16");
        assert_eq!(text(1e-6, true), "1e-6");
    }

    #[test]
    fn the_road_through_json_loses_last_digits() {
        assert_eq!(lossy_float(0.12000000000000455), 0.12000000000000456);
        assert_eq!(lossy_float(9007199254740991.0), 9007199254740990.0);
        assert_eq!(lossy_float(1.5), 1.5);
        assert_eq!(lossy_float(5e-324), 5e-324);
        assert_eq!(lossy_float(f64::MAX), f64::MAX);
        assert_eq!(lossy_float(1.23456789e-315), 1.23456789e-315);
    }

    #[test]
    fn written_numbers_are_read_the_same_way() {
        for f in [0.12000000000000455, 9007199254740991.0, 1e300, 2.5e-310, 123.0] {
            assert_eq!(lossy_parse(&text(f, true)), Some(lossy_float(f)), "{f}");
        }
        assert_eq!(lossy_parse("123456789012345678901234567890"), Some(1.2345678901234567e29));
        assert_eq!(lossy_parse("1e400"), None);
        assert_eq!(lossy_parse("0e999999999999"), Some(0.0));
    }

    #[test]
    fn integers_at_the_limits() {
        for i in [0, 7, -1, i64::MAX, i64::MIN] {
            let mut out = String::new();
            push_int(&mut out, i);
            assert_eq!(out, i.to_string());
        }
    }
}
