//! Constraints of a schema object about one value, as rules of the model.

use base_yaml::{Data, Node};
use kcl_model::{Rule, Type, Value};

use crate::formats;
use crate::kinds::{Kind, seen};
use crate::object::{is_true, items, number, text, value};

/// The rules that a schema object states about a value of a type.
pub(crate) fn rules(node: &Node, ty: &Type, warnings: &mut Vec<String>) -> Vec<Rule> {
    let mut found = Vec::new();
    match ty {
        Type::Int | Type::Float => {
            let bounds = |plain, exclusive| bounds(node, plain, exclusive).into_iter();
            found.extend(bounds("minimum", "exclusiveMinimum").map(|(n, e)| Rule::Min(n, e)));
            found.extend(bounds("maximum", "exclusiveMaximum").map(|(n, e)| Rule::Max(n, e)));
            match (ty, node.get("multipleOf").and_then(number)) {
                (Type::Int, Some(Value::Int(n @ 1..))) => found.push(Rule::MultipleOf(n)),
                (_, None) => {}
                // Binary fractions have no multiples that a check could tell.
                (_, Some(n)) => warnings.push(format!(
                    "`multipleOf: {}` of a {} is not checked: KCL counts multiples of whole numbers",
                    n.to_kcl(),
                    if *ty == Type::Int { "whole number" } else { "number" },
                )),
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
    if let Some(format) = text(node, "format") {
        for rule in formats::rules(format, ty) {
            // A bound that is narrower than the format's says all of it.
            let said = found.iter().any(|known| {
                matches!((known, &rule), (Rule::Min(..), Rule::Min(..)) | (Rule::Max(..), Rule::Max(..)))
            });
            if !said {
                found.push(rule);
            }
        }
    }
    found.extend(listed(node, ty));
    found
}

/// An enumeration that its type does not say.
fn listed(node: &Node, ty: &Type) -> Option<Rule> {
    if ty.members().iter().any(|member| matches!(member, Type::Literal(_) | Type::Schema(_))) {
        return None;
    }
    let constant = node.get("const").filter(|constant| constant.value != Data::Null);
    let values: Vec<Value> = match (items(node, "enum"), constant) {
        ([], None) => return None,
        ([], Some(constant)) => vec![value(constant)],
        (many, _) => many.iter().filter(|n| n.value != Data::Null).map(value).collect(),
    };
    (!values.is_empty()).then_some(Rule::OneOf(values))
}

/// Rules about the members of a union as conditions about an expression: each holds for values of its kind.
pub(crate) fn of_members(
    node: &Node,
    ty: &Type,
    expression: &str,
    warnings: &mut Vec<String>,
) -> Vec<String> {
    let mut found = Vec::new();
    for kind in [Kind::Number, Kind::Text] {
        let Ok(Some(seen)) = seen(kind, ty, ty, expression) else { continue };
        let Some(other) = seen.unless else { continue };
        let rules =
            rules(node, &seen.ty, warnings).into_iter().filter(|rule| !matches!(rule, Rule::OneOf(_)));
        found.extend(rules.map(|rule| format!("{other} or {}", rule.condition(&seen.expression))));
    }
    found
}

/// Both spellings: an exclusive bound is a number of its own, or a switch beside the bound.
fn bounds(node: &Node, plain: &str, exclusive: &str) -> Vec<(Value, bool)> {
    let own = node.get(exclusive).and_then(number).map(|bound| (bound, true));
    let bound = node.get(plain).and_then(number).map(|bound| (bound, is_true(node, exclusive)));
    bound.into_iter().chain(own).collect()
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
