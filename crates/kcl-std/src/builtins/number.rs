//! `abs`, `pow`, `round`, `sum`, `min`, `max`, `multiplyof`.

use std::cmp::Ordering;

use kcl_value::{List, Value, order};

use super::convert::items_of;
use crate::numbers::{int_overflow, narrow, narrow_in};
use crate::{Args, Error, Host, Missing, Mistake};

/// `abs(inval)`. The reference answers Undefined for what is not a number; that hid mistakes.
pub(crate) fn abs(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    match args.get(0, "inval") {
        Some(Value::Int(i)) => Ok(Value::Int(i.checked_abs().ok_or_else(|| int_overflow(-i128::from(*i)))?)),
        Some(Value::Float(f)) => Ok(Value::Float(f.abs())),
        other => Err(Mistake::NoMagnitude { got: other.unwrap_or(&Value::Undefined).type_name() }.into()),
    }
}

/// `multiplyof(a, b)`.
pub(crate) fn multiply_of(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    match (args.get(0, "a"), args.get(1, "b")) {
        (Some(Value::Int(_)), Some(Value::Int(0))) => Err(Mistake::NoRemainder.into()),
        (Some(Value::Int(a)), Some(Value::Int(b))) => Ok(Value::Bool(a.wrapping_rem(*b) == 0)),
        (_, None) => {
            let said = Missing::ExactlyTwo;
            Err(Mistake::MissingArgument { function: "multiplyof", name: "b", said }.into())
        }
        _ => Ok(Value::Undefined),
    }
}

/// `pow(x, y, z=None)`: exact for integers.
pub(crate) fn pow(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let (Some(x), Some(y)) = (args.get(0, "x"), args.get(1, "y")) else {
        return Ok(Value::Undefined);
    };
    if let Some(Value::Int(z)) = args.get(2, "z") {
        return pow_modulo(x, y, *z);
    }
    match (x, y) {
        (Value::Int(x), Value::Int(y)) if *y >= 0 => exact_power(*x, *y).map(Value::Int),
        _ => match (as_float(x), as_float(y)) {
            (Some(x), Some(y)) => Ok(Value::Float(x.powf(y))),
            _ => Ok(Value::Undefined),
        },
    }
}

fn as_float(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    }
}

fn exact_power(base: i64, exponent: i64) -> Result<i64, Error> {
    if matches!(base, -1..=1) {
        return Ok(match (base, exponent) {
            (_, 0) => 1,
            (-1, e) if e % 2 == 0 => 1,
            (b, _) => b,
        });
    }
    // A base of at least two overflows 128 bits before the 128th power.
    let exponent = u32::try_from(exponent).unwrap_or(u32::MAX);
    match i128::from(base).checked_pow(exponent) {
        Some(exact) => narrow(exact),
        None => {
            let exact = ecow::eco_format!("{base} ** {exponent}");
            Err(Mistake::IntegerOverflow { exact, bits: 64 }.into())
        }
    }
}

fn pow_modulo(x: &Value, y: &Value, z: i64) -> Result<Value, Error> {
    let (Value::Int(x), Value::Int(y)) = (x, y) else {
        return Err(Mistake::PowerOfInts.into());
    };
    if *y < 0 {
        return Err(Mistake::NegativePower.into());
    }
    if z == 0 {
        return Err(Mistake::PowerModuloZero.into());
    }
    // The remainder keeps the sign of the power; a zero exponent is 1 whatever the modulus.
    let modulus = i128::from(z);
    let (mut result, mut base, mut exponent) = (1i128, i128::from(*x) % modulus, *y);
    while exponent > 0 {
        if exponent & 1 == 1 {
            result = result * base % modulus;
        }
        base = base * base % modulus;
        exponent >>= 1;
    }
    Ok(Value::Int(result as i64))
}

