//! Evaluating a line of the table on an object.
//!
//! In: a line and an object that passed the envelope. Out: the verdict of the first matching rule, with the reason and
//! message of what matched. Invariant: total; absent fields read as empty, zero or false.

use super::parse::{Line, Op, Path, Rule, Term, Test};
use crate::condition::{Condition, Conditions, is_stale};
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use crate::vocabulary;
use serde_json::Value;
use std::borrow::Cow;

/// What tests look at: the object, and the status or list element they stand in.
struct Scope<'a> {
    object: &'a Value,
    here: &'a Value,
    conditions: Conditions<'a>,
    generation: Option<i64>,
}

static NULL: Value = Value::Null;

/// The verdict of a line.
pub(crate) fn judge(line: &Line, object: View<'_>, context: &Context<'_>) -> Verdict {
    judge_rules(&line.rules, object, context)
}

pub(crate) fn judge_rules(rules: &[Rule], object: View<'_>, context: &Context<'_>) -> Verdict {
    let status = fresh_status(object);
    let mut conditions = Conditions::from_list(View(&status).list("/conditions"), None);
    conditions.stale = Conditions::of(object).stale;
    let scope = Scope { object: object.0, here: &status, conditions, generation: object.generation() };
    let Some(rule) = rules.iter().find(|rule| rule.tests.iter().all(|test| holds(test, &scope))) else {
        return nothing_matched(&scope);
    };
    let (reason, message) = describe(rule, &scope);
    let verdict = Verdict::new(rule.state, reason, message.clone());
    if rule.state.is_good() {
        return verdict;
    }
    soften(verdict.because(message), rule, object, context)
}

/// Stale conditions count as absent everywhere.
fn fresh_status(object: View<'_>) -> Cow<'_, Value> {
    let Some(status) = object.get("/status") else { return Cow::Borrowed(&NULL) };
    let generation = object.generation();
    let list = View(status).list("/conditions");
    if !list.iter().any(|entry| is_stale(entry, generation)) {
        return Cow::Borrowed(status);
    }
    let mut fresh = status.clone();
    if let Some(Value::Array(list)) = fresh.get_mut("conditions") {
        list.retain(|entry| !is_stale(entry, generation));
    }
    Cow::Owned(fresh)
}

fn nothing_matched(scope: &Scope<'_>) -> Verdict {
    let known =
        ["Ready", "Available", "Synced", "Succeeded"].iter().find_map(|kind| scope.conditions.get(kind));
    match known {
        Some(condition) => Verdict::progressing(condition.reason_or("Progressing"), condition.message)
            .because(condition.says()),
        None if scope.here.is_null() => {
            Verdict::progressing("NotObserved", "no controller has reported on it yet")
        }
        None => Verdict::progressing("Progressing", "not there yet"),
    }
}

/// While somebody waits, a refusal that controllers retry gets its grace.
fn soften(verdict: Verdict, rule: &Rule, object: View<'_>, context: &Context<'_>) -> Verdict {
    if !context.live() || verdict.verdict != Grade::Failed {
        return verdict;
    }
    if rule.tests.is_empty() && object.group() == "apps.kruise.io" {
        // "any unavailable pod": the pods decide
        return Verdict { verdict: Grade::Progressing, ..verdict };
    }
    let retried = rule.tests.iter().any(|test| {
        matches!(test, Test::Condition { kind, reasons, .. } if reasons.is_empty() && (kind == "Ready" || kind == "Synced"))
    });
    let doomed = vocabulary::is_doom(&verdict.reason, &verdict.message);
    if retried && !doomed {
        let grace = context.profile.ready_grace;
        return Verdict { verdict: Grade::Progressing, ..verdict }.fails_after(grace);
    }
    verdict
}

fn holds(test: &Test, scope: &Scope<'_>) -> bool {
    match test {
        Test::Not(inner) => !holds(inner, scope),
        Test::Condition { .. } => matching(test, scope).is_some(),
        Test::Present(kind) => scope.conditions.get(kind).is_some(),
        Test::Stale => scope.conditions.stale,
        Test::NoStatus => {
            scope.here.is_null() || scope.here.as_object().is_some_and(serde_json::Map::is_empty)
        }
        Test::Truthy(path) => truthy(find(path, scope)),
        Test::Empty(path) => match find(path, scope) {
            Some(Value::Array(list)) => list.is_empty(),
            Some(Value::Object(map)) => map.is_empty(),
            Some(Value::String(text)) => text.is_empty(),
            _ => false,
        },
        Test::Ratio(path) => {
            let text = text_of(find(path, scope));
            text.split_once('/').is_some_and(|(done, wanted)| done.trim() == wanted.trim())
        }
        Test::Text { path, words, differs } => {
            let text = text_of(find(path, scope));
            words.iter().any(|word| word_fits(word, &text)) != *differs
        }
        Test::Compare { left, op, right } => compare(left, *op, right, scope),
        Test::Some(path, tests) => elements(path, scope).into_iter().any(|inner| all(tests, &inner)),
        Test::Every(path, tests) => elements(path, scope).into_iter().all(|inner| all(tests, &inner)),
    }
}

fn all(tests: &[Test], scope: &Scope<'_>) -> bool {
    tests.iter().all(|test| holds(test, scope))
}

/// The condition that makes a condition test true.
fn matching<'s, 'a>(test: &Test, scope: &'s Scope<'a>) -> Option<&'s Condition<'a>> {
    let Test::Condition { kind, statuses, reasons, excluded } = test else { return None };
    let fits = |condition: &&Condition<'a>| {
        let listed =
            reasons.is_empty() || (reasons.iter().any(|reason| reason == condition.reason) != *excluded);
        statuses.contains(&condition.status) && listed
    };
    if kind == "*" {
        scope.conditions.list.iter().find(fits)
    } else {
        scope.conditions.get(kind).filter(fits)
    }
}

