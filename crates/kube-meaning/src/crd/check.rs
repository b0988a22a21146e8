//! Checks the values of a custom resource against its structural schema, in the server's words.

use serde_json::Value;

use super::shape::is_nullable;
use crate::status::Cause;
use crate::typed::{MAX_DEPTH, same_value};

/// Evaluates one CEL rule: the rule text, `self`, `oldSelf`. `Ok(false)` = the rule is broken; `Err` = it could not be evaluated.
pub type RuleCheck<'a> = &'a dyn Fn(&str, &Value, Option<&Value>) -> Result<bool, String>;

/// Checks an object; `old` is the live object on updates. Rules run only when everything else holds, as on the server.
pub fn check_values(
    structural: &Value,
    object: &Value,
    old: Option<&Value>,
    rules: Option<RuleCheck<'_>>,
) -> Vec<Cause> {
    let mut causes = Vec::new();
    node(structural, object, "", true, &mut causes, 0);
    if !has_rules(structural, 0) {
        return causes;
    }
    match (causes.is_empty(), rules) {
        (false, _) => causes.push(Cause {
            reason: "FieldValueInvalid",
            message: "Invalid value: \"\": some validation rules were not checked because the object was invalid; correct the existing errors to complete validation".to_owned(),
            field: "<nil>".to_owned(),
        }),
        (true, Some(check)) => run_rules(structural, object, old, "", check, &mut causes, 0),
        (true, None) => {}
    }
    causes
}

/// Whether any CEL rule is in the schema.
pub fn has_rules(structural: &Value, depth: usize) -> bool {
    depth < MAX_DEPTH
        && (structural.get("x-kubernetes-validations").is_some()
            || super::properties(structural).any(|(_, p)| has_rules(p, depth + 1))
            || structural.get("items").is_some_and(|i| has_rules(i, depth + 1))
            || structural.get("additionalProperties").is_some_and(|a| has_rules(a, depth + 1)))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

fn shown(value: &Value) -> Value {
    match value {
        Value::Array(_) => Value::from("array"),
        Value::Object(_) => Value::from("object"),
        other => other.clone(),
    }
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(n) if n.as_f64().is_some_and(|f| f.fract() == 0.0) => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn node(schema: &Value, value: &Value, path: &str, root: bool, causes: &mut Vec<Cause>, depth: usize) {
    if depth > MAX_DEPTH || (value.is_null() && is_nullable(schema)) {
        return;
    }
    if !right_type(schema, value) {
        let wanted = match schema.get("x-kubernetes-int-or-string") {
            Some(Value::Bool(true)) => "integer,string",
            _ => schema.get("type").and_then(Value::as_str).unwrap_or("object"),
        };
        let got = type_name(value);
        let message = format!("Invalid value: {got:?}: {path} in body must be of type {wanted}: {got:?}");
        causes.push(Cause { reason: "FieldValueTypeInvalid", message, field: path.to_owned() });
        return;
    }
    if let Some(Value::Array(allowed)) = schema.get("enum")
        && !allowed.iter().any(|a| same_value(a, value))
    {
        let words: Vec<String> =
            allowed.iter().map(|a| a.as_str().map_or_else(|| a.to_string(), str::to_owned)).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        causes.push(Cause::not_supported(path, value, &words));
    }
    match value {
        Value::Number(_) => number(schema, value, path, causes),
        Value::String(text) => string(schema, text, path, causes),
        Value::Array(items) => list(schema, items, path, causes, depth),
        Value::Object(map) => {
            for key in schema
                .get("required")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(Value::as_str)
            {
                if !map.contains_key(key) {
                    causes.push(Cause::required(&join(path, key), ""));
                }
            }
            let count = map.len() as u64;
            bound(
                schema,
                "minProperties",
                path,
                causes,
                |n| count >= n,
                |n| format!("should have at least {n} properties"),
            );
            bound(
                schema,
                "maxProperties",
                path,
                causes,
                |n| count <= n,
                |n| format!("should have at most {n} properties"),
            );
            for (key, child) in map {
                if root && matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
                    continue;
                }
                let named = schema.get("properties").and_then(|p| p.get(key));
                if let Some(below) = named.or(schema.get("additionalProperties").filter(|a| a.is_object())) {
                    node(below, child, &join(path, key), false, causes, depth + 1);
                }
            }
        }
        Value::Null | Value::Bool(_) => {}
    }
    combined(schema, value, path, causes, depth);
}

fn right_type(schema: &Value, value: &Value) -> bool {
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return matches!(type_name(value), "integer" | "string");
    }
    match schema.get("type").and_then(Value::as_str) {
        None => true,
        Some("number") => value.is_number(),
        Some(wanted) => type_name(value) == wanted,
    }
}

