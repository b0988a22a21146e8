//! User rules as CEL expressions.
//!
//! Problem: some health needs arithmetic or loops the data table does not have. In: JSON
//! `[{"kinds": ["x.io/Thing"], "failed": EXPR, "suspended": EXPR, "progressing": EXPR, "healthy": EXPR, "message": EXPR}]`; an
//! expression sees `object` (also as `res`), `metadata`, `spec` and `status`. Out: a verdict. Invariant: an expression that
//! errors or is no truth value gives unknown `RuleError`; size, nesting and loops of expressions are bounded.

use crate::rules::rule_error;
use crate::table::parse::{self, glob};
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use cel::{Context, Program, Value as CelValue};
use serde_json::Value;
use std::sync::Arc;

const LONGEST: usize = 4096;
const DEEPEST: usize = 48;
const MOST_LOOPS: usize = 4;

/// The order in which expressions are asked.
const ORDER: [(&str, Grade); 4] = [
    ("failed", Grade::Failed),
    ("suspended", Grade::Suspended),
    ("progressing", Grade::Progressing),
    ("healthy", Grade::Healthy),
];

#[derive(Clone)]
pub(crate) struct Expressions {
    kinds: Vec<(String, String)>,
    tests: Vec<(Grade, Arc<Program>)>,
    message: Option<Arc<Program>>,
}

impl std::fmt::Debug for Expressions {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Expressions({:?}, {} tests)", self.kinds, self.tests.len())
    }
}

/// Reads the JSON form.
pub(crate) fn parse_json(text: &str) -> Result<Vec<Expressions>, String> {
    let value: Value = serde_json::from_str(text).map_err(|problem| format!("not JSON: {problem}"))?;
    let rules = match value {
        Value::Array(list) => list,
        single => vec![single],
    };
    rules
        .iter()
        .enumerate()
        .map(|(at, rule)| read(rule).map_err(|problem| format!("rule {}: {problem}", at + 1)))
        .collect()
}

fn read(rule: &Value) -> Result<Expressions, String> {
    let map = rule.as_object().ok_or("not a mapping")?;
    if let Some(key) = map.keys().find(|key| !known(key)) {
        return Err(format!("unknown key `{key}`"));
    }
    let names: Vec<&str> = View(rule).list("/kinds").iter().filter_map(Value::as_str).collect();
    if names.is_empty() {
        return Err("`kinds` is missing: a list of group/Kind".to_owned());
    }
    let kinds = parse::line(&format!("{} : H", names.join(" ")))?.kinds;
    let mut tests = Vec::new();
    for (key, state) in ORDER {
        if let Some(text) = map.get(key) {
            let text = text.as_str().ok_or_else(|| format!("`{key}` is not a text"))?;
            tests.push((state, compile(text).map_err(|problem| format!("`{key}`: {problem}"))?));
        }
    }
    if tests.is_empty() {
        return Err("no expression: give failed, suspended, progressing or healthy".to_owned());
    }
    let message = match View(rule).text("/message") {
        Some(text) => Some(compile(text).map_err(|problem| format!("`message`: {problem}"))?),
        None => None,
    };
    Ok(Expressions { kinds, tests, message })
}

fn known(key: &str) -> bool {
    matches!(key, "kinds" | "message") || ORDER.iter().any(|(name, _)| *name == key)
}

