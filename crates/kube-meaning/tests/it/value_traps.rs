//! Values with traps: nulls, empty maps, text secrets, differently spelled quantities.

use kube_meaning::write::Verb;
use serde_json::json;

use crate::world::OneObject;

#[test]
fn a_null_label_is_owned_and_stored_as_the_empty_string() {
    let mut world = OneObject::new("", "v1", "ConfigMap");
    world.apply("m", &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "labels": {"b": null}}})).unwrap();
    assert_eq!(world.object()["metadata"]["labels"], json!({"b": ""}));
    assert_eq!(world.fields("m"), r#"{"f:metadata":{"f:labels":{"f:b":{}}}}"#);
}

#[test]
fn empty_maps_own_themselves_and_leave_other_keys_alone() {
    let mut world = OneObject::new("", "v1", "ConfigMap");
    let config =
        |data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": data});
    world.apply("m1", &config(json!({"a": "1"}))).unwrap();
    world.apply("m2", &config(json!({}))).unwrap();
    assert_eq!(
        (world.fields("m2").as_str(), world.object()["data"].clone()),
        (r#"{"f:data":{}}"#, json!({"a": "1"}))
    );
}

#[test]
fn text_secrets_own_their_text_and_dropping_it_leaves_the_data() {
    let secret = |more: serde_json::Value| {
        let mut body = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}});
        body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        body
    };
    let mut world = OneObject::new("", "v1", "Secret");
    let body = secret(json!({"stringData": {"a": "b"}}));
    world.apply("m", &body).unwrap();
    assert_eq!(world.fields("m"), r#"{"f:stringData":{"f:a":{}}}"#);
    assert_eq!(
        (world.object()["data"]["a"].clone(), world.object().get("stringData")),
        (json!("Yg=="), None)
    );
    assert!(world.apply("m", &body).unwrap().unchanged);
    world.apply("m", &secret(json!({}))).unwrap();
    assert_eq!(world.object()["data"]["a"], "Yg==");
}

#[test]
fn a_quantity_spelled_differently_by_the_same_manager_is_no_change() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    let body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"paused": null,
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}}]}}}});
    world.apply("m", &body).unwrap();
    assert!(world.fields("m").contains("f:paused") && world.object()["spec"].get("paused").is_none());
    assert!(world.apply("m", &body).unwrap().unchanged);
}

#[test]
fn status_belongs_to_its_own_path() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    let mut body = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {
        "selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    body["status"] = json!({"replicas": 9});
    world.apply("m", &body).unwrap();
    assert!(!world.fields("m").contains("status") && world.object()["status"] == json!({}));
    let patch =
        json!({"metadata": {"labels": {"x": "y"}}, "spec": {"replicas": 8}, "status": {"replicas": 3}});
    world.through("status").put("kcm", Verb::MergePatch(&patch), false).unwrap();
    assert_eq!(
        (world.object()["status"]["replicas"].clone(), world.object()["spec"]["replicas"].clone()),
        (json!(3), json!(1))
    );
    assert_eq!(world.fields("kcm"), r#"{"f:status":{"f:replicas":{}}}"#);
    assert_eq!(world.object()["metadata"]["generation"], 1);
}
