//! Rules of users for their own kinds.
//!
//! Problem: a CRD nobody knows. In: lines in the language of the data table (`group/Kind : F phase=Broken | H phase=Up`), or
//! an annotation on the object with the rules alone, or JSON with CEL expressions (`cel_rules.rs`). Out: a verdict that wins over built-in rules. Invariant: a rule that
//! cannot be read gives unknown `RuleError`, never healthy; failed is asked first, then suspended, progressing, healthy.

use crate::context::Context;
use crate::table::eval;
use crate::table::parse::{self, Line, Rule};
use crate::verdict::{Grade, Verdict};
use crate::view::View;

/// The annotation that carries an object's own rule.
pub const ANNOTATION: &str = "kusion.io/health-rule";

/// Rules in the order they were given; the first line that names a kind is used.
#[derive(Clone, Debug, Default)]
pub struct Rules {
    lines: Vec<Line>,
    #[cfg(feature = "cel")]
    expressions: Vec<crate::cel_rules::Expressions>,
}

impl Rules {
    /// Reads one rule per line; empty lines and `#` comments are skipped. A text that is JSON holds CEL expressions. The error
    /// names the line or the rule.
    pub fn parse(text: &str) -> Result<Rules, String> {
        let mut rules = Rules::default();
        #[cfg(not(feature = "cel"))]
        if text.trim_start().starts_with(['[', '{']) {
            return Err("this build reads no CEL expressions".to_owned());
        }
        #[cfg(feature = "cel")]
        if text.trim_start().starts_with(['[', '{']) {
            rules.expressions = crate::cel_rules::parse_json(text)?;
            return Ok(rules);
        }
        for (at, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let mut line = parse::line(line).map_err(|problem| format!("line {}: {problem}", at + 1))?;
            sort(&mut line.rules);
            rules.lines.push(line);
        }
        Ok(rules)
    }

    /// Adds the rules of another file behind these.
    pub fn extend(&mut self, other: Rules) {
        self.lines.extend(other.lines);
        #[cfg(feature = "cel")]
        self.expressions.extend(other.expressions);
    }
}

fn sort(rules: &mut [Rule]) {
    let order = |state: Grade| match state {
        Grade::Failed => 0,
        Grade::Suspended => 1,
        Grade::Progressing => 2,
        Grade::Healthy => 3,
        _ => 4,
    };
    rules.sort_by_key(|rule| order(rule.state));
}

/// The verdict of the user's rule for this object, if there is one.
pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    if let Some(text) = object.annotation(ANNOTATION) {
        return Some(match parse::rules(text) {
            Ok(mut rules) if !rules.is_empty() => {
                sort(&mut rules);
                eval::judge_rules(&rules, object, context)
            }
            Ok(_) => rule_error("the rule is empty"),
            Err(problem) => rule_error(&problem),
        });
    }
    let rules = context.rules?;
    #[cfg(feature = "cel")]
    if let Some(found) = rules.expressions.iter().find(|found| found.names(object.group(), object.kind())) {
        return Some(found.judge(object));
    }
    let line = rules.lines.iter().find(|line| line.names(object.group(), object.kind()))?;
    Some(eval::judge_rules(&line.rules, object, context))
}

pub(crate) fn rule_error(problem: &str) -> Verdict {
    Verdict::unknown("RuleError", format!("its health rule cannot be used: {problem}"))
        .because(format!("the health rule is wrong: {problem}"))
        .then(format!("correct the annotation {ANNOTATION} or the rule file"))
}