fn compile(text: &str) -> Result<Arc<Program>, String> {
    if text.len() > LONGEST {
        return Err(format!("longer than {LONGEST} bytes"));
    }
    let (mut depth, mut deepest) = (0_usize, 0);
    for ch in text.chars() {
        match ch {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    let loops: usize = [".map(", ".filter(", ".all(", ".exists(", ".exists_one("]
        .iter()
        .map(|call| text.matches(call).count())
        .sum();
    if deepest > DEEPEST || loops > MOST_LOOPS {
        return Err(format!("more than {DEEPEST} levels or {MOST_LOOPS} loops"));
    }
    Program::compile(text)
        .map(Arc::new)
        .map_err(|problem| problem.to_string().lines().next().unwrap_or_default().to_owned())
}

impl Expressions {
    pub(crate) fn names(&self, group: &str, kind: &str) -> bool {
        self.kinds.iter().any(|(groups, kinds)| glob(groups, group) && glob(kinds, kind))
    }

    pub(crate) fn judge(&self, object: View<'_>) -> Verdict {
        if !object.has_status() {
            return Verdict::progressing("NotObserved", "no controller has reported on it yet");
        }
        let context = match variables(object) {
            Ok(context) => context,
            Err(problem) => return rule_error(&problem),
        };
        for (state, program) in &self.tests {
            match program.execute(&context) {
                Ok(CelValue::Bool(true)) => return self.verdict(*state, &context),
                Ok(CelValue::Bool(false)) => {}
                Ok(other) => {
                    return rule_error(&format!("`{state}` is no truth value: {:?}", other.type_of()));
                }
                Err(problem) => return rule_error(&format!("`{state}`: {problem}")),
            }
        }
        self.verdict(Grade::Progressing, &context)
    }

    fn verdict(&self, state: Grade, context: &Context<'_, '_>) -> Verdict {
        let said = self.message.as_ref().and_then(|program| match program.execute(context) {
            Ok(CelValue::String(text)) => Some(text.to_string()),
            _ => None,
        });
        let reason = match state {
            Grade::Healthy => "Healthy",
            Grade::Failed => "Failed",
            Grade::Suspended => "Suspended",
            _ => "Progressing",
        };
        let message = said.unwrap_or_else(|| format!("{state} by its rule"));
        let verdict = Verdict::new(state, reason, &*message);
        if state.is_good() { verdict } else { verdict.because(message) }
    }
}

fn variables(object: View<'_>) -> Result<Context<'static, 'static>, String> {
    let mut context = Context::default();
    let empty = Value::Object(serde_json::Map::new());
    let parts = [
        ("object", Some(object.0)),
        ("res", Some(object.0)),
        ("metadata", object.get("/metadata")),
        ("spec", object.get("/spec")),
        ("status", object.get("/status")),
    ];
    for (name, value) in parts {
        let value = value.unwrap_or(&empty).clone();
        context.add_variable(name, value).map_err(|problem| problem.to_string())?;
    }
    Ok(context)
}

#[cfg(test)]
mod tests {
    use crate::{Grade, Profile, Rules, Snapshot, Verdict, judge_with};
    use serde_json::{Value, json};

    const RULES: &str = r#"[{"kinds": ["x.io/Thing"],
        "failed": "status.phase == 'Broken'", "healthy": "status.ready >= object.spec.size",
        "suspended": "has(spec.off) && spec.off", "message": "'phase ' + status.phase"}]"#;

    fn judge(rules: &str, object: Value) -> Verdict {
        let rules = Rules::parse(rules).expect("parses");
        judge_with(&object, &Snapshot::new(), &Profile::default(), Some(&rules), None)
    }

    fn thing(spec: Value, status: Value) -> Value {
        json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec, "status": status})
    }

    #[test]
    fn expressions_are_asked_from_failed_to_healthy() {
        let status = |phase: &str, ready: i64| json!({"phase": phase, "ready": ready});
        let state = |spec: Value, status: Value| judge(RULES, thing(spec, status)).verdict;
        assert_eq!(state(json!({"size": 2}), status("Broken", 2)), Grade::Failed);
        assert_eq!(state(json!({"size": 2, "off": true}), status("Up", 2)), Grade::Suspended);
        assert_eq!(state(json!({"size": 2}), status("Up", 1)), Grade::Progressing);
        assert_eq!(state(json!({"size": 2}), status("Up", 2)), Grade::Healthy);
        assert_eq!(
            judge(RULES, thing(json!({"size": 2}), status("Broken", 0))).cause.as_deref(),
            Some("phase Broken")
        );
    }

    #[test]
    fn an_expression_that_errors_is_unknown_never_healthy() {
        let verdict = judge(RULES, thing(json!({"size": 2}), json!({"other": 1})));
        assert_eq!((verdict.verdict, verdict.reason.as_str()), (Grade::Unknown, "RuleError"));
        let verdict = judge(
            r#"{"kinds": ["x.io/*"], "healthy": "status.phase"}"#,
            thing(json!({}), json!({"phase": "Up"})),
        );
        assert_eq!(verdict.reason, "RuleError");
        let fresh = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}});
        assert_eq!(judge(RULES, fresh).verdict, Grade::Progressing);
    }

    #[test]
    fn bad_rules_are_refused_with_words() {
        for (text, part) in [
            ("[7]", "rule 1: not a mapping"),
            (r#"{"healthy": "true"}"#, "`kinds` is missing"),
            (r#"{"kinds": ["x.io/T"]}"#, "no expression"),
            (r#"{"kinds": ["x.io/T"], "helthy": "true"}"#, "unknown key `helthy`"),
            (r#"{"kinds": ["x.io/T"], "healthy": "1 +"}"#, "`healthy`:"),
            ("{", "not JSON"),
        ] {
            let problem = Rules::parse(text).expect_err(text);
            assert!(problem.contains(part), "{problem}");
        }
        let deep = format!(r#"{{"kinds": ["x.io/T"], "healthy": "{}1{}"}}"#, "(".repeat(99), ")".repeat(99));
        assert!(Rules::parse(&deep).expect_err("too deep").contains("levels"));
    }
}
