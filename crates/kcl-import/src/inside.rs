//! Conditions about what is inside of a value: elements, entries, attributes.

use base_yaml::{Data, Node};
use kcl_model::{Schema, Type, is_identifier, quote, quote_name};

use crate::kinds::Seen;
use crate::object::{all, entries, number, texts};
use crate::predicate::{About, Own, is_set, joined, only_named, wrapped};
use crate::rules;
use crate::schema::{Reader, places};

impl Reader<'_, '_> {
    /// Elements, attributes and keys of a value.
    pub(crate) fn inner_parts(
        &mut self,
        node: &Node,
        seen: &Seen,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        match &seen.ty {
            Type::List(item) => self.element_parts(node, &seen.expression, item, document, depth, parts),
            Type::Schema(name) => {
                let schema = self.known_schema(name)?;
                self.instance_parts(node, &seen.expression, &schema, document, depth, parts)
            }
            Type::Dict(_, value) => {
                self.entry_parts(node, &seen.expression, value, document, depth, parts)?;
                self.key_parts(node, &seen.expression, value, document, depth, parts)
            }
            _ => Some(()),
        }
    }

    fn element_parts(
        &mut self,
        node: &Node,
        expression: &str,
        item: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        let placed = places(node);
        for (at, place) in placed.iter().enumerate() {
            let element = format!("{expression}[{at}]");
            let inner = self.condition(place, &About::Value(&element, item), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("len({expression}) <= {at} or {}", wrapped(&inner)));
            }
        }
        let rest = match node.get("items").filter(|items| !matches!(items.value, Data::List(_))) {
            Some(rest) => Some(rest),
            None => node.get("additionalItems").filter(|_| !placed.is_empty()),
        };
        let variable = format!("item{depth}");
        if let Some(rest) = rest {
            let inner = self.condition(rest, &About::Value(&variable, item), document, depth + 1)?;
            match (inner.as_str(), placed.len()) {
                ("True", _) => {}
                ("False", count) => parts.push(format!("len({expression}) <= {count}")),
                (_, 0) => parts.push(format!("all {variable} in {expression} {{ {inner} }}")),
                (_, count) => parts.push(format!(
                    "all place{depth}, {variable} in {expression} {{ place{depth} < {count} or {} }}",
                    wrapped(&inner)
                )),
            }
        }
        if let Some(contained) = node.get("contains") {
            let inner = self.condition(contained, &About::Value(&variable, item), document, depth + 1)?;
            parts.extend(contains(node, expression, &variable, &inner));
        }
        Some(())
    }

    /// The attributes of an instance.
    fn instance_parts(
        &mut self,
        node: &Node,
        expression: &str,
        schema: &Schema,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        const NOT_SAID: &[&str] = &["minProperties", "maxProperties", "patternProperties", "propertyNames"];
        if NOT_SAID.iter().any(|word| node.get(word).is_some()) {
            return None;
        }
        let type_of = |key: &str| {
            let found = schema.attributes.iter().find(|a| a.name == key).map(|a| a.ty.clone());
            found.filter(|_| is_identifier(key))
        };
        for name in texts(node, "required") {
            type_of(name)?;
            parts.push(is_set(&format!("{expression}?.{name}")));
        }
        for entry in entries(node, "properties") {
            let ty = type_of(&entry.key)?;
            let place = format!("{expression}?.{}", entry.key);
            let inner = self.condition(&entry.value, &About::Value(&place, &ty), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("{place} in [None, Undefined] or {}", wrapped(&inner)));
            }
        }
        let own = Own { attributes: &schema.attributes, open: schema.index.is_some() };
        only_named(node, own, &format!("{expression}?."), parts)
    }

    /// The entries of a map that have names.
    fn entry_parts(
        &mut self,
        node: &Node,
        expression: &str,
        value: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        for name in texts(node, "required") {
            parts.push(match is_identifier(name) {
                true => is_set(&format!("{expression}?.{name}")),
                false => format!("{} in {expression}", quote(name)),
            });
        }
        for entry in entries(node, "properties") {
            let (place, absent) = match is_identifier(&entry.key) {
                true => {
                    let place = format!("{expression}?.{}", entry.key);
                    (place.clone(), format!("{place} in [None, Undefined]"))
                }
                false => {
                    let key = quote(&entry.key);
                    (format!("{expression}[{key}]"), format!("{key} not in {expression}"))
                }
            };
            let inner = self.condition(&entry.value, &About::Value(&place, value), document, depth + 1)?;
            match inner.as_str() {
                "True" => {}
                "False" => parts.push(absent),
                inner => parts.push(format!("{absent} or {}", wrapped(inner))),
            }
        }
        Some(())
    }

    /// The entries of a map that have no names, and the names of all of them.
    fn key_parts(
        &mut self,
        node: &Node,
        expression: &str,
        value: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        let (key, item) = (format!("key{depth}"), format!("item{depth}"));
        let mut ignored = Vec::new();
        let mut told: Vec<String> = Vec::new();
        let named = entries(node, "properties").iter().map(|entry| quote(&entry.key)).collect::<Vec<_>>();
        if !named.is_empty() {
            told.push(format!("{key} in [{}]", named.join(", ")));
        }
        for pattern in entries(node, "patternProperties") {
            let matches = rules::pattern(&pattern.key, &mut ignored)?.condition(&key);
            let inner = self.condition(&pattern.value, &About::Value(&item, value), document, depth + 1)?;
            if inner != "True" {
                let inner = wrapped(&inner);
                parts.push(format!("all {key}, {item} in {expression} {{ not {matches} or {inner} }}"));
            }
            told.push(matches);
        }
        if let Some(others) = node.get("additionalProperties") {
            let inner = self.condition(others, &About::Value(&item, value), document, depth + 1)?;
            if inner != "True" {
                told.push(wrapped(&inner));
                let condition = joined(&told, "or");
                parts.push(format!("all {key}, {item} in {expression} {{ {condition} }}"));
            }
        }
        if let Some(names) = node.get("propertyNames") {
            let inner = self.condition(names, &About::Value(&key, &Type::Str), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("all {key} in {expression} {{ {inner} }}"));
            }
        }
        Some(())
    }
}

