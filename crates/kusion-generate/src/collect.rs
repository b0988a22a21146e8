//! Which values of an output are resources. Everything is taken, or what is not is named: nothing gets lost in silence.
//!
//! A resource is a Kubernetes manifest, or a mapping with `id` and `attributes`. They may stand alone, in variables, in lists
//! and in mappings of any depth. Single values (`replicas = 3`) and what is empty cannot be resources and are passed over. A
//! mapping that is none and holds none is [`Lost`], unless the render step of the models has read it.

use std::collections::HashSet;

use serde_json::{Map, Value};

/// The variable that carries the resources when the render step is ours: a value has origins, a stream of text has not.
pub(crate) const RENDERED: &str = "kusionRenderedResources";

/// The variable that carries the model instances which that step has read.
pub(crate) const READ: &str = "kusionRenderedModels";

/// A value of the output that nobody would take.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Where it stands in the output; empty for the output itself.
    pub(crate) path: String,
    /// What it is: `a mapping with the keys a, b`.
    pub(crate) what: String,
}

/// The resources of an output, each with the path of its attributes.
#[derive(Default)]
pub(crate) struct Collected {
    pub(crate) items: Vec<(Value, String)>,
    /// The texts of the model instances that were rendered.
    read: HashSet<String>,
}

impl Collected {
    /// Takes the resources of one document.
    pub(crate) fn document(&mut self, document: Value, path: String) -> Result<(), Lost> {
        match document {
            Value::Null => Ok(()),
            Value::Array(values) => self.list(values, &path),
            Value::Object(map) => self.program(map, path),
            other => Err(lost(path, &other)),
        }
    }

    /// The variables of a program, or a single resource.
    fn program(&mut self, mut map: Map<String, Value>, path: String) -> Result<(), Lost> {
        if let Some(Value::Array(models)) = map.shift_remove(READ) {
            self.read.extend(models.iter().map(Value::to_string));
        }
        let rendered = map.shift_remove(RENDERED);
        if is_resource(&map) {
            // Its fields and the other variables could not be told apart.
            if rendered.is_some() {
                return Err(lost(path, &Value::Object(map)));
            }
            return self.resource(map, path);
        }
        let before = self.items.len();
        let told = rendered.is_some() || map.is_empty() || map.contains_key("resources");
        if let Some(Value::Array(values)) = rendered {
            self.list(values, &under(&path, RENDERED))?;
        }
        let names: Vec<&str> = map.keys().take(6).map(String::as_str).collect();
        let what = format!("a mapping with the keys {}", names.join(", "));
        for (key, value) in map {
            let path = under(&path, &key);
            match value {
                Value::Array(values) if key == "resources" => self.list(values, &path)?,
                Value::Object(_) | Value::Array(_) | Value::Null => self.value(value, path)?,
                single if key == "resources" => return Err(lost(path, &single)),
                _ => {}
            }
        }
        if told || self.items.len() > before { Ok(()) } else { Err(Lost { path, what }) }
    }

    /// A list of resources: whatever stands in it must be one.
    fn list(&mut self, values: Vec<Value>, path: &str) -> Result<(), Lost> {
        for (at, value) in values.into_iter().enumerate() {
            let path = format!("{path}[{at}]");
            match value {
                Value::Null => {}
                Value::Object(_) | Value::Array(_) => self.value(value, path)?,
                single => return Err(lost(path, &single)),
            }
        }
        Ok(())
    }

    /// A value beside others.
    fn value(&mut self, value: Value, path: String) -> Result<(), Lost> {
        if !has_mapping(&value) || self.is_read(&value) {
            return Ok(());
        }
        if !holds_resource(&value) {
            return Err(lost(path, &value));
        }
        match value {
            Value::Object(map) if is_resource(&map) => self.resource(map, path),
            Value::Object(map) => {
                map.into_iter().try_for_each(|(key, value)| self.value(value, under(&path, &key)))
            }
            Value::Array(values) => self.list(values, &path),
            _ => Ok(()),
        }
    }

    fn resource(&mut self, mut map: Map<String, Value>, path: String) -> Result<(), Lost> {
        if !is_manifest(&map) {
            let path = under(&path, "attributes");
            self.items.push((Value::Object(map), path));
            return Ok(());
        }
        if is_list(&map) {
            let values = map.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
            return self.list(values.unwrap_or_default(), &under(&path, "items"));
        }
        self.items.push((Value::Object(map), path));
        Ok(())
    }

    /// Whether a value is an instance that was rendered, or made of nothing else.
    fn is_read(&self, value: &Value) -> bool {
        if self.read.is_empty() {
            return false;
        }
        let all_read = |values: &mut dyn Iterator<Item = &Value>| {
            let mut mappings = values.filter(|value| has_mapping(value)).peekable();
            mappings.peek().is_some() && mappings.all(|value| self.is_read(value))
        };
        match value {
            Value::Object(map) => self.read.contains(&value.to_string()) || all_read(&mut map.values()),
            Value::Array(values) => all_read(&mut values.iter()),
            _ => false,
        }
    }
}

