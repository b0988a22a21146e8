//! Taking away at the ends: `strip`, `lstrip`, `rstrip`, `removeprefix`, `removesuffix`.
//! As in the reference, a keyword is not taken for the parameter.

use kcl_value::Value;

use super::text_of;
use crate::{Args, Error, Host, Missing, Mistake};

type Answer = Result<Value, Error>;

fn strip_with(this: &Value, args: Args<'_>, left: bool, right: bool) -> Answer {
    let mut text = text_of(this);
    // What is no string is an empty set of characters.
    let set = args.positional.first().filter(|v| !v.is_nullish()).map(|v| v.as_str().unwrap_or(""));
    let drop = |c: char| match set {
        Some(set) => set.contains(c),
        None => c.is_whitespace(),
    };
    if left {
        text = text.trim_start_matches(drop);
    }
    if right {
        text = text.trim_end_matches(drop);
    }
    Ok(Value::from(text))
}

/// `strip(chars)`.
pub(crate) fn strip(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    strip_with(this, args, true, true)
}

/// `lstrip(chars)`.
pub(crate) fn lstrip(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    strip_with(this, args, true, false)
}

/// `rstrip(chars)`.
pub(crate) fn rstrip(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    strip_with(this, args, false, true)
}

fn affix<'a>(args: Args<'a>, function: &'static str, name: &'static str) -> Result<&'a str, Error> {
    match args.positional.first() {
        Some(given) => Ok(given.as_str().unwrap_or("")),
        None => Err(Mistake::MissingArgument { function, name, said: Missing::Counted(1) }.into()),
    }
}

/// `removeprefix(prefix)`.
pub(crate) fn remove_prefix(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let text = text_of(this);
    Ok(Value::from(text.strip_prefix(affix(args, "removeprefix", "prefix")?).unwrap_or(text)))
}

/// `removesuffix(suffix)`.
pub(crate) fn remove_suffix(_: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    let text = text_of(this);
    Ok(Value::from(text.strip_suffix(affix(args, "removesuffix", "suffix")?).unwrap_or(text)))
}
