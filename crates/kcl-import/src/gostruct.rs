//! Go structs: a schema per exported struct of a file, and per struct that these refer to.

mod file;
mod tag;

use std::collections::{BTreeMap, BTreeSet};

use kcl_model::{Attribute, Doc, IndexSignature, Rule, Schema, SchemaRef, Subject, Type, Value, quote_name};

use self::file::{Declared, GoField, GoType};
use self::tag::Tag;
use crate::checks::check;
use crate::defaults::{default, fits, take_back};
use crate::names::{Names, schema_name};
use crate::{Imported, Input, formats, write};

/// Names that stand for other names, and structs in structs.
const MAX_DEPTH: u32 = 32;

pub(crate) fn import(input: &Input<'_>) -> Result<Imported, String> {
    let declared = file::read(&input.name, &input.text)?;
    let mut reader = Reader::default();
    for one in declared {
        reader.declared.entry(one.name.clone()).or_insert(one);
    }
    let exported = |one: &&Declared| is_exported(&one.name) && matches!(one.ty, GoType::Struct(_));
    let roots: Vec<String> =
        reader.in_order().into_iter().filter(exported).map(|one| one.name.clone()).collect();
    if roots.is_empty() {
        return Err(format!("{} declares no exported struct: there is no schema in it", input.name));
    }
    let parametrised = reader.in_order().into_iter().filter(|one| is_exported(&one.name));
    let lost: Vec<String> = parametrised
        .filter_map(|one| match &one.ty {
            GoType::Other(what) => Some(what.clone()),
            GoType::Generic(name) => Some(format!("{name} with parameters")),
            _ => None,
        })
        .collect();
    reader
        .warnings
        .extend(lost.iter().map(|what| format!("{what}: there is no form for it in KCL: left out")));
    for name in &roots {
        reader.reference(name);
    }
    // What is referred to is read, too; each struct once.
    let mut at = 0;
    while let Some(name) = reader.wanted.get(at).cloned() {
        reader.declaration(&name);
        at += 1;
    }
    // The writer turns the order round.
    reader.schemas.reverse();
    write::write_one(reader.schemas, reader.warnings, &input.name)
}

fn is_exported(name: &str) -> bool {
    name.chars().next().is_some_and(char::is_uppercase)
}

#[derive(Default)]
struct Reader {
    declared: BTreeMap<String, Declared>,
    /// Structs that become schemas, in order, with the names of these.
    wanted: Vec<String>,
    known: BTreeMap<String, String>,
    names: Names,
    schemas: Vec<Schema>,
    warnings: Vec<String>,
}

/// The type of a field, and what it must keep beyond its type.
#[derive(Default)]
struct Found {
    ty: Type,
    rules: Vec<Rule>,
    /// Rules of its elements.
    each: Vec<Rule>,
    /// A pointer: it may be absent.
    optional: bool,
}

/// A field whose type is read.
struct Site {
    /// How it is told: `Struct.Field`.
    told: String,
    /// The name of a schema that is made for it.
    name: String,
}

impl Site {
    /// What a list or a map of the field holds.
    fn inner(&self, word: &str) -> Site {
        Site { told: self.told.clone(), name: format!("{}{word}", self.name) }
    }
}

impl Found {
    fn plain(ty: Type) -> Found {
        Found { ty, ..Found::default() }
    }
}

impl Reader {
    /// Declarations in the order of the file.
    fn in_order(&self) -> Vec<&Declared> {
        let mut all: Vec<&Declared> = self.declared.values().collect();
        all.sort_by_key(|one| one.line);
        all
    }

    /// The name of the schema of a struct; it is read later.
    fn reference(&mut self, name: &str) -> Type {
        let made = match self.known.get(name) {
            Some(made) => made.clone(),
            None => {
                let made = self.names.unique(&schema_name(name));
                self.known.insert(name.to_owned(), made.clone());
                self.wanted.push(name.to_owned());
                made
            }
        };
        Type::Schema(SchemaRef { package: String::new(), name: made })
    }

    fn declaration(&mut self, name: &str) {
        let Some(Declared { doc, ty: GoType::Struct(fields), .. }) = self.declared.get(name) else { return };
        let (doc, fields) = (doc.clone(), fields.clone());
        let Some(made) = self.known.get(name).cloned() else { return };
        self.schema(made, doc, &fields);
    }

    fn schema(&mut self, name: String, doc: String, fields: &[GoField]) {
        let at = self.schemas.len();
        let doc = Doc { description: doc, ..Doc::default() };
        self.schemas.push(Schema { name: name.clone(), doc, ..Schema::default() });
        let mut schema = Schema { name, ..Schema::default() };
        self.fields(fields, &mut schema, false, 0);
        for taken in take_back(&mut schema.attributes, &schema.checks) {
            self.warnings
                .push(format!("{}.{taken}: its default breaks its own rules: left out", schema.name));
        }
        let own = &mut self.schemas[at];
        own.attributes = schema.attributes;
        own.checks = schema.checks;
        own.index = schema.index;
    }

