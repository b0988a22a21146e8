//! JSON Schema and OpenAPI: instances that KCL accepts, as `kcl run --disable-none` prints them, pass.
//!
//! A schema is one closed object with everything it inherits written out: `additionalProperties: false` beside an `allOf`
//! would refuse what a base allows. Where a schema is expected, KCL also takes instances of the schemas that extend it,
//! so a reference is to any of them. What a check demands is said where JSON Schema has words for it; the other checks are kept as
//! text in `x-kcl-checks`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value as Json, json};

use kcl_model::{Attribute, Check, Kind, Model, Schema, SchemaRef, Type, Value};

use crate::anchor::safe;
use crate::constraints::{apply, merge};
use crate::dialect::{Dialect, object, simple, to_json};
use crate::keep::kept;
use crate::{Options, find_schema};

/// Writes one JSON Schema document (2020-12).
///
/// # Errors
/// A sentence, if the wanted root is not a schema.
pub fn json_schema(model: &Model, options: &Options) -> Result<String, String> {
    let model = kept(model, options);
    let mut document = object(json!({ "$schema": "https://json-schema.org/draft/2020-12/schema" }));
    if !model.name.is_empty() {
        document.insert("title".into(), model.name.clone().into());
    }
    if !model.description.is_empty() {
        document.insert("description".into(), model.description.clone().into());
    }
    if let Some(root) = &options.root {
        let root = find_schema(&model, &root.full())?;
        if model.schema(&root).is_none_or(|schema| schema.kind != Kind::Schema) {
            return Err(format!("`{}` is no schema that has instances", root.full()));
        }
        document.insert("$ref".into(), Writer::pointer(Dialect::JsonSchema, &root).into());
    }
    let definitions = Writer::new(&model, Dialect::JsonSchema).definitions(options.root.as_ref());
    document.insert("$defs".into(), Json::Object(definitions));
    Ok(pretty(&Json::Object(document)))
}

/// Writes one OpenAPI document (3.0.3) without paths.
pub fn openapi(model: &Model, options: &Options) -> String {
    let model = kept(model, options);
    let text = |text: &str, other: &str| if text.is_empty() { other.to_owned() } else { text.to_owned() };
    let mut info =
        object(json!({ "title": text(&model.name, "schemas"), "version": text(&model.version, "0.0.0") }));
    if !model.description.is_empty() {
        info.insert("description".into(), model.description.clone().into());
    }
    let schemas = Writer::new(&model, Dialect::OpenApi).definitions(options.root.as_ref());
    let document =
        json!({ "openapi": "3.0.3", "info": info, "paths": {}, "components": { "schemas": schemas } });
    pretty(&document)
}

fn pretty(value: &Json) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

struct Writer<'m> {
    model: &'m Model,
    dialect: Dialect,
    schemas: BTreeMap<SchemaRef, &'m Schema>,
    /// Direct extensions of a schema.
    extensions: BTreeMap<SchemaRef, Vec<SchemaRef>>,
}

impl<'m> Writer<'m> {
    fn new(model: &'m Model, dialect: Dialect) -> Self {
        let mut schemas = BTreeMap::new();
        let mut extensions: BTreeMap<SchemaRef, Vec<SchemaRef>> = BTreeMap::new();
        for package in &model.packages {
            for schema in package.schemas.iter().filter(|schema| schema.kind == Kind::Schema) {
                let name = SchemaRef { package: package.path.clone(), name: schema.name.clone() };
                for base in &schema.bases {
                    extensions.entry(base.clone()).or_default().push(name.clone());
                }
                schemas.insert(name, schema);
            }
        }
        Writer { model, dialect, schemas, extensions }
    }

    fn pointer(dialect: Dialect, schema: &SchemaRef) -> String {
        format!("{}{}", dialect.pointer(), safe(&schema.full()))
    }

