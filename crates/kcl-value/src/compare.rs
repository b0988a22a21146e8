//! Equality and order.

use crate::{Dict, Function, Pairs, Value};
use std::cmp::Ordering;

/// Returns whether `==` holds: numbers by value, bool never equals int, dicts by key set, dict and instance never.
pub fn equal(a: &Value, b: &Value) -> bool {
    equal_parts(a, b, &mut Pairs::default())
}

fn equal_parts(a: &Value, b: &Value, pairs: &mut Pairs) -> bool {
    match (a, b) {
        (Value::Undefined, Value::Undefined) | (Value::None, Value::None) => true,
        (Value::Bool(a), Value::Bool(b)) => a == b,
        (Value::Int(a), Value::Int(b)) => a == b,
        (Value::Float(a), Value::Float(b)) => a == b,
        (Value::Int(a), Value::Float(b)) | (Value::Float(b), Value::Int(a)) => *a as f64 == *b,
        (Value::Str(a), Value::Str(b)) => a == b,
        (Value::List(a), Value::List(b)) => {
            pairs.met(a, b)
                || a.items.len() == b.items.len()
                    && a.items.iter().zip(&b.items).all(|(x, y)| equal_parts(x, y, pairs))
        }
        (Value::Dict(a), Value::Dict(b)) => pairs.met(a, b) || equal_entries(a, b, pairs),
        (Value::Schema(a), Value::Schema(b)) => pairs.met(a, b) || equal_entries(&a.attrs, &b.attrs, pairs),
        (Value::Func(a), Value::Func(b)) => equal_functions(a, b),
        _ => false,
    }
}

fn equal_entries(a: &Dict, b: &Dict, pairs: &mut Pairs) -> bool {
    let mut same =
        |key: &str, value: &Value| b.get(key).is_some_and(|other| equal_parts(value, other, pairs));
    a.len() == b.len() && a.iter().all(|(key, entry)| same(key, &entry.value))
}

// Any two of lambdas, schemas and rules compare equal: the reference compares the code that runs them, not what it runs.
fn equal_functions(a: &Function, b: &Function) -> bool {
    use Function::{Builtin, Instances, Lambda, Method, RuleType, SchemaType};
    match (a, b) {
        (Lambda(_) | SchemaType(_) | RuleType(_), Lambda(_) | SchemaType(_) | RuleType(_)) => true,
        (Builtin(a), Builtin(b)) | (Method(a, _), Method(b, _)) => a == b,
        (Instances(_), Instances(_)) => true,
        _ => false,
    }
}

/// Returns the order of two values that `<` accepts at run time: numbers and bools among themselves, strings, lists.
pub fn order(a: &Value, b: &Value) -> Option<Ordering> {
    order_parts(a, b, &mut Pairs::default())
}

fn order_parts(a: &Value, b: &Value, pairs: &mut Pairs) -> Option<Ordering> {
    match (a, b) {
        (Value::Str(a), Value::Str(b)) => Some(a.cmp(b)),
        (Value::Int(a), Value::Int(b)) => Some(a.cmp(b)),
        (Value::List(a), Value::List(b)) if pairs.met(a, b) => Some(Ordering::Equal),
        (Value::List(a), Value::List(b)) => {
            for (x, y) in a.items.iter().zip(&b.items) {
                match order_parts(x, y, pairs)? {
                    Ordering::Equal => {}
                    other => return Some(other),
                }
            }
            Some(a.items.len().cmp(&b.items.len()))
        }
        _ => as_number(a)?.partial_cmp(&as_number(b)?),
    }
}

fn as_number(value: &Value) -> Option<f64> {
    match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        Value::Bool(b) => Some(f64::from(u8::from(*b))),
        _ => None,
    }
}
