//! Schema objects (JSON Schema, OpenAPI, CRDs) to types and schemas of the model.

use std::collections::BTreeMap;

use base_yaml::{Data, MapEntry, Node};
use kcl_model::{
    Attribute, Check, Default, Doc, IndexSignature, Lines, Schema, SchemaRef, Type, Value, is_identifier,
};

use crate::names::{Names, file_name, schema_name};
use crate::object::{all, entries, is_true, items, text, texts, value};
use crate::refs::{Documents, Spot};
use crate::rules;

/// Objects inside objects, references included.
const MAX_DEPTH: u32 = 100;

/// Reads schema objects; what they need is read with them.
pub(crate) struct Reader<'d, 'a> {
    pub(crate) documents: &'d mut Documents<'a>,
    /// Schemas by package.
    pub(crate) packages: BTreeMap<String, Vec<Schema>>,
    pub(crate) names: BTreeMap<String, Names>,
    /// Schemas that stand for a spot; entered before they are read, so that cycles end.
    pub(crate) known: BTreeMap<Spot, SchemaRef>,
    /// Says in which package and under which name the object at a spot stands.
    pub(crate) place: &'d dyn Fn(&Documents<'_>, &Spot) -> (String, String),
    pub(crate) warnings: Vec<String>,
    /// The file, without its ending, that schemas are put into.
    pub(crate) file: String,
    /// Types without a name that are being read: a cycle of them has no end.
    open: Vec<Spot>,
    depth: u32,
}

/// Where an object is read: its document, its package, and what a schema made of it is called.
#[derive(Clone)]
pub(crate) struct Site {
    pub(crate) document: usize,
    pub(crate) package: String,
    pub(crate) name: String,
}

impl Site {
    fn inner(&self, part: &str) -> Site {
        Site { name: format!("{}{}", self.name, schema_name(part)), ..self.clone() }
    }
}

