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

/// Kinds outside of the everyday ones; cluster-scoped ones carry the lab's name.
fn more_kinds(ns: &str) -> Value {
    let rbac = "rbac.authorization.k8s.io/v1";
    let admission = "admissionregistration.k8s.io/v1";
    let selector = json!({"matchLabels": {"app": "other"}});
    let other = json!({"metadata": {"labels": {"app": "other"}}, "spec": {"containers": [{"name": "m", "image": "b"}]}});
    let hook = json!({"webhooks": [{"name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Ignore", "clientConfig": {"url": "https://127.0.0.1:9/x"},
        "namespaceSelector": {"matchLabels": {"no": "where"}},
        "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}]}]});
    let policy = json!({"spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"],
        "operations": ["CREATE"], "resources": ["things"]}]}, "validations": [{"expression": "true"}]}});
    json!([
        object("v1", "Namespace", "", ns, json!({})),
        object(
            rbac,
            "ClusterRole",
            "",
            &format!("{ns}:reader"),
            json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]})
        ),
        object(
            rbac,
            "ClusterRoleBinding",
            "",
            ns,
            json!({"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": format!("{ns}:reader")}, "subjects": [{"kind": "User", "name": "jane", "apiGroup": "rbac.authorization.k8s.io"}]})
        ),
        object("storage.k8s.io/v1", "StorageClass", "", ns, json!({"provisioner": "example.com/none"})),
        object(
            "storage.k8s.io/v1",
            "CSIDriver",
            "",
            &format!("{ns}.example.com"),
            json!({"spec": {"attachRequired": false}})
        ),
        object(
            "storage.k8s.io/v1",
            "VolumeAttributesClass",
            "",
            ns,
            json!({"driverName": "example.com", "parameters": {"a": "b"}})
        ),
        object("scheduling.k8s.io/v1", "PriorityClass", "", ns, json!({"value": 10})),
        object("node.k8s.io/v1", "RuntimeClass", "", ns, json!({"handler": "runc"})),
        object(
            "networking.k8s.io/v1",
            "IngressClass",
            "",
            ns,
            json!({"spec": {"controller": "example.com/c"}})
        ),
        object(
            "v1",
            "PersistentVolume",
            "",
            ns,
            json!({"spec": {"capacity": {"storage": "1024Mi"}, "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/tmp/x"}, "storageClassName": "none"}})
        ),
        object(admission, "ValidatingWebhookConfiguration", "", ns, hook.clone()),
        object(admission, "MutatingWebhookConfiguration", "", ns, hook),
        object(admission, "ValidatingAdmissionPolicy", "", ns, policy),
        object(
            admission,
            "ValidatingAdmissionPolicyBinding",
            "",
            ns,
            json!({"spec": {"policyName": ns, "validationActions": ["Audit"]}})
        ),
        object(
            "flowcontrol.apiserver.k8s.io/v1",
            "PriorityLevelConfiguration",
            "",
            ns,
            json!({"spec": {"type": "Limited",
            "limited": {"limitResponse": {"type": "Reject"}}}})
        ),
        object(
            "flowcontrol.apiserver.k8s.io/v1",
            "FlowSchema",
            "",
            ns,
            json!({"spec": {"priorityLevelConfiguration": {"name": ns},
            "rules": [{"subjects": [{"kind": "User", "user": {"name": "nobody"}}], "nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}]}})
        ),
        object("v1", "PodTemplate", ns, "pt", json!({"template": other})),
        object("v1", "Pod", ns, "pod", json!({"spec": other["spec"]})),
        object(
            "apps/v1",
            "ReplicaSet",
            ns,
            "rs",
            json!({"spec": {"replicas": 0, "selector": selector, "template": other}})
        ),
        object(
            "v1",
            "ReplicationController",
            ns,
            "rc",
            json!({"spec": {"replicas": 0, "selector": {"app": "other"}, "template": other}})
        ),
        object("apps/v1", "ControllerRevision", ns, "cr", json!({"revision": 1, "data": {"a": 1}})),
        object("coordination.k8s.io/v1", "Lease", ns, "lease", json!({"spec": {"leaseDurationSeconds": 30}})),
        object(
            "discovery.k8s.io/v1",
            "EndpointSlice",
            ns,
            "es",
            json!({"addressType": "IPv4", "endpoints": [{"addresses": ["10.1.2.3"]}],
            "ports": [{"port": 80}]})
        ),
        object(
            "v1",
            "Endpoints",
            ns,
            "ep",
            json!({"subsets": [{"addresses": [{"ip": "10.1.2.3"}], "ports": [{"port": 80}]}]})
        ),
        object(
            "v1",
            "Event",
            ns,
            "ev",
            json!({"involvedObject": {"kind": "Pod", "namespace": ns, "name": "pod"}, "reason": "X", "message": "y"})
        ),
        object(
            "autoscaling/v1",
            "HorizontalPodAutoscaler",
            ns,
            "hpa1",
            json!({"spec": {"maxReplicas": 3, "targetCPUUtilizationPercentage": 50,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "rs"}}})
        ),
        object(
            "resource.k8s.io/v1",
            "DeviceClass",
            "",
            ns,
            json!({"spec": {"selectors": [{"cel": {"expression": "true"}}]}})
        ),
        object(
            "resource.k8s.io/v1",
            "ResourceClaimTemplate",
            ns,
            "rct",
            json!({"spec": {"spec": {"devices": {"requests": [
            {"name": "r", "exactly": {"deviceClassName": ns}}]}}}})
        ),
        object(
            "resource.k8s.io/v1",
            "ResourceClaim",
            ns,
            "rclaim",
            json!({"spec": {"devices": {"requests": [
            {"name": "r", "exactly": {"deviceClassName": ns}}]}}})
        ),
    ])
}

#[test]
fn plan_right_after_an_apply_of_rarer_kinds_is_empty() {
    let Some(lab) = Lab::new() else { return };
    let spec = more_kinds(&lab.namespace);
    lab.apply(&spec);
    assert_eq!(lab.pending(&spec), Vec::<String>::new());
    let report = lab.apply(&json!([]));
    assert_eq!(report.tally.delete, spec.as_array().unwrap().len());
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
    let log = std::fs::read_to_string(lab.store().place().join("log")).unwrap();
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
