//! Defaults: what a document says an attribute is without a word of the user. One that breaks the rules of its own attribute would make
//! every instance wrong, so it is left out.

use kcl_model::{Attribute, Default, Rule, Schema, SchemaRef, Type, Value};

/// Finds schemas that are complete already.
pub(crate) type Known<'k> = &'k dyn Fn(&SchemaRef) -> Option<Schema>;

/// A default as the model has it.
pub(crate) fn default(value: Value) -> Default {
    Default { source: value.to_kcl(), value: Some(value) }
}

/// Whether a value has a type, as far as the type goes: schemas are looked into, their rules too.
pub(crate) fn fits(value: &Value, ty: &Type, known: Known<'_>) -> bool {
    ty.members().iter().any(|member| match (member, value) {
        (Type::Any, _) => true,
        (Type::Literal(wanted), value) => wanted == value,
        (Type::Bool, Value::Bool(_)) | (Type::Str, Value::Str(_)) | (Type::Int, Value::Int(_)) => true,
        (Type::Float, Value::Float(_) | Value::Int(_)) => true,
        (Type::List(item), Value::List(values)) => values.iter().all(|value| fits(value, item, known)),
        (Type::Dict(_, item), Value::Map(entries)) => {
            entries.iter().all(|(_, value)| fits(value, item, known))
        }
        (Type::Schema(name), Value::Map(entries)) => {
            known(name).is_some_and(|schema| is_instance(entries, &schema, known))
        }
        _ => false,
    })
}

fn is_instance(entries: &[(String, Value)], schema: &Schema, known: Known<'_>) -> bool {
    let given = |name: &str| entries.iter().find(|(key, _)| key == name).map(|(_, value)| value);
    let complete = schema
        .attributes
        .iter()
        .all(|attribute| !attribute.is_required() || given(&attribute.name).is_some());
    let known_names = entries.iter().all(|(key, value)| {
        match schema.attributes.iter().find(|attribute| attribute.name == *key) {
            Some(attribute) => fits(value, &attribute.ty, known),
            None => schema.index.as_ref().is_some_and(|index| fits(value, &index.value, known)),
        }
    });
    // A rule that is no constraint of one attribute cannot be tried here.
    let rules_hold = schema.checks.iter().all(|check| match check.constraints.as_slice() {
        [one] => match (given(one.subject.attribute()), &one.subject) {
            (Some(value), kcl_model::Subject::Attribute(_)) => holds(&one.rule, value),
            _ => true,
        },
        _ => true,
    });
    complete && known_names && rules_hold
}

/// Whether a constant keeps a rule; what the rule does not speak about keeps it.
pub(crate) fn holds(rule: &Rule, value: &Value) -> bool {
    let number = |value: &Value| match value {
        Value::Int(n) => Some(*n as f64),
        Value::Float(f) => Some(*f),
        _ => None,
    };
    let length = match value {
        Value::Str(text) => Some(text.len() as u64),
        Value::List(items) => Some(items.len() as u64),
        Value::Map(entries) => Some(entries.len() as u64),
        _ => None,
    };
    let compared = |n: &Value, good: &dyn Fn(f64, f64) -> bool| match (number(value), number(n)) {
        (Some(a), Some(b)) => good(a, b),
        _ => true,
    };
    match (rule, value) {
        (Rule::Min(n, exclusive), _) => compared(n, &|a, b| if *exclusive { a > b } else { a >= b }),
        (Rule::Max(n, exclusive), _) => compared(n, &|a, b| if *exclusive { a < b } else { a <= b }),
        (Rule::MinLen(n), _) => length.is_none_or(|length| length >= *n),
        (Rule::MaxLen(n), _) => length.is_none_or(|length| length <= *n),
        (Rule::Pattern(pattern), Value::Str(text)) => {
            fancy_regex::Regex::new(pattern).is_ok_and(|regex| regex.is_match(text).unwrap_or(false))
        }
        (Rule::MultipleOf(n), Value::Int(value)) => *n != 0 && value % n == 0,
        (Rule::OneOf(values), _) => values.contains(value),
        (Rule::NoneOf(values), _) => !values.contains(value),
        (Rule::Unique, Value::List(items)) => {
            items.iter().enumerate().all(|(i, item)| !items[..i].contains(item))
        }
        _ => true,
    }
}

/// Takes back the defaults of attributes that their own checks would refuse; returns their names.
pub(crate) fn take_back(attributes: &mut [Attribute], checks: &[kcl_model::Check]) -> Vec<String> {
    let mut taken = Vec::new();
    for attribute in attributes {
        let Some(value) = attribute.default_value() else { continue };
        let broken = checks.iter().flat_map(|check| &check.constraints).any(|constraint| {
            let each = |good: &dyn Fn(&Value) -> bool| match value {
                Value::List(items) => items.iter().all(good),
                Value::Map(entries) => entries.iter().all(|(_, value)| good(value)),
                _ => true,
            };
            constraint.subject.attribute() == attribute.name
                && !match constraint.subject {
                    kcl_model::Subject::Attribute(_) => holds(&constraint.rule, value),
                    _ => each(&|item| holds(&constraint.rule, item)),
                }
        });
        if broken {
            attribute.default = None;
            taken.push(attribute.name.clone());
        }
    }
    taken
}