/// `round(number, ndigits=None)`: three regimes, see the reference.
pub(crate) fn round(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let number = args.get(0, "number").unwrap_or(&Value::Undefined);
    let digits = match args.get(1, "ndigits") {
        Some(Value::Int(digits)) => Some(*digits),
        _ => None,
    };
    Ok(match (number, digits) {
        (Value::Int(i), None) => Value::Int(*i),
        (Value::Float(f), None) => Value::Int(f.round() as i64),
        (Value::Int(i), Some(_)) => Value::Float(*i as f64),
        (Value::Float(f), Some(0)) => Value::Float(f.round()),
        (Value::Float(f), Some(digits)) => Value::Float(round_digits(*f, digits)),
        _ => Value::Undefined,
    })
}

fn round_digits(f: f64, digits: i64) -> f64 {
    if !f.is_finite() {
        return f;
    }
    let digits = digits.clamp(-400, 400) as i32;
    if digits < 0 {
        let unit = 10f64.powi(-digits);
        return if unit.is_finite() { (f / unit).round_ties_even() * unit } else { 0.0 };
    }
    let unit = 10f64.powi(digits);
    let scaled = (f * unit).round_ties_even() / unit;
    if scaled.is_finite() { scaled } else { f }
}

/// `sum(iterable, start=0)`.
pub(crate) fn sum(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(items) = args.get(0, "iterable").and_then(Value::as_list) else { return Ok(Value::Undefined) };
    let mut total = args.get(1, "start").cloned().unwrap_or(Value::Int(0));
    if matches!(total, Value::Str(_)) {
        return Err(Mistake::SumOfTexts.into());
    }
    for item in items {
        total = add(host, total, item)?;
    }
    Ok(total)
}

fn add(host: &mut dyn Host, left: Value, right: &Value) -> Result<Value, Error> {
    match (&left, right) {
        (Value::Int(a), Value::Int(b)) => narrow_in(host, i128::from(*a) + i128::from(*b)).map(Value::Int),
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            let sum = as_float(&left).zip(as_float(right)).map_or(f64::NAN, |(a, b)| a + b);
            Ok(Value::Float(sum))
        }
        (Value::Str(a), Value::Str(b)) => Ok(Value::from(format!("{a}{b}"))),
        (Value::List(_), Value::List(b)) => {
            host.charge(b.items.len() as u64)?;
            let Value::List(mut list) = left else { return Ok(left) };
            let target: &mut List = std::rc::Rc::make_mut(&mut list);
            for (i, item) in b.items.iter().enumerate() {
                target.push(item.clone(), b.origin(i));
            }
            Ok(Value::List(list))
        }
        (Value::List(_), other) => Err(Mistake::NotConcatenable { ty: other.type_name() }.into()),
        (a, b) => {
            let (left, right) = (a.type_name(), b.type_name());
            Err(Mistake::Operands { op: "+", left, right }.into())
        }
    }
}

/// `max(*xs)`.
pub(crate) fn max(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    extreme(args, "max", '>', Ordering::Greater)
}

/// `min(*xs)`.
pub(crate) fn min(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    extreme(args, "min", '<', Ordering::Less)
}

fn extreme(args: Args<'_>, function: &'static str, op: char, wanted: Ordering) -> Result<Value, Error> {
    let one;
    let items = match args.positional {
        [] => return Err(Mistake::NothingToCompare { function }.into()),
        [single] => {
            one = items_of(single).map_err(|_| Mistake::NoItems { function, ty: single.type_name() })?;
            if one.is_empty() {
                return Err(Mistake::NoExtreme { function, ty: single.type_name() }.into());
            }
            &one[..]
        }
        several => several,
    };
    let mut best = &items[0];
    // The first is compared with itself: an item that has no order is an error even alone.
    for item in items {
        match order(item, best) {
            Some(found) if found == wanted => best = item,
            Some(_) => {}
            None if is_number(item) && is_number(best) => {}
            None => {
                let (left, right) = (item.type_name(), best.type_name());
                return Err(Mistake::Unordered { op, left, right }.into());
            }
        }
    }
    Ok(best.clone())
}

/// NaN has no order, yet is no mistake.
fn is_number(value: &Value) -> bool {
    matches!(value, Value::Int(_) | Value::Float(_) | Value::Bool(_))
}
