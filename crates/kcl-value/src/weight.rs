//! How large a value is when it is written out.
//!
//! Values share their parts; texts and outputs do not: forty lines that double a dict make a small value and a terabyte of YAML.
//! Whoever is about to write a value asks for its weight first. Shared parts are weighed once, so asking costs what the value
//! costs in memory, not what it would cost on paper.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Dict, Value};

/// Characters of text that weigh as much as a cell.
const TEXT: u64 = 32;

/// Returns the number of cells of a value as a tree; with `hidden`, names that start with `_` count.
pub fn weight(value: &Value, hidden: bool) -> u64 {
    Scale { hidden, shared: FxHashMap::default() }.value(value)
}

/// Returns the weight of what has parts, and nothing for other values: those are charged for by the text they become.
pub fn added_weight(value: &Value) -> u64 {
    match value {
        Value::List(_) | Value::Dict(_) | Value::Schema(_) => weight(value, true),
        _ => 0,
    }
}

struct Scale {
    hidden: bool,
    /// Weights of the parts that more than one value has, by address.
    shared: FxHashMap<usize, u64>,
}

impl Scale {
    fn value(&mut self, value: &Value) -> u64 {
        match value {
            Value::Str(text) => 1 + text.len() as u64 / TEXT,
            Value::List(list) => self.once(list, |scale| {
                list.items.iter().fold(1, |sum: u64, item| sum.saturating_add(scale.value(item)))
            }),
            Value::Dict(dict) => self.once(dict, |scale| scale.entries(dict)),
            Value::Schema(inst) => self.once(inst, |scale| scale.entries(&inst.attrs)),
            _ => 1,
        }
    }

    fn entries(&mut self, dict: &Dict) -> u64 {
        let hidden = self.hidden;
        let counted = dict.iter().filter(|(key, _)| hidden || !key.starts_with('_'));
        counted.fold(1, |sum: u64, (key, entry)| {
            sum.saturating_add(1 + key.len() as u64 / TEXT).saturating_add(self.value(&entry.value))
        })
    }

    fn once<T>(&mut self, part: &Rc<T>, weigh: impl FnOnce(&mut Self) -> u64) -> u64 {
        if Rc::strong_count(part) == 1 {
            return weigh(self);
        }
        let address = Rc::as_ptr(part) as usize;
        if let Some(known) = self.shared.get(&address) {
            return *known;
        }
        let weight = weigh(self);
        self.shared.insert(address, weight);
        weight
    }
}

/// Pairs of shared parts that a comparison has met. The second time a pair need not be compared: had it been unequal, the comparison
/// would have ended.
#[derive(Default)]
pub struct Pairs(FxHashSet<(usize, usize)>);

impl Pairs {
    /// Returns true if the two are the same part, or were met before.
    pub fn met<T>(&mut self, a: &Rc<T>, b: &Rc<T>) -> bool {
        if Rc::ptr_eq(a, b) {
            return true;
        }
        let both_shared = Rc::strong_count(a) > 1 && Rc::strong_count(b) > 1;
        both_shared && !self.0.insert((Rc::as_ptr(a) as usize, Rc::as_ptr(b) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::weight;
    use crate::{List, Value, equal, order};

    fn doubled(times: usize) -> Value {
        (0..times).fold(Value::Int(1), |value, _| {
            let mut list = List::default();
            list.push(value.clone(), Default::default());
            list.push(value, Default::default());
            list.into()
        })
    }

    #[test]
    fn a_doubled_value_is_weighed_and_compared_in_no_time() {
        assert_eq!(weight(&doubled(3), true), 15);
        assert_eq!(weight(&doubled(100), true), u64::MAX);
        assert!(equal(&doubled(100), &doubled(100)));
        assert!(!equal(&doubled(100), &doubled(99)));
        assert_eq!(order(&doubled(100), &doubled(100)), Some(std::cmp::Ordering::Equal));
    }

    #[test]
    fn text_weighs() {
        assert_eq!(weight(&Value::from("x".repeat(320)), true), 11);
    }
}