impl<'d, 'a> Reader<'d, 'a> {
    pub(crate) fn new(
        documents: &'d mut Documents<'a>,
        place: &'d dyn Fn(&Documents<'_>, &Spot) -> (String, String),
    ) -> Self {
        let (packages, names, known) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Reader {
            documents,
            packages,
            names,
            known,
            place,
            warnings: Vec::new(),
            file: String::new(),
            open: Vec::new(),
            depth: 0,
        }
    }

    /// Reads the object at a spot: a schema if it has attributes, else its type.
    pub(crate) fn spot(&mut self, spot: &Spot) -> Result<Type, String> {
        if let Some(known) = self.known.get(spot) {
            return Ok(Type::Schema(known.clone()));
        }
        let Some(node) = self.documents.node(spot).cloned() else { return Ok(Type::Any) };
        if self.depth > MAX_DEPTH {
            self.warnings.push(format!("{} nests too deep: any", spot.pointer));
            return Ok(Type::Any);
        }
        let (package, name) = (self.place)(self.documents, spot);
        if is_object(&node) {
            let name = self.names.entry(package.clone()).or_default().unique(&name);
            let reference = SchemaRef { package: package.clone(), name: name.clone() };
            self.known.insert(spot.clone(), reference.clone());
            let outer = std::mem::replace(&mut self.file, file_name(&name));
            self.add(&node, &Site { document: spot.document, package, name })?;
            self.file = outer;
            return Ok(Type::Schema(reference));
        }
        if self.open.contains(spot) {
            self.warnings.push(format!("{name} is made of itself: any"));
            return Ok(Type::Any);
        }
        self.open.push(spot.clone());
        let read = self.ty(&node, &Site { document: spot.document, package, name });
        self.open.pop();
        read
    }

    /// Reads an object with attributes and puts it into its package.
    pub(crate) fn add(&mut self, node: &Node, site: &Site) -> Result<(), String> {
        let mut schema = self.schema(node, site)?;
        schema.place = Some(Lines { file: self.file.clone(), ..Lines::default() });
        self.packages.entry(site.package.clone()).or_default().push(schema);
        Ok(())
    }

    /// Reads a type.
    pub(crate) fn ty(&mut self, node: &Node, site: &Site) -> Result<Type, String> {
        self.depth += 1;
        let read = if self.depth > MAX_DEPTH { Ok(Type::Any) } else { self.ty_here(node, site) };
        self.depth -= 1;
        read
    }

    fn ty_here(&mut self, node: &Node, site: &Site) -> Result<Type, String> {
        if let Some(reference) = text(node, "$ref") {
            let spot = self.documents.find(site.document, reference)?;
            return self.spot(&spot);
        }
        if is_true(node, "x-kubernetes-int-or-string") || text(node, "format") == Some("int-or-string") {
            return Ok(Type::Union(vec![Type::Int, Type::Str]));
        }
        if let Some(constant) = node.get("const") {
            return Ok(literal(&value(constant)).unwrap_or(Type::Any));
        }
        if !items(node, "enum").is_empty() {
            return Ok(self.enumeration(node));
        }
        if is_object(node) {
            let name = self.names.entry(site.package.clone()).or_default().unique(&site.name);
            let site = Site { name: name.clone(), ..site.clone() };
            self.add(node, &site)?;
            return Ok(Type::Schema(SchemaRef { package: site.package, name }));
        }
        let all_of = items(node, "allOf");
        if let [one] = all_of {
            return self.ty(one, site);
        }
        for (word, part) in [("oneOf", "OneOf"), ("anyOf", "AnyOf")] {
            let branches = items(node, word);
            if !branches.is_empty() && node.get("type").is_none() {
                return self.branches(branches, part, site);
            }
        }
        match node.get("type").map(|ty| &ty.value) {
            Some(Data::Str(name)) => self.named_type(name, node, site),
            Some(Data::List(names)) => {
                let mut members = Vec::new();
                for name in names {
                    if let Data::Str(name) = &name.value
                        && name != "null"
                    {
                        members.push(self.named_type(name, node, site)?);
                    }
                }
                Ok(Type::union(members))
            }
            _ if node.get("items").is_some() => self.named_type("array", node, site),
            _ if node.get("additionalProperties").is_some_and(|n| !all(n).is_empty()) => {
                self.named_type("object", node, site)
            }
            _ => Ok(Type::Any),
        }
    }

    fn named_type(&mut self, name: &str, node: &Node, site: &Site) -> Result<Type, String> {
        Ok(match name {
            "string" => Type::Str,
            "integer" => Type::Int,
            "number" => Type::Float,
            "boolean" => Type::Bool,
            "array" => match node.get("items") {
                Some(item) if !all(item).is_empty() => {
                    Type::List(self.ty(item, &site.inner("Items0"))?.into())
                }
                Some(item) if matches!(item.value, Data::List(_)) => {
                    self.warnings
                        .push(format!("{}: a list with a schema for each element is [any]", site.name));
                    Type::List(Type::Any.into())
                }
                _ => Type::List(Type::Any.into()),
            },
            "object" if is_true(node, "x-kubernetes-preserve-unknown-fields") => Type::Any,
            "object" => {
                let value = match node.get("additionalProperties") {
                    Some(schema) if !all(schema).is_empty() => {
                        self.ty(schema, &site.inner("AdditionalProperties"))?
                    }
                    _ => Type::Any,
                };
                Type::Dict(Type::Str.into(), value.into())
            }
            "null" => Type::Any,
            other => {
                self.warnings.push(format!("{}: there is no type `{other}`: any", site.name));
                Type::Any
            }
        })
    }

    fn enumeration(&mut self, node: &Node) -> Type {
        let members: Vec<Option<Type>> = items(node, "enum")
            .iter()
            .filter(|n| n.value != Data::Null)
            .map(|n| literal(&value(n)))
            .collect();
        match members.into_iter().collect::<Option<Vec<_>>>() {
            Some(members) => Type::union(members),
            None => Type::Any,
        }
    }

    fn branches(&mut self, branches: &[Node], part: &str, site: &Site) -> Result<Type, String> {
        let mut members = Vec::new();
        for (i, branch) in branches.iter().enumerate() {
            if matches!(text(branch, "type"), Some("null")) {
                continue;
            }
            members.push(self.ty(branch, &site.inner(&format!("{part}{i}")))?);
        }
        Ok(Type::union(members))
    }

    /// Reads an object with attributes.
    fn schema(&mut self, node: &Node, site: &Site) -> Result<Schema, String> {
        let merged = self.merged(node, site.document, 0)?;
        let mut schema = Schema { name: site.name.clone(), doc: doc(node), ..Schema::default() };
        let mut rows: Vec<(usize, &MapEntry)> = Vec::new();
        for entry in &merged.properties {
            let ty = self.ty(&entry.value, &site.inner(&entry.key))?;
            let required = merged.required.contains(&entry.key) && !is_true(&entry.value, "nullable");
            if entry.key.starts_with('_') {
                self.warnings.push(format!(
                    "{}.{}: KCL does not print names that begin with `_`",
                    site.name, entry.key
                ));
            }
            rows.push((schema.attributes.len(), entry));
            schema.attributes.push(attribute(entry, ty, !required, self.described(&entry.value, site)));
        }
        if rules::can_check(&schema.attributes) {
            for (at, entry) in rows {
                let attribute = &schema.attributes[at];
                // The rules of a type that has no name stand where it is used.
                let told = self.resolved(&entry.value, site.document);
                let optional = attribute.optional;
                schema.checks.extend(rules::checks(
                    &attribute.name,
                    &attribute.ty,
                    &told,
                    optional,
                    &mut self.warnings,
                ));
            }
        } else {
            self.warnings.push(format!(
                "{}: an attribute hides a function that its rules need: not checked",
                site.name
            ));
        }
        self.alternatives(node, &schema.attributes, &mut schema.checks);
        schema.index = self.index(node, &merged, site, &mut schema.checks)?;
        if !items(node, "x-kubernetes-validations").is_empty() {
            self.warnings.push(format!("{}: x-kubernetes-validations are not checked", site.name));
        }
        Ok(schema)
    }

    /// The object behind references to things that are no schemas: their rules count where they are used.
    fn resolved(&mut self, node: &Node, document: usize) -> Node {
        let mut node = node.clone();
        for _ in 0..8 {
            if let [one] = items(&node, "allOf")
                && node.get("type").is_none()
            {
                node = one.clone();
            }
            let Some(reference) = text(&node, "$ref") else { break };
            let Ok(spot) = self.documents.find(document, reference) else { break };
            let Some(found) = self.documents.node(&spot) else { break };
            node = found.clone();
        }
        node
    }

    /// What is said about an attribute: beside a reference, else by what it refers to if that is no schema.
    fn described(&mut self, node: &Node, site: &Site) -> String {
        match text(node, "description").or_else(|| text(node, "title")) {
            Some(text) => text.to_owned(),
            None => match text(&self.resolved(node, site.document), "description") {
                Some(text) if node.get("$ref").is_some() => {
                    text.lines().next().unwrap_or_default().to_owned()
                }
                _ => String::new(),
            },
        }
    }

    /// `oneOf` and `anyOf` whose branches only demand attributes.
    fn alternatives(&mut self, node: &Node, attributes: &[Attribute], checks: &mut Vec<Check>) {
        for word in ["oneOf", "anyOf"] {
            let branches = items(node, word);
            let names: Vec<&str> = branches
                .iter()
                .filter_map(|branch| match texts(branch, "required").as_slice() {
                    [one] => Some(*one),
                    _ => None,
                })
                .collect();
            let known = names.iter().all(|name| attributes.iter().any(|a| a.name == *name));
            if !branches.is_empty() && names.len() == branches.len() && known {
                checks.extend(rules::one_is_set(&names));
            }
        }
    }

    fn index(
        &mut self,
        node: &Node,
        merged: &Merged,
        site: &Site,
        checks: &mut Vec<Check>,
    ) -> Result<Option<IndexSignature>, String> {
        let signature = |value: Type| IndexSignature {
            key: Type::Str,
            value,
            any_other: true,
            ..IndexSignature::default()
        };
        if is_true(node, "x-kubernetes-preserve-unknown-fields") {
            return Ok(Some(signature(Type::Any)));
        }
        if let Some(schema) = &merged.additional {
            return Ok(match &schema.value {
                Data::Bool(true) => Some(signature(Type::Any)),
                Data::Map(_) => Some(signature(self.ty(schema, &site.inner("AdditionalProperties"))?)),
                _ => None,
            });
        }
        match entries(node, "patternProperties") {
            [] => Ok(None),
            [one] => {
                let value = self.ty(&one.value, &site.inner("PatternProperties"))?;
                let rule = rules::pattern(&one.key, &mut self.warnings);
                checks
                    .extend(rule.map(|rule| Check { condition: rule.condition("key"), ..Check::default() }));
                Ok(Some(IndexSignature { key_name: Some("key".into()), ..signature(value) }))
            }
            _ => {
                self.warnings.push(format!(
                    "{}: several patternProperties: any other attribute is accepted",
                    site.name
                ));
                Ok(Some(signature(Type::Any)))
            }
        }
    }

    /// The attributes of an object with those of its `allOf`.
    fn merged(&mut self, node: &Node, document: usize, depth: u32) -> Result<Merged, String> {
        let mut merged = Merged::default();
        if depth > 16 {
            return Ok(merged);
        }
        for part in items(node, "allOf") {
            let (part, document) = match text(part, "$ref") {
                Some(reference) => {
                    let spot = self.documents.find(document, reference)?;
                    (self.documents.node(&spot).cloned().unwrap_or_else(|| part.clone()), spot.document)
                }
                None => (part.clone(), document),
            };
            merged.add(self.merged(&part, document, depth + 1)?);
        }
        let own = Merged {
            properties: entries(node, "properties").to_vec(),
            required: texts(node, "required").into_iter().map(str::to_owned).collect(),
            additional: node.get("additionalProperties").cloned(),
        };
        merged.add(own);
        Ok(merged)
    }
}