fn find<'a>(path: &Path, scope: &Scope<'a>) -> Option<&'a Value> {
    let start = if path.root { scope.object } else { scope.here };
    let found = path.keys.iter().try_fold(start, |value, key| value.get(key))?;
    (!found.is_null()).then_some(found)
}

fn truthy(value: Option<&Value>) -> bool {
    match value {
        None | Some(Value::Null | Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(Value::Number(number)) => number.as_f64() != Some(0.0),
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Array(list)) => !list.is_empty(),
        Some(Value::Object(map)) => !map.is_empty(),
    }
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        _ => String::new(),
    }
}

fn word_fits(word: &str, text: &str) -> bool {
    match word.strip_suffix('*') {
        Some(prefix) => text.starts_with(prefix),
        None if word == "_" => text.is_empty(),
        None => word == text,
    }
}

/// Elements of a list, or values of a mapping, each with its own conditions.
fn elements<'a>(path: &Path, scope: &Scope<'a>) -> Vec<Scope<'a>> {
    let values: Vec<&'a Value> = match find(path, scope) {
        Some(Value::Array(list)) => list.iter().collect(),
        Some(Value::Object(map)) => map.values().collect(),
        _ => Vec::new(),
    };
    let open = |here: &'a Value| {
        let list = match here {
            Value::Array(list) => list.as_slice(),
            _ => View(here).list("/conditions"),
        };
        let conditions = Conditions::from_list(list, scope.generation);
        Scope { object: scope.object, here, conditions, generation: scope.generation }
    };
    values.into_iter().take(10_000).map(open).collect()
}

fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.trim().parse().ok())
}

fn compare(left: &[Term], op: Op, right: &[Term], scope: &Scope<'_>) -> bool {
    if let (Op::Equal | Op::Differ, [Term::Field(a, _)], [Term::Field(b, _)]) = (op, left, right) {
        let (a, b) = (find(a, scope), find(b, scope));
        let words = |value: Option<&Value>| value.is_some_and(|value| number_of(value).is_none());
        // two texts are compared as texts: a commit may consist of digits only
        let texts = a.is_some_and(Value::is_string) && b.is_some_and(Value::is_string);
        if texts || words(a) || words(b) {
            return (text_of(a) == text_of(b)) == (op == Op::Equal);
        }
    }
    let (a, b) = (total(left, scope), total(right, scope));
    match op {
        Op::Less => a < b,
        Op::LessEqual => a <= b,
        Op::More => a > b,
        Op::MoreEqual => a >= b,
        Op::Equal => a == b,
        Op::Differ => a != b,
    }
}

