//! `print`, `option`, `typeof`: what talks about the program or to its caller.

use kcl_value::{Value, to_text, write_text};

use crate::{Args, Error, Host, Missing, Mistake};

/// `print(*xs, end="\n")`: joined by a space; `sep` is ignored.
pub(crate) fn print(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let mut text = String::new();
    for (i, value) in args.positional.iter().enumerate() {
        if i > 0 {
            text.push(' ');
        }
        write_text(&mut text, value);
    }
    match args.keyword("end") {
        Some(end) => write_text(&mut text, end),
        None => text.push('\n'),
    }
    host.print(&text);
    Ok(Value::None)
}

/// `typeof(x, full_name=False)`.
pub(crate) fn type_of(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(value) = args.get(0, "x") else {
        return Err(Mistake::MissingArgument { function: "typeof", name: "x", said: Missing::Named }.into());
    };
    let full = args.get(1, "full_name").is_some_and(Value::truthy);
    Ok(Value::Str(match value {
        Value::Schema(inst) if full => inst.schema.full_name(),
        other => other.typeof_name(),
    }))
}

/// `option(key, type="", required=False, default=None, help="")`.
pub(crate) fn option(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let key = args.get(0, "key").and_then(Value::as_str).unwrap_or("");
    let kind = args.get(1, "type").and_then(Value::as_str).unwrap_or("");
    let required = args.get(2, "required").is_some_and(Value::truthy);
    let default = args.get(3, "default");
    match host.option(key).or_else(|| default.cloned()) {
        Some(value) => convert_option(key, kind, value),
        None if required => Err(Mistake::MissingOption { key: key.into() }.into()),
        None => Ok(Value::None),
    }
}

fn convert_option(key: &str, kind: &str, value: Value) -> Result<Value, Error> {
    let converted = match (kind, &value) {
        ("", _) => return Ok(value),
        ("list", Value::List(_)) | ("dict", Value::Dict(_) | Value::Schema(_)) => return Ok(value),
        ("bool", _) => Some(option_bool(&value)),
        ("int", _) => option_int(&value),
        ("float", _) => option_float(&value),
        ("str", _) => option_str(&value),
        ("list" | "dict", _) => None,
        _ => return Err(Mistake::OptionType { kind: kind.into() }.into()),
    };
    let unfit = || Mistake::OptionValue { key: key.into(), value: to_text(&value).into(), kind: kind.into() };
    Ok(converted.ok_or_else(unfit)?)
}

fn option_bool(value: &Value) -> Value {
    match value {
        Value::Bool(b) => Value::Bool(*b),
        Value::Int(i) => Value::Bool(*i != 0),
        Value::Float(f) => Value::Bool(*f != 0.0),
        Value::Str(text) => Value::Bool(text == "True" || text == "true"),
        _ => Value::Undefined,
    }
}

fn option_int(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(b) => Some(Value::Int(i64::from(*b))),
        Value::Int(i) => Some(Value::Int(*i)),
        Value::Float(f) => Some(Value::Int(*f as i64)),
        Value::Str(text) => text.parse().ok().map(Value::Int),
        _ => None,
    }
}

fn option_float(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(b) => Some(Value::Float(f64::from(u8::from(*b)))),
        Value::Int(i) => Some(Value::Float(*i as f64)),
        Value::Float(f) => Some(Value::Float(*f)),
        // A text that is no number counts as zero: the reference does so.
        Value::Str(text) => Some(Value::Float(text.parse().unwrap_or(0.0))),
        _ => None,
    }
}

fn option_str(value: &Value) -> Option<Value> {
    match value {
        Value::Bool(b) => Some(Value::from(if *b { "true" } else { "false" })),
        Value::Int(i) => Some(Value::from(i.to_string())),
        Value::Float(f) => Some(Value::from(f.to_string())),
        Value::Str(_) => Some(value.clone()),
        _ => None,
    }
}
