//! CEL rules of custom resources (`x-kubernetes-validations`).
//!
//! With the feature `cel` they are evaluated; without it they hold nothing up, and an object that a cluster refuses may pass.

use kube_meaning::crd::check_values;
use kube_meaning::status::Cause;
use serde_json::Value;

/// The rules that an object breaks.
pub(crate) fn broken(structural: &Value, object: &Value, live: Option<&Value>) -> Vec<Cause> {
    check_values(structural, object, live, rule_check())
}

#[cfg(not(feature = "cel"))]
fn rule_check() -> Option<kube_meaning::crd::RuleCheck<'static>> {
    None
}

#[cfg(feature = "cel")]
fn rule_check() -> Option<kube_meaning::crd::RuleCheck<'static>> {
    Some(&evaluated::holds)
}

#[cfg(feature = "cel")]
mod evaluated {
    use cel::{Context, Program, Value as CelValue};
    use serde_json::Value;

    /// Texts longer than this are not compiled: a rule is a line or two.
    const LONGEST: usize = 4096;
    const DEEPEST: usize = 48;

    /// Whether a rule holds for a value.
    pub(super) fn holds(rule: &str, value: &Value, old: Option<&Value>) -> Result<bool, String> {
        if rule.len() > LONGEST || depth(rule) > DEEPEST {
            return Err("the rule is too long or too deep for the sandbox".to_owned());
        }
        let program = Program::compile(rule)
            .map_err(|problem| problem.to_string().lines().next().unwrap_or_default().to_owned())?;
        let mut context = Context::default();
        context.add_variable("self", value.clone()).map_err(|problem| problem.to_string())?;
        if let Some(old) = old {
            context.add_variable("oldSelf", old.clone()).map_err(|problem| problem.to_string())?;
        }
        match program.execute(&context) {
            Ok(CelValue::Bool(holds)) => Ok(holds),
            Ok(_) => Err("the rule is no truth value".to_owned()),
            Err(problem) => Err(problem.to_string()),
        }
    }

    fn depth(text: &str) -> usize {
        let (mut depth, mut deepest) = (0_usize, 0);
        for c in text.chars() {
            match c {
                '(' | '[' | '{' => depth += 1,
                ')' | ']' | '}' => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        deepest
    }
}
