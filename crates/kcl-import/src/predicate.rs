//! Schema objects as conditions: what `not`, `if`, `oneOf` and their like need.
//!
//! A condition is exact (true for what the object accepts, false for everything else) or there is none: half of a negation would
//! refuse what is right.

use base_yaml::{Data, Node};
use kcl_model::{Attribute, Type, Value, is_identifier, quote_name};

use crate::object::{all, entries, items, text, texts, value};
use crate::rules;
use crate::schema::Reader;

/// Objects in objects of a condition.
const MAX_DEPTH: u32 = 8;
/// Objects that are looked at for one schema: alternatives of alternatives grow fast.
const MAX_STEPS: u32 = 5_000;
/// A longer condition is nothing that anybody reads.
const MAX_LENGTH: usize = 4_000;

/// Words that demand nothing.
const SILENT: &[&str] = &[
    "$comment",
    "$id",
    "$anchor",
    "$schema",
    "default",
    "deprecated",
    "description",
    "discriminator",
    "example",
    "examples",
    "externalDocs",
    "format",
    "nullable",
    "readOnly",
    "title",
    "writeOnly",
    "xml",
];
/// Words that conditions know.
const KNOWN: &[&str] = &[
    "$ref",
    "allOf",
    "anyOf",
    "const",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "items",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "properties",
    "required",
    "then",
    "type",
    "uniqueItems",
];

/// Who a condition is about.
pub(crate) enum About<'s> {
    /// The object in whose check block it stands: attributes are names.
    Own(&'s [Attribute]),
    /// What an expression gives, and its type.
    Value(&'s str, &'s Type),
}

/// Whether a value is there.
pub(crate) fn is_set(expression: &str) -> String {
    format!("{expression} not in [None, Undefined]")
}

/// Joins conditions; none of them demands anything if there are none.
pub(crate) fn joined(parts: &[String], word: &str) -> String {
    match parts {
        [] => "True".to_owned(),
        [one] => one.clone(),
        many => many.iter().map(|part| wrapped(part)).collect::<Vec<_>>().join(&format!(" {word} ")),
    }
}

/// Puts parentheses around what is more than one comparison.
pub(crate) fn wrapped(condition: &str) -> String {
    let several = [" and ", " or ", " if "].iter().any(|word| condition.contains(word));
    if several || condition.starts_with("not ") { format!("({condition})") } else { condition.to_owned() }
}

/// Exactly one of some conditions.
pub(crate) fn exactly_one(parts: &[String]) -> String {
    match parts {
        [one] => one.clone(),
        many => format!("len([one for one in [{}] if one]) == 1", many.join(", ")),
    }
}

impl Reader<'_, '_> {
    /// The condition that an object states, if it can be said exactly.
    pub(crate) fn condition(
        &mut self,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
    ) -> Option<String> {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        match &node.value {
            Data::Bool(true) => return Some("True".to_owned()),
            Data::Bool(false) => return Some("False".to_owned()),
            Data::Map(_) => {}
            _ => return None,
        }
        let strange = |key: &str| !KNOWN.contains(&key) && !SILENT.contains(&key) && !key.starts_with("x-");
        if all(node).iter().any(|entry| strange(&entry.key)) {
            return None;
        }
        let mut parts = Vec::new();
        if let Some(reference) = text(node, "$ref") {
            let spot = self.documents.find(document, reference).ok()?;
            let found = self.documents.node(&spot)?.clone();
            parts.push(self.condition(&found, about, spot.document, depth + 1)?);
        }
        match about {
            About::Own(attributes) => self.own_parts(node, attributes, document, depth, &mut parts)?,
            About::Value(expression, ty) => {
                self.value_parts(node, expression, ty, document, depth, &mut parts)?;
            }
        }
        self.combined(node, about, document, depth, &mut parts)?;
        parts.retain(|part| part != "True");
        let condition = joined(&parts, "and");
        (condition.len() <= MAX_LENGTH).then_some(condition)
    }

