//! `base64`: the standard alphabet; padding may be missing when decoding.

use data_encoding::{BASE64, BASE64_NOPAD};
use kcl_value::Value;

use super::text;
use crate::{Args, Error, Host, Mistake};

/// `encode(value, encoding)`; the encoding is ignored.
pub(crate) fn encode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 12)?;
    Ok(Value::from(BASE64.encode(value.as_bytes())))
}

/// `decode(value)`.
pub(crate) fn decode(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = text(args, 0, "value");
    host.charge(value.len() as u64 / 16)?;
    let digits = value.trim_end_matches('=');
    let bytes = BASE64_NOPAD
        .decode(digits.as_bytes())
        .map_err(|err| Mistake::NotBase64 { why: err.kind.to_string(), at: err.position })?;
    Ok(String::from_utf8(bytes).map(Value::from).map_err(|_| Mistake::NotTextInBase64)?)
}