    /// The fields of a struct, with those of what it embeds.
    fn fields(&mut self, fields: &[GoField], schema: &mut Schema, optional: bool, depth: u32) {
        let own: BTreeSet<String> = fields.iter().filter_map(|field| field.name.clone()).collect();
        for field in fields {
            let tag = Tag::read(&field.tag);
            match &field.name {
                _ if tag.ignored => {}
                Some(name) if is_exported(name) => self.field(name, field, &tag, schema, optional),
                Some(_) => {}
                None => self.embedded(field, &tag, schema, optional, depth, &own),
            }
        }
    }

    fn embedded(
        &mut self,
        field: &GoField,
        tag: &Tag,
        schema: &mut Schema,
        optional: bool,
        depth: u32,
        own: &BTreeSet<String>,
    ) {
        let (pointer, ty) = match &field.ty {
            GoType::Pointer(inner) => (true, inner.as_ref()),
            other => (false, other),
        };
        let GoType::Named(full) = ty else {
            self.warnings.push(format!("{}: what it embeds is not known", schema.name));
            return open(schema);
        };
        if tag.name.is_some() {
            let name = full.rsplit('.').next().unwrap_or(full).to_owned();
            return self.field(&name, field, tag, schema, optional);
        }
        match self.underlying(full, 0) {
            Some(GoType::Struct(inner)) if depth < MAX_DEPTH => {
                // A field of the struct itself hides the one that is embedded.
                let inner: Vec<GoField> = inner
                    .into_iter()
                    .filter(|inner| inner.name.as_ref().is_none_or(|name| !own.contains(name)))
                    .collect();
                self.fields(&inner, schema, optional || pointer, depth + 1);
            }
            _ if full == "metav1.TypeMeta" => {
                for name in ["kind", "apiVersion"] {
                    let (name, ty) = (name.to_owned(), Type::Str);
                    schema.attributes.push(Attribute { name, ty, optional: true, ..Attribute::default() });
                }
            }
            _ => {
                self.warnings.push(format!(
                    "{}: `{full}`, which it embeds, is not in this file: anything more is accepted",
                    schema.name
                ));
                open(schema);
            }
        }
    }

    fn field(&mut self, go_name: &str, field: &GoField, tag: &Tag, schema: &mut Schema, optional: bool) {
        let name = tag.name.clone().unwrap_or_else(|| go_name.to_owned());
        if schema.attributes.iter().any(|known| known.name == name) {
            return;
        }
        let site = Site {
            told: format!("{}.{go_name}", schema.name),
            name: format!("{}{}", schema.name, schema_name(go_name)),
        };
        let mut found = match &tag.ty {
            Some(written) => self.written(written, &site),
            None => match self.ty(&field.ty, &site, 0) {
                Some(found) => found,
                None => return,
            },
        };
        let mut told = None;
        let mut optional = optional || found.optional || tag.optional;
        // What is enumerated keeps the type that its constants are written in.
        let base = found.ty.clone();
        for mark in &field.marks {
            match tag::Mark::read(mark, &base) {
                Some(tag::Mark::Optional) => optional = true,
                Some(tag::Mark::Required) => optional = false,
                Some(tag::Mark::Default(value)) => told = Some(value),
                Some(tag::Mark::Literals(values)) => {
                    found.ty = Type::union(values.into_iter().map(Type::Literal))
                }
                Some(tag::Mark::Rule(rule)) => found.rules.push(rule),
                None => {}
            }
        }
        let written = quote_name(&name);
        let mut add =
            |subject: Subject, rule: Rule| schema.checks.push(check(subject, &written, rule, optional));
        found.rules.into_iter().for_each(|rule| add(Subject::Attribute(name.clone()), rule));
        found.each.into_iter().for_each(|rule| add(Subject::Each(name.clone()), rule));
        let told = told.filter(|value: &Value| fits(value, &found.ty, &|_| None)).map(default);
        let (ty, doc) = (found.ty, field.doc.clone());
        schema.attributes.push(Attribute { name, ty, optional, default: told, doc, ..Attribute::default() });
    }

