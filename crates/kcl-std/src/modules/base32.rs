//! `base32` (RFC 4648); decoding takes both cases and missing padding.

use data_encoding::{BASE32, BASE32_NOPAD};
use kcl_value::Value;

use super::text;
use crate::{Args, Error, Host};

/// `encode(value)`.
pub(crate) fn encode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 8)?;
    Ok(Value::from(BASE32.encode(value.as_bytes())))
}

/// `decode(value)`: bytes that are no text give None; the message for bad digits is the reference's, misleading as it is.
pub(crate) fn decode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 16)?;
    let digits = value.trim_end_matches('=').to_ascii_uppercase();
    let bytes = BASE32_NOPAD
        .decode(digits.as_bytes())
        .map_err(|_| Error::from("decode() missing 1 required positional argument: 'value'"))?;
    Ok(String::from_utf8(bytes).map_or(Value::None, Value::from))
}