fn under(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Whether a manifest is a list of others: `List`, or what a server answers (`ConfigMapList`).
fn is_list(map: &Map<String, Value>) -> bool {
    let kind = map.get("kind").and_then(Value::as_str).unwrap_or_default();
    let named = map.get("metadata").and_then(|metadata| metadata.get("name")).is_some();
    kind == "List" || (kind.ends_with("List") && !named && map.get("items").is_some_and(Value::is_array))
}

fn is_manifest(map: &Map<String, Value>) -> bool {
    map.contains_key("apiVersion") && map.contains_key("kind")
}

fn is_resource(map: &Map<String, Value>) -> bool {
    is_manifest(map)
        || (map.contains_key("id") && (map.contains_key("attributes") || map.contains_key("type")))
}

/// Whether a value is a resource or has one in it.
fn holds_resource(value: &Value) -> bool {
    match value {
        Value::Object(map) => is_resource(map) || map.values().any(holds_resource),
        Value::Array(values) => values.iter().any(holds_resource),
        _ => false,
    }
}

/// Whether a value is a mapping with something in it, or has one in it: only that can be a resource.
fn has_mapping(value: &Value) -> bool {
    match value {
        Value::Object(map) => !map.is_empty(),
        Value::Array(values) => values.iter().any(has_mapping),
        _ => false,
    }
}

fn lost(path: String, value: &Value) -> Lost {
    let what = match value {
        Value::Object(map) if map.contains_key("apiVersion") => {
            "a mapping with `apiVersion`, but without `kind`".to_owned()
        }
        Value::Object(map) if map.contains_key("kind") => {
            "a mapping with `kind`, but without `apiVersion`".to_owned()
        }
        Value::Object(map) => {
            let keys: Vec<&str> = map.keys().take(6).map(String::as_str).collect();
            format!("a mapping with the keys {}", keys.join(", "))
        }
        Value::Array(_) => "a list of mappings that are none".to_owned(),
        Value::String(_) => "a text".to_owned(),
        Value::Bool(_) => "true or false".to_owned(),
        Value::Number(_) => "a number".to_owned(),
        Value::Null => "nothing".to_owned(),
    };
    Lost { path, what }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn paths(document: Value) -> Result<Vec<String>, Lost> {
        let mut collected = Collected::default();
        collected.document(document, String::new())?;
        Ok(collected.items.into_iter().map(|(_, path)| path).collect())
    }

    fn map(name: &str) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    }

    #[test]
    fn variables_lists_and_mappings_are_taken_beside_resources() {
        let document = json!({
            "resources": [map("a"), null, {"id": "x", "attributes": {}}], "one": map("b"), "replicas": 3, "none": {},
            "group": {"inner": {"c": map("c"), "more": [map("d")], "port": 80}}, "ports": [1, 2],
            "all": {"apiVersion": "v1", "kind": "List", "items": [map("e")]},
        });
        let expected = [
            "resources[0]",
            "resources[2].attributes",
            "one",
            "group.inner.c",
            "group.inner.more[0]",
            "all.items[0]",
        ];
        assert_eq!(paths(document).unwrap(), expected);
        assert_eq!(paths(json!({"resources": null})).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn what_is_no_resource_is_named_wherever_it_stands() {
        let lost = |document: Value| paths(document).unwrap_err();
        assert_eq!(lost(json!({"resources": [map("a")], "labels": {"a": "b"}})).path, "labels");
        assert_eq!(lost(json!({"resources": [map("a"), {"kind": "Pod"}]})).path, "resources[1]");
        assert_eq!(lost(json!({"resources": [map("a"), "x"]})).what, "a text");
        assert_eq!(lost(json!({"resources": "x"})).path, "resources");
        assert_eq!(lost(json!({"group": {"a": map("a"), "b": {"c": {"d": 1}}}})).path, "group.b");
        assert_eq!(lost(json!({"a": 1, "b": 2})).what, "a mapping with the keys a, b");
    }

    #[test]
    fn models_are_used_up_by_the_render_step_and_nothing_else_is() {
        let (web, api) = (json!({"name": "web", "image": "w"}), json!({"name": "api", "image": "a"}));
        let document = |extra: Value| json!({READ: [web, api], RENDERED: [map("a")], "app": web, "more": {"api": api}, "x": extra});
        assert_eq!(paths(document(map("b"))).unwrap(), ["kusionRenderedResources[0]", "x"]);
        assert_eq!(paths(document(json!({"name": "web", "image": "other"}))).unwrap_err().path, "x");
        let mut mixed = document(json!(1));
        mixed["apiVersion"] = json!("v1");
        mixed["kind"] = json!("Namespace");
        assert!(paths(mixed).is_err());
    }
}