    /// The type of a field; none for what no configuration holds.
    fn ty(&mut self, ty: &GoType, site: &Site, depth: u32) -> Option<Found> {
        if depth > MAX_DEPTH {
            self.warnings.push(format!("{} is made of itself: any", site.told));
            return Some(Found::plain(Type::Any));
        }
        Some(match ty {
            GoType::Pointer(inner) => Found { optional: true, ..self.ty(inner, site, depth + 1)? },
            GoType::List(inner, _) if matches!(&**inner, GoType::Named(name) if name == "byte" || name == "uint8") => {
                Found::plain(Type::Str)
            }
            GoType::List(inner, length) => {
                let inner = self.ty(inner, &site.inner("Items"), depth + 1)?;
                let exact = length.iter().flat_map(|n| [Rule::MinLen(*n), Rule::MaxLen(*n)]);
                let rules = exact.filter(|rule| *rule != Rule::MinLen(0)).collect();
                Found { ty: Type::List(inner.ty.into()), rules, each: inner.rules, optional: false }
            }
            GoType::Map(key, value) => {
                let (key, value) =
                    (self.ty(key, site, depth + 1)?, self.ty(value, &site.inner("Values"), depth + 1)?);
                // Keys are printed as texts; only numbers are told apart from them.
                let key = if key.ty == Type::Int { Type::Int } else { Type::Str };
                Found::plain(Type::Dict(key.into(), value.ty.into()))
            }
            GoType::Struct(fields) => {
                let name = self.names.unique(&site.name);
                self.schema(name.clone(), String::new(), fields);
                Found::plain(Type::Schema(SchemaRef { package: String::new(), name }))
            }
            GoType::Interface => Found::plain(Type::Any),
            GoType::Other(what) => {
                self.warnings.push(format!("{}: {what} has no form in KCL: left out", site.told));
                return None;
            }
            GoType::Generic(name) => {
                self.warnings.push(format!("{}: `{name}` takes parameters: any", site.told));
                Found::plain(Type::Any)
            }
            GoType::Named(name) => return self.named(name, site, depth),
        })
    }

    fn named(&mut self, name: &str, site: &Site, depth: u32) -> Option<Found> {
        if let Some(found) = self.declared.get(name).map(|one| one.ty.clone()) {
            return match found {
                GoType::Struct(_) => Some(Found::plain(self.reference(name))),
                other => self.ty(&other, site, depth + 1),
            };
        }
        if let Some(found) = built_in(name) {
            return Some(found);
        }
        self.warnings.push(format!("{}: `{name}` is not in this file: any", site.told));
        Some(Found::plain(Type::Any))
    }

    /// The type behind a name that is declared here.
    fn underlying(&self, name: &str, depth: u32) -> Option<GoType> {
        match self.declared.get(name)?.ty.clone() {
            GoType::Named(other) if depth < MAX_DEPTH => self.underlying(&other, depth + 1),
            other => Some(other),
        }
    }

    /// A type as a tag writes it, in KCL's words.
    fn written(&mut self, text: &str, site: &Site) -> Found {
        let read = tag::kcl_type(text, &mut |name| {
            let declared = matches!(self.declared.get(name), Some(Declared { ty: GoType::Struct(_), .. }));
            declared.then(|| self.reference(name))
        });
        let ty = read.unwrap_or_else(|| {
            self.warnings.push(format!("{}: the tag's type `{text}` is not known: any", site.told));
            Type::Any
        });
        Found::plain(ty)
    }
}

/// Whatever else is there is accepted.
fn open(schema: &mut Schema) {
    let (key, value) = (Type::Str, Type::Any);
    schema.index = Some(IndexSignature { key, value, any_other: true, ..IndexSignature::default() });
}

fn built_in(name: &str) -> Option<Found> {
    let bits =
        |min: i64, max: i64| vec![Rule::Min(Value::Int(min), false), Rule::Max(Value::Int(max), false)];
    let int = |rules: Vec<Rule>| Some(Found { rules, ..Found::plain(Type::Int) });
    match name {
        "int" | "int64" | "time.Duration" => int(Vec::new()),
        "int8" => int(bits(i64::from(i8::MIN), i64::from(i8::MAX))),
        "int16" => int(bits(i64::from(i16::MIN), i64::from(i16::MAX))),
        "int32" | "rune" => int(formats::rules("int32", &Type::Int)),
        "uint8" | "byte" => int(bits(0, i64::from(u8::MAX))),
        "uint16" => int(bits(0, i64::from(u16::MAX))),
        "uint32" => int(formats::rules("uint32", &Type::Int)),
        "uint" | "uint64" | "uintptr" => int(vec![Rule::Min(Value::Int(0), false)]),
        "float32" | "float64" | "complex64" | "complex128" => Some(Found::plain(Type::Float)),
        "bool" => Some(Found::plain(Type::Bool)),
        "string" | "time.Time" | "metav1.Time" | "metav1.MicroTime" | "metav1.Duration" | "net.IP"
        | "url.URL" => Some(Found::plain(Type::Str)),
        "any" | "error" | "json.RawMessage" | "runtime.RawExtension" | "yaml.Node" => {
            Some(Found::plain(Type::Any))
        }
        "json.Number" => Some(Found::plain(Type::Union(vec![Type::Int, Type::Float]))),
        "intstr.IntOrString" => Some(Found::plain(Type::Union(vec![Type::Int, Type::Str]))),
        "resource.Quantity" => Some(Found::plain(Type::Union(vec![Type::Str, Type::Int, Type::Float]))),
        _ => None,
    }
}
