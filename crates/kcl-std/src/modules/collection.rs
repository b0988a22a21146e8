//! `collection`: declared by the reference, but missing there at run time.

use kcl_value::{Dict, Value};

use super::list;
use crate::{Args, Error, Host};

/// `union_all(num)`: folds `|` from left to right; nothing gives an empty dict.
pub(crate) fn union_all(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let mut items = list(args, 0, "num")?.iter();
    let mut result = items.next().cloned().unwrap_or_else(|| Value::from(Dict::default()));
    for item in items {
        result = host.union(result, item.clone())?;
    }
    Ok(result)
}
