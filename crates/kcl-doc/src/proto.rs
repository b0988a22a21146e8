//! Schemas as Protobuf messages.
//!
//! Fields are numbered in the order of their names, as the reference does: a new attribute may move the numbers of others, so
//! the text is for reading and for starting from, not for data that outlives it.

use kcl_model::{Attribute, Kind, Model, Schema, Type};

/// What has no type of its own in Protobuf.
const ANY: &str = "google.protobuf.Value";

/// Writes the schemas of the module's own packages as messages.
///
/// # Errors
/// A package name that Protobuf does not allow.
pub fn proto(model: &Model, package: &str) -> Result<String, String> {
    let word = |part: &str| {
        part.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
    };
    if !package.is_empty() && !package.split('.').all(word) {
        return Err(format!("`{package}` is no name of a Protobuf package: write words joined by dots"));
    }
    let schemas = model.own_packages().flat_map(|package| &package.schemas);
    let messages: Vec<String> =
        schemas.filter(|schema| schema.kind != Kind::Rule).map(|schema| message(model, schema)).collect();
    let mut out = String::from("syntax = \"proto3\";\n\n");
    if !package.is_empty() {
        out.push_str(&format!("package {package};\n\n"));
    }
    if messages.iter().any(|message| message.contains(ANY)) {
        out.push_str("import \"google/protobuf/struct.proto\";\n\n");
    }
    for message in messages {
        out.push_str(&message);
        out.push('\n');
    }
    Ok(out)
}

fn message(model: &Model, schema: &Schema) -> String {
    let mut out = comment("", &schema.doc.description);
    out.push_str(&format!("message {} {{\n", schema.name));
    let mut attributes: Vec<Attribute> = model.all_attributes(schema).into_iter().map(|(a, _)| a).collect();
    attributes.retain(|a| !a.computed && !matches!(a.ty, Type::Function(..)));
    attributes.sort_by(|a, b| a.name.cmp(&b.name));
    for (number, attribute) in (1..).zip(&attributes) {
        out.push_str(&comment("    ", &attribute.doc));
        out.push_str(&format!("    {} {} = {number};\n", field(&attribute.ty), name(&attribute.name)));
    }
    if let Some(index) = &schema.index {
        let text = |ty: &Type| ty.text(&|schema| schema.name.clone());
        let key = if index.key == Type::Str { "string".to_owned() } else { text(&index.key) };
        out.push_str(&format!("    // index signature: map<{key}, {}>\n", text(&index.value)));
    }
    out.push_str("}\n");
    out
}

fn comment(indent: &str, text: &str) -> String {
    text.lines().map(|line| format!("{indent}// {line}").trim_end().to_owned() + "\n").collect()
}

/// What is no name in Protobuf gets underscores.
fn name(name: &str) -> String {
    let plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if plain.starts_with(|c: char| c.is_ascii_digit()) { format!("_{plain}") } else { plain }
}

fn field(ty: &Type) -> String {
    match ty {
        Type::List(item) if single(item) != ANY => format!("repeated {}", single(item)),
        Type::Dict(key, value) => match (&**key, single(value)) {
            (Type::Str, value) if value != ANY => format!("map<string, {value}>"),
            (Type::Int, value) if value != ANY => format!("map<int64, {value}>"),
            _ => ANY.to_owned(),
        },
        other => single(other),
    }
}

fn single(ty: &Type) -> String {
    match ty {
        Type::Bool => "bool".to_owned(),
        Type::Int => "int64".to_owned(),
        Type::Float => "double".to_owned(),
        Type::Str => "string".to_owned(),
        Type::Schema(schema) => schema.name.clone(),
        _ => ANY.to_owned(),
    }
}
