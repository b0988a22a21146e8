//! JSON Schema 2020-12 and the schemas of OpenAPI 3.0: one writer, and here is how they differ.

use serde_json::{Map, Value as Json, json};

use kcl_model::{Rule, Type, Value};

/// Which words are used.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Dialect {
    /// JSON Schema 2020-12.
    JsonSchema,
    /// OpenAPI 3.0.3.
    OpenApi,
}

impl Dialect {
    /// Where definitions stand.
    pub(crate) fn pointer(self) -> &'static str {
        match self {
            Dialect::JsonSchema => "#/$defs/",
            Dialect::OpenApi => "#/components/schemas/",
        }
    }

    /// Exactly one value.
    pub(crate) fn constant(self, value: &Value) -> Map<String, Json> {
        match self {
            Dialect::JsonSchema => object(json!({ "const": to_json(value) })),
            Dialect::OpenApi => self.one_of(std::slice::from_ref(value)),
        }
    }

    /// One of some values.
    pub(crate) fn one_of(self, values: &[Value]) -> Map<String, Json> {
        let mut out = Map::new();
        if let Some(name) = common_type(values) {
            out.insert("type".into(), name.into());
        }
        out.insert("enum".into(), values.iter().map(to_json).collect());
        out
    }

    /// One of several simple types.
    pub(crate) fn types(self, names: &[&str]) -> Map<String, Json> {
        match (self, names) {
            (_, [one]) => object(json!({ "type": one })),
            (Dialect::JsonSchema, _) => object(json!({ "type": names })),
            (Dialect::OpenApi, _) => {
                let parts: Vec<Json> = names.iter().map(|name| json!({ "type": name })).collect();
                object(json!({ "anyOf": parts }))
            }
        }
    }

    pub(crate) fn null(self) -> Map<String, Json> {
        match self {
            Dialect::JsonSchema => object(json!({ "type": "null" })),
            Dialect::OpenApi => object(json!({ "nullable": true, "enum": [null] })),
        }
    }

    /// The words of a bound.
    pub(crate) fn bound(self, rule: &Rule) -> Map<String, Json> {
        let (word, exclusive_word, value, exclusive) = match rule {
            Rule::Min(value, exclusive) => ("minimum", "exclusiveMinimum", value, *exclusive),
            Rule::Max(value, exclusive) => ("maximum", "exclusiveMaximum", value, *exclusive),
            _ => return Map::new(),
        };
        let value = to_json(value);
        match (self, exclusive) {
            (_, false) => object(json!({ word: value })),
            (Dialect::JsonSchema, true) => object(json!({ exclusive_word: value })),
            (Dialect::OpenApi, true) => object(json!({ word: value, exclusive_word: true })),
        }
    }
}

/// The type that all values have, if there is one.
fn common_type(values: &[Value]) -> Option<&'static str> {
    let name = |value: &Value| match value {
        Value::Str(_) => Some("string"),
        Value::Int(_) => Some("integer"),
        Value::Bool(_) => Some("boolean"),
        Value::Float(_) => Some("number"),
        _ => None,
    };
    let first = name(values.first()?)?;
    values.iter().all(|value| name(value) == Some(first)).then_some(first)
}

/// The name of a simple type.
pub(crate) fn simple(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Bool => "boolean",
        Type::Int => "integer",
        Type::Float => "number",
        Type::Str => "string",
        _ => return None,
    })
}

/// A constant as JSON.
pub(crate) fn to_json(value: &Value) -> Json {
    match value {
        Value::None => Json::Null,
        Value::Bool(b) => (*b).into(),
        Value::Int(i) => (*i).into(),
        Value::Float(f) => (*f).into(),
        Value::Str(text) => text.as_str().into(),
        Value::List(items) => items.iter().map(to_json).collect(),
        Value::Map(entries) => {
            Json::Object(entries.iter().map(|(key, value)| (key.clone(), to_json(value))).collect())
        }
    }
}

/// The map of a JSON object.
pub(crate) fn object(value: Json) -> Map<String, Json> {
    match value {
        Json::Object(map) => map,
        _ => Map::new(),
    }
}
