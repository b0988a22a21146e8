//! Protobuf: a schema per message, of a file and of what it imports from its own folder.

mod file;

use std::collections::{BTreeMap, BTreeSet};

use kcl_model::{
    Attribute, Check, Decorator, Doc, Rule, Schema, SchemaRef, Subject, Type, Value, quote_name,
};

use self::file::{Field, FieldType, File, Label, Message};
use crate::checks::check;
use crate::defaults::{default, fits};
use crate::names::{Names, schema_name};
use crate::predicate::is_set;
use crate::refs::joined;
use crate::{Imported, Input, formats, write};

/// How many files one import may read.
const MAX_FILES: usize = 200;

/// Messages that every protobuf has: what their JSON form is.
const WELL_KNOWN: &[(&str, &str)] = &[
    ("Any", "any"),
    ("Value", "any"),
    ("NullValue", "any"),
    ("Struct", "struct"),
    ("Empty", "struct"),
    ("ListValue", "list"),
    ("Timestamp", "date-time"),
    ("Duration", "duration"),
    ("FieldMask", "string"),
    ("StringValue", "string"),
    ("BytesValue", "string"),
    ("BoolValue", "bool"),
    ("DoubleValue", "double"),
    ("FloatValue", "double"),
    ("Int32Value", "int32"),
    ("Int64Value", "int64"),
    ("UInt32Value", "uint32"),
    ("UInt64Value", "uint64"),
];

pub(crate) fn import(input: &Input<'_>) -> Result<Imported, String> {
    let mut reader = Reader::default();
    reader.files(input)?;
    let own: Vec<String> = reader.files[0].messages.iter().map(|message| message.name.clone()).collect();
    if own.is_empty() {
        return Err(format!("{} has no message: there is no schema in it", input.name));
    }
    let mut schemas = Vec::new();
    for name in own {
        reader.reference(&name);
    }
    // What is referred to is read, too; each message once.
    let mut at = 0;
    while let Some(name) = reader.wanted.get(at).cloned() {
        schemas.extend(reader.schema(&name));
        at += 1;
    }
    // The writer turns the order round.
    schemas.reverse();
    write::write_one(schemas, reader.warnings, &input.name)
}

#[derive(Default)]
struct Reader {
    files: Vec<File>,
    /// Full names of messages with their places, and of enumerations with their values.
    messages: BTreeMap<String, (usize, usize)>,
    enums: BTreeMap<String, Vec<String>>,
    /// Messages that become schemas, in order, with the names of these.
    wanted: Vec<String>,
    known: BTreeMap<String, String>,
    names: Names,
    warnings: Vec<String>,
}

/// The type of a field, and what it must keep beyond its type.
struct Found {
    ty: Type,
    rules: Vec<Rule>,
    /// A message can be absent, whatever its label is.
    is_message: bool,
}

impl Reader {
    /// Reads a file and what it imports, as far as that stands in the folder of the input.
    fn files(&mut self, input: &Input<'_>) -> Result<(), String> {
        let mut open = vec![(input.name.clone(), input.text.clone())];
        let own = input.name.rsplit('/').next().unwrap_or(&input.name).to_owned();
        let mut seen = BTreeSet::from([own]);
        while let Some((name, text)) = open.pop() {
            if self.files.len() >= MAX_FILES {
                return Err(format!("more than {MAX_FILES} files are imported"));
            }
            let file = file::read(&name, &text)?;
            for path in &file.imports {
                if path.starts_with("google/protobuf/") || !seen.insert(path.clone()) {
                    continue;
                }
                match loaded(input, path) {
                    Ok(text) => open.push((path.clone(), text)),
                    Err(why) => self.warnings.push(format!("import \"{path}\": {why}: its types are any")),
                }
            }
            let number = self.files.len();
            for (at, message) in file.messages.iter().enumerate() {
                self.messages.entry(message.name.clone()).or_insert((number, at));
            }
            for listed in &file.enums {
                self.enums.entry(listed.name.clone()).or_insert_with(|| listed.values.clone());
            }
            self.files.push(file);
        }
        Ok(())
    }

    /// The name of the schema of a message; it is read later.
    fn reference(&mut self, full: &str) -> SchemaRef {
        if let Some(name) = self.known.get(full) {
            return SchemaRef { package: String::new(), name: name.clone() };
        }
        let package = self.messages.get(full).map_or("", |(file, _)| self.files[*file].package.as_str());
        let local = full.strip_prefix(package).unwrap_or(full).trim_start_matches('.');
        let name = self.names.unique(&schema_name(local));
        self.known.insert(full.to_owned(), name.clone());
        self.wanted.push(full.to_owned());
        SchemaRef { package: String::new(), name }
    }

    fn schema(&mut self, full: &str) -> Option<Schema> {
        let (file, at) = *self.messages.get(full)?;
        let message = std::mem::take(&mut self.files[file].messages[at]);
        let implicit = self.files[file].implicit;
        let name = self.known.get(full)?.clone();
        let doc = Doc { description: message.doc.clone(), ..Doc::default() };
        let mut schema = Schema { name, doc, ..Schema::default() };
        let mut seen = BTreeSet::new();
        for field in message.fields.iter().filter(|field| seen.insert(field.name.clone())) {
            self.attribute(field, full, implicit, &mut schema);
        }
        schema.checks.extend(one_at_most(&message));
        Some(schema)
    }

