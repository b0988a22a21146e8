//! Apply, then plan again: nothing, for every kind with defaults.

use serde_json::{Value, json};

use crate::lab::Lab;

fn object(api_version: &str, kind: &str, namespace: &str, name: &str, rest: Value) -> Value {
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    if !namespace.is_empty() {
        object["metadata"]["namespace"] = json!(namespace);
    }
    for (key, value) in rest.as_object().unwrap() {
        object[key] = value.clone();
    }
    object
}

fn pod() -> Value {
    json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": "nginx:1",
        "ports": [{"containerPort": 80}], "resources": {"requests": {"cpu": "0.1", "memory": "1024Mi"}, "limits": {"cpu": 1}},
        "env": [{"name": "A", "value": "1"}], "livenessProbe": {"httpGet": {"path": "/", "port": 80}}}]}})
}

pub(crate) fn many_kinds(ns: &str) -> Value {
    let job = json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "m", "image": "b"}]}}}});
    let selector = json!({"matchLabels": {"app": "web"}});
    json!([
        object("v1", "Namespace", "", ns, json!({})),
        object("v1", "ConfigMap", ns, "cm", json!({"data": {"a": "1"}})),
        object("v1", "Secret", ns, "s", json!({"stringData": {"pw": "canary-5150"}, "type": "Opaque"})),
        object("v1", "ServiceAccount", ns, "sa", json!({})),
        object(
            "v1",
            "Service",
            ns,
            "svc",
            json!({"spec": {"selector": {"app": "web"}, "ports": [{"port": 80}]}})
        ),
        object(
            "v1",
            "LimitRange",
            ns,
            "lr",
            json!({"spec": {"limits": [{"type": "Container", "default": {"cpu": "500m"}}]}})
        ),
        object("v1", "ResourceQuota", ns, "rq", json!({"spec": {"hard": {"pods": "100"}}})),
        object(
            "v1",
            "PersistentVolumeClaim",
            ns,
            "pvc",
            json!({"spec": {"accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "standard"}})
        ),
        object(
            "apps/v1",
            "Deployment",
            ns,
            "web",
            json!({"spec": {"replicas": 1, "selector": selector, "template": pod()}})
        ),
        object(
            "apps/v1",
            "StatefulSet",
            ns,
            "db",
            json!({"spec": {"serviceName": "svc", "selector": selector, "template": pod()}})
        ),
        object("apps/v1", "DaemonSet", ns, "ds", json!({"spec": {"selector": selector, "template": pod()}})),
        object("batch/v1", "Job", ns, "job", job.clone()),
        object(
            "batch/v1",
            "CronJob",
            ns,
            "cron",
            json!({"spec": {"schedule": "0 3 * * *", "jobTemplate": {"spec": job["spec"]}}})
        ),
        object(
            "policy/v1",
            "PodDisruptionBudget",
            ns,
            "pdb",
            json!({"spec": {"minAvailable": 1, "selector": selector}})
        ),
        object(
            "autoscaling/v2",
            "HorizontalPodAutoscaler",
            ns,
            "hpa",
            json!({"spec": {"maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
        ),
        object(
            "networking.k8s.io/v1",
            "Ingress",
            ns,
            "ing",
            json!({"spec": {"rules": [{"host": "a.example", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "svc", "port": {"number": 80}}}}]}}]}})
        ),
        object("networking.k8s.io/v1", "NetworkPolicy", ns, "np", json!({"spec": {"podSelector": {}}})),
        object(
            "rbac.authorization.k8s.io/v1",
            "Role",
            ns,
            "system:reader",
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
        ),
        object(
            "rbac.authorization.k8s.io/v1",
            "RoleBinding",
            ns,
            "rb",
            json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io",
            "kind": "Role", "name": "system:reader"}, "subjects": [{"kind": "ServiceAccount", "name": "sa", "namespace": ns}]})
        ),
    ])
}

#[test]
fn plan_right_after_an_apply_is_empty() {
    let Some(lab) = Lab::new() else { return };
    let spec = many_kinds(&lab.namespace);
    let report = lab.apply(&spec);
    assert_eq!(report.tally.create, spec.as_array().unwrap().len());
    assert_eq!(lab.pending(&spec), Vec::<String>::new());
}

#[test]
fn canary_of_a_secret_is_nowhere_on_our_side() {
    let Some(lab) = Lab::new() else { return };
    let mut spec = many_kinds(&lab.namespace);
    lab.apply(&spec);
    spec[2]["stringData"]["pw"] = json!("canary-5151");
    let ready = lab.plan(&spec);
    let step = ready.plan.steps.iter().find(|step| step.key.id.as_str().contains(":Secret:")).unwrap();
    assert!(step.changes.iter().any(|change| change.is_secret()), "{step:?} {:?}", step.changes);
    let mut shown = format!("{} {:?}", ready.plan.to_json(), kusion_model::upstream_view(&ready.plan));
    let (report, events) = lab.execute(&ready);
    shown.push_str(&format!("{report:?} {events:?}"));
    let log = std::fs::read_to_string(lab.store().dir().join("log")).unwrap();
    for canary in ["canary-515", "Y2FuYXJ5LTUxN"] {
        assert!(!shown.contains(canary) && !log.contains(canary), "{canary}");
    }
    let encoded = lab.kubectl(&["get", "secret", "s", "-n", &lab.namespace, "-o", "jsonpath={.data.pw}"]);
    assert_eq!(encoded, "Y2FuYXJ5LTUxNTE=");
}

#[test]
fn definition_and_its_object_are_planned_and_applied_together() {
    let Some(lab) = Lab::new() else { return };
    let group = format!("{}.example.com", lab.namespace);
    let spec = json!([
        object("v1", "Namespace", "", &lab.namespace, json!({})),
        object(&format!("{group}/v1"), "Foo", &lab.namespace, "f", json!({"spec": {"size": 3}})),
        object(
            "apiextensions.k8s.io/v1",
            "CustomResourceDefinition",
            "",
            &format!("foos.{group}"),
            json!({"spec": {
            "group": group, "scope": "Namespaced", "names": {"kind": "Foo", "plural": "foos", "singular": "foo", "listKind": "FooList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object",
                "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}, "colour": {"type": "string", "default": "red"}}}}}}}]}})
        ),
    ]);
    lab.apply(&spec);
    assert_eq!(lab.pending(&spec), Vec::<String>::new());
    lab.apply(&json!([]));
}
