//! Worked examples of the primitives on built-in types.

use serde_json::{Value, json};

use super::*;
use crate::builtin::builtin;
use crate::schema::Ty;

fn deployment() -> &'static Ty {
    &builtin().resource("apps", "v1", "Deployment").unwrap().ty
}

fn names(list: &[&str]) -> Value {
    let containers: Vec<Value> = list.iter().map(|n| json!({"name": n})).collect();
    json!({"spec": {"template": {"spec": {"containers": containers}}}})
}

fn merged_order(live: &[&str], applied: &[&str]) -> Vec<String> {
    let mut value = names(live);
    merge_into(builtin(), deployment(), &mut value, &names(applied));
    let list = value["spec"]["template"]["spec"]["containers"].as_array().unwrap();
    list.iter().map(|c| c["name"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn list_order_follows_the_applied_items_and_keeps_live_ones_before_their_successor() {
    assert_eq!(merged_order(&["B", "D"], &["A", "D", "C", "B"]), ["A", "D", "C", "B"]);
    assert_eq!(merged_order(&["A", "D", "C", "B"], &["B", "D", "E"]), ["A", "C", "B", "D", "E"]);
    assert_eq!(merged_order(&["A", "C", "B", "D", "E"], &["E", "B"]), ["A", "C", "D", "E", "B"]);
}

#[test]
fn an_applied_object_owns_its_leaves_items_and_key_defaults() {
    let applied = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}},
        "template": {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [
            {"name": "c", "image": "i", "ports": [{"containerPort": 80}], "env": [{"name": "A", "value": "1"}]}]}}}});
    let want = json!({"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:replicas":{},"f:selector":{},
        "f:template":{"f:metadata":{"f:labels":{"f:app":{}}},"f:spec":{"f:containers":{"k:{\"name\":\"c\"}":{".":{},
        "f:env":{"k:{\"name\":\"A\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},"f:name":{},
        "f:ports":{"k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{}}}}}}}}});
    assert_eq!(collect(builtin(), deployment(), &applied).to_json().to_string(), want.to_string());
}

#[test]
fn type_errors_have_the_servers_words() {
    let bad =
        |value: Value| check(builtin(), deployment(), &value, Duplicates::Refused).unwrap_err().to_string();
    assert_eq!(bad(json!({"spec": {"bogus": 1}})), ".spec.bogus: field not declared in schema");
    assert_eq!(
        bad(json!({"spec": {"replicas": "x"}})),
        ".spec.replicas: expected numeric (int or float), got string"
    );
    assert_eq!(
        bad(names(&["q", "q"])),
        ".spec.template.spec.containers: duplicate entries for key [name=\"q\"]"
    );
}

#[test]
fn comparison_tells_added_changed_and_removed_items_apart() {
    let old = names(&["a", "b"]);
    let mut new = names(&["c", "b"]);
    new["spec"]["template"]["spec"]["containers"][1]["image"] = json!("x");
    let diff = compare(builtin(), deployment(), &old, &new);
    let at = |set: &crate::fieldset::FieldSet| -> Vec<String> {
        set.paths().iter().map(|p| crate::elem::path_text(p)).collect()
    };
    let base = ".spec.template.spec.containers";
    assert_eq!(
        at(&diff.added),
        [
            format!("{base}[name=\"c\"]"),
            format!("{base}[name=\"b\"].image"),
            format!("{base}[name=\"c\"].name")
        ]
    );
    assert_eq!(at(&diff.removed), [format!("{base}[name=\"a\"]"), format!("{base}[name=\"a\"].name")]);
    assert!(diff.modified.is_empty());
}