    fn attribute(&mut self, field: &Field, scope: &str, implicit: bool, schema: &mut Schema) {
        let found = match &field.ty {
            FieldType::Named(name) => self.named(name, scope),
            FieldType::Map(key, value) => {
                let (key, value) = (self.named(key, scope), self.named(value, scope));
                // Keys are printed as texts; only numbers are told apart from them.
                let key = if key.ty == Type::Int { Type::Int } else { Type::Str };
                Found { ty: Type::Dict(key.into(), value.ty.into()), rules: Vec::new(), is_message: true }
            }
        };
        let repeated = field.label == Label::Repeated;
        let ty = if repeated { Type::List(found.ty.clone().into()) } else { found.ty.clone() };
        let optional = match field.label {
            Label::Required => false,
            // A plain number or text of proto3 always has a value; a message, a list and a map may be absent.
            Label::Plain => found.is_message || !implicit,
            Label::Optional | Label::Repeated => true,
        };
        let written = quote_name(&field.name);
        let subject = if repeated { Subject::Each } else { Subject::Attribute };
        for rule in found.rules {
            schema.checks.push(check(subject(field.name.clone()), &written, rule, optional));
        }
        let told = field.default.clone().map(|value| as_number(value, &ty));
        let told = told.filter(|value| fits(value, &ty, &|_| None)).map(default);
        let decorators = match field.deprecated {
            true => vec![Decorator { name: "deprecated".into(), arguments: Vec::new() }],
            false => Vec::new(),
        };
        let (name, doc) = (field.name.clone(), field.doc.clone());
        schema.attributes.push(Attribute {
            name,
            ty,
            optional,
            default: told,
            doc,
            decorators,
            ..Attribute::default()
        });
    }

    /// What a name means in a message.
    fn named(&mut self, name: &str, scope: &str) -> Found {
        if let Some(found) = scalar(name) {
            return found;
        }
        let found =
            |reader: &Self, full: &str| reader.messages.contains_key(full) || reader.enums.contains_key(full);
        let full = match name.strip_prefix('.') {
            Some(full) => Some(full.to_owned()).filter(|full| found(self, full)),
            None => {
                let mut scope = scope;
                loop {
                    let full = if scope.is_empty() { name.to_owned() } else { format!("{scope}.{name}") };
                    if found(self, &full) {
                        break Some(full);
                    }
                    if scope.is_empty() {
                        break None;
                    }
                    scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
                }
            }
        };
        let plain = |ty: Type, is_message: bool| Found { ty, rules: Vec::new(), is_message };
        match full {
            Some(full) if self.messages.contains_key(&full) => {
                plain(Type::Schema(self.reference(&full)), true)
            }
            Some(full) => {
                let values = self.enums.get(&full).cloned().unwrap_or_default();
                plain(Type::union(values.into_iter().map(|value| Type::Literal(Value::Str(value)))), false)
            }
            None => match well_known(name) {
                Some(found) => found,
                None => {
                    self.warnings.push(format!("{scope}: there is no message `{name}`: any"));
                    plain(Type::Any, true)
                }
            },
        }
    }
}

fn scalar(name: &str) -> Option<Found> {
    let ty = match name {
        "double" | "float" => Type::Float,
        "bool" => Type::Bool,
        "string" | "bytes" => Type::Str,
        "int32" | "sint32" | "sfixed32" | "uint32" | "fixed32" | "int64" | "sint64" | "sfixed64"
        | "uint64" | "fixed64" => Type::Int,
        _ => return None,
    };
    let rules = match name {
        "int32" | "sint32" | "sfixed32" => formats::rules("int32", &ty),
        "uint32" | "fixed32" => formats::rules("uint32", &ty),
        "uint64" | "fixed64" => vec![Rule::Min(Value::Int(0), false)],
        _ => Vec::new(),
    };
    Some(Found { ty, rules, is_message: false })
}

fn well_known(name: &str) -> Option<Found> {
    let short = name.trim_start_matches('.').strip_prefix("google.protobuf.")?;
    let (_, form) = WELL_KNOWN.iter().find(|(known, _)| *known == short)?;
    let (ty, rules) = match *form {
        "struct" => (Type::Dict(Type::Str.into(), Type::Any.into()), Vec::new()),
        "list" => (Type::List(Type::Any.into()), Vec::new()),
        "date-time" => (Type::Str, formats::rules("date-time", &Type::Str)),
        "duration" => (Type::Str, vec![Rule::Pattern(r"^-?\d+(\.\d{1,9})?s$".to_owned())]),
        other => scalar(other).map_or((Type::Any, Vec::new()), |found| (found.ty, found.rules)),
    };
    Some(Found { ty, rules, is_message: true })
}

/// A whole number where a fraction is expected is one.
fn as_number(value: Value, ty: &Type) -> Value {
    match (value, ty) {
        (Value::Int(n), Type::Float) => Value::Float(n as f64),
        (value, _) => value,
    }
}

/// Of the fields of a `oneof`, one at most is set.
fn one_at_most(message: &Message) -> Vec<Check> {
    let group = |names: &Vec<String>| {
        let set: Vec<String> = names.iter().map(|name| is_set(&quote_name(name))).collect();
        (set.len() > 1).then(|| Check {
            condition: format!("len([one for one in [{}] if one]) <= 1", set.join(", ")),
            message: Some(kcl_model::quote(&format!("one of {} at most can be set", names.join(", ")))),
            ..Check::default()
        })
    };
    message.one_of.iter().filter_map(group).collect()
}

/// The text of an import. Its path begins at a root that only the build knows: parts of it are left out until it is found.
fn loaded(input: &Input<'_>, path: &str) -> Result<String, String> {
    let Some(whole) = joined("", path) else {
        return Err("it leads out of the input's folder".to_owned());
    };
    let mut rest = whole.as_str();
    loop {
        match ((input.load)(rest), rest.split_once('/')) {
            (Ok(text), _) => return Ok(text),
            (Err(_), Some((_, shorter))) => rest = shorter,
            (Err(_), None) => return Err("it is not in the input's folder".to_owned()),
        }
    }
}
