//! Constraints of a schema object to lines of a check block.

use base_yaml::Node;
use kcl_model::{Check, Constraint, Rule, Subject, Type, Value, When, is_identifier, quote_name};

use crate::object::{is_true, number, text};

/// Names that checks call: an attribute of such a name hides the function.
const CALLED: &[&str] = &["len", "regex", "isunique", "multiplyof", "str"];

/// Whether checks can name an attribute, and call what they need beside it.
pub(crate) fn can_check(attributes: &[kcl_model::Attribute]) -> bool {
    !attributes.iter().any(|attribute| CALLED.contains(&attribute.name.as_str()))
}

/// The checks of an attribute.
pub(crate) fn checks(
    name: &str,
    ty: &Type,
    node: &Node,
    optional: bool,
    warnings: &mut Vec<String>,
) -> Vec<Check> {
    let written = quote_name(name);
    if written.starts_with('"') {
        return Vec::new();
    }
    let mut found = Vec::new();
    for rule in rules(node, ty, warnings) {
        found.push(check(Subject::Attribute(name.to_owned()), &written, rule, optional));
    }
    match ty {
        Type::List(item) => {
            if let Some(items) = node.get("items") {
                for rule in rules(items, item, warnings) {
                    found.push(check(Subject::Each(name.to_owned()), &written, rule, optional));
                }
            }
        }
        Type::Dict(_, value) => {
            if let Some(values) = node.get("additionalProperties") {
                for rule in rules(values, value, warnings) {
                    found.push(check(Subject::EachValue(name.to_owned()), &written, rule, optional));
                }
            }
        }
        _ => {}
    }
    found
}

fn check(subject: Subject, written: &str, rule: Rule, optional: bool) -> Check {
    let condition = match &subject {
        Subject::Attribute(_) => rule.condition(written),
        Subject::Each(_) => format!("all item in {written} {{ {} }}", rule.condition("item")),
        Subject::EachValue(_) => format!("all _, item in {written} {{ {} }}", rule.condition("item")),
    };
    // Where an empty value satisfies the rule, too, the short guard says the same.
    let short = !matches!(subject, Subject::Attribute(_))
        || matches!(rule, Rule::MaxLen(_) | Rule::Unique | Rule::MultipleOf(_));
    let (guard, when) = match (optional, short) {
        (false, _) => (None, When::Always),
        (true, true) => (Some(written.to_owned()), When::Truthy),
        (true, false) => (Some(format!("{written} not in [None, Undefined]")), When::Set),
    };
    Check {
        condition,
        guard,
        message: None,
        constraints: vec![Constraint { subject, when, rule }],
        place: None,
    }
}

/// The rules that a schema object states about a value of a type.
pub(crate) fn rules(node: &Node, ty: &Type, warnings: &mut Vec<String>) -> Vec<Rule> {
    let mut found = Vec::new();
    match ty {
        Type::Int | Type::Float => {
            found.extend(bound(node, "minimum", "exclusiveMinimum").map(|(n, e)| Rule::Min(n, e)));
            found.extend(bound(node, "maximum", "exclusiveMaximum").map(|(n, e)| Rule::Max(n, e)));
            if let (Type::Int, Some(Value::Int(n @ 1..))) = (ty, node.get("multipleOf").and_then(number)) {
                found.push(Rule::MultipleOf(n));
            }
        }
        Type::Str => {
            lengths(node, ["minLength", "maxLength"], &mut found);
            found.extend(text(node, "pattern").and_then(|p| pattern(p, warnings)));
        }
        Type::List(_) => {
            lengths(node, ["minItems", "maxItems"], &mut found);
            if is_true(node, "uniqueItems") {
                found.push(Rule::Unique);
            }
        }
        Type::Dict(..) => lengths(node, ["minProperties", "maxProperties"], &mut found),
        _ => {}
    }
    found
}

/// Both spellings: an exclusive bound is a number of its own, or a switch beside the bound.
fn bound(node: &Node, plain: &str, exclusive: &str) -> Option<(Value, bool)> {
    if let Some(value) = node.get(exclusive).and_then(number) {
        return Some((value, true));
    }
    Some((node.get(plain).and_then(number)?, is_true(node, exclusive)))
}

fn lengths(node: &Node, [min, max]: [&str; 2], found: &mut Vec<Rule>) {
    let length = |key: &str| match node.get(key).and_then(number) {
        Some(Value::Int(n)) => u64::try_from(n).ok(),
        _ => None,
    };
    found.extend(length(min).filter(|n| *n > 0).map(Rule::MinLen));
    found.extend(length(max).map(Rule::MaxLen));
}

/// A pattern that KCL can read, too.
pub(crate) fn pattern(pattern: &str, warnings: &mut Vec<String>) -> Option<Rule> {
    if fancy_regex::Regex::new(pattern).is_err() {
        warnings.push(format!("the pattern `{pattern}` is no regular expression of KCL: not checked"));
        return None;
    }
    Some(Rule::Pattern(pattern.to_owned()))
}

/// Whether one of some attributes is set: what `oneOf` and `anyOf` of single `required` say.
pub(crate) fn one_is_set(names: &[&str]) -> Option<Check> {
    let usable = names.iter().all(|name| is_identifier(name) || quote_name(name).starts_with('$'));
    if !usable || names.len() < 2 {
        return None;
    }
    let parts: Vec<String> =
        names.iter().map(|name| format!("{} not in [None, Undefined]", quote_name(name))).collect();
    Some(Check { condition: parts.join(" or "), ..Check::default() })
}