/// What `allOf` adds up to.
#[derive(Default)]
struct Merged {
    properties: Vec<MapEntry>,
    required: Vec<String>,
    additional: Option<Node>,
}

impl Merged {
    fn add(&mut self, other: Merged) {
        for entry in other.properties {
            match self.properties.iter_mut().find(|known| known.key == entry.key) {
                Some(known) => *known = entry,
                None => self.properties.push(entry),
            }
        }
        self.required.extend(other.required);
        self.additional = other.additional.or(self.additional.take());
    }
}

/// Whether an object becomes a schema: it has attributes, or is made of parts that have.
pub(crate) fn is_object(node: &Node) -> bool {
    let several = items(node, "allOf").len() > 1
        && items(node, "allOf")
            .iter()
            .any(|part| part.get("properties").is_some() || part.get("$ref").is_some());
    !entries(node, "properties").is_empty() || !entries(node, "patternProperties").is_empty() || several
}

fn attribute(entry: &MapEntry, ty: Type, optional: bool, doc: String) -> Attribute {
    let default = match entry.value.get("default").map(value) {
        // An empty object would be printed with every instance.
        None | Some(Value::None) => entry.value.get("const").map(value),
        Some(Value::Map(entries)) if entries.is_empty() => None,
        Some(value) => Some(value),
    };
    let default = default.filter(|value| fits(value, &ty));
    let default = default.map(|value| Default { source: value.to_kcl(), value: Some(value) });
    Attribute { name: entry.key.clone(), ty, optional, default, doc, ..Attribute::default() }
}

