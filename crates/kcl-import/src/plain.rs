//! What type and rules say all of: an object that is not plain is stated as a condition, too, or told as not checked.

use base_yaml::{Data, Node};
use kcl_model::{Schema, SchemaRef, Type, Value};

use crate::inside::is_silent;
use crate::kinds::Kind;
use crate::object::{all, items, text, texts, value};
use crate::predicate::demands;
use crate::schema::Reader;

/// Objects in objects that are looked into.
const MAX_DEPTH: u32 = 4;

impl Reader<'_, '_> {
    /// Whether the type of an object and its rules say all that it demands.
    pub(crate) fn is_plain(&mut self, node: &Node, ty: &Type, document: usize, depth: u32) -> bool {
        self.steps += 1;
        if depth > MAX_DEPTH || self.steps > crate::predicate::MAX_STEPS {
            return false;
        }
        if is_silent(node) {
            return true;
        }
        if let Some(reference) = text(node, "$ref") {
            let alone = all(node).iter().all(|entry| entry.key == "$ref" || !demands(&entry.key));
            if !alone && self.documents.has_siblings(document) {
                return false;
            }
            // What has a name has checks of its own.
            if matches!(ty, Type::Schema(_)) {
                return true;
            }
            let Ok(spot) = self.documents.find(document, reference) else { return false };
            let Some(found) = self.documents.node(&spot).cloned() else { return false };
            return self.is_plain(&found, ty, spot.document, depth + 1);
        }
        if matches!(ty, Type::Schema(_)) && self.is_schema(node, document) {
            return true;
        }
        let words = || all(node).iter().map(|entry| entry.key.as_str()).filter(|key| demands(key));
        let only = |known: &[&str]| words().all(|word| known.contains(&word));
        if node.get("enum").is_some() || node.get("const").is_some() {
            return only(&["type", "enum"]) && is_of_types(items(node, "enum"), node)
                || only(&["type", "const"])
                    && node.get("const").is_some_and(|c| is_of_types(std::slice::from_ref(c), node));
        }
        if only(&["oneOf"]) || only(&["anyOf"]) {
            return self.are_plain_branches(node, ty, document);
        }
        match node.get("type").map(|ty| &ty.value) {
            Some(Data::Str(word)) => self.is_plain_type(word, node, ty, document, depth),
            Some(Data::List(_)) => texts(node, "type").iter().all(|word| {
                let inner = matches!(*word, "array" | "object");
                !inner && self.is_plain_type(word, node, ty, document, depth) || inner && only(&["type"])
            }),
            _ => false,
        }
    }

    /// Whether the type alone says all that an object demands: it has no rules, nor have its elements or entries.
    pub(crate) fn is_type(&mut self, node: &Node, ty: &Type) -> bool {
        let inside = match ty {
            Type::List(item) => node.get("items").map(|inner| (inner, &**item)),
            Type::Dict(_, value) => node.get("additionalProperties").map(|inner| (inner, &**value)),
            _ => None,
        };
        let bare = |node: &Node, ty: &Type| {
            let rules = crate::rules::rules(node, ty, &mut Vec::new());
            rules.iter().all(|rule| matches!(rule, kcl_model::Rule::OneOf(_)))
        };
        let inner = inside.is_none_or(|(node, ty)| {
            let (node, _) = self.resolved(node, 0, &mut Vec::new());
            bare(&node, ty)
        });
        inner && bare(node, ty) && self.is_plain(node, ty, 0, 0)
    }

    fn is_plain_type(&mut self, word: &str, node: &Node, ty: &Type, document: usize, depth: u32) -> bool {
        let words = || all(node).iter().map(|entry| entry.key.as_str()).filter(|key| demands(key));
        // Rules of other kinds demand nothing.
        let of_kinds = |word: &str| Kind::ALL.iter().any(|kind| kind.words().contains(&word));
        if words().any(|word| word != "type" && !of_kinds(word)) {
            return false;
        }
        let (left_out, inner): (&[&str], Option<(&str, &Type)>) = match (word, ty) {
            ("array", Type::List(item)) => {
                (&["prefixItems", "contains", "additionalItems"], Some(("items", item)))
            }
            ("object", Type::Dict(_, value)) => (
                &[
                    "properties",
                    "patternProperties",
                    "propertyNames",
                    "dependentRequired",
                    "dependentSchemas",
                    "dependencies",
                ],
                Some(("additionalProperties", value)),
            ),
            ("string" | "integer" | "number" | "boolean" | "null", _) => return true,
            _ => return false,
        };
        if left_out.iter().any(|word| node.get(word).is_some()) {
            return false;
        }
        match inner.and_then(|(word, ty)| Some((node.get(word)?, ty))) {
            None => true,
            Some((inside, ty)) => {
                matches!(inside.value, Data::Map(_) | Data::Bool(true))
                    && self.is_plain(inside, ty, document, depth + 1)
            }
        }
    }

