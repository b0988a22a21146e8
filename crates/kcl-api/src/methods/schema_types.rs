//! `GetSchemaTypeMapping`: schemas as data.

use std::collections::BTreeMap;

use kcl::Index;
use kcl_model::{Attribute, Model, PackageName, Schema, SchemaRef, Type, Value, read_package};
use kcl_syntax::ast::{Stmt, StmtId};
use kcl_syntax::program::PkgId;

use super::exec::run_request;
use super::{compiler, refuse_no_input};
use crate::messages::{
    Decorator, Example, FunctionType, GetSchemaTypeMappingArgs, GetSchemaTypeMappingResult,
    GetSchemaTypeMappingUnderPathResult, IndexSignature, KclType, Parameter, SchemaTypes,
};
use crate::{Answer, Budget};

/// A schema inside a schema is written out this deep; below that it has only its name.
const DEPTH: usize = 3;

/// The schemas of the main package by name, and the variables whose type is a schema.
///
/// # Errors
/// No input.
pub fn mapping(args: &GetSchemaTypeMappingArgs, budget: &Budget) -> Answer<GetSchemaTypeMappingResult> {
    let (index, model) = model(args, budget)?;
    let writer = Writer { model: &model, index: &index };
    let wanted = |name: &str| args.schema_name.is_empty() || args.schema_name == name;
    let mut found = BTreeMap::new();
    let main = index.program.main_package().path.to_string();
    for schema in model.package(&main).map(|package| package.schemas.as_slice()).unwrap_or_default() {
        if wanted(&schema.name) {
            let name = SchemaRef { package: main.clone(), name: schema.name.clone() };
            found.insert(schema.name.clone(), writer.schema(&name, 0));
        }
    }
    for (name, schema) in variables(&index) {
        if wanted(&name) {
            found.insert(name, writer.schema(&schema, 0));
        }
    }
    Ok(GetSchemaTypeMappingResult { schema_type_mapping: found })
}

/// The schemas of every package of the program, by the path of the package.
///
/// # Errors
/// No input.
pub fn under_path(
    args: &GetSchemaTypeMappingArgs,
    budget: &Budget,
) -> Answer<GetSchemaTypeMappingUnderPathResult> {
    let (index, model) = model(args, budget)?;
    let writer = Writer { model: &model, index: &index };
    let mut found = BTreeMap::new();
    for package in &model.packages {
        let name = |schema: &Schema| SchemaRef { package: package.path.clone(), name: schema.name.clone() };
        let wanted = |schema: &&Schema| args.schema_name.is_empty() || schema.name == args.schema_name;
        let types: Vec<KclType> =
            package.schemas.iter().filter(wanted).map(|schema| writer.schema(&name(schema), 0)).collect();
        if !types.is_empty() {
            found.insert(package.path.clone(), SchemaTypes { schema_type: types });
        }
    }
    Ok(GetSchemaTypeMappingUnderPathResult { schema_type_mapping: found })
}

fn model(args: &GetSchemaTypeMappingArgs, budget: &Budget) -> Answer<(Index, Model)> {
    let request = run_request(&args.exec_args.clone().unwrap_or_default(), budget)?;
    let index = compiler(budget).index(&request);
    refuse_no_input(&index.diagnostics, &index.program.sources)?;
    let program = &index.program;
    let names: Vec<PackageName> = program
        .packages
        .iter()
        .map(|package| PackageName { path: package.path.to_string(), external: false })
        .collect();
    let types: Vec<_> = index.packages.iter().map(|package| package.types().clone()).collect();
    let input = kcl_model::Program { program, types: &types, names: &names, root: "" };
    let packages = (0..names.len()).filter_map(|at| read_package(input, PkgId(at as u32))).collect();
    Ok((index, Model { packages, ..Model::default() }))
}

/// Top-level variables whose type is a schema.
fn variables(index: &Index) -> Vec<(String, SchemaRef)> {
    let at = index.program.main.0 as usize;
    let (Some(package), Some(types)) = (index.program.packages.get(at), index.packages.get(at)) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let mut look = |stmt: StmtId| {
        let (name, value) = match package.tree.stmt(stmt) {
            Stmt::Assign { targets, value, .. } if targets.len() == 1 && targets[0].path.is_empty() => {
                (&targets[0].name, *value)
            }
            Stmt::Unification { target, value, .. } => (target, *value),
            _ => return,
        };
        let ty = types.part_type(name.span.start).or_else(|| types.expr_type(value));
        let Some(spot) = ty.and_then(|ty| types.schema_spot(ty)) else { return };
        let Some(owner) = index.packages.iter().position(|package| package.home() == spot.home) else {
            return;
        };
        let Some(def) = index.packages[owner].def_at(spot.span) else { return };
        let schema =
            SchemaRef { package: index.program.packages[owner].path.to_string(), name: def.name.to_string() };
        found.push((name.name.to_string(), schema));
    };
    package.tree.files.iter().flat_map(|file| &file.body).for_each(|stmt| look(*stmt));
    found
}

struct Writer<'a> {
    model: &'a Model,
    index: &'a Index,
}

