//! Types, from the server's OpenAPI v3 documents.
//!
//! In: one document per group version. Out: for every reachable type one compact JSON object of facts.
//! Invariant: a schema that does not fit the type expressions of the table's README is an error, never a guess.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};
use testenv::http::Client;

use super::{get, list, string};

const REFERENCE: &str = "#/components/schemas/";

/// All schemas of the server by type name.
pub(super) struct Schemas {
    types: BTreeMap<String, Value>,
    /// `group/version/Kind` → type name.
    kinds: BTreeMap<String, String>,
}

impl Schemas {
    pub(super) fn load(client: &mut Client) -> Result<Self, String> {
        let index = get(client, "/openapi/v3")?;
        let paths = index.get("paths").and_then(Value::as_object).ok_or("no OpenAPI paths")?;
        let mut types = BTreeMap::new();
        for entry in paths.values() {
            let document = get(client, string(entry, "serverRelativeURL"))?;
            let schemas = document.pointer("/components/schemas").and_then(Value::as_object);
            for (name, schema) in schemas.into_iter().flatten() {
                types.entry(name.clone()).or_insert_with(|| schema.clone());
            }
        }
        let mut kinds = BTreeMap::new();
        for (name, schema) in &types {
            if let [gvk] = gvks(schema).as_slice() {
                kinds.insert(gvk.clone(), name.clone());
            }
        }
        Ok(Self { types, kinds })
    }

    /// The type of a kind. A few kinds (`DeleteOptions`) are named by every group and belong to none.
    pub(super) fn of_kind(&self, gvk: &str) -> Option<&str> {
        self.kinds.get(gvk).map(String::as_str)
    }

    /// Every type that the roots need, by name, as the JSON of a `T` line.
    pub(super) fn reachable(&self, roots: &[&str]) -> Result<BTreeMap<String, String>, String> {
        let mut open: Vec<String> = roots.iter().map(|root| (*root).to_owned()).collect();
        let mut seen: BTreeSet<String> = open.iter().cloned().collect();
        let mut lines = BTreeMap::new();
        while let Some(name) = open.pop() {
            let schema = self.types.get(&name).ok_or_else(|| format!("no schema {name}"))?;
            let mut used = Vec::new();
            let value = self.type_facts(schema, &mut used).map_err(|error| format!("{name}: {error}"))?;
            lines.insert(name, value.to_string());
            open.extend(used.into_iter().filter(|name| seen.insert(name.clone())));
        }
        Ok(lines)
    }

    fn type_facts(&self, schema: &Value, used: &mut Vec<String>) -> Result<Value, String> {
        let mut facts = Map::new();
        if let [gvk] = gvks(schema).as_slice() {
            facts.insert("g".into(), json!([gvk]));
        }
        copy(schema, "x-kubernetes-map-type", &mut facts, "mt");
        copy(schema, "x-kubernetes-preserve-unknown-fields", &mut facts, "pu");
        copy(schema, "x-kubernetes-unions", &mut facts, "u");
        copy(schema, "required", &mut facts, "r");
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return Ok(Value::Object(facts));
        };
        let sorted: BTreeMap<&String, &Value> = properties.iter().collect();
        let mut fields = Map::new();
        for (name, property) in sorted {
            let field = self.field_facts(property, used).map_err(|error| format!("{name}: {error}"))?;
            fields.insert(name.clone(), field);
        }
        facts.insert("f".into(), Value::Object(fields));
        Ok(Value::Object(facts))
    }

    fn field_facts(&self, property: &Value, used: &mut Vec<String>) -> Result<Value, String> {
        let expression = self.expression(property, used)?;
        let mut facts = Map::new();
        let reference = expression.starts_with('#');
        facts.insert("t".into(), expression.into());
        match property.get("default") {
            Some(Value::Object(empty)) if empty.is_empty() && reference => {}
            Some(value) => drop(facts.insert("d".into(), value.clone())),
            None => {}
        }
        let mut allowed = list(property, "enum").to_vec();
        if !allowed.is_empty() {
            allowed.sort_by_key(Value::to_string);
            facts.insert("e".into(), Value::Array(allowed));
        }
        for (from, to) in [
            ("x-kubernetes-list-type", "lt"),
            ("x-kubernetes-list-map-keys", "lk"),
            ("x-kubernetes-map-type", "mt"),
            ("x-kubernetes-patch-merge-key", "mk"),
            ("x-kubernetes-patch-strategy", "ps"),
        ] {
            copy(property, from, &mut facts, to);
        }
        Ok(Value::Object(facts))
    }

    /// The type expression of a schema.
    fn expression(&self, schema: &Value, used: &mut Vec<String>) -> Result<String, String> {
        if let [only] = list(schema, "allOf") {
            return self.expression(only, used);
        }
        if let Some(name) = string(schema, "$ref").strip_prefix(REFERENCE) {
            return self.reference(name, used);
        }
        if let Some(items) = schema.get("items") {
            return Ok(format!("[{}", self.expression(items, used)?));
        }
        if let Some(values) = schema.get("additionalProperties").filter(|values| values.is_object()) {
            return Ok(format!("{{{}", self.expression(values, used)?));
        }
        scalar(schema).map(str::to_owned)
    }

    /// Named scalars are spelled out; everything with fields, or a struct without any, is a type of its own.
    fn reference(&self, name: &str, used: &mut Vec<String>) -> Result<String, String> {
        let schema = self.types.get(name).ok_or_else(|| format!("no schema {name}"))?;
        let short = name.rsplit('.').next().unwrap_or_default();
        match short {
            "Quantity" => return Ok("q".into()),
            "IntOrString" => return Ok("x".into()),
            "Time" => return Ok("d".into()),
            "MicroTime" => return Ok("D".into()),
            "RawExtension" | "FieldsV1" => return Ok("o".into()),
            _ => {}
        }
        if string(schema, "type") == "object" && schema.get("additionalProperties").is_none() {
            used.push(name.to_owned());
            return Ok(format!("#{name}"));
        }
        self.expression(schema, used)
    }
}

