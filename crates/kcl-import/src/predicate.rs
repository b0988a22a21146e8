//! Schema objects as conditions: what `not`, `if`, `oneOf` and their like need.
//!
//! A condition is exact (true for what the object accepts, false for everything else) or there is none: half of a negation would
//! refuse what is right.

use base_yaml::{Data, Node};
use kcl_model::{Attribute, Type, Value, quote_name};

use crate::inside::{Place, counted};
use crate::kinds::{Kind, seen};
use crate::object::{all, entries, items, text, texts, value};
use crate::rules;
use crate::schema::Reader;

/// Objects in objects of a condition.
const MAX_DEPTH: u32 = 8;
/// Objects that are looked at for one schema: alternatives of alternatives grow fast.
pub(crate) const MAX_STEPS: u32 = 5_000;
/// A longer condition is nothing that anybody reads.
const MAX_LENGTH: usize = 4_000;

/// Words that demand nothing.
const SILENT: &[&str] = &[
    "$comment",
    "$defs",
    "$id",
    "$anchor",
    "$schema",
    "default",
    "definitions",
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
    "additionalItems",
    "additionalProperties",
    "allOf",
    "anyOf",
    "const",
    "contains",
    "dependencies",
    "dependentRequired",
    "dependentSchemas",
    "else",
    "enum",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "if",
    "items",
    "maxContains",
    "maxItems",
    "maxLength",
    "maxProperties",
    "maximum",
    "minContains",
    "minItems",
    "minLength",
    "minProperties",
    "minimum",
    "multipleOf",
    "not",
    "oneOf",
    "pattern",
    "patternProperties",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "then",
    "type",
    "uniqueItems",
];

/// Words that say how objects belong together.
pub(crate) const LOGIC: [&str; 4] = ["anyOf", "oneOf", "not", "if"];

/// Whether a word demands something.
pub(crate) fn demands(key: &str) -> bool {
    !SILENT.contains(&key) && !key.starts_with("x-")
}

/// Who a condition is about.
pub(crate) enum About<'s> {
    /// The object in whose check block it stands: attributes are names.
    Own(Own<'s>),
    /// What an expression gives, and its type.
    Value(&'s str, &'s Type),
}

