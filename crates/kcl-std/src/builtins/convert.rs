//! `int`, `float`, `bool`, `str`, `list`, `dict`: from any value to a type.

use kcl_value::{Dict, Entry, NO_INDEX, Op, Str, Value, to_text};

use crate::numbers::{check_float, suffix_factor};
use crate::{Args, Error, Host, Missing, Mistake};

/// The mistake that the value to convert is missing.
fn missing(function: &'static str, name: &'static str) -> Error {
    Mistake::MissingArgument { function, name, said: Missing::ExactlyOne }.into()
}

/// `int(number, base=10)`.
pub(crate) fn int(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(number) = args.get(0, "number") else {
        return Err(missing("int", "number"));
    };
    Ok(Value::Int(match number {
        Value::Int(i) => *i,
        Value::Bool(b) => i64::from(*b),
        Value::Float(f) => *f as i64,
        Value::Unit(unit) => int_of_unit(host, unit.value)?,
        Value::Str(text) => match args.get(1, "base") {
            None | Some(Value::Int(10)) => int_of_quantity(text)?,
            Some(base) => int_of_base(text, base)?,
        },
        other => return Err(Mistake::NotConvertible { got: other.type_name() }.into()),
    }))
}

/// A unit that does not fit saturates; in debug mode it is an error.
fn int_of_unit(host: &dyn Host, f: f64) -> Result<i64, Error> {
    let fits = (i64::MIN as f64..i64::MAX as f64).contains(&f);
    if host.debug_mode() && !fits {
        let exact = ecow::eco_format!("{}", f.trunc());
        return Err(Mistake::IntegerOverflow { exact, bits: 64 }.into());
    }
    Ok(f as i64)
}

fn int_of_quantity(text: &str) -> Result<i64, Error> {
    let (digits, factor) = suffix_factor(text);
    if digits.is_empty() {
        return Err(Mistake::NoDigits { text: text.into() }.into());
    }
    let number: i64 = digits.parse().map_err(|_| Mistake::NotAnInteger { text: text.into(), base: 10 })?;
    // Below one the factor is a float; above, the product wraps as the reference's does.
    Ok(match factor {
        Some(f) if f < 1.0 => (number as f64 * f) as i64,
        Some(f) => number.wrapping_mul(f as i64),
        None => number,
    })
}

fn int_of_base(text: &str, base: &Value) -> Result<i64, Error> {
    let radix = match base {
        Value::Int(i) => *i as u32,
        Value::Float(f) => *f as u32,
        _ => 0,
    };
    if !(2..=36).contains(&radix) {
        return Err(Mistake::BadBase { radix, base: to_text(base).into() }.into());
    }
    let (sign, rest) = match text.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", text),
    };
    let prefix = match radix {
        2 => "0b",
        8 => "0o",
        16 => "0x",
        _ => "",
    };
    let rest = match rest.get(..2) {
        Some(head) if head.eq_ignore_ascii_case(prefix) => &rest[2..],
        _ => rest,
    };
    let bad = |_| Mistake::NotAnInteger { text: text.into(), base: radix };
    Ok(i64::from_str_radix(&format!("{sign}{rest}"), radix).map_err(bad)?)
}

/// `float(number)`.
pub(crate) fn float(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(number) = args.get(0, "number") else {
        return Err(missing("float", "number"));
    };
    check_float(host, float_of(number)?).map(Value::Float)
}

/// The number that `float` makes of a value.
pub(crate) fn float_of(number: &Value) -> Result<f64, Error> {
    Ok(match number {
        Value::Int(i) => *i as f64,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Float(f) => *f,
        Value::Unit(unit) => unit.value,
        other => {
            let parsed = other.as_str().and_then(|t| t.parse::<f64>().ok());
            parsed.ok_or_else(|| Mistake::NotAFloat { text: to_text(other).into() })?
        }
    })
}

/// `bool(x)`: an instance is always true.
pub(crate) fn bool(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    match args.get(0, "x") {
        Some(Value::Schema(_)) => Ok(Value::Bool(true)),
        Some(value) => Ok(Value::Bool(value.truthy())),
        None => Err(missing("bool", "x")),
    }
}

/// `str(x="")`.
pub(crate) fn str(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(match args.get(0, "x") {
        Some(Value::Str(text)) => Value::Str(text.clone()),
        Some(value) => Value::from(to_text(value)),
        None => Value::from(""),
    })
}

/// Returns the items that walking over a value gives: items, characters, keys.
pub(crate) fn items_of(value: &Value) -> Result<Vec<Value>, Error> {
    Ok(match value {
        Value::List(list) => list.items.clone(),
        Value::Str(text) => text.chars().map(|c| Value::Str(Str::from(c))).collect(),
        Value::Dict(dict) => dict.keys().cloned().map(Value::Str).collect(),
        Value::Schema(inst) => inst.attrs.keys().cloned().map(Value::Str).collect(),
        other => return Err(Mistake::NotIterable { ty: other.type_name() }.into()),
    })
}

/// `list(x=[])`.
pub(crate) fn list(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    // A keyword is not looked at.
    match args.positional.first() {
        None => Ok(Value::from(Vec::new())),
        Some(list @ Value::List(_)) => Ok(list.clone()),
        Some(value) => {
            let items = items_of(value)?;
            host.charge(items.len() as u64)?;
            Ok(Value::from(items))
        }
    }
}

/// `dict(x={}, **kw)`. A list gives one entry for each pair in it.
pub(crate) fn dict(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let dict = match args.get(0, "x") {
        None => Dict::default(),
        Some(value @ (Value::Dict(_) | Value::Schema(_))) => {
            plain(value.as_dict().cloned().unwrap_or_default())
        }
        Some(value) => {
            let items = items_of(value)?;
            host.charge(items.len() as u64)?;
            pairs(&items)?
        }
    };
    // A keyword `x` is the argument and an entry; what both have is merged.
    if args.keyword.is_empty() {
        return Ok(Value::from(dict));
    }
    let mut named = Dict::default();
    for (key, value) in args.keyword {
        named.insert(key.clone(), Entry::new(value.clone(), Op::Union));
    }
    if dict.is_empty() {
        return Ok(Value::from(named));
    }
    host.union(Value::from(dict), Value::from(named))
}

/// The entries without their operators: they merge, however they were written. Those of inner dicts stay.
fn plain(mut dict: Dict) -> Dict {
    for (_, entry) in dict.iter_mut() {
        (entry.op, entry.index) = (Op::Union, NO_INDEX);
    }
    dict
}

fn pairs(items: &[Value]) -> Result<Dict, Error> {
    let mut dict = Dict::default();
    for (i, item) in items.iter().enumerate() {
        let pair = items_of(item)?;
        let [key, value] = &pair[..] else {
            return Err(Mistake::NotAPair { item: i, len: pair.len() }.into());
        };
        let key = match key {
            Value::Str(text) => text.clone(),
            other => Str::from(to_text(other)),
        };
        dict.insert(key, Entry::new(value.clone(), Op::Union));
    }
    Ok(dict)
}
