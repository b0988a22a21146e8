//! Whether what a provider planned is allowed: it may add what it computes, and change nothing that was configured.

use std::collections::BTreeMap;

use tf_value::{Path, Step, Value};

use crate::compare::{NULL, attribute_step, equal, member, unwrap_blocks};
use crate::{Attribute, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Problem};

/// Judges a planned object. Providers of the old kind (`legacy_type_system`) break these rules: for them the problems are
/// worth a line in the log, not more.
#[must_use]
pub fn check_plan(block: &Block, prior: &Value, config: &Value, planned: &Value) -> Vec<Problem> {
    let mut check = Check { path: Path::default(), problems: Vec::new() };
    check.block(block, prior, config, planned);
    check.problems
}

struct Check {
    path: Path,
    problems: Vec<Problem>,
}

const ABSENT: &str = "planned to be absent, but the configuration wants it";
const PRESENT: &str = "planned to exist, but the configuration does not want it";

impl Check {
    fn problem(&mut self, message: impl Into<String>) {
        self.problems.push(Problem::at(&self.path, message));
    }

    fn within(&mut self, step: Step, inside: impl FnOnce(&mut Self)) {
        self.path.push(step);
        inside(self);
        self.path.pop();
    }

    /// Whether both are there, so that their parts can be compared.
    fn both_there(&mut self, config: &Value, planned: &Value) -> bool {
        match (config.is_null(), planned.is_null()) {
            (false, true) => self.problem(ABSENT),
            (true, false) => self.problem(PRESENT),
            (true, true) => {}
            (false, false) => return true,
        }
        false
    }

    fn block(&mut self, block: &Block, prior: &Value, config: &Value, planned: &Value) {
        if !self.both_there(config, planned) {
            return;
        }
        self.attributes(&block.attributes, prior, config, planned);
        for (name, nested) in &block.blocks {
            let (prior, config, planned) = (member(prior, name), member(config, name), member(planned, name));
            if !equal(planned, config) {
                self.within(attribute_step(name), |check| check.blocks(nested, prior, config, planned));
            }
        }
    }

    fn attributes(
        &mut self,
        all: &BTreeMap<String, Attribute>,
        prior: &Value,
        config: &Value,
        planned: &Value,
    ) {
        for (name, attribute) in all {
            let (prior, config, planned) = (member(prior, name), member(config, name), member(planned, name));
            self.within(attribute_step(name), |check| check.attribute(attribute, prior, config, planned));
        }
    }

    fn attribute(&mut self, attribute: &Attribute, prior: &Value, config: &Value, planned: &Value) {
        if attribute.write_only {
            if !planned.is_null() {
                self.problem("a write-only attribute must be planned as null");
            }
            return;
        }
        if equal(planned, config) || (attribute.computed && config.is_null()) {
            return;
        }
        if config.is_null() {
            self.problem("a value is planned for an attribute that is not configured and not computed");
            return;
        }
        // The provider says that what is there already means the same.
        if !prior.is_null() && equal(planned, prior) {
            return;
        }
        match attribute.nested() {
            Some(nested) => self.nested(nested, prior, config, planned),
            None if prior.is_null() => self.problem("the planned value is not the configured one"),
            None => self.problem("the planned value is neither the configured nor the prior one"),
        }
    }

    fn nested(&mut self, nested: &NestedObject, prior: &Value, config: &Value, planned: &Value) {
        if !self.both_there(config, planned) {
            return;
        }
        if planned.is_unknown() {
            self.problem("planned as unknown, although it is configured");
            return;
        }
        if config.is_unknown() {
            self.problem("the planned value is not the configured one, which is not known yet");
            return;
        }
        let inner = |check: &mut Self, prior: &Value, config: &Value, planned: &Value| {
            if check.both_there(config, planned) {
                check.attributes(&nested.attributes, prior, config, planned);
            }
        };
        match nested.nesting {
            ObjectNesting::Single => inner(self, prior, config, planned),
            ObjectNesting::List => self.items(prior, config, planned, inner),
            ObjectNesting::Map => self.entries(prior, config, planned, inner),
            ObjectNesting::Set => self.set_length(config, planned),
        }
    }

    /// Elements that are unknown may turn out to be equal: only what is impossible is wrong.
    fn set_length(&mut self, config: &Value, planned: &Value) {
        let range = |value: &Value| {
            let items = value.elements().unwrap_or_default();
            let sure = items.iter().filter(|item| item.is_wholly_known()).count();
            let least = if sure == 0 && !items.is_empty() { 1 } else { sure };
            (least, items.len())
        };
        let ((config_least, config_most), (least, most)) = (range(config), range(planned));
        if least > config_most || most < config_least {
            self.problem(format!("{most} elements are planned, {config_most} are configured"));
        }
    }

    fn blocks(&mut self, nested: &NestedBlock, prior: &Value, config: &Value, planned: &Value) {
        if config.is_unknown() {
            self.problem("blocks that are not known yet must be planned as they are configured");
            return;
        }
        if planned.is_unknown() {
            self.problem("blocks must not be planned as unknown; attributes in them may");
            return;
        }
        let inner = |check: &mut Self, prior: &Value, config: &Value, planned: &Value| {
            check.block(&nested.block, prior, config, planned);
        };
        if matches!(nested.nesting, BlockNesting::Single | BlockNesting::Group) {
            return inner(self, prior, config, planned);
        }
        if planned.is_null() {
            self.problem("no blocks must be planned as an empty collection, not as null");
            return;
        }
        let unwrapped = |value| unwrap_blocks(nested, value);
        let (prior, config, planned) = (unwrapped(prior), unwrapped(config), unwrapped(planned));
        match nested.nesting {
            BlockNesting::List => self.items(&prior, &config, &planned, inner),
            BlockNesting::Map => self.entries(&prior, &config, &planned, inner),
            // Blocks of a set have no name by which they could be paired.
            _ => {
                if planned.elements().unwrap_or_default().iter().any(Value::is_unknown) {
                    self.problem("a block of a set must not be planned as unknown; attributes in it may");
                }
            }
        }
    }

    fn items(
        &mut self,
        prior: &Value,
        config: &Value,
        planned: &Value,
        inner: impl Fn(&mut Self, &Value, &Value, &Value),
    ) {
        let [prior, config, planned] =
            [prior, config, planned].map(|value| value.elements().unwrap_or_default());
        if config.len() != planned.len() {
            self.problem(format!("{} elements are planned, {} are configured", planned.len(), config.len()));
            return;
        }
        for (at, (config, planned)) in config.iter().zip(planned).enumerate() {
            let prior = prior.get(at).unwrap_or(&NULL);
            self.within(Step::Index(at as u64), |check| inner(check, prior, config, planned));
        }
    }

    fn entries(
        &mut self,
        prior: &Value,
        config: &Value,
        planned: &Value,
        inner: impl Fn(&mut Self, &Value, &Value, &Value),
    ) {
        let (Some(configured), Some(entries)) = (config.as_map(), planned.as_map()) else {
            self.problem("the planned value is not the configured one");
            return;
        };
        for (key, planned) in entries {
            self.within(Step::Key(key.clone()), |check| match configured.get(key) {
                Some(config) => inner(check, prior.get(key).unwrap_or(&NULL), config, planned),
                None => check.problem("planned, but not configured"),
            });
        }
        for key in configured.keys().filter(|key| !entries.contains_key(*key)) {
            self.within(Step::Key(key.clone()), |check| check.problem("configured, but not planned"));
        }
    }
}