/// The object in whose check block a condition stands.
#[derive(Clone, Copy)]
pub(crate) struct Own<'s> {
    pub(crate) attributes: &'s [Attribute],
    /// It may have attributes that have no name.
    pub(crate) open: bool,
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
        let condition = joined(&self.conditions(node, about, document, depth)?, "and");
        (condition.len() <= MAX_LENGTH).then_some(condition)
    }

    /// The same as a list of conditions that all hold.
    pub(crate) fn conditions(
        &mut self,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
    ) -> Option<Vec<String>> {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > MAX_STEPS {
            return None;
        }
        match &node.value {
            Data::Bool(true) => return Some(Vec::new()),
            Data::Bool(false) => return Some(vec!["False".to_owned()]),
            Data::Map(_) => {}
            _ => return None,
        }
        if all(node).iter().any(|entry| demands(&entry.key) && !KNOWN.contains(&entry.key.as_str())) {
            return None;
        }
        let mut parts = Vec::new();
        if let Some(reference) = text(node, "$ref") {
            let spot = self.documents.find(document, reference).ok()?;
            let found = self.documents.node(&spot)?.clone();
            parts.extend(self.conditions(&found, about, spot.document, depth + 1)?);
            if !self.documents.has_siblings(document) {
                return Some(parts);
            }
        }
        match about {
            About::Own(own) => self.own_parts(node, *own, document, depth, &mut parts)?,
            About::Value(expression, ty) => {
                self.value_parts(node, expression, ty, document, depth, &mut parts)?;
            }
        }
        self.combined(node, about, document, depth, &mut parts)?;
        parts.retain(|part| part != "True");
        (parts.iter().map(String::len).sum::<usize>() <= MAX_LENGTH).then_some(parts)
    }

    /// `allOf`, and the words of logic.
    fn combined(
        &mut self,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        for part in items(node, "allOf") {
            parts.push(self.condition(part, about, document, depth + 1)?);
        }
        for word in LOGIC {
            parts.extend(self.stated(word, node, about, document, depth + 1)?);
        }
        Some(())
    }

    /// What one of the words of logic states; none if that cannot be said.
    pub(crate) fn stated(
        &mut self,
        word: &str,
        node: &Node,
        about: &About<'_>,
        document: usize,
        depth: u32,
    ) -> Option<Vec<String>> {
        let mut inner = |node: &Node| self.condition(node, about, document, depth);
        let mut parts = Vec::new();
        match (word, node.get(word)) {
            (_, None) => {}
            ("not", Some(not)) => parts.push(format!("not ({})", inner(not)?)),
            ("if", Some(test)) => {
                let test = inner(test)?;
                if let Some(then) = node.get("then") {
                    parts.push(format!("not ({test}) or {}", wrapped(&inner(then)?)));
                }
                if let Some(other) = node.get("else") {
                    parts.push(format!("{} or {}", wrapped(&test), wrapped(&inner(other)?)));
                }
            }
            _ => {
                let branches: Vec<String> = items(node, word).iter().map(inner).collect::<Option<_>>()?;
                match word {
                    _ if branches.is_empty() => {}
                    "oneOf" => parts.push(exactly_one(&branches)),
                    _ if branches.iter().any(|branch| branch == "True") => {}
                    _ => parts.push(joined(&branches, "or")),
                }
            }
        }
        Some(parts)
    }

    fn own_parts(
        &mut self,
        node: &Node,
        own: Own<'_>,
        document: usize,
        depth: u32,
        parts: &mut Vec<String>,
    ) -> Option<()> {
        const NOT_SAID: &[&str] = &["enum", "const", "patternProperties", "propertyNames"];
        if NOT_SAID.iter().any(|word| node.get(word).is_some()) {
            return None;
        }
        if !says_object(node) {
            parts.push("False".to_owned());
            return Some(());
        }
        let place = Place::Own(own);
        self.named_parts(node, &About::Own(own), &place, document, depth, parts)?;
        parts.extend(counted(node, own, "")?);
        only_named(node, own, "", parts)
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
        let base = base_of(&narrowed(node, ty, expression, parts)?);
        let declared = base_of(ty);
        for (word, listed) in [("const", node.get("const").map(std::slice::from_ref)), ("enum", listed(node))]
        {
            let Some(listed) = listed else { continue };
            let fitting = |value: &Value| can_be(&base, value) && can_be(&declared, value);
            let listed: Vec<Value> = listed.iter().map(value).filter(fitting).collect();
            parts.push(match listed.as_slice() {
                [] => "False".to_owned(),
                // The checker compares one type with another, and looks for any value in a list.
                [one] if word == "const" && !matches!(ty, Type::Union(_)) => {
                    format!("{expression} == {}", one.to_kcl())
                }
                _ => format!("{expression} in {}", Value::List(listed).to_kcl()),
            });
        }
        let mut ignored = Vec::new();
        for kind in Kind::ALL {
            // The format of a value counts where nothing else can be meant.
            if !kind.is_spoken_of(node) && Kind::of(&base) != Some(kind) {
                continue;
            }
            let Some(seen) = seen(kind, &base, ty, expression).ok()? else { continue };
            let rules = rules::rules(node, &seen.ty, &mut ignored).into_iter();
            let said = rules.filter(|rule| !matches!(rule, kcl_model::Rule::OneOf(_)));
            let mut inner: Vec<String> = said.map(|rule| rule.condition(&seen.expression)).collect();
            self.inner_parts(node, &seen, document, depth, &mut inner)?;
            match seen.unless {
                Some(_) if inner.is_empty() => {}
                Some(other) => parts.push(format!("{other} or {}", wrapped(&joined(&inner, "and")))),
                None => parts.extend(inner),
            }
        }
        ignored.is_empty().then_some(())
    }
}

