//! `join` and `replace`: strings made of others.

use kcl_value::{Value, write_text};

use super::text_of;
use crate::builtins::convert::items_of;
use crate::host::Growing;
use crate::{Args, Error, Host, Missing, Mistake};

/// `join(iter)`: items in their text form.
pub(crate) fn join(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let separator = text_of(this);
    let items = items_of(args.get(0, "iter").unwrap_or(&Value::Undefined))?;
    let (mut out, mut growing) = (String::new(), Growing::default());
    for (i, item) in items.iter().enumerate() {
        if i > 0 {
            out.push_str(separator);
        }
        write_text(&mut out, item);
        growing.reach(host, out.len())?;
    }
    host.charge(out.len() as u64 / 16)?;
    Ok(Value::from(out))
}

fn missing(name: &'static str, place: usize) -> Error {
    Mistake::MissingArgument { function: "replace", name, said: Missing::Counted(place) }.into()
}

/// `replace(old, new, count=-1)`.
pub(crate) fn replace(host: &mut dyn Host, this: &Value, args: Args<'_>) -> Result<Value, Error> {
    let text = text_of(this);
    // As in the reference, a keyword is not taken for a parameter.
    let (old, new) = match args.positional {
        [] => return Err(missing("old", 1)),
        [_] => return Err(missing("new", 2)),
        [old, new, ..] => (old.as_str().unwrap_or(""), new.as_str().unwrap_or("")),
    };
    let count = args.positional.get(2).map_or(usize::MAX, super::count_of);
    let places = if old.is_empty() { text.len() + 1 } else { text.matches(old).count() }.min(count);
    host.charge(places.saturating_mul(new.len()) as u64 / 16)?;
    Ok(Value::from(text.replacen(old, new, count)))
}
