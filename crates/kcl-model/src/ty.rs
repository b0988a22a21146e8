//! Types.

use crate::model::SchemaRef;
use crate::quote::quote;
use crate::value::{Value, float_text};

/// A type.
#[derive(Clone, PartialEq, Debug, Default)]
#[allow(missing_docs)]
pub enum Type {
    #[default]
    Any,
    None,
    Bool,
    Int,
    Float,
    Str,
    /// A bool, int, float or string that stands for itself.
    Literal(Value),
    /// `units.NumberMultiplier`, or one such number as written (`1Ki`).
    Unit(Option<String>),
    List(Box<Type>),
    Dict(Box<Type>, Box<Type>),
    /// At least two members, none of them a union.
    Union(Vec<Type>),
    Schema(SchemaRef),
    Function(Vec<Type>, Box<Type>),
}

impl Type {
    /// Makes a union; members that stand there already, and unions inside, are merged.
    pub fn union(members: impl IntoIterator<Item = Type>) -> Type {
        let mut flat: Vec<Type> = Vec::new();
        for member in members {
            let parts = if let Type::Union(parts) = member { parts } else { vec![member] };
            for part in parts {
                if !flat.contains(&part) {
                    flat.push(part);
                }
            }
        }
        match flat.len() {
            _ if flat.contains(&Type::Any) => Type::Any,
            0 => Type::Any,
            1 => flat.remove(0),
            _ => Type::Union(flat),
        }
    }

    /// Returns the members of a union; any other type is its own only member.
    pub fn members(&self) -> &[Type] {
        match self {
            Type::Union(members) => members,
            one => std::slice::from_ref(one),
        }
    }

    /// Returns the type as KCL writes it; `name` says how a schema is called where the text will stand.
    pub fn text(&self, name: &dyn Fn(&SchemaRef) -> String) -> String {
        match self {
            Type::Any => "any".into(),
            // What is None can only be None: KCL has no name for that type.
            Type::None => "any".into(),
            Type::Bool => "bool".into(),
            Type::Int => "int".into(),
            Type::Float => "float".into(),
            Type::Str => "str".into(),
            Type::Literal(value) => literal_text(value),
            Type::Unit(None) => "units.NumberMultiplier".into(),
            Type::Unit(Some(text)) => text.clone(),
            Type::List(item) => format!("[{}]", item.text(name)),
            Type::Dict(key, value) => format!("{{{}:{}}}", key.text(name), value.text(name)),
            Type::Union(members) => {
                let parts: Vec<String> = members.iter().map(|m| m.text(name)).collect();
                parts.join(" | ")
            }
            Type::Schema(schema) => name(schema),
            Type::Function(params, ret) => {
                let params: Vec<String> = params.iter().map(|p| p.text(name)).collect();
                format!("({}) -> {}", params.join(", "), ret.text(name))
            }
        }
    }

    /// Calls a function with every schema that the type mentions.
    pub fn each_schema(&self, f: &mut dyn FnMut(&SchemaRef)) {
        match self {
            Type::Schema(schema) => f(schema),
            Type::List(item) => item.each_schema(f),
            Type::Dict(key, value) => {
                key.each_schema(f);
                value.each_schema(f);
            }
            Type::Union(members) => members.iter().for_each(|m| m.each_schema(f)),
            Type::Function(params, ret) => {
                params.iter().for_each(|p| p.each_schema(f));
                ret.each_schema(f);
            }
            _ => {}
        }
    }
}

fn literal_text(value: &Value) -> String {
    match value {
        Value::Str(text) => quote(text),
        Value::Float(f) => float_text(*f),
        other => other.to_kcl(),
    }
}