fn total(terms: &[Term], scope: &Scope<'_>) -> f64 {
    let Some((first, rest)) = terms.split_first() else { return 0.0 };
    let whole = amount(first, scope);
    rest.iter().fold(whole, |sum, term| sum - part(term, whole, scope))
}

/// A subtracted amount may be a percentage of the whole, rounded up.
fn part(term: &Term, whole: f64, scope: &Scope<'_>) -> f64 {
    if let Term::Field(path, _) = term {
        let text = text_of(find(path, scope));
        if let Some(percent) = text.trim().strip_suffix('%').and_then(|digits| digits.parse::<f64>().ok()) {
            return (whole * percent / 100.0).ceil();
        }
    }
    amount(term, scope)
}

fn amount(term: &Term, scope: &Scope<'_>) -> f64 {
    match term {
        Term::Literal(number) => *number as f64,
        Term::Field(path, default) => {
            find(path, scope).map_or(*default as f64, |value| number_of(value).unwrap_or(0.0))
        }
        Term::Count(path) => match find(path, scope) {
            Some(Value::Array(list)) => list.len() as f64,
            Some(Value::Object(map)) => map.len() as f64,
            _ => 0.0,
        },
        Term::Sum(path) => {
            let Some((last, front)) = path.keys.split_last() else { return 0.0 };
            let list = Path { root: path.root, keys: front.to_vec() };
            let inner = elements(&list, scope);
            inner.iter().filter_map(|element| number_of(element.here.get(last)?)).sum()
        }
    }
}

/// Reason and message of what made the rule match.
fn describe(rule: &Rule, scope: &Scope<'_>) -> (String, String) {
    for test in &rule.tests {
        if let Some(found) = told_by(test, scope) {
            return found;
        }
    }
    // A rule without words of its own: a condition that is not true says most.
    let own = own_message(scope.here);
    if rule.state == Grade::Failed
        && own.is_empty()
        && let Some(bad) =
            scope.conditions.list.iter().find(|found| !found.is_true() && !found.says().is_empty())
    {
        return (bad.reason_or(bad.kind).to_owned(), bad.says().to_owned());
    }
    let default = match rule.state {
        Grade::Healthy => "Healthy",
        Grade::Failed => "Failed",
        Grade::Suspended => "Suspended",
        Grade::Unknown => "Unknown",
        _ => "Progressing",
    };
    (default.to_owned(), own)
}

fn told_by(test: &Test, scope: &Scope<'_>) -> Option<(String, String)> {
    match test {
        Test::Condition { .. } => {
            let condition = matching(test, scope)?;
            Some((condition.reason_or(condition.kind).to_owned(), condition.says().to_owned()))
        }
        Test::Text { path, .. } | Test::Truthy(path) => {
            let name = path.keys.last()?;
            let word = text_of(find(path, scope));
            let reason = if is_key(&word) { word.clone() } else { capital(name) };
            let message = own_message(scope.here);
            let fact = format!("{} is {word:?}", path.keys.join("."));
            Some((reason, if message.is_empty() { fact } else { message }))
        }
        Test::Some(path, tests) => {
            let inner = elements(path, scope).into_iter().find(|inner| all(tests, inner))?;
            tests.iter().find_map(|test| told_by(test, &inner))
        }
        _ => None,
    }
}

/// Looks like a stable CamelCase key?
fn is_key(word: &str) -> bool {
    !word.is_empty()
        && word.len() <= 64
        && word.chars().all(|ch| ch.is_ascii_alphanumeric() || ch == '_')
        && !matches!(word, "true" | "false")
        && !word.starts_with(|ch: char| ch.is_ascii_digit())
}

fn capital(name: &str) -> String {
    let mut chars = name.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// The message a status carries outside of conditions.
fn own_message(here: &Value) -> String {
    let keys = ["message", "phaseReason", "errorMessage", "failureMessage", "error", "reason"];
    let found = keys.iter().find_map(|key| {
        let value = here.get(key)?;
        value.as_str().or_else(|| value.get("message")?.as_str()).filter(|text| !text.is_empty())
    });
    found.unwrap_or_default().to_owned()
}