/// Whether a default has its type, as far as that can be seen here.
fn fits(value: &Value, ty: &Type) -> bool {
    ty.members().iter().any(|member| match (member, value) {
        (Type::Any, _) => true,
        (Type::Literal(wanted), value) => wanted == value,
        (Type::Bool, Value::Bool(_)) | (Type::Str, Value::Str(_)) | (Type::Int, Value::Int(_)) => true,
        (Type::Float, Value::Float(_) | Value::Int(_)) => true,
        (Type::List(item), Value::List(values)) => values.iter().all(|value| fits(value, item)),
        (Type::Dict(_, item), Value::Map(entries)) => entries.iter().all(|(_, value)| fits(value, item)),
        (Type::Schema(_), Value::Map(entries)) => entries.iter().all(|(key, _)| is_identifier(key)),
        _ => false,
    })
}

fn literal(value: &Value) -> Option<Type> {
    match value {
        Value::Bool(_) | Value::Int(_) | Value::Float(_) | Value::Str(_) => {
            Some(Type::Literal(value.clone()))
        }
        _ => None,
    }
}

/// What an object says about itself.
pub(crate) fn doc(node: &Node) -> Doc {
    let description = text(node, "description").or_else(|| text(node, "title")).unwrap_or_default();
    let mut doc = Doc { description: description.trim().to_owned(), ..Doc::default() };
    if let Some(link) = node.get("externalDocs").and_then(|docs| text(docs, "url")) {
        doc.sections.push(kcl_model::Section { title: "See Also".into(), text: link.to_owned() });
    }
    doc
}
