//! Terraform provider schemas: a schema per resource and data source, with one for each block in it.

use base_yaml::{Data, Node};
use kcl_model::{Attribute, Check, Decorator, Doc, Rule, Schema, SchemaRef, Subject, Type, quote_name};

use crate::checks::check;
use crate::names::{Names, schema_name};
use crate::object::{all, entries, is_true, number, text};
use crate::refs::parse;
use crate::{Imported, Input, write};

/// Blocks inside blocks.
const MAX_DEPTH: u32 = 60;

pub(crate) fn import(input: &Input<'_>) -> Result<Imported, String> {
    let root = parse(&input.name, &input.text)?;
    if root.get("provider_schemas").is_none() {
        let how = "it is what `terraform providers schema -json` prints";
        return Err(format!("{} has no `provider_schemas`: {how}", input.name));
    }
    let mut reader = Reader::default();
    for provider in entries(&root, "provider_schemas") {
        for (section, prefix) in [("resource_schemas", ""), ("data_source_schemas", "Data")] {
            let mut resources: Vec<_> = entries(&provider.value, section).iter().collect();
            resources.sort_by(|a, b| a.key.cmp(&b.key));
            for resource in resources {
                let Some(block) = resource.value.get("block") else { continue };
                let wanted = format!("{prefix}{}", schema_name(&resource.key));
                let name = reader.names.unique(&wanted);
                reader.block(block, &name, 0);
            }
        }
    }
    if reader.schemas.is_empty() {
        return Err(format!("{} has no resources", input.name));
    }
    write::write_one(reader.schemas, reader.warnings, &input.name)
}

#[derive(Default)]
struct Reader {
    names: Names,
    schemas: Vec<Schema>,
    warnings: Vec<String>,
}

impl Reader {
    /// Reads a block into a schema of that name.
    fn block(&mut self, block: &Node, name: &str, depth: u32) {
        let mut schema = Schema { name: name.to_owned(), doc: described(block), ..Schema::default() };
        let mut attributes: Vec<_> = entries(block, "attributes").iter().collect();
        attributes.sort_by(|a, b| a.key.cmp(&b.key));
        for entry in attributes {
            self.attribute(&entry.key, &entry.value, name, depth, &mut schema);
        }
        let mut blocks: Vec<_> = entries(block, "block_types").iter().collect();
        blocks.sort_by(|a, b| a.key.cmp(&b.key));
        for entry in blocks.iter().filter(|_| depth < MAX_DEPTH) {
            let inner = self.names.unique(&format!("{name}{}", schema_name(&entry.key)));
            if let Some(block) = entry.value.get("block") {
                self.block(block, &inner, depth + 1);
            }
            nested(&entry.key, &entry.value, &inner, &mut schema);
        }
        self.schemas.push(schema);
    }

    fn attribute(&mut self, key: &str, node: &Node, owner: &str, depth: u32, schema: &mut Schema) {
        let inner = format!("{owner}{}", schema_name(key));
        let ty = match (node.get("type"), node.get("nested_type")) {
            (Some(ty), _) => self.ty(ty, &inner, depth),
            (None, Some(nested)) => {
                let name = self.names.unique(&format!("{inner}Item"));
                self.block(nested, &name, depth + 1);
                wrapped(text(nested, "nesting_mode"), &name)
            }
            (None, None) => Type::Any,
        };
        let optional = !is_true(node, "required");
        let is_set = matches!(node.get("type").map(|ty| &ty.value), Some(Data::List(parts))
            if matches!(parts.first().map(|p| &p.value), Some(Data::Str(word)) if word == "set"));
        let doc = text(node, "description").unwrap_or_default().trim().to_owned();
        let deprecated = is_true(node, "deprecated");
        let decorators = match deprecated {
            true => vec![Decorator { name: "deprecated".into(), arguments: Vec::new() }],
            false => Vec::new(),
        };
        if is_set {
            schema.checks.push(rule(key, Rule::Unique, optional));
        }
        schema.attributes.push(Attribute {
            name: key.to_owned(),
            ty,
            optional,
            doc,
            decorators,
            ..Attribute::default()
        });
    }

