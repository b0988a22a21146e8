//! The worked examples of server-side apply, as seen on a real server.

use kube_meaning::write::Verb;
use serde_json::{Value, json};

use crate::world::OneObject;

fn deployment(spec: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec})
}

fn full(replicas: Option<i64>) -> Value {
    let mut body = deployment(
        json!({"selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]}}}),
    );
    body["metadata"]["labels"] = json!({"app": "x"});
    if let Some(replicas) = replicas {
        body["spec"]["replicas"] = json!(replicas);
    }
    body
}

fn replicas(n: i64) -> Value {
    deployment(json!({"replicas": n}))
}

#[test]
fn ownership_is_shared_forced_dropped_and_taken_by_updates() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    assert!(world.apply("m1", &full(Some(2))).unwrap().created);
    let first = world.object().clone();
    assert!(world.apply("m1", &full(Some(2))).unwrap().unchanged);
    assert_eq!(world.object(), &first);

    // An equal value is shared; the new entry has no time and the generation stays.
    assert!(!world.apply("m2", &replicas(2)).unwrap().unchanged);
    assert_eq!((world.fields("m2").as_str(), world.time("m2")), (r#"{"f:spec":{"f:replicas":{}}}"#, None));
    assert_eq!(world.object()["metadata"]["generation"], 1);

    let refusal = world.apply("m2", &replicas(3)).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (409, "Apply failed with 1 conflict: conflict with \"m1\": .spec.replicas")
    );
    assert_eq!(refusal.causes[0].message, "conflict with \"m1\"");
    world.force("m2", &replicas(3));
    assert_eq!(world.object()["metadata"]["generation"], 2);
    assert!(!world.fields("m1").contains("f:replicas") && world.time("m2").is_some());
    assert_eq!(world.apply("m1", &full(Some(2))).unwrap_err().causes[0].field, ".spec.replicas");

    // A field that another manager owns stays when it is dropped; the last owner's drop brings the default back.
    world.apply("m1", &full(None)).unwrap();
    assert_eq!(world.object()["spec"]["replicas"], 3);
    let mut empty = deployment(json!({}));
    empty.as_object_mut().unwrap().shift_remove("spec");
    world.apply("m2", &empty).unwrap();
    assert_eq!((world.object()["spec"]["replicas"].clone(), world.entry("m2")), (json!(1), None));
}

#[test]
fn an_update_takes_the_field_and_the_next_apply_conflicts_with_its_version_named() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    world.apply("m1", &full(Some(2))).unwrap();
    let before = world.time("m1").unwrap().to_owned();
    let mut put = world.object().clone();
    put["spec"]["replicas"] = json!(5);
    world.put("upd", Verb::Update(&put), false).unwrap();
    assert_eq!(world.fields("upd"), r#"{"f:spec":{"f:replicas":{}}}"#);
    let refusal = world.apply("m1", &full(Some(2))).unwrap_err();
    assert_eq!(
        refusal.message,
        "Apply failed with 1 conflict: conflict with \"upd\" using apps/v1: .spec.replicas"
    );
    world.apply("m1", &full(Some(5))).unwrap();
    assert_eq!(world.time("m1"), Some(before.as_str()));
    world.apply("m1", &full(None)).unwrap();
    assert_eq!(world.object()["spec"]["replicas"], 5);
}

#[test]
fn ports_merge_by_number_and_protocol() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    let ports = |list: Value| {
        let mut body = full(None);
        body["spec"]["template"]["spec"]["containers"][0]["ports"] = list;
        body
    };
    world.apply("m1", &ports(json!([{"containerPort": 80}]))).unwrap();
    let both = deployment(
        json!({"template": {"spec": {"containers": [{"name": "c", "ports": [{"containerPort": 80, "name": "http"}, {"containerPort": 443, "protocol": "TCP"}]}]}}}),
    );
    world.apply("m2", &both).unwrap();
    let fields = world.fields("m2");
    assert!(
        fields.contains(
            r#""k:{\"containerPort\":80,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:name":{}}"#
        ),
        "{fields}"
    );
    assert!(fields.contains(r#""k:{\"containerPort\":443,\"protocol\":\"TCP\"}":{".":{},"f:containerPort":{},"f:protocol":{}}"#), "{fields}");
    let live = &world.object()["spec"]["template"]["spec"]["containers"][0]["ports"];
    assert_eq!(live.as_array().unwrap().len(), 2);
}

#[test]
fn atomic_selectors_conflict_as_a_whole() {
    let service =
        |spec: Value| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}, "spec": spec});
    let mut world = OneObject::new("", "v1", "Service");
    world.apply("m1", &service(json!({"ports": [{"port": 80}], "selector": {"a": "b"}}))).unwrap();
    assert_eq!(
        world.fields("m1"),
        r#"{"f:spec":{"f:ports":{"k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{}}},"f:selector":{}}}"#
    );
    let other = service(json!({"selector": {"c": "d"}}));
    assert_eq!(world.apply("m3", &other).unwrap_err().causes[0].field, ".spec.selector");
    world.force("m3", &other);
    assert_eq!(world.object()["spec"]["selector"], json!({"c": "d"}));
}

#[test]
fn finalizers_are_a_set() {
    let config = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "finalizers": finalizers}});
    let mut world = OneObject::new("", "v1", "ConfigMap");
    world.apply("m1", &config(json!(["a.b/x"]))).unwrap();
    world.apply("m2", &config(json!(["a.b/y"]))).unwrap();
    assert_eq!(world.fields("m2"), r#"{"f:metadata":{"f:finalizers":{"v:\"a.b/y\"":{}}}}"#);
    world.apply("m1", &config(Value::Null)).unwrap();
    assert_eq!(world.object()["metadata"]["finalizers"], json!(["a.b/y"]));
}

