//! `runtime`: errors as values.

use kcl_value::Value;

use crate::{Args, Error, Host};

/// `catch(func)`: Undefined if the call succeeds, else the error's message. What is no function is not called.
pub(crate) fn catch(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(func @ Value::Func(_)) = args.get(0, "func") else { return Ok(Value::Undefined) };
    Ok(match host.call(func, &[]) {
        Ok(_) => Value::Undefined,
        Err(error) if host.is_fatal(&error) => return Err(error),
        Err(error) => Value::from(host.error_text(&error)),
    })
}