fn scalar(schema: &Value) -> Result<&'static str, String> {
    match (string(schema, "type"), string(schema, "format")) {
        ("string", "") => Ok("s"),
        ("string", "byte") => Ok("y"),
        ("string", "date-time") => Ok("d"),
        ("integer", "int32") => Ok("i"),
        ("integer", "int64") => Ok("l"),
        ("number", "double") => Ok("n"),
        ("boolean", _) => Ok("b"),
        ("object", _) => Ok("o"),
        ("", "") => Ok("*"),
        _ => Err(format!("no expression for {schema}")),
    }
}

fn copy(from: &Value, key: &str, to: &mut Map<String, Value>, name: &str) {
    if let Some(value) = from.get(key) {
        to.insert(name.into(), value.clone());
    }
}

fn gvks(schema: &Value) -> Vec<String> {
    list(schema, "x-kubernetes-group-version-kind")
        .iter()
        .map(|gvk| format!("{}/{}/{}", string(gvk, "group"), string(gvk, "version"), string(gvk, "kind")))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schemas() -> Schemas {
        let types = BTreeMap::from([
            ("x.Quantity".to_owned(), json!({"oneOf": [{"type": "string"}, {"type": "number"}]})),
            (
                "x.Part".to_owned(),
                json!({"type": "object", "properties": {"n": {"type": "integer", "format": "int32"}}}),
            ),
            (
                "x.Odd".to_owned(),
                json!({"type": "object", "properties": {"n": {"type": "integer", "format": "uint8"}}}),
            ),
        ]);
        Schemas { types, kinds: BTreeMap::new() }
    }

    #[test]
    fn expressions_spell_out_scalars_and_name_structs() {
        let reference =
            |name: &str| json!({"allOf": [{"$ref": format!("{REFERENCE}{name}")}], "default": {}});
        let mut used = Vec::new();
        let schemas = schemas();
        let parts = json!({"type": "array", "items": reference("x.Part")});
        let limits = json!({"type": "object", "additionalProperties": reference("x.Quantity")});
        assert_eq!(schemas.expression(&parts, &mut used).as_deref(), Ok("[#x.Part"));
        assert_eq!(schemas.expression(&limits, &mut used).as_deref(), Ok("{q"));
        assert_eq!(used, ["x.Part"]);
    }

    #[test]
    fn a_format_without_an_expression_is_an_error_that_names_its_type() {
        let error = schemas().reachable(&["x.Odd"]).expect_err("uint8 has no expression");
        assert!(error.starts_with("x.Odd: n: "), "{error}");
    }
}
