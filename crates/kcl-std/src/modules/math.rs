//! `math`: the results are mathematically right where the reference's are not (see `docs/divergences.md`).

use kcl_value::{Value, to_text};

use crate::numbers::narrow;
use crate::{Args, Error, Host, Mistake};

type Answer = Result<Value, Error>;

fn not_a_number(function: &'static str, got: Option<&Value>) -> Error {
    Mistake::NotANumber { function, got: got.unwrap_or(&Value::Undefined).type_name() }.into()
}

fn number(args: Args<'_>, name: &'static str) -> Result<f64, Error> {
    match args.get(0, "x") {
        Some(Value::Int(i)) => Ok(*i as f64),
        Some(Value::Float(f)) => Ok(*f),
        other => Err(not_a_number(name, other)),
    }
}

fn rounded(args: Args<'_>, name: &'static str, round: fn(f64) -> f64) -> Answer {
    match args.get(0, "x") {
        Some(Value::Int(i)) => Ok(Value::Int(*i)),
        _ => Ok(Value::Int(round(number(args, name)?) as i64)),
    }
}

/// `ceil(x)`.
pub(crate) fn ceil(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    rounded(args, "ceil", f64::ceil)
}

/// `floor(x)`.
pub(crate) fn floor(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    rounded(args, "floor", f64::floor)
}

/// `factorial(x)`: an integral float gives a float.
pub(crate) fn factorial(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let given = args.get(0, "x").unwrap_or(&Value::Undefined);
    let (n, as_float) = match given {
        Value::Int(i) => (*i, false),
        Value::Float(f) if f.fract() == 0.0 => (*f as i64, true),
        _ => (-1, false),
    };
    if n < 0 {
        return Err(Mistake::NoFactorial { value: to_text(given).into() }.into());
    }
    if n > 20 {
        return Err(Mistake::FactorialOverflow { of: n }.into());
    }
    let product: i64 = (1..=n).product();
    Ok(if as_float { Value::Float(product as f64) } else { Value::Int(product) })
}

/// `gcd(a, b)`: never negative.
pub(crate) fn gcd(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    // Two positional arguments are not looked for among the keywords.
    let given = match args.positional {
        [a, b, ..] => (Some(a), Some(b)),
        _ => (args.get(0, "a"), args.get(1, "b")),
    };
    let (Some(Value::Int(a)), Some(Value::Int(b))) = given else {
        let [left, right] = [given.0, given.1].map(|v| v.unwrap_or(&Value::Undefined).type_name());
        return Err(Mistake::NotTwoInts { left, right }.into());
    };
    let (mut a, mut b) = (a.unsigned_abs(), b.unsigned_abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    narrow(i128::from(a)).map(Value::Int)
}

fn question(args: Args<'_>, name: &'static str, holds: fn(f64) -> bool) -> Answer {
    match args.get(0, "x") {
        // Only `isinf` knows bools, as in the reference.
        Some(Value::Bool(_)) if name == "isinf" => Ok(Value::Bool(false)),
        _ => Ok(Value::Bool(holds(number(args, name)?))),
    }
}

/// `isfinite(x)`.
pub(crate) fn is_finite(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, "isfinite", f64::is_finite)
}

/// `isinf(x)`.
pub(crate) fn is_inf(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, "isinf", f64::is_infinite)
}

/// `isnan(x)`.
pub(crate) fn is_nan(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    question(args, "isnan", f64::is_nan)
}

/// `modf(x)`: fraction and integer.
pub(crate) fn modf(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let x = number(args, "modf")?;
    Ok(Value::from(vec![Value::Float(x.fract()), Value::Float(x.trunc())]))
}

/// `exp(x)`.
pub(crate) fn exp(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "exp")?.exp()))
}

/// `expm1(x)`.
pub(crate) fn expm1(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "expm1")?.exp_m1()))
}

/// `log(x, e)`: the natural logarithm unless a base is given.
pub(crate) fn log(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    let x = number(args, "log")?;
    Ok(Value::Float(match args.get(1, "e") {
        Some(Value::Int(base)) => x.log(*base as f64),
        Some(Value::Float(base)) if *base != std::f64::consts::E => x.log(*base),
        _ => x.ln(),
    }))
}

/// `log1p(x)`.
pub(crate) fn log1p(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "log1p")?.ln_1p()))
}

/// `log2(x)`.
pub(crate) fn log2(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "log2")?.log2()))
}

/// `log10(x)`.
pub(crate) fn log10(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "log10")?.log10()))
}

/// `sqrt(x)`.
pub(crate) fn sqrt(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
    Ok(Value::Float(number(args, "sqrt")?.sqrt()))
}

/// `pow(x, y)`: exact for integers.
pub(crate) fn pow(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Answer {
    for given in [args.get(0, "x"), args.get(1, "y")] {
        if !matches!(given, Some(Value::Int(_) | Value::Float(_))) {
            return Err(not_a_number("pow", given));
        }
    }
    crate::builtins::number::pow(host, this, args)
}
