//! `join` and `replace`: strings made of others.

use kcl_value::{Value, write_text};

use super::text_of;
use crate::{Args, Error, Host};

/// `join(iter)`: items in their text form.
pub(crate) fn join(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let separator = text_of(this);
    let items = match args.get(0, "iter") {
        Some(Value::List(list)) => &list.items,
        _ => return Err("can only join an iterable".into()),
    };
    let mut out = String::new();
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        write_text(&mut out, item);
    }
    host.charge(out.len() as u64 / 16)?;
    Ok(Value::from(out))
}

/// `replace(old, new, count=-1)`.
pub(crate) fn replace(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let text = text_of(this);
    let (Some(old), Some(new)) =
        (args.get(0, "old").and_then(Value::as_str), args.get(1, "new").and_then(Value::as_str))
    else {
        return Err("invalid str value".into());
    };
    let count = match args.get(2, "count") {
        Some(Value::Int(i)) if *i >= 0 => usize::try_from(*i).unwrap_or(usize::MAX),
        _ => usize::MAX,
    };
    let places = if old.is_empty() { text.len() + 1 } else { text.matches(old).count() }.min(count);
    host.charge(places.saturating_mul(new.len()) as u64 / 16)?;
    Ok(Value::from(text.replacen(old, new, count)))
}