    /// `allOf`, `anyOf`, `oneOf`, `not`, `if`.
    fn combined(
        &mut self,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        let each = |reader: &mut Self, word: &str| -> Option<Vec<String>> {
            items(node, word).iter().map(|part| reader.condition(part, about, document, depth + 1)).collect()
        };
        parts.extend(each(self, "allOf")?);
        let any = each(self, "anyOf")?;
        if !any.is_empty() && !any.iter().any(|part| part == "True") {
            parts.push(joined(&any, "or"));
        }
        let one = each(self, "oneOf")?;
        if !one.is_empty() {
            parts.push(exactly_one(&one));
        }
        if let Some(not) = node.get("not") {
            parts.push(format!("not ({})", self.condition(not, about, document, depth + 1)?));
        }
        parts.extend(self.implied(node, about, document, depth)?);
        Some(())
    }

    /// `if`, `then` and `else`.
    pub(crate) fn implied(
        &mut self,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
    ) -> Option<Vec<String>> {
        let Some(test) = node.get("if") else { return Some(Vec::new()) };
        let test = self.condition(test, about, document, depth + 1)?;
        let mut parts = Vec::new();
        if let Some(then) = node.get("then") {
            let then = self.condition(then, about, document, depth + 1)?;
            parts.push(format!("not ({test}) or {}", wrapped(&then)));
        }
        if let Some(other) = node.get("else") {
            let other = self.condition(other, about, document, depth + 1)?;
            parts.push(format!("{} or {}", wrapped(&test), wrapped(&other)));
        }
        Some(parts)
    }

    fn own_parts(
        &mut self,
        node: &Node,
        attributes: &[Attribute],
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        if node.get("minProperties").is_some() || node.get("maxProperties").is_some() {
            return None;
        }
        if !items(node, "enum").is_empty() || node.get("const").is_some() {
            return None;
        }
        if text(node, "type").is_some_and(|ty| ty != "object") {
            return None;
        }
        for name in texts(node, "required") {
            parts.push(is_set(&name_of(attributes, name)?));
        }
        for entry in entries(node, "properties") {
            let name = name_of(attributes, &entry.key);
            let ty = attributes.iter().find(|a| a.name == entry.key).map(|a| a.ty.clone());
            if entry.value.value == Data::Bool(false) {
                // What nobody can set is not set.
                if let Some(name) = name {
                    parts.push(format!("{name} in [None, Undefined]"));
                }
                continue;
            }
            let (name, ty) = (name?, ty?);
            let inner = self.condition(&entry.value, &About::Value(&name, &ty), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("{name} in [None, Undefined] or {}", wrapped(&inner)));
            }
        }
        Some(())
    }

    fn value_parts(
        &mut self,
        node: &Node,
        expression: &str,
        ty: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        let narrowed = narrowed(node, ty, expression, parts)?;
        let base = base_of(&narrowed);
        let mut ignored = Vec::new();
        if let Some(constant) = node.get("const") {
            parts.push(format!("{expression} == {}", value(constant).to_kcl()));
        }
        let listed = items(node, "enum");
        if !listed.is_empty() {
            let listed = Value::List(listed.iter().map(value).collect());
            parts.push(format!("{expression} in {}", listed.to_kcl()));
        }
        let cast = match (&base, ty) {
            (Type::Str, Type::Str) | (Type::Int, Type::Int) | (Type::Float, Type::Float) => {
                expression.to_owned()
            }
            (Type::Str, _) => format!("str({expression})"),
            (Type::Int, _) => format!("int({expression})"),
            (Type::Float, _) => format!("float({expression})"),
            _ => expression.to_owned(),
        };
        for rule in rules::rules(node, &base, &mut ignored) {
            if !matches!(rule, kcl_model::Rule::OneOf(_)) {
                parts.push(rule.condition(&cast));
            }
        }
        if !ignored.is_empty() || has_rules(node) && matches!(base, Type::Any | Type::Union(_)) {
            return None;
        }
        self.inner_parts(node, expression, &base, document, depth, parts)
    }

    /// Elements, attributes and keys of a value.
    fn inner_parts(
        &mut self,
        node: &Node,
        expression: &str,
        ty: &Type,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        if let Some(item) = node.get("items") {
            let Type::List(item_ty) = ty else { return None };
            let variable = format!("item{depth}");
            let inner = self.condition(item, &About::Value(&variable, item_ty), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("all {variable} in {expression} {{ {inner} }}"));
            }
        }
        let required = texts(node, "required");
        let properties = entries(node, "properties");
        if required.is_empty() && properties.is_empty() {
            return Some(());
        }
        let schema = match ty {
            Type::Schema(name) => Some(self.known_schema(name)?),
            Type::Dict(..) | Type::Any => None,
            _ => return None,
        };
        let type_of = |key: &str| match (&schema, ty) {
            (Some(schema), _) => schema.attributes.iter().find(|a| a.name == key).map(|a| a.ty.clone()),
            (None, Type::Dict(_, value)) => Some((**value).clone()),
            _ => Some(Type::Any),
        };
        for name in required {
            type_of(name).filter(|_| is_identifier(name))?;
            parts.push(is_set(&format!("{expression}?.{name}")));
        }
        for entry in properties {
            let ty = type_of(&entry.key).filter(|_| is_identifier(&entry.key))?;
            let place = format!("{expression}?.{}", entry.key);
            let inner = self.condition(&entry.value, &About::Value(&place, &ty), document, depth + 1)?;
            if inner != "True" {
                parts.push(format!("{place} in [None, Undefined] or {}", wrapped(&inner)));
            }
        }
        Some(())
    }
}

