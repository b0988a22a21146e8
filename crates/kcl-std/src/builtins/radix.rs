//! `hex`, `bin`, `oct`, `ord`: numbers as text in another base.

use kcl_value::Value;

use crate::{Args, Error, Host, Mistake};

fn prefixed(args: Args<'_>, prefix: &str, digits: fn(u64) -> String) -> Value {
    match args.get(0, "number") {
        Some(Value::Int(i)) => {
            let sign = if *i < 0 { "-" } else { "" };
            Value::from(format!("{sign}{prefix}{}", digits(i.unsigned_abs())))
        }
        _ => Value::Undefined,
    }
}

/// `hex(number)`.
pub(crate) fn hex(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(prefixed(args, "0x", |n| format!("{n:x}")))
}

/// `bin(number)`.
pub(crate) fn bin(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(prefixed(args, "0b", |n| format!("{n:b}")))
}

/// `oct(number)`.
pub(crate) fn oct(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(prefixed(args, "0o", |n| format!("{n:o}")))
}

/// `ord(c)`: the length in the message is in bytes.
pub(crate) fn ord(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(text) = args.get(0, "c").and_then(Value::as_str) else { return Ok(Value::Undefined) };
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some(c), None) => Ok(Value::Int(i64::from(u32::from(c)))),
        _ => Err(Mistake::NotOneCharacter { bytes: text.len(), chars: text.chars().count() }.into()),
    }
}
