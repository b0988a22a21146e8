//! Worked examples of custom resources.

use serde_json::{Value, json};

use super::*;

fn crd(spec: Value) -> Value {
    json!({"spec": {"group": "ex.io", "scope": "Namespaced", "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}}]}})
}

#[test]
fn unknown_fields_go_unless_they_are_preserved() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "properties": {
        "a": {"type": "integer"}, "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}});
    let mut object = json!({"apiVersion": "x", "metadata": {"name": "n"}, "spec": {"a": 1, "b": 2, "free": {"z": {"y": 1}}}, "top": 1});
    assert_eq!(unknown_fields(&schema, &object), ["spec.b", "top"]);
    prune(&schema, &mut object);
    assert_eq!(
        object,
        json!({"apiVersion": "x", "metadata": {"name": "n"}, "spec": {"a": 1, "free": {"z": {"y": 1}}}})
    );
}

#[test]
fn defaults_fill_absent_fields_and_nulls_follow_nullable() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3},
        "n": {"type": "string", "nullable": true}, "x": {"type": "string"},
        "nested": {"type": "object", "default": {}, "properties": {"b": {"type": "string", "default": "q"}}}}});
    let mut object = json!({"a": null, "n": null, "x": null});
    drop_nulls(&schema, &mut object);
    fill_defaults(&schema, &mut object);
    assert_eq!(object, json!({"a": 3, "n": null, "nested": {"b": "q"}}));
}

#[test]
fn the_schema_has_list_keys_and_key_defaults() {
    let spec = json!({"type": "object", "properties": {
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name", "proto"],
            "items": {"type": "object", "properties": {"name": {"type": "string"}, "proto": {"type": "string", "default": "TCP"}, "v": {"type": "integer"}}}},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "amap": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}}}});
    let schema = schema_of(&crd(spec)).unwrap();
    let widget = schema.resource("ex.io", "v1", "Widget").unwrap();
    let object = json!({"spec": {"set": ["x", "y"], "map": [{"name": "a", "v": 1}], "free": {"z": {"y": 1}}, "amap": {"q": "r"}}});
    let set = crate::typed::collect(&schema, &widget.ty, &object);
    let want = json!({"f:spec": {"f:amap": {}, "f:free": {"f:z": {".": {}, "f:y": {}}},
        "f:map": {"k:{\"name\":\"a\",\"proto\":\"TCP\"}": {".": {}, "f:name": {}, "f:v": {}}}, "f:set": {"v:\"x\"": {}, "v:\"y\"": {}}}});
    assert_eq!(set.to_json().to_string(), want.to_string());
}

#[test]
fn values_are_checked_with_typed_causes_and_rules_last() {
    let schema = json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"],
        "x-kubernetes-validations": [{"rule": "self.size > 1", "message": "too small", "fieldPath": ".size"}],
        "properties": {"size": {"type": "integer", "minimum": 1}, "color": {"type": "string", "enum": ["red"]}}}}});
    let causes = check_values(&schema, &json!({"spec": {"size": "x", "color": "blue"}}), None, None);
    let reasons: Vec<&str> = causes.iter().map(|c| c.reason).collect();
    assert_eq!(reasons, ["FieldValueTypeInvalid", "FieldValueNotSupported", "FieldValueInvalid"]);
    assert_eq!(
        causes[0].message,
        "Invalid value: \"string\": spec.size in body must be of type integer: \"string\""
    );
    assert_eq!(causes[2].field, "<nil>");
    let broken = check_values(&schema, &json!({"spec": {"size": 1}}), None, Some(&|_, _, _| Ok(false)));
    assert_eq!(
        (broken[0].field.as_str(), broken[0].message.as_str()),
        ("spec.size", "Invalid value: \"object\": too small")
    );
}
