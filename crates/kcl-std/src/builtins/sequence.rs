//! `len`, `sorted`, `range`, `zip`, `isunique`, `isnullish`, `all_true`, `any_true`, `reduce`.

use std::cmp::Ordering;
use std::collections::HashSet;

use kcl_value::{Function, List, Value, equal, order};

use super::convert::items_of;
use crate::modules::wrong;
use crate::{Args, Error, Host, Missing, Mistake, Wanted};

/// `len(inval)`: bytes of a string.
pub(crate) fn len(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let value = args.get(0, "inval").unwrap_or(&Value::Undefined);
    let len = match value {
        Value::Str(text) => text.len(),
        Value::List(list) => list.items.len(),
        Value::Dict(dict) => dict.len(),
        Value::Schema(inst) => inst.attrs.len(),
        other => return Err(Mistake::NoLength { got: other.type_name() }.into()),
    };
    Ok(Value::Int(len as i64))
}

/// `isnullish(inval)`.
pub(crate) fn is_nullish(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(Value::Bool(args.get(0, "inval").is_none_or(Value::is_nullish)))
}

/// `isunique(inval)`: by `==`; what is no list is not unique.
pub(crate) fn is_unique(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let Some(items) = args.get(0, "inval").and_then(Value::as_list) else { return Ok(Value::Bool(false)) };
    if items.iter().all(|i| matches!(i, Value::Str(_))) {
        let mut seen = HashSet::with_capacity(items.len());
        return Ok(Value::Bool(items.iter().filter_map(Value::as_str).all(|text| seen.insert(text))));
    }
    let pairs = (items.len() as u64).saturating_mul(items.len() as u64) / 16;
    host.charge(pairs)?;
    let twice = items.iter().enumerate().any(|(i, a)| items[..i].iter().any(|b| equal(a, b)));
    Ok(Value::Bool(!twice))
}

/// `all_true(inval)`.
pub(crate) fn all_true(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(Value::Bool(match args.get(0, "inval") {
        Some(Value::List(list)) => list.items.iter().all(Value::truthy),
        Some(Value::Dict(dict)) => dict.iter().all(|(_, entry)| entry.value.truthy()),
        // The wheel's test of an instance is upside down.
        Some(Value::Schema(inst)) => !inst.attrs.iter().any(|(_, entry)| entry.value.truthy()),
        _ => false,
    }))
}

/// `any_true(inval)`.
pub(crate) fn any_true(_: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    Ok(Value::Bool(match args.get(0, "inval") {
        Some(Value::List(list)) => list.items.iter().any(Value::truthy),
        Some(Value::Dict(dict)) => dict.iter().any(|(_, entry)| entry.value.truthy()),
        Some(Value::Schema(inst)) => inst.attrs.iter().any(|(_, entry)| entry.value.truthy()),
        _ => false,
    }))
}

/// `sorted(inval, reverse=False)`: stable in both directions.
pub(crate) fn sorted(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let mut items = match args.get(0, "inval") {
        Some(value @ (Value::Str(_) | Value::List(_) | Value::Dict(_))) => items_of(value)?,
        other => {
            let got = other.unwrap_or(&Value::Undefined).type_name();
            return Err(Mistake::CannotSort { got }.into());
        }
    };
    host.charge(items.len() as u64)?;
    let reverse = args.get(1, "reverse").is_some_and(Value::truthy);
    let mut wrong = None;
    items.sort_by(|a, b| {
        let found = sort_order(a, b);
        if found.is_none() && wrong.is_none() {
            wrong = Some(Mistake::Unsortable { left: a.type_name(), right: b.type_name() });
        }
        let found = found.unwrap_or(Ordering::Equal);
        if reverse { found.reverse() } else { found }
    });
    match wrong {
        Some(mistake) => Err(mistake.into()),
        None => Ok(Value::from(items)),
    }
}

/// Only numbers among themselves and strings among themselves can be sorted.
fn sort_order(a: &Value, b: &Value) -> Option<Ordering> {
    match (a, b) {
        (Value::Int(_) | Value::Float(_), Value::Int(_) | Value::Float(_)) => {
            Some(order(a, b).unwrap_or(Ordering::Equal))
        }
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

/// `range(stop)`, `range(start, stop, step=1)`.
pub(crate) fn range(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let bound = |at: usize, name: &'static str| match args.get(at, name) {
        None => Ok(None),
        Some(Value::Int(i)) => Ok(Some(*i)),
        Some(other) => Err(Mistake::NotABound { name, got: other.type_name() }),
    };
    let (start, stop, step) = (bound(0, "start")?, bound(1, "stop")?, bound(2, "step")?.unwrap_or(1));
    let (start, stop) = match (start, stop) {
        (Some(start), Some(stop)) => (start, stop),
        (Some(stop), None) => (0, stop),
        (None, _) => {
            let said = Missing::Named;
            return Err(Mistake::MissingArgument { function: "range", name: "start", said }.into());
        }
    };
    let distance = i128::from(stop) - i128::from(start);
    let step = match step {
        0 => return Err(Mistake::ZeroStep.into()),
        step => i128::from(step),
    };
    let count = if (distance > 0) == (step > 0) { (distance.abs() + step.abs() - 1) / step.abs() } else { 0 };
    host.charge(u64::try_from(count).unwrap_or(u64::MAX))?;
    let at = |i: i128| Value::Int((i128::from(start) + i * step) as i64);
    Ok(Value::from((0..count).map(at).collect::<Vec<_>>()))
}

/// `zip(*xs)`: the shortest decides; none gives an empty list.
pub(crate) fn zip(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let columns = args.positional.iter().map(items_of).collect::<Result<Vec<_>, _>>()?;
    let rows = columns.iter().map(Vec::len).min().unwrap_or(0);
    host.charge((rows as u64).saturating_mul(columns.len() as u64 + 1))?;
    let row = |i: usize| Value::from(columns.iter().map(|column| column[i].clone()).collect::<Vec<_>>());
    Ok(Value::from((0..rows).map(row).collect::<Vec<_>>()))
}

/// `reduce(reducer, list, initial)`: the first item is the seed if there is no `initial`.
pub(crate) fn reduce(host: &mut dyn Host, _: &Value, args: Args<'_>) -> Result<Value, Error> {
    let func = match args.get(0, "reducer") {
        Some(func @ Value::Func(f)) if !matches!(**f, Function::Builtin(_)) => func,
        other => {
            let got = other.unwrap_or(&Value::Undefined).type_name();
            return Err(Mistake::NotALambda { got }.into());
        }
    };
    let list = args.get(1, "list");
    let Some(Value::List(list)) = list else { return Err(wrong("list", Wanted::List, list)) };
    let list: &List = list;
    let (mut acc, rest) = match (args.get(2, "initial"), list.items.split_first()) {
        (Some(initial), _) => (initial.clone(), &list.items[..]),
        (None, Some((first, rest))) => (first.clone(), rest),
        (None, None) => return empty_reduction(host, func),
    };
    for item in rest {
        acc = host.call(func, &[acc, item.clone()])?;
    }
    Ok(acc)
}

fn empty_reduction(host: &dyn Host, func: &Value) -> Result<Value, Error> {
    match host.lambda_shape(func).and_then(|(_, kind)| kind) {
        Some(kind) if kind != "any" => Err(Mistake::EmptyReduction { kind }.into()),
        _ => Ok(Value::None),
    }
}
