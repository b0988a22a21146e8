//! Schema objects (JSON Schema, OpenAPI, CRDs) to types and schemas of the model.

use std::collections::BTreeMap;

use base_yaml::{Data, Node};
use kcl_model::{Attribute, Doc, Lines, Schema, SchemaRef, Type, Value};

use crate::checks;
use crate::defaults::{default, fits, take_back};
use crate::merge::Property;
use crate::names::{Names, file_name, schema_name};
use crate::object::{all, is_true, items, text, texts, value};
use crate::parts::typed_part;
use crate::plain::is_of_type;
use crate::predicate::demands;
use crate::refs::{Documents, Spot};

/// Objects inside objects, references included.
const MAX_DEPTH: u32 = 100;

/// Documents of Kubernetes call it a text, and every server of theirs takes numbers as well.
const QUANTITY: &str = "/io.k8s.apimachinery.pkg.api.resource.Quantity";

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
    /// Objects say everything that they may have, and lists by keys are told apart by them: what a CRD demands of its schema.
    pub(crate) structural: bool,
    /// Rules of CEL: how many became checks, and how many did not.
    pub(crate) cel: (usize, usize),
    /// What was looked at for the schema that is being read.
    pub(crate) steps: u32,
    /// Types without a name that are being read: a cycle of them has no end.
    open: Vec<Spot>,
    /// Those that were read: alternatives of alternatives would double each time.
    types: BTreeMap<Spot, Type>,
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
    pub(crate) fn inner(&self, part: &str) -> Site {
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
            structural: false,
            cel: (0, 0),
            steps: 0,
            open: Vec::new(),
            types: BTreeMap::new(),
            depth: 0,
        }
    }

    /// Reads the object at a spot: a schema if it has attributes, else its type.
    pub(crate) fn spot(&mut self, spot: &Spot) -> Result<Type, String> {
        if let Some(known) = self.known.get(spot) {
            return Ok(Type::Schema(known.clone()));
        }
        if spot.pointer.ends_with(QUANTITY) {
            return Ok(Type::Union(vec![Type::Str, Type::Int, Type::Float]));
        }
        if let Some(untold) = self.untold(spot)? {
            return Ok(untold);
        }
        let Some(node) = self.documents.node(spot).cloned() else { return Ok(Type::Any) };
        if self.depth > MAX_DEPTH {
            self.warnings.push(format!("{} nests too deep: any", spot.pointer));
            return Ok(Type::Any);
        }
        let (package, name) = (self.place)(self.documents, spot);
        if self.is_schema(&node, spot.document) {
            let name = self.names.entry(package.clone()).or_default().unique(&name);
            let reference = SchemaRef { package: package.clone(), name: name.clone() };
            self.known.insert(spot.clone(), reference.clone());
            let outer = std::mem::replace(&mut self.file, file_name(&name));
            self.add(&node, &Site { document: spot.document, package, name })?;
            self.file = outer;
            return Ok(Type::Schema(reference));
        }
        if let Some(known) = self.types.get(spot) {
            return Ok(known.clone());
        }
        if self.open.contains(spot) {
            self.warnings.push(format!("{name} is made of itself: any"));
            return Ok(Type::Any);
        }
        self.open.push(spot.clone());
        let before = self.warnings.len();
        let read = self.ty(&node, &Site { document: spot.document, package, name });
        self.open.pop();
        // What a cycle or a depth cut off is another type elsewhere.
        if let (Ok(ty), true) = (&read, before == self.warnings.len()) {
            self.types.insert(spot.clone(), ty.clone());
        }
        read
    }

    /// Alternatives in the schemas of CustomResourceDefinitions: documents of Kubernetes give them no type, their names say it.
    fn untold(&mut self, spot: &Spot) -> Result<Option<Type>, String> {
        let Some((before, other)) = spot.pointer.split_once(".JSONSchemaPropsOr") else { return Ok(None) };
        let schema = Spot { pointer: format!("{before}.JSONSchemaProps"), ..spot.clone() };
        let says_nothing = |node: &Node| all(node).iter().all(|entry| entry.key == "description");
        if self.documents.node(&schema).is_none() || !self.documents.node(spot).is_some_and(says_nothing) {
            return Ok(None);
        }
        let schema = self.spot(&schema)?;
        let other = match other {
            "Array" => Type::List(schema.clone().into()),
            "Bool" => Type::Bool,
            "StringArray" => Type::List(Type::Str.into()),
            _ => return Ok(None),
        };
        Ok(Some(Type::Union(vec![schema, other])))
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
        let of_parts = text(node, "$ref").is_some() && self.is_schema(node, site.document);
        if let Some(reference) = text(node, "$ref").filter(|_| !of_parts) {
            let spot = self.documents.find(site.document, reference)?;
            return self.spot(&spot);
        }
        if is_true(node, "x-kubernetes-int-or-string") || text(node, "format") == Some("int-or-string") {
            return Ok(Type::Union(vec![Type::Int, Type::Str]));
        }
        if let Some(constant) = node.get("const") {
            return Ok(literals(std::slice::from_ref(constant), node));
        }
        if !items(node, "enum").is_empty() {
            return Ok(literals(items(node, "enum"), node));
        }
        if self.is_schema(node, site.document) {
            let name = self.names.entry(site.package.clone()).or_default().unique(&site.name);
            let site = Site { name: name.clone(), ..site.clone() };
            self.add(node, &site)?;
            return Ok(Type::Schema(SchemaRef { package: site.package, name }));
        }
        if let Some(part) = typed_part(node) {
            return self.ty(part, site);
        }
        for (word, part) in [("oneOf", "OneOf"), ("anyOf", "AnyOf")] {
            let branches = items(node, word);
            let only_objects = || {
                let object = |b: &Node| b.get("$ref").is_some() || b.get("properties").is_some();
                text(node, "type") == Some("object") && branches.iter().all(object)
            };
            if !branches.is_empty() && (node.get("type").is_none() || only_objects()) {
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
            _ if node.get("items").is_some() || node.get("prefixItems").is_some() => {
                self.named_type("array", node, site)
            }
            _ if node.get("additionalProperties").is_some_and(|n| !all(n).is_empty()) => {
                self.named_type("object", node, site)
            }
            _ => {
                let words = ["$dynamicRef", "$recursiveRef"];
                if let Some(word) = words.into_iter().find(|word| node.get(word).is_some()) {
                    self.warnings.push(format!("{}: `{word}` is not followed: any", site.name));
                }
                Ok(Type::Any)
            }
        }
    }

    fn named_type(&mut self, name: &str, node: &Node, site: &Site) -> Result<Type, String> {
        Ok(match name {
            "string" => Type::Str,
            "integer" => Type::Int,
            "number" => Type::Float,
            "boolean" => Type::Bool,
            "array" => Type::List(self.element(node, site)?.into()),
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

    /// The type of the elements of a list; elements with places of their own may have different ones.
    fn element(&mut self, node: &Node, site: &Site) -> Result<Type, String> {
        let mut members = Vec::new();
        for (at, place) in places(node).iter().enumerate() {
            members.push(self.ty(place, &site.inner(&format!("Items{at}")))?);
        }
        let rest = match node.get("items").filter(|items| !matches!(items.value, Data::List(_))) {
            Some(rest) => Some(rest),
            None => node.get("additionalItems"),
        };
        match rest.map(|rest| (&rest.value, rest)) {
            Some((Data::Bool(false), _)) if !members.is_empty() => {}
            Some((Data::Map(entries), rest)) if !entries.is_empty() => {
                members.push(self.ty(rest, &site.inner(&format!("Items{}", members.len())))?);
            }
            _ => return Ok(Type::Any),
        }
        Ok(Type::union(members))
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
        self.steps = 0;
        let merged = self.merged(node, site.document, 0)?;
        let mut schema = Schema { name: site.name.clone(), doc: doc(node), ..Schema::default() };
        let mut shared = Vec::new();
        for property in &merged.properties {
            let inside = Site { document: property.document, ..site.inner(&property.key) };
            let ty = match property.shared {
                true => self.shared(&property.node, &inside, &mut shared)?,
                false => self.ty(&property.node, &inside)?,
            };
            let required = merged.required.contains(&property.key) && !is_nullable(&property.node);
            if property.key.starts_with('_') {
                self.warnings.push(format!(
                    "{}.{}: KCL does not print names that begin with `_`",
                    site.name, property.key
                ));
            }
            let described = self.described(property);
            let attribute = self.attribute(property, ty, !required, described);
            schema.attributes.push(attribute);
        }
        // What is read in between has steps of its own.
        self.steps = 0;
        let (checks, notes) = self.checks(&merged, &site.name, &schema.attributes);
        schema.checks = checks;
        if !notes.is_empty() {
            let text = notes.join("\n");
            schema.doc.sections.push(kcl_model::Section { title: "Notes".into(), text });
        }
        for name in take_back(&mut schema.attributes, &schema.checks) {
            self.warnings.push(format!("{}.{name}: its default breaks its own rules: left out", site.name));
        }
        schema.index = self.index(node, &merged, site, &mut shared, &mut schema.checks)?;
        Ok(schema)
    }

    /// What is said about an attribute: beside a reference, else by what it refers to if that is no schema.
    fn described(&mut self, property: &Property) -> String {
        let node = &property.node;
        match text(node, "description").or_else(|| text(node, "title")) {
            Some(text) => text.to_owned(),
            None => match text(&self.target(node, property.document).0, "description") {
                Some(text) if node.get("$ref").is_some() => {
                    text.lines().next().unwrap_or_default().to_owned()
                }
                _ => String::new(),
            },
        }
    }

    fn attribute(&mut self, property: &Property, ty: Type, optional: bool, doc: String) -> Attribute {
        let told = match property.node.get("default").map(value) {
            // An empty object would be printed with every instance.
            None | Some(Value::None) => constant(&property.node),
            Some(Value::Map(entries)) if entries.is_empty() => None,
            Some(value) => Some(value),
        };
        let packages = &self.packages;
        let known = |name: &SchemaRef| checks::find(packages, name);
        let told = told.filter(|value| *value != Value::None && fits(value, &ty, &known));
        let (name, default) = (property.key.clone(), told.map(default));
        Attribute { name, ty, optional, default, doc, ..Attribute::default() }
    }

    /// Says how many rules of CEL are not checked.
    pub(crate) fn tell_rules(&mut self) {
        let (checked, lost) = self.cel;
        if lost > 0 {
            let all = checked + lost;
            self.warnings.push(format!(
                "{lost} of {all} rules of CEL are not checked: the notes of their schemas quote them"
            ));
        }
    }
}

/// The schemas of single elements of a list: `prefixItems`, or a list of `items`.
pub(crate) fn places(node: &Node) -> &[Node] {
    match items(node, "prefixItems") {
        [] => items(node, "items"),
        places => places,
    }
}

/// Whether null is as good as a value: then KCL cannot demand one.
fn is_nullable(node: &Node) -> bool {
    let null = |node: &Node| text(node, "type") == Some("null") || node.get("const").is_some_and(is_null);
    is_true(node, "nullable")
        || texts(node, "type").contains(&"null")
        || null(node)
        || items(node, "enum").iter().any(is_null)
        || items(node, "oneOf").iter().chain(items(node, "anyOf")).any(null)
}

fn is_null(node: &Node) -> bool {
    node.value == Data::Null
}

/// More literals than this are a list to look into, not a type.
const MAX_LITERALS: usize = 1_000;

/// The type of listed values: their literals, or what they are literals of where a literal cannot be written (a check lists them then).
fn literals(listed: &[Node], node: &Node) -> Type {
    let values: Vec<Value> = listed.iter().filter(|node| !is_null(node)).map(value).collect();
    let fitting: Vec<Value> = values.iter().filter(|value| is_of_type(value, node)).cloned().collect();
    // Where nothing fits, a check says so.
    let values = if fitting.is_empty() { values } else { fitting };
    let writable = |value: &Value| match value {
        Value::Bool(_) => true,
        Value::Int(n) => *n >= 0,
        Value::Float(f) => *f >= 0.0,
        Value::Str(text) => !text.chars().any(|c| c.is_control() || "\\\"$".contains(c)),
        _ => false,
    };
    // `b: True` alone is an attribute with a value: a check says it then.
    let is_value = matches!(values.as_slice(), [Value::Bool(_)]) && node.get("const").is_none();
    if values.len() <= MAX_LITERALS && values.iter().all(writable) && !is_value {
        return Type::union(values.into_iter().map(Type::Literal));
    }
    Type::union(values.iter().map(|value| match value {
        Value::Bool(_) => Type::Bool,
        Value::Int(_) => Type::Int,
        Value::Float(_) => Type::Float,
        Value::Str(_) => Type::Str,
        _ => Type::Any,
    }))
}

/// The constant that an attribute is without a word of the user: a plain one, of which nothing else is demanded.
fn constant(node: &Node) -> Option<Value> {
    let constant = node.get("const").map(value)?;
    let plain = !matches!(constant, Value::List(_) | Value::Map(_)) && is_of_type(&constant, node);
    let alone = all(node).iter().all(|e| matches!(e.key.as_str(), "const" | "type") || !demands(&e.key));
    (plain && alone).then_some(constant)
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