    /// The definitions of the module's schemas (or of the wanted one) and of everything they refer to.
    fn definitions(&self, root: Option<&SchemaRef>) -> Map<String, Json> {
        let own: BTreeSet<&str> = self.model.own_packages().map(|package| package.path.as_str()).collect();
        let mut wanted: Vec<SchemaRef> = match root {
            Some(root) => vec![root.clone()],
            None => self.schemas.keys().filter(|name| own.contains(name.package.as_str())).cloned().collect(),
        };
        let mut done: BTreeMap<String, Json> = BTreeMap::new();
        while let Some(name) = wanted.pop() {
            let key = safe(&name.full());
            let Some(schema) = self.schemas.get(&name).filter(|_| !done.contains_key(&key)) else { continue };
            done.insert(key, Json::Object(self.definition(schema, &mut wanted)));
        }
        done.into_iter().collect()
    }

    fn definition(&self, schema: &Schema, wanted: &mut Vec<SchemaRef>) -> Map<String, Json> {
        let lineage = self.model.lineage(schema);
        let checks: Vec<&Check> = lineage.iter().flat_map(|owner| &owner.checks).collect();
        let mut out = object(json!({ "type": "object" }));
        describe(&mut out, &schema.doc.description, schema.deprecated());
        let mut properties = Map::new();
        let mut required: Vec<Json> = Vec::new();
        for (attribute, _) in self.model.all_attributes(schema) {
            if attribute.is_required() {
                required.push(attribute.name.clone().into());
            }
            let property = self.property(&attribute, &checks, wanted);
            properties.insert(attribute.name, Json::Object(property));
        }
        out.insert("properties".into(), Json::Object(properties));
        if !required.is_empty() {
            out.insert("required".into(), required.into());
        }
        self.others(schema, &lineage, &mut out, wanted);
        let texts: Vec<Json> =
            checks.iter().filter(|check| check.constraints.is_empty()).map(|c| text_of(c)).collect();
        if !texts.is_empty() {
            out.insert("x-kcl-checks".into(), texts.into());
        }
        out
    }

    /// What else an instance may have. An index signature is not inherited, neither from a base nor from a mixin.
    fn others(
        &self,
        schema: &Schema,
        lineage: &[&Schema],
        out: &mut Map<String, Json>,
        wanted: &mut Vec<SchemaRef>,
    ) {
        let unknown_base = lineage.iter().any(|owner| {
            owner.bases.iter().chain(&owner.mixins).any(|base| self.model.schema(base).is_none())
        });
        match &schema.index {
            Some(index) => {
                let value = self.ty(&index.value, wanted);
                out.insert("additionalProperties".into(), Json::Object(value));
            }
            None if unknown_base => {}
            None => {
                out.insert("additionalProperties".into(), false.into());
            }
        }
    }

    fn property(
        &self,
        attribute: &Attribute,
        checks: &[&Check],
        wanted: &mut Vec<SchemaRef>,
    ) -> Map<String, Json> {
        let mut out = self.ty(&attribute.ty, wanted);
        for constraint in checks.iter().flat_map(|check| &check.constraints) {
            if constraint.subject.attribute() == attribute.name {
                apply(self.dialect, constraint, &attribute.ty, &mut out);
            }
        }
        // OpenAPI 3.0 ignores what stands beside a `$ref`.
        let told = !attribute.doc.is_empty()
            || attribute.default_value().is_some()
            || attribute.deprecated().is_some();
        if self.dialect == Dialect::OpenApi && out.contains_key("$ref") && (told || out.len() > 1) {
            let reference = out.remove("$ref").unwrap_or_default();
            merge(&mut out, object(json!({ "allOf": [{ "$ref": reference }] })));
        }
        describe(&mut out, &attribute.doc, attribute.deprecated());
        // Without a `?` None is no value, so it is no default, either.
        if let Some(value) = attribute.default_value().filter(|value| **value != Value::None) {
            out.insert("default".into(), to_json(value));
        }
        if attribute.computed {
            out.insert("readOnly".into(), true.into());
        }
        out
    }