/// The name of an attribute in a check block; none for one that has no name there.
fn name_of(attributes: &[Attribute], name: &str) -> Option<String> {
    attributes.iter().find(|attribute| attribute.name == name)?;
    Some(quote_name(name)).filter(|written| !written.starts_with('"'))
}

fn has_rules(node: &Node) -> bool {
    const RULES: &[&str] = &[
        "minimum",
        "maximum",
        "exclusiveMinimum",
        "exclusiveMaximum",
        "multipleOf",
        "minLength",
        "maxLength",
        "pattern",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
    ];
    RULES.iter().any(|word| node.get(word).is_some())
}

/// Literals count as what they are literals of.
fn base_of(ty: &Type) -> Type {
    let bases = ty.members().iter().map(|member| match member {
        Type::Literal(Value::Str(_)) => Type::Str,
        Type::Literal(Value::Int(_)) => Type::Int,
        Type::Literal(Value::Float(_)) => Type::Float,
        Type::Literal(Value::Bool(_)) => Type::Bool,
        other => other.clone(),
    });
    Type::union(bases)
}

/// The type that `type` leaves; where the type alone does not say it, a test is added.
fn narrowed(node: &Node, ty: &Type, expression: &str, parts: &mut Vec<String>) -> Option<Type> {
    let words: Vec<&str> = match node.get("type").map(|ty| &ty.value) {
        None => return Some(ty.clone()),
        Some(Data::Str(word)) => vec![word],
        Some(Data::List(_)) => texts(node, "type"),
        Some(_) => return None,
    };
    let word_of = |member: &Type| match member {
        Type::Str => Some("string"),
        Type::Int => Some("integer"),
        Type::Float => Some("number"),
        Type::Bool => Some("boolean"),
        Type::List(_) => Some("array"),
        Type::Dict(..) | Type::Schema(_) => Some("object"),
        _ => None,
    };
    let base = base_of(ty);
    let accepted = |word: &str| words.contains(&word) || word == "integer" && words.contains(&"number");
    if base.members().iter().all(|member| word_of(member).is_some_and(accepted)) {
        return Some(base);
    }
    let [word] = words.as_slice() else { return None };
    let (test, left) = match *word {
        "string" => (format!("typeof({expression}) == \"str\""), Type::Str),
        "integer" => (format!("typeof({expression}) == \"int\""), Type::Int),
        "number" => (format!("typeof({expression}) in [\"int\", \"float\"]"), Type::Float),
        "boolean" => (format!("typeof({expression}) == \"bool\""), Type::Bool),
        "array" => (format!("typeof({expression}) == \"list\""), Type::List(Type::Any.into())),
        _ => return None,
    };
    parts.push(test);
    Some(left)
}
