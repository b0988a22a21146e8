//! Whether one object completes another: what was known stays, what was unknown became something within its bounds.
//!
//! Used for what a provider made of a plan, and for the last plan before an apply against the one that was consented to.

use std::collections::BTreeMap;

use tf_value::{Path, Step, Type, Value};

use crate::compare::{attribute_step, member, unwrap_blocks};
use crate::{Attribute, Block, BlockNesting, NestedBlock, Problem};

/// Judges an object against the planned one that it should complete.
#[must_use]
pub fn check_applied(block: &Block, planned: &Value, actual: &Value) -> Vec<Problem> {
    let mut check = Check { path: Path::default(), problems: Vec::new() };
    check.block(block, planned, actual);
    check.problems
}

struct Check {
    path: Path,
    problems: Vec<Problem>,
}

impl Check {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::at(&self.path, message));
    }

    fn within(&mut self, step: Step, inside: impl FnOnce(&mut Self)) {
        self.path.push(step);
        inside(self);
        self.path.pop();
    }

    /// Whether a check finds nothing, without telling what it found.
    fn passes(&self, check: impl FnOnce(&mut Self)) -> bool {
        let mut trial = Check { path: self.path.clone(), problems: Vec::new() };
        check(&mut trial);
        trial.problems.is_empty()
    }

    fn block(&mut self, block: &Block, planned: &Value, actual: &Value) {
        match (planned.is_null(), actual.is_null()) {
            (true, false) => return self.problem("was planned to be absent, and is there"),
            (false, true) => return self.problem("was planned to be there, and is absent"),
            (true, true) => return,
            (false, false) => {}
        }
        self.attributes(&block.attributes, planned, actual);
        for (name, nested) in &block.blocks {
            let (planned, actual) = (member(planned, name), member(actual, name));
            self.within(attribute_step(name), |check| check.blocks(nested, planned, actual));
        }
    }

    fn attributes(&mut self, all: &BTreeMap<String, Attribute>, planned: &Value, actual: &Value) {
        for (name, attribute) in all.iter().filter(|(_, attribute)| !attribute.write_only) {
            let (planned, actual) = (member(planned, name), member(actual, name));
            let before = self.problems.len();
            self.within(attribute_step(name), |check| check.value(planned, actual));
            if attribute.sensitive && self.problems.len() > before {
                // Not even which part of it differs.
                self.problems.truncate(before);
                self.within(attribute_step(name), |check| check.problem("is not what was planned"));
            }
        }
    }

    fn value(&mut self, planned: &Value, actual: &Value) {
        if let (Value::Dynamic(planned_dynamic), Value::Dynamic(actual_dynamic)) = (planned, actual)
            && !planned.is_unknown()
            && !is_completed_by(&planned_dynamic.ty, &actual_dynamic.ty)
        {
            return self.problem("has another type than was planned");
        }
        match (planned.plain(), actual.plain()) {
            (Value::Unknown(bounds), actual) => {
                if let Some(why) = bounds.as_deref().and_then(|bounds| bounds.broken_by(actual)) {
                    self.problem(why);
                }
            }
            (Value::Null, Value::Null) => {}
            (Value::Null, _) => self.problem("was planned as null, and has a value"),
            (_, Value::Null) => self.problem("was planned with a value, and is null"),
            (_, Value::Unknown(_)) => self.problem("was known in the plan, and is not"),
            (Value::List(planned), Value::List(actual)) => {
                if planned.len() != actual.len() {
                    return self.problem(format!(
                        "{} elements, {} were planned",
                        actual.len(),
                        planned.len()
                    ));
                }
                for (at, (planned, actual)) in planned.iter().zip(actual).enumerate() {
                    self.within(Step::Index(at as u64), |check| check.value(planned, actual));
                }
            }
            (Value::Map(planned), Value::Map(actual)) => self.entries(planned, actual, Self::value),
            (Value::Set(planned), Value::Set(actual)) => self.set(planned, actual, Self::value),
            (planned, actual) if planned == actual => {}
            _ => self.problem("is not what was planned"),
        }
    }

    fn entries(
        &mut self,
        planned: &tf_value::Map,
        actual: &tf_value::Map,
        inner: impl Fn(&mut Self, &Value, &Value),
    ) {
        for (key, planned) in planned {
            self.within(Step::Key(key.clone()), |check| match actual.get(key) {
                Some(actual) => inner(check, planned, actual),
                None => check.problem("was planned, and has vanished"),
            });
        }
        for key in actual.keys().filter(|key| !planned.contains_key(*key)) {
            self.within(Step::Key(key.clone()), |check| check.problem("was not planned, and has appeared"));
        }
    }

    /// Each element must have a partner on the other side; elements that became equal may have merged.
    fn set(&mut self, planned: &[Value], actual: &[Value], inner: impl Fn(&mut Self, &Value, &Value)) {
        if actual.len() > planned.len() {
            return self.problem(format!("{} elements, {} were planned", actual.len(), planned.len()));
        }
        let fits = |planned: &Value, actual: &Value| self.passes(|check| inner(check, planned, actual));
        let lost =
            planned.iter().filter(|planned| !actual.iter().any(|actual| fits(planned, actual))).count();
        let new = actual.iter().filter(|actual| !planned.iter().any(|planned| fits(planned, actual))).count();
        if lost > 0 || new > 0 {
            self.problem(format!(
                "{lost} planned elements of the set have vanished, {new} others have appeared"
            ));
        }
    }

    fn blocks(&mut self, nested: &NestedBlock, planned: &Value, actual: &Value) {
        // Blocks that were not known may have become any number.
        if planned.is_unknown() {
            return;
        }
        if matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group) {
            return self.block(&nested.block, planned, actual);
        }
        let (planned, actual) = (unwrap_blocks(nested, planned), unwrap_blocks(nested, actual));
        let inner =
            |check: &mut Self, planned: &Value, actual: &Value| check.block(&nested.block, planned, actual);
        match (&*planned, &*actual) {
            (Value::List(planned), Value::List(actual)) => {
                if planned.len() != actual.len() {
                    return self.problem(format!("{} blocks, {} were planned", actual.len(), planned.len()));
                }
                for (at, (planned, actual)) in planned.iter().zip(actual).enumerate() {
                    self.within(Step::Index(at as u64), |check| inner(check, planned, actual));
                }
            }
            (Value::Map(planned), Value::Map(actual)) => self.entries(planned, actual, inner),
            (Value::Set(planned), Value::Set(actual)) => self.set(planned, actual, inner),
            (planned, actual) if planned == actual => {}
            _ => self.problem("the blocks are not what was planned"),
        }
    }
}

/// A type that was planned while a part of it was unknown is completed by any type of that part.
fn is_completed_by(planned: &Type, actual: &Type) -> bool {
    match (planned, actual) {
        (Type::Dynamic, _) => true,
        (Type::List(planned), Type::List(actual))
        | (Type::Set(planned), Type::Set(actual))
        | (Type::Map(planned), Type::Map(actual)) => is_completed_by(planned, actual),
        (Type::Tuple(planned), Type::Tuple(actual)) => {
            planned.len() == actual.len()
                && planned.iter().zip(actual.iter()).all(|(planned, actual)| is_completed_by(planned, actual))
        }
        (Type::Object(planned), Type::Object(actual)) => {
            let (planned, actual) = (&planned.attributes, &actual.attributes);
            planned.len() == actual.len()
                && planned.iter().all(|(name, planned)| {
                    actual.get(name).is_some_and(|actual| is_completed_by(planned, actual))
                })
        }
        (planned, actual) => planned == actual,
    }
}