    fn ty(&self, ty: &Type, wanted: &mut Vec<SchemaRef>) -> Map<String, Json> {
        match ty {
            Type::Any | Type::Function(..) => Map::new(),
            Type::None => self.dialect.null(),
            Type::Bool | Type::Int | Type::Float | Type::Str => {
                self.dialect.types(&[simple(ty).unwrap_or("string")])
            }
            Type::Unit(_) => object(json!({ "type": "number", "format": "units.NumberMultiplier" })),
            Type::Literal(value) => self.dialect.constant(value),
            Type::List(item) => object(json!({ "type": "array", "items": self.ty(item, wanted) })),
            Type::Dict(key, value) => self.dict(key, value, wanted),
            Type::Union(members) => self.union(members, wanted),
            Type::Schema(schema) => self.reference(schema, wanted),
        }
    }

    fn dict(&self, key: &Type, value: &Type, wanted: &mut Vec<SchemaRef>) -> Map<String, Json> {
        let mut out = object(json!({ "type": "object", "additionalProperties": self.ty(value, wanted) }));
        if self.dialect == Dialect::JsonSchema
            && let Some(values) = literals(key.members())
        {
            out.insert(
                "propertyNames".into(),
                json!({ "enum": values.iter().map(to_json).collect::<Vec<_>>() }),
            );
        }
        out
    }

    fn union(&self, members: &[Type], wanted: &mut Vec<SchemaRef>) -> Map<String, Json> {
        if let Some(values) = literals(members) {
            return self.dialect.one_of(&values);
        }
        if let Some(names) = members.iter().map(simple).collect::<Option<Vec<_>>>() {
            return self.dialect.types(&names);
        }
        // Literals stand together.
        let values: Vec<Value> = members.iter().filter_map(literal).collect();
        let others = members.iter().filter(|member| literal(member).is_none());
        let mut parts: Vec<Json> = others.map(|member| Json::Object(self.ty(member, wanted))).collect();
        if !values.is_empty() {
            parts.insert(0, Json::Object(self.dialect.one_of(&values)));
        }
        object(json!({ "anyOf": parts }))
    }

    /// A schema or one that extends it.
    fn reference(&self, schema: &SchemaRef, wanted: &mut Vec<SchemaRef>) -> Map<String, Json> {
        let mut all = vec![schema.clone()];
        let mut next = 0;
        while let Some(name) = all.get(next).cloned() {
            next += 1;
            for extension in self.extensions.get(&name).into_iter().flatten() {
                if !all.contains(extension) {
                    all.push(extension.clone());
                }
            }
        }
        all.retain(|name| self.schemas.contains_key(name));
        if let Some((_, extensions)) = all.split_first_mut() {
            extensions.sort();
        }
        wanted.extend(all.iter().cloned());
        let mut references = all.iter().map(|name| json!({ "$ref": Self::pointer(self.dialect, name) }));
        match all.len() {
            0 => Map::new(),
            1 => references.next().map(object).unwrap_or_default(),
            _ => object(json!({ "anyOf": references.collect::<Vec<_>>() })),
        }
    }
}

fn literal(ty: &Type) -> Option<Value> {
    if let Type::Literal(value) = ty { Some(value.clone()) } else { None }
}

/// The values of a union that is made of literals only.
fn literals(members: &[Type]) -> Option<Vec<Value>> {
    members.iter().map(literal).collect()
}

fn describe(out: &mut Map<String, Json>, doc: &str, deprecated: Option<String>) {
    let text = match &deprecated {
        Some(why) if doc.is_empty() => why.clone(),
        Some(why) => format!("{doc}\n\n{why}"),
        None => doc.to_owned(),
    };
    if !text.is_empty() {
        out.insert("description".into(), text.into());
    }
    if deprecated.is_some() {
        out.insert("deprecated".into(), true.into());
    }
}

fn text_of(check: &Check) -> Json {
    match &check.guard {
        Some(guard) => format!("{} if {guard}", check.condition).into(),
        None => check.condition.clone().into(),
    }
}
