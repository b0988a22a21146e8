//! Checks that JSON Schema can say, too.

use serde_json::{Map, Value as Json, json};

use kcl_model::{Constraint, Rule, Subject, Type, Value, When};

use crate::dialect::{Dialect, object, to_json};

/// Adds what a constraint demands to the schema of its attribute.
pub(crate) fn apply(dialect: Dialect, constraint: &Constraint, ty: &Type, schema: &mut Map<String, Json>) {
    let words = match (&constraint.subject, ty) {
        (Subject::Attribute(_), _) => words(dialect, &constraint.rule, ty),
        (Subject::Each(_) | Subject::EachValue(_), Type::List(item)) => {
            within("items", words(dialect, &constraint.rule, item))
        }
        (Subject::EachValue(_), Type::Dict(_, value)) => {
            within("additionalProperties", words(dialect, &constraint.rule, value))
        }
        (Subject::Each(_), Type::Dict(..)) if dialect == Dialect::JsonSchema => {
            within("propertyNames", words(dialect, &constraint.rule, &Type::Str))
        }
        _ => return,
    };
    if words.is_empty() {
        return;
    }
    let excused = match constraint.when {
        When::Always | When::Set => Vec::new(),
        When::Truthy => excused(constraint, ty),
    };
    if excused.is_empty() {
        merge(schema, words);
    } else {
        let either = json!({ "anyOf": [{ "enum": excused }, words] });
        merge(schema, object(json!({ "allOf": [either] })));
    }
}

fn within(word: &str, words: Map<String, Json>) -> Map<String, Json> {
    if words.is_empty() { words } else { object(json!({ word: words })) }
}

/// Puts words into a schema; what would replace a word stands beside it in an `allOf`.
pub(crate) fn merge(schema: &mut Map<String, Json>, words: Map<String, Json>) {
    let clash = words.iter().any(|(key, value)| schema.get(key).is_some_and(|old| old != value));
    if clash || schema.contains_key("$ref") {
        // Words about elements go to where the elements are described.
        if let Some((word @ ("items" | "additionalProperties"), Json::Object(inner))) =
            words.iter().next().filter(|_| words.len() == 1).map(|(k, v)| (k.as_str(), v))
            && let Some(Json::Object(old)) = schema.get_mut(word)
        {
            return merge(old, inner.clone());
        }
        let all = schema.entry("allOf").or_insert_with(|| json!([]));
        if let Json::Array(all) = all {
            match words.get("allOf") {
                Some(Json::Array(more)) if words.len() == 1 => all.extend(more.iter().cloned()),
                _ => all.push(Json::Object(words)),
            }
        }
        return;
    }
    schema.extend(words);
}

/// The words of a rule about something of a type.
fn words(dialect: Dialect, rule: &Rule, ty: &Type) -> Map<String, Json> {
    match rule {
        Rule::Min(..) | Rule::Max(..) => dialect.bound(rule),
        Rule::MinLen(n) => lengths(ty, ["minLength", "minItems", "minProperties"], *n),
        Rule::MaxLen(n) => lengths(ty, ["maxLength", "maxItems", "maxProperties"], *n),
        Rule::Pattern(pattern) if is_portable(pattern) => object(json!({ "pattern": pattern })),
        Rule::Pattern(_) => Map::new(),
        Rule::OneOf(values) => object(json!({ "enum": values.iter().map(to_json).collect::<Vec<_>>() })),
        Rule::NoneOf(values) if values.iter().all(|value| matches!(value, Value::None)) => Map::new(),
        Rule::NoneOf(values) => {
            object(json!({ "not": { "enum": values.iter().map(to_json).collect::<Vec<_>>() } }))
        }
        Rule::MultipleOf(n) => object(json!({ "multipleOf": n })),
        Rule::Unique => object(json!({ "uniqueItems": true })),
    }
}

/// A length is said in the words of its type; of a type that is not known, in all of them.
fn lengths(ty: &Type, [text, items, properties]: [&str; 3], n: u64) -> Map<String, Json> {
    match ty {
        Type::Str => object(json!({ text: n })),
        Type::List(_) => object(json!({ items: n })),
        Type::Dict(..) | Type::Schema(_) => object(json!({ properties: n })),
        Type::Bool | Type::Int | Type::Float => Map::new(),
        _ => object(json!({ text: n, items: n, properties: n })),
    }
}

/// Whether a pattern means the same to JSON Schema (ECMA 262, searched) as to KCL.
fn is_portable(pattern: &str) -> bool {
    const FOREIGN: &[&str] = &[
        "(?i", "(?s", "(?m", "(?x", "(?U", "(?P", "(?>", "(?-", "(?u", "(?<", "\\A", "\\z", "\\Z", "\\h",
        "\\G", "\\K", "[[", "&&", "--", "\\p", "\\P", "++", "*+", "?+", "\\Q", "\\x{",
    ];
    pattern.is_ascii() && !FOREIGN.iter().any(|word| pattern.contains(word))
}

/// The false values that a check with `if x` lets through although its rule does not.
fn excused(constraint: &Constraint, ty: &Type) -> Vec<Json> {
    let mut found = Vec::new();
    for member in ty.members() {
        let values: &[Value] = match member {
            Type::Bool => &[Value::Bool(false)],
            Type::Int | Type::Float | Type::Unit(_) => &[Value::Int(0)],
            Type::Str => &[Value::Str(String::new())],
            Type::List(_) => &[Value::List(Vec::new())],
            Type::Dict(..) | Type::Schema(_) => &[Value::Map(Vec::new())],
            Type::Literal(_) => &[],
            _ => &[
                Value::None,
                Value::Bool(false),
                Value::Int(0),
                Value::Str(String::new()),
                Value::List(Vec::new()),
                Value::Map(Vec::new()),
            ],
        };
        let about_itself = matches!(constraint.subject, Subject::Attribute(_));
        found.extend(
            values.iter().filter(|value| about_itself && !satisfies(value, &constraint.rule)).map(to_json),
        );
    }
    found
}

/// Whether a false value satisfies a rule; what is not known counts as no.
fn satisfies(value: &Value, rule: &Rule) -> bool {
    let number = |value: &Value| match value {
        Value::Int(i) => Some(*i as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    match rule {
        Rule::Min(n, exclusive) => match (number(value), number(n)) {
            (Some(x), Some(n)) => x > n || (x == n && !exclusive),
            _ => true,
        },
        Rule::Max(n, exclusive) => match (number(value), number(n)) {
            (Some(x), Some(n)) => x < n || (x == n && !exclusive),
            _ => true,
        },
        Rule::MinLen(n) => *n == 0 || !matches!(value, Value::Str(_) | Value::List(_) | Value::Map(_)),
        Rule::MaxLen(_) | Rule::MultipleOf(_) | Rule::Unique => true,
        Rule::Pattern(_) => !matches!(value, Value::Str(_)),
        Rule::OneOf(values) => values.contains(value),
        Rule::NoneOf(values) => !values.contains(value),
    }
}
