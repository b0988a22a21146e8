//! `join` and `replace`: strings made of others.

use kcl_value::{Value, write_text};

use super::text_of;
use crate::builtins::convert::items_of;
use crate::{Args, Error, Host};

/// `join(iter)`: items in their text form.
pub(crate) fn join(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let separator = text_of(this);
    let items = items_of(args.get(0, "iter").unwrap_or(&Value::Undefined))?;
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
    let part = |at: usize, name: &str| args.get(at, name).and_then(Value::as_str).unwrap_or("");
    let (old, new) = (part(0, "old"), part(1, "new"));
    let count = match args.get(2, "count") {
        Some(Value::Int(i)) if *i >= 0 => usize::try_from(*i).unwrap_or(usize::MAX),
        None | Some(Value::Int(_) | Value::None | Value::Undefined) => usize::MAX,
        Some(_) => 0,
    };
    let places = if old.is_empty() { text.len() + 1 } else { text.matches(old).count() }.min(count);
    host.charge(places.saturating_mul(new.len()) as u64 / 16)?;
    Ok(Value::from(text.replacen(old, new, count)))
}