fn bound(
    schema: &Value,
    key: &str,
    path: &str,
    causes: &mut Vec<Cause>,
    holds: impl Fn(u64) -> bool,
    text: impl Fn(u64) -> String,
) {
    if let Some(limit) = schema.get(key).and_then(Value::as_u64)
        && !holds(limit)
    {
        let message = format!("Invalid value: \"\": {path} in body {}", text(limit));
        causes.push(Cause { reason: "FieldValueInvalid", message, field: path.to_owned() });
    }
}

fn number(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(given) = value.as_f64() else { return };
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    let strict = |key: &str| schema.get(key) == Some(&Value::Bool(true));
    let mut fail = |text: String| causes.push(Cause::invalid(path, value, &format!("{path} in body {text}")));
    if let Some(min) = limit("minimum") {
        match strict("exclusiveMinimum") {
            true if given <= min => fail(format!("should be greater than {min}")),
            false if given < min => fail(format!("should be greater than or equal to {min}")),
            _ => {}
        }
    }
    if let Some(max) = limit("maximum") {
        match strict("exclusiveMaximum") {
            true if given >= max => fail(format!("should be less than {max}")),
            false if given > max => fail(format!("should be less than or equal to {max}")),
            _ => {}
        }
    }
    if let Some(step) = limit("multipleOf").filter(|s| *s > 0.0)
        && (given / step).fract() != 0.0
    {
        fail(format!("should be a multiple of {step}"));
    }
}

fn string(schema: &Value, text: &str, path: &str, causes: &mut Vec<Cause>) {
    let length = text.chars().count() as u64;
    let value = Value::from(text);
    if let Some(max) = schema.get("maxLength").and_then(Value::as_u64).filter(|max| length > *max) {
        let message = format!("Too long: may not be more than {max} bytes");
        causes.push(Cause { reason: "FieldValueTooLong", message, field: path.to_owned() });
    }
    if let Some(min) = schema.get("minLength").and_then(Value::as_u64).filter(|min| length < *min) {
        causes.push(Cause::invalid(
            path,
            &value,
            &format!("{path} in body should be at least {min} chars long"),
        ));
    }
    if let Some(pattern) = schema.get("pattern").and_then(Value::as_str)
        && regex::Regex::new(pattern).is_ok_and(|re| !re.is_match(text))
    {
        causes.push(Cause::invalid(path, &value, &format!("{path} in body should match '{pattern}'")));
    }
}

fn list(schema: &Value, items: &[Value], path: &str, causes: &mut Vec<Cause>, depth: usize) {
    let count = items.len() as u64;
    if let Some(max) = schema.get("maxItems").and_then(Value::as_u64).filter(|max| count > *max) {
        let message = format!("Too many: {count}: must have at most {max} items");
        causes.push(Cause { reason: "FieldValueTooMany", message, field: path.to_owned() });
    }
    bound(schema, "minItems", path, causes, |n| count >= n, |n| format!("should have at least {n} items"));
    if let Some(below) = schema.get("items") {
        for (i, item) in items.iter().enumerate() {
            node(below, item, &format!("{path}[{i}]"), false, causes, depth + 1);
        }
    }
    duplicates(schema, items, path, causes);
}