#[test]
fn an_apply_in_a_newer_version_replaces_the_managers_entry() {
    let meta = json!({"name": "h"});
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"});
    let v1 = json!({"apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": meta,
        "spec": {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}});
    let metric = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}});
    let v2 = json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": meta,
        "spec": {"maxReplicas": 3, "scaleTargetRef": target, "metrics": [metric]}});
    let mut world = OneObject::new("autoscaling", "v1", "HorizontalPodAutoscaler");
    world.apply("m1", &v1).unwrap();
    // The store converts: what was written through v1 is read through v2.
    let mut stored = world.object().clone();
    stored["apiVersion"] = json!("autoscaling/v2");
    let spec = stored["spec"].as_object_mut().unwrap();
    spec.shift_remove("targetCPUUtilizationPercentage");
    spec.insert("metrics".to_owned(), json!([metric]));
    world.live = Some(stored);
    world.in_version("v2").apply("m1", &v2).unwrap();
    assert_eq!(world.object()["metadata"]["managedFields"].as_array().unwrap().len(), 1);
    assert_eq!(world.entry("m1").unwrap()["apiVersion"], "autoscaling/v2");
    assert_eq!(
        world.fields("m1"),
        r#"{"f:spec":{"f:maxReplicas":{},"f:metrics":{},"f:scaleTargetRef":{"f:apiVersion":{},"f:kind":{},"f:name":{}}}}"#
    );
}

#[test]
fn many_updaters_are_folded_into_ancient_changes() {
    let mut world = OneObject::new("", "v1", "ConfigMap");
    let create =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "0"}});
    world.put("first", Verb::Create(&create), false).unwrap();
    for n in 0..13 {
        let patch = json!({"data": {format!("k{n}"): "v"}});
        world.put(&format!("u{n}"), Verb::MergePatch(&patch), false).unwrap();
    }
    let entries = world.object()["metadata"]["managedFields"].as_array().unwrap();
    let names: Vec<&str> = entries.iter().map(|e| e["manager"].as_str().unwrap()).collect();
    assert_eq!(names, ["ancient-changes", "u4", "u5", "u6", "u7", "u8", "u9", "u10", "u11", "u12"]);
    assert!(world.fields("ancient-changes").contains("f:k3"));
}

#[test]
fn cleared_tracking_starts_again_with_the_next_apply() {
    let mut world = OneObject::new("", "v1", "ConfigMap");
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    world.apply("m1", &config).unwrap();
    world.put("x", Verb::MergePatch(&json!({"metadata": {"managedFields": [{}]}})), false).unwrap();
    assert!(world.object()["metadata"].get("managedFields").is_none());
    world.put("x", Verb::MergePatch(&json!({"data": {"b": "2"}})), false).unwrap();
    assert!(world.object()["metadata"].get("managedFields").is_none());
    world.apply("m1", &config).unwrap();
    assert_eq!(world.entry("before-first-apply").unwrap()["operation"], "Update");
    assert_eq!(world.fields("before-first-apply"), r#"{"f:data":{".":{},"f:a":{},"f:b":{}}}"#);
}

#[test]
fn several_conflicts_are_grouped_by_manager() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    world.apply("m1", &full(Some(2))).unwrap();
    world.through("scale").put("sa", Verb::MergePatch(&json!({"spec": {"replicas": 4}})), false).unwrap();
    assert_eq!((world.entry("sa").unwrap()["subresource"].as_str(), world.time("sa")), (Some("scale"), None));
    let mut other = full(Some(7));
    other["metadata"]["labels"]["app"] = json!("y");
    other["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
    let refusal = world.through("").apply("m2", &other).unwrap_err();
    assert_eq!(
        refusal.message,
        "Apply failed with 3 conflicts: conflicts with \"m1\":\n- .metadata.labels.app\n- .spec.template.spec.containers[name=\"c\"].image\nconflicts with \"sa\" with subresource \"scale\" using apps/v1:\n- .spec.replicas"
    );
}

#[test]
fn client_side_applied_objects_move_to_kubectl_without_conflict() {
    let mut world = OneObject::new("", "v1", "ConfigMap");
    let config =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    let mut create = config.clone();
    create["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": config.to_string()});
    world.put("kubectl-client-side-apply", Verb::Create(&create), false).unwrap();
    let mut changed = config.clone();
    changed["data"]["a"] = json!("2");
    let refusal = world.apply("other", &changed).unwrap_err();
    assert_eq!(refusal.causes[0].message, "conflict with \"kubectl-client-side-apply\" using v1");
    world.apply("kubectl", &changed).unwrap();
    assert_eq!(world.object()["data"]["a"], "2");
    let annotation =
        &world.object()["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    assert!(annotation.as_str().unwrap().contains("\"a\":\"2\""));
}

#[test]
fn bodies_that_apply_cannot_take_are_refused_with_the_servers_code() {
    let mut world = OneObject::new("apps", "v1", "Deployment");
    let mut body = full(None);
    body["metadata"]["managedFields"] = json!([]);
    assert_eq!(world.apply("m", &body).unwrap_err().message, "metadata.managedFields must be nil");
    let mut wrong = full(None);
    wrong["apiVersion"] = json!("apps/v1beta1");
    let refusal = world.apply("m", &wrong).unwrap_err();
    assert_eq!(
        (refusal.code, refusal.message.as_str()),
        (400, "invalid object type: apps/v1beta1, Kind=Deployment")
    );
    let unknown = world.apply("m", &deployment(json!({"bogus": 1}))).unwrap_err();
    assert_eq!((unknown.code, unknown.reason), (500, ""));
    assert_eq!(
        unknown.message,
        "failed to create typed patch object (/d; apps/v1, Kind=Deployment): .spec.bogus: field not declared in schema"
    );
}