/// `additionalProperties: false` about an object whose attributes are known: no other one is set. `place` is what stands before a name.
pub(crate) fn only_named(node: &Node, own: Own<'_>, place: &str, parts: &mut Vec<String>) -> Option<()> {
    match node.get("additionalProperties").map(|more| &more.value) {
        None | Some(Data::Bool(true)) => return Some(()),
        Some(Data::Map(words)) if words.is_empty() => return Some(()),
        Some(Data::Bool(false)) if !own.open && node.get("patternProperties").is_none() => {}
        Some(_) => return None,
    }
    let named = entries(node, "properties");
    for attribute in own.attributes.iter().filter(|a| !named.iter().any(|entry| entry.key == a.name)) {
        let name = name_of(own.attributes, &attribute.name)?;
        parts.push(format!("{place}{name} in [None, Undefined]"));
    }
    Some(())
}

/// Whether an object can be of a type that is named, or none is.
pub(crate) fn says_object(node: &Node) -> bool {
    let words = text(node, "type").into_iter().chain(texts(node, "type")).collect::<Vec<_>>();
    words.is_empty() || words.contains(&"object")
}

/// The name of an attribute in a check block; none for one that has no name there.
pub(crate) fn name_of(attributes: &[Attribute], name: &str) -> Option<String> {
    attributes.iter().find(|attribute| attribute.name == name)?;
    Some(quote_name(name)).filter(|written| !written.starts_with('"'))
}

/// The values of an enumeration, none of them if it is empty.
fn listed(node: &Node) -> Option<&[Node]> {
    node.get("enum").map(|_| items(node, "enum"))
}

/// Whether a value of a type can be a constant: the checker compares nothing else.
fn can_be(ty: &Type, value: &Value) -> bool {
    ty.members().iter().any(|member| {
        matches!(
            (member, value),
            (Type::Any, _)
                | (Type::Str, Value::Str(_))
                | (Type::Int | Type::Float, Value::Int(_) | Value::Float(_))
                | (Type::Bool, Value::Bool(_))
                | (Type::List(_), Value::List(_))
                | (Type::Dict(..) | Type::Schema(_), Value::Map(_))
        )
    })
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
    /// The words of types, what `typeof` says for them, and what a value of any type is then.
    const TYPES: &[(&str, &str, Type)] = &[
        ("string", "str", Type::Str),
        ("integer", "int", Type::Int),
        ("number", "float", Type::Float),
        ("boolean", "bool", Type::Bool),
        ("array", "list", Type::Any),
    ];
    if words.iter().any(|word| !matches!(*word, "object" | "null") && !TYPES.iter().any(|t| t.0 == *word)) {
        return None;
    }
    let (good, bad): (Vec<_>, Vec<_>) = TYPES.iter().partition(|(word, ..)| accepted(word));
    let texts = |some: &[&(&str, &str, Type)]| {
        some.iter().map(|(_, name, _)| format!("\"{name}\"")).collect::<Vec<_>>().join(", ")
    };
    // An instance is called by its own name: an object is what is nothing else.
    parts.push(match (words.contains(&"object"), good.as_slice()) {
        (true, _) => format!("typeof({expression}) not in [{}]", texts(&bad)),
        (false, [(_, name, _)]) => format!("typeof({expression}) == \"{name}\""),
        (false, _) => format!("typeof({expression}) in [{}]", texts(&good)),
    });
    let mut left: Vec<Type> =
        base.members().iter().filter(|member| word_of(member).is_some_and(accepted)).cloned().collect();
    // A number may be a whole one.
    if accepted("integer") && base.members().contains(&Type::Float) && !left.contains(&Type::Float) {
        left.push(Type::Int);
    }
    let of_any = good.iter().map(|(word, _, ty)| match *word {
        "array" => Type::List(Type::Any.into()),
        _ => ty.clone(),
    });
    let object = words.contains(&"object").then(|| Type::Dict(Type::Str.into(), Type::Any.into()));
    match left.is_empty() {
        false => Some(Type::union(left)),
        true => Some(Type::union(of_any.chain(object))).filter(|left| *left != Type::Any),
    }
}
