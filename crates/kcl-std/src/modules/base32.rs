//! `base32` (RFC 4648); decoding takes both cases and missing padding.

use data_encoding::BASE32;
use kcl_value::Value;

use super::text;
use crate::{Args, Error, Host, Mistake};

/// `encode(value)`.
pub(crate) fn encode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 8)?;
    Ok(Value::from(BASE32.encode(value.as_bytes())))
}

/// `decode(value)`: bytes that are no text give None.
pub(crate) fn decode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 16)?;
    let digits = value.trim_end_matches('=').to_ascii_uppercase();
    let bytes = bytes_of(&digits).ok_or_else(|| Mistake::NotBase32 { digit: strange(&digits) })?;
    Ok(String::from_utf8(bytes).map_or(Value::None, Value::from))
}

/// The first character that is no digit.
fn strange(digits: &str) -> char {
    digits.chars().find(|c| !matches!(c, 'A'..='Z' | '2'..='7')).unwrap_or_default()
}

/// Five bits a digit; bits that fill no byte at the end are dropped, whatever they are.
fn bytes_of(digits: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(digits.len() * 5 / 8);
    let (mut bits, mut count) = (0u32, 0);
    for digit in digits.bytes() {
        let five = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'2'..=b'7' => digit - b'2' + 26,
            _ => return None,
        };
        bits = (bits << 5 | u32::from(five)) & 0xFFFF;
        count += 5;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xFF) as u8);
        }
    }
    Some(bytes)
}