fn duplicates(schema: &Value, items: &[Value], path: &str, causes: &mut Vec<Cause>) {
    let keys: Vec<&str> = match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => Vec::new(),
        Some("map") => schema["x-kubernetes-list-map-keys"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect(),
        _ => return,
    };
    let mut seen = rustc_hash::FxHashSet::default();
    for (i, item) in items.iter().enumerate() {
        let key = match keys.is_empty() {
            true => item.clone(),
            false => {
                keys.iter().map(|k| ((*k).to_owned(), item.get(*k).cloned().unwrap_or_default())).collect()
            }
        };
        if !seen.insert(key.to_string()) {
            causes.push(Cause::duplicate(&format!("{path}[{i}]"), &key));
        }
    }
}

/// `allOf`, `anyOf`, `oneOf`, `not`: only value checks are allowed inside.
fn combined(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>, depth: usize) {
    let branches =
        |key: &str| schema.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let passes = |branch: &Value| {
        let mut inner = Vec::new();
        node(branch, value, path, false, &mut inner, depth + 1);
        inner.is_empty()
    };
    for branch in branches("allOf") {
        node(branch, value, path, false, causes, depth + 1);
    }
    let mut fail =
        |text: &str| causes.push(Cause::invalid(path, &shown(value), &format!("{path} in body {text}")));
    let any = branches("anyOf");
    if !any.is_empty() && !any.iter().any(passes) {
        fail("must validate at least one schema (anyOf)");
    }
    let one = branches("oneOf");
    if !one.is_empty() && one.iter().filter(|b| passes(b)).count() != 1 {
        fail("must validate one and only one schema (oneOf)");
    }
    if schema.get("not").is_some_and(passes) {
        fail("must not validate the schema (not)");
    }
}

fn run_rules(
    schema: &Value,
    value: &Value,
    old: Option<&Value>,
    path: &str,
    check: RuleCheck<'_>,
    causes: &mut Vec<Cause>,
    depth: usize,
) {
    if depth > MAX_DEPTH {
        return;
    }
    for rule in schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten() {
        let Some(text) = rule.get("rule").and_then(Value::as_str) else { continue };
        let transition = text.contains("oldSelf") && rule.get("optionalOldSelf") != Some(&Value::Bool(true));
        if transition && old.is_none() {
            continue;
        }
        let outcome = check(text, value, old);
        if outcome == Ok(true) {
            continue;
        }
        causes.push(broken_rule(rule, text, value, path, outcome.err()));
    }
    match value {
        Value::Object(map) => {
            for (key, child) in map {
                let named = schema.get("properties").and_then(|p| p.get(key));
                if let Some(below) = named.or(schema.get("additionalProperties").filter(|a| a.is_object())) {
                    let old = old.and_then(|o| o.get(key));
                    run_rules(below, child, old, &join(path, key), check, causes, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            let Some(below) = schema.get("items") else { return };
            for (i, item) in items.iter().enumerate() {
                run_rules(below, item, None, &format!("{path}[{i}]"), check, causes, depth + 1);
            }
        }
        _ => {}
    }
}

fn broken_rule(rule: &Value, text: &str, value: &Value, path: &str, error: Option<String>) -> Cause {
    let message = match (error, rule.get("message").and_then(Value::as_str)) {
        (Some(error), _) => format!("rule evaluation error: {error}"),
        (None, Some(message)) => message.to_owned(),
        (None, None) => format!("failed rule: {text}"),
    };
    let field = match rule.get("fieldPath").and_then(Value::as_str) {
        Some(below) => format!("{path}{below}"),
        None if path.is_empty() => "<nil>".to_owned(),
        None => path.to_owned(),
    };
    let field = field.trim_start_matches('.');
    match rule.get("reason").and_then(Value::as_str) {
        Some("FieldValueForbidden") => Cause::forbidden(field, &message),
        Some("FieldValueRequired") => Cause::required(field, &message),
        Some("FieldValueDuplicate") => Cause::duplicate(field, &shown(value)),
        _ => Cause::invalid(field, &shown(value), &message),
    }
}
