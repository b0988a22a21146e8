//! Objects and Specs of the tests.

use serde_json::{Value, json};

pub(crate) fn id(object: &Value) -> String {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let parts = [text("/apiVersion"), text("/kind"), text("/metadata/namespace"), text("/metadata/name")];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(":")
}

pub(crate) fn spec(objects: &[Value]) -> Value {
    let resource = |object: &Value| json!({"id": id(object), "type": "Kubernetes", "attributes": object});
    json!({"resources": objects.iter().map(resource).collect::<Vec<_>>()})
}

/// Adds explicit edges to a Spec: (who, what it needs), both by name of a ConfigMap.
pub(crate) fn with_needs(mut spec: Value, needs: &[(&str, &[&str])]) -> Value {
    for resource in spec["resources"].as_array_mut().unwrap() {
        let name = resource["attributes"]["metadata"]["name"].as_str().unwrap().to_owned();
        if let Some((_, on)) = needs.iter().find(|(who, _)| *who == name) {
            resource["dependsOn"] = on.iter().map(|on| format!("v1:ConfigMap:lab:{on}")).collect();
        }
    }
    spec
}

pub(crate) fn namespace() -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "lab"}})
}

pub(crate) fn config_map(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "lab"}, "data": {"v": value}})
}

pub(crate) fn secret(name: &str, value: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "lab"}, "data": {"pw": value}})
}

pub(crate) fn deployment(name: &str, image: &str) -> Value {
    let labels = json!({"app": name});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "lab"}, "spec": {
        "replicas": 2, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "main", "image": image}]}}}})
}

/// Its template cannot be changed: another image is a replacement.
pub(crate) fn job(name: &str, image: &str) -> Value {
    let annotations = json!({"sandbox.kusion.io/exit-after": "500ms"});
    json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "lab"}, "spec": {
        "template": {"metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": image}]}}}})
}

pub(crate) fn service(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "lab"},
        "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}})
}

/// Ten resources: a namespace, four ConfigMaps, a Secret, two workloads, a Job and a Service.
pub(crate) fn ten(value: &str) -> Value {
    let mut objects = vec![namespace(), secret("s", "MQ==")];
    objects.extend((0..4).map(|n| config_map(&format!("c{n}"), value)));
    objects.extend([deployment("web", "web:v1"), deployment("api", "api:v1"), job("setup", "setup:v1")]);
    objects.push(service("web"));
    spec(&objects)
}

/// What the ten become: some changed, some gone, one replaced, one new.
pub(crate) fn others() -> Value {
    let objects = [
        namespace(),
        secret("s", "MQ=="),
        config_map("c0", "2"),
        config_map("c1", "1"),
        config_map("new", "1"),
        deployment("web", "web:v2"),
        job("setup", "setup:v2"),
    ];
    spec(&objects)
}

/// A namespace and ten ConfigMaps `m0` to `m9`: two roots, a chain, a fan.
pub(crate) fn graph(value: &str) -> Value {
    let mut objects = vec![namespace()];
    objects.extend((0..10).map(|n| config_map(&format!("m{n}"), value)));
    let needs: [(&str, &[&str]); 8] = [
        ("m1", &["m0"]),
        ("m2", &["m1"]),
        ("m3", &["m2"]),
        ("m4", &["m0"]),
        ("m5", &["m0"]),
        ("m6", &["m4", "m5"]),
        ("m8", &["m7"]),
        ("m9", &["m3", "m8"]),
    ];
    with_needs(spec(&objects), &needs)
}
