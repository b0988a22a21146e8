//! `units`: constants, and numbers as text with a suffix.

use kcl_value::Value;

use crate::builtins::convert::float_of;
use crate::numbers::SUFFIXES;
use crate::{Args, Error, Host};

type Answer = Result<Value, Error>;

/// Returns a constant: a float below one, else an integer.
pub(crate) fn constant(name: &str) -> Option<Value> {
    let (_, factor) = SUFFIXES.iter().find(|(suffix, _)| *suffix == name)?;
    Some(if *factor < 1.0 { Value::Float(*factor) } else { Value::Int(*factor as i64) })
}

/// Divides and cuts off: floating-point noise shows, as in the reference.
fn to_unit(args: Args<'_>, suffix: &str) -> Answer {
    let number = match args.get(0, "num") {
        Some(Value::Int(i)) => *i as f64,
        Some(Value::Float(f)) => *f,
        // Below one the reference converts as `float` does, above it takes what is no number for zero.
        Some(other) if matches!(suffix, "n" | "u" | "m") => float_of(other)?,
        _ => 0.0,
    };
    let factor = SUFFIXES.iter().find(|(s, _)| *s == suffix).map_or(1.0, |(_, factor)| *factor);
    Ok(Value::from(format!("{}{suffix}", (number / factor) as i64)))
}

macro_rules! to_units {
    ($($name:ident $suffix:literal),*) => {
        $(
            #[doc = concat!("`to_", $suffix, "(num)`.")]
            pub(crate) fn $name(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Answer {
                to_unit(args, $suffix)
            }
        )*
    };
}

to_units! {
    to_n "n", to_u "u", to_m "m", to_k "K", to_mega "M", to_giga "G", to_tera "T", to_peta "P",
    to_kibi "Ki", to_mebi "Mi", to_gibi "Gi", to_tebi "Ti", to_pebi "Pi"
}