    /// Alternatives that a type tells apart, and of which it says everything.
    fn are_plain_branches(&mut self, node: &Node, ty: &Type, document: usize) -> bool {
        let exact = node.get("oneOf").is_some();
        let branches = items(node, if exact { "oneOf" } else { "anyOf" });
        let named: Vec<SchemaRef> = ty
            .members()
            .iter()
            .filter_map(|member| match member {
                Type::Schema(name) => Some(name.clone()),
                _ => None,
            })
            .collect();
        let mut seen: Vec<&str> = Vec::new();
        for branch in branches {
            let (target, at) = self.target(branch, document);
            if self.is_schema(&target, at) {
                if ty.members().len() == 1 && branches.len() > 1 {
                    return false;
                }
                continue;
            }
            // The rules of an alternative are not those of the attribute: only its type is said.
            let only_type = all(&target).iter().all(|entry| entry.key == "type" || !demands(&entry.key));
            let Some(word) = text(&target, "type").filter(|_| only_type) else { return false };
            let word = if exact && word == "integer" { "number" } else { word };
            if word == "object" && !named.is_empty() || exact && seen.contains(&word) {
                return false;
            }
            seen.push(match word {
                "integer" => "integer",
                "number" => "number",
                "string" => "string",
                "boolean" => "boolean",
                "array" => "array",
                "null" => "null",
                "object" => "object",
                _ => return false,
            });
        }
        !exact || node.get("discriminator").is_some() || self.exclude_one_another(&named)
    }

    /// Whether nothing can be an instance of two of these schemas.
    fn exclude_one_another(&self, names: &[SchemaRef]) -> bool {
        let schemas: Vec<Option<Schema>> = names.iter().map(|name| self.known_schema(name)).collect();
        let pair = |(at, one): (usize, &Option<Schema>)| {
            schemas[..at].iter().all(|other| match (one, other) {
                (Some(one), Some(other)) => exclude(one, other) || exclude(other, one),
                _ => false,
            })
        };
        schemas.iter().enumerate().all(pair)
    }
}

/// Whether an instance of one schema has something that the other does not take.
fn exclude(one: &Schema, other: &Schema) -> bool {
    one.attributes.iter().filter(|attribute| !attribute.optional).any(|attribute| {
        match other.attributes.iter().find(|known| known.name == attribute.name) {
            None => other.index.is_none() && attribute.default.is_none(),
            Some(known) => are_apart(&attribute.ty, &known.ty),
        }
    })
}

/// Literals that no value has both of.
fn are_apart(one: &Type, other: &Type) -> bool {
    let literals = |ty: &Type| ty.members().iter().all(|member| matches!(member, Type::Literal(_)));
    literals(one) && literals(other) && !one.members().iter().any(|member| other.members().contains(member))
}

/// Whether listed values are of the types that their object names.
fn is_of_types(listed: &[Node], node: &Node) -> bool {
    !listed.is_empty() && listed.iter().all(|one| is_of_type(&value(one), node))
}

/// Whether a value is of the types that an object names.
pub(crate) fn is_of_type(value: &Value, node: &Node) -> bool {
    let words = match node.get("type").map(|ty| &ty.value) {
        None => return true,
        Some(Data::Str(word)) => vec![word.as_str()],
        Some(_) => texts(node, "type"),
    };
    words.iter().any(|word| {
        matches!(
            (*word, value),
            ("string", Value::Str(_))
                | ("integer" | "number", Value::Int(_))
                | ("number", Value::Float(_))
                | ("boolean", Value::Bool(_))
                | ("array", Value::List(_))
                | ("object", Value::Map(_))
                | ("null", Value::None)
        )
    })
}