    /// Reads `"string"`, `["list", "string"]`, `["object", {..}]`.
    fn ty(&mut self, node: &Node, name: &str, depth: u32) -> Type {
        match &node.value {
            Data::Str(word) => match word.as_str() {
                "string" => Type::Str,
                "number" => Type::Union(vec![Type::Int, Type::Float]),
                "bool" => Type::Bool,
                _ => Type::Any,
            },
            Data::List(parts) if depth < MAX_DEPTH => {
                let word = parts.first().map(|part| &part.value);
                let inner = parts.get(1);
                match (word, inner) {
                    (Some(Data::Str(word)), Some(inner)) => match word.as_str() {
                        "list" | "set" => Type::List(self.ty(inner, name, depth + 1).into()),
                        "map" => Type::Dict(Type::Str.into(), self.ty(inner, name, depth + 1).into()),
                        "object" => self.object(inner, items_optional(parts), name, depth),
                        _ => Type::Any,
                    },
                    _ => Type::Any,
                }
            }
            _ => Type::Any,
        }
    }

    fn object(&mut self, node: &Node, optional: Vec<String>, name: &str, depth: u32) -> Type {
        let name = self.names.unique(&format!("{name}Item"));
        let mut schema = Schema { name: name.clone(), ..Schema::default() };
        let mut fields: Vec<_> = all(node).iter().collect();
        fields.sort_by(|a, b| a.key.cmp(&b.key));
        for field in fields {
            let ty = self.ty(&field.value, &format!("{name}{}", schema_name(&field.key)), depth + 1);
            let optional = optional.contains(&field.key);
            schema.attributes.push(Attribute {
                name: field.key.clone(),
                ty,
                optional,
                ..Attribute::default()
            });
        }
        self.schemas.push(schema);
        Type::Schema(SchemaRef { package: String::new(), name })
    }
}

/// The third part of an object type: which of its attributes may be absent.
fn items_optional(parts: &[Node]) -> Vec<String> {
    match parts.get(2).map(|part| &part.value) {
        Some(Data::List(names)) => names
            .iter()
            .filter_map(|n| if let Data::Str(n) = &n.value { Some(n.clone()) } else { None })
            .collect(),
        _ => Vec::new(),
    }
}

fn described(node: &Node) -> Doc {
    Doc { description: text(node, "description").unwrap_or_default().trim().to_owned(), ..Doc::default() }
}

fn wrapped(mode: Option<&str>, name: &str) -> Type {
    let one = Type::Schema(SchemaRef { package: String::new(), name: name.to_owned() });
    match mode {
        Some("list" | "set") => Type::List(one.into()),
        Some("map") => Type::Dict(Type::Str.into(), one.into()),
        _ => one,
    }
}

fn nested(key: &str, node: &Node, name: &str, schema: &mut Schema) {
    let ty = wrapped(text(node, "nesting_mode"), name);
    let length = |word: &str| match node.get(word).and_then(number) {
        Some(kcl_model::Value::Int(n)) => u64::try_from(n).ok().filter(|n| *n > 0),
        _ => None,
    };
    let (min, max) = (length("min_items"), length("max_items"));
    let optional = min.is_none();
    if matches!(ty, Type::List(_)) {
        schema.checks.extend(min.map(|n| rule(key, Rule::MinLen(n), optional)));
        schema.checks.extend(max.map(|n| rule(key, Rule::MaxLen(n), optional)));
    }
    schema.attributes.push(Attribute { name: key.to_owned(), ty, optional, ..Attribute::default() });
}

fn rule(key: &str, rule: Rule, optional: bool) -> Check {
    check(Subject::Attribute(key.to_owned()), &quote_name(key), rule, optional)
}