impl Writer<'_> {
    fn schema(&self, name: &SchemaRef, depth: usize) -> KclType {
        let mut out = KclType {
            r#type: "schema".to_owned(),
            schema_name: name.name.clone(),
            pkg_path: name.package.clone(),
            ..KclType::default()
        };
        let Some(schema) = self.model.schema(name) else { return out };
        out.schema_doc = one_line(&schema.doc.description);
        out.description.clone_from(&out.schema_doc);
        out.filename = schema.place.as_ref().map(|place| self.file(&place.file)).unwrap_or_default();
        out.examples = examples(schema);
        if depth >= DEPTH {
            return out;
        }
        out.decorators = schema.decorators.iter().map(decorator).collect();
        out.base_schema = self.base(schema, depth).map(Box::new);
        out.index_signature = schema.index.as_ref().map(|index| {
            Box::new(IndexSignature {
                key_name: index.key_name.clone(),
                key: Some(Box::new(self.ty(&index.key, depth + 1))),
                val: Some(Box::new(self.ty(&index.value, depth + 1))),
                any_other: index.any_other,
            })
        });
        let own = |owner: &Schema| {
            std::ptr::eq(owner, schema) || schema.mixins.iter().any(|m| m.name == owner.name)
        };
        let attributes: Vec<(Attribute, &Schema)> =
            self.model.all_attributes(schema).into_iter().filter(|(a, _)| shown(a)).collect();
        for (number, (attribute, _)) in (1..).zip(&attributes) {
            out.properties.insert(attribute.name.clone(), self.attribute(attribute, number, depth + 1));
        }
        // The reference names what the schema itself asks for first.
        let (own, inherited): (Vec<_>, Vec<_>) =
            attributes.iter().filter(|(a, _)| !a.optional).partition(|(_, owner)| own(owner));
        out.required = own.into_iter().chain(inherited).map(|(a, _)| a.name.clone()).collect();
        out
    }

    /// What a schema extends, as deep as the schema itself; a schema that extends itself is told by the checker.
    fn base(&self, schema: &Schema, depth: usize) -> Option<KclType> {
        let base = schema.bases.first()?;
        let circular = self.model.schema(base).is_some_and(|base| {
            let chain = self.model.lineage(base);
            chain.iter().any(|link| std::ptr::eq(*link, schema))
        });
        (!circular).then(|| self.schema(base, depth))
    }

    fn attribute(&self, attribute: &Attribute, number: i32, depth: usize) -> KclType {
        let mut out = self.ty(&attribute.ty, depth);
        out.line = number;
        out.description.clone_from(&attribute.doc);
        out.default = attribute.default.as_ref().map(|default| default.source.clone()).unwrap_or_default();
        out.decorators = attribute.decorators.iter().map(decorator).collect();
        out.examples.clear();
        out
    }

    /// A type as data. Its depth is bounded by how types are written, and by [`DEPTH`].
    fn ty(&self, ty: &Type, depth: usize) -> KclType {
        let named = |name: &str| KclType { r#type: name.to_owned(), ..KclType::default() };
        let boxed = |ty: &Type| Some(Box::new(self.ty(ty, depth)));
        match ty {
            Type::Any | Type::None => named("any"),
            Type::Bool => named("bool"),
            Type::Int => named("int"),
            Type::Float => named("float"),
            Type::Str => named("str"),
            Type::Literal(value) => named(&literal(value)),
            Type::Unit(None) => named("number_multiplier"),
            Type::Unit(Some(text)) => named(&format!("number_multiplier({text})")),
            Type::List(item) => KclType { item: boxed(item), ..named("list") },
            Type::Dict(key, value) => KclType { key: boxed(key), item: boxed(value), ..named("dict") },
            Type::Union(members) => {
                KclType { union_types: members.iter().map(|m| self.ty(m, depth)).collect(), ..named("union") }
            }
            Type::Schema(name) => self.schema(name, depth),
            Type::Function(params, ret) => {
                let param = |ty: &Type| Parameter { name: String::new(), ty: Some(self.ty(ty, depth)) };
                let params = params.iter().map(param).collect();
                let function = FunctionType { params, return_ty: boxed(ret) };
                KclType { function: Some(Box::new(function)), ..named("function") }
            }
        }
    }

    /// The path of a file as the program knows it; the model has it without its first slash.
    fn file(&self, inside: &str) -> String {
        let absolute = format!("/{inside}");
        let known = self.index.program.packages.iter().flat_map(|package| &package.files);
        let mut known = known.filter_map(|id| self.index.program.sources.get(*id));
        if known.any(|source| source.path == absolute) { absolute } else { inside.to_owned() }
    }
}

/// Whether the reference lists an attribute: nothing that is computed, and no function.
fn shown(attribute: &Attribute) -> bool {
    !attribute.computed && !matches!(attribute.ty, Type::Function(..))
}

fn one_line(text: &str) -> String {
    text.replace('\n', " ")
}

fn literal(value: &Value) -> String {
    match value {
        Value::Str(text) => format!("str({text})"),
        Value::Int(_) => format!("int({})", value.to_kcl()),
        Value::Float(_) => format!("float({})", value.to_kcl()),
        Value::Bool(_) => format!("bool({})", value.to_kcl()),
        other => other.to_kcl(),
    }
}

fn examples(schema: &Schema) -> BTreeMap<String, Example> {
    let texts: Vec<&str> = schema.doc.examples.iter().map(|example| example.code.trim()).collect();
    let mut out = BTreeMap::new();
    if !texts.is_empty() {
        let example = Example { value: texts.join("\n"), ..Example::default() };
        out.insert("Default example".to_owned(), example);
    }
    out
}

fn decorator(decorator: &kcl_model::Decorator) -> Decorator {
    let (named, positional): (Vec<_>, Vec<_>) =
        decorator.arguments.iter().partition(|(name, ..)| !name.is_empty());
    Decorator {
        name: decorator.name.clone(),
        arguments: positional.into_iter().map(|(_, text, _)| text.clone()).collect(),
        keywords: named.into_iter().map(|(name, text, _)| (name.clone(), text.clone())).collect(),
    }
}