/// How many elements of a list a condition must hold for.
pub(crate) fn contains(node: &Node, expression: &str, variable: &str, condition: &str) -> Vec<String> {
    let bound = |key: &str| match node.get(key).and_then(number) {
        Some(kcl_model::Value::Int(n)) => Some(n),
        _ => None,
    };
    let count = match condition {
        "True" => format!("len({expression})"),
        _ => format!("len([{variable} for {variable} in {expression} if {}])", wrapped(condition)),
    };
    let mut found = Vec::new();
    match bound("minContains").unwrap_or(1) {
        ..=0 => {}
        1 if condition != "True" => found.push(format!("any {variable} in {expression} {{ {condition} }}")),
        least => found.push(format!("{count} >= {least}")),
    }
    found.extend(bound("maxContains").map(|most| format!("{count} <= {most}")));
    found
}

/// So many attributes are counted one by one.
const MAX_COUNTED: usize = 60;

/// `minProperties` and `maxProperties` of an object whose attributes can all be counted; none if they cannot.
pub(crate) fn counted(node: &Node, own: Own<'_>) -> Option<Vec<String>> {
    let number = |word: &str| match node.get(word).and_then(number) {
        Some(kcl_model::Value::Int(n)) => Some(n),
        _ => None,
    };
    let (least, most) = (number("minProperties").filter(|n| *n > 0), number("maxProperties"));
    if least.is_none() && most.is_none() {
        return Some(Vec::new());
    }
    let names: Vec<String> = own.attributes.iter().map(|attribute| quote_name(&attribute.name)).collect();
    if own.open || names.len() > MAX_COUNTED || names.iter().any(|name| name.starts_with('"')) {
        return None;
    }
    let count = format!("len([one for one in [{}] if {}])", names.join(", "), is_set("one"));
    let least = least.map(|n| format!("{count} >= {n}"));
    Some(least.into_iter().chain(most.map(|n| format!("{count} <= {n}"))).collect())
}

/// Whether an object says nothing.
pub(crate) fn is_silent(node: &Node) -> bool {
    match &node.value {
        Data::Bool(accepts) => *accepts,
        _ => all(node).iter().all(|entry| !crate::predicate::demands(&entry.key)),
    }
}
