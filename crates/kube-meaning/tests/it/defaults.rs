//! Minimal objects come back with the server's defaults.

use kube_meaning::{builtin, decode::decode, ssa::Target};
use serde_json::{Value, json};

fn decoded(group: &str, version: &str, kind: &str, body: Value) -> Value {
    let resource = builtin().resource(group, version, kind).unwrap();
    decode(Target::main(builtin(), resource), body).unwrap()
}

#[test]
fn a_minimal_deployment() {
    let out = decoded(
        "apps",
        "v1",
        "Deployment",
        json!({"metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"serviceAccountName": "sa", "containers": [{"name": "c", "image": "nginx",
            "env": [{"name": "E", "value": ""}], "livenessProbe": {"httpGet": {"port": 80}}}], "volumes": [{"name": "v"}]}}}}),
    );
    assert_eq!(
        out["spec"]["strategy"],
        json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}})
    );
    assert_eq!(
        (&out["spec"]["replicas"], &out["spec"]["revisionHistoryLimit"], &out["status"]),
        (&json!(1), &json!(10), &json!({}))
    );
    let pod = &out["spec"]["template"]["spec"];
    assert_eq!(
        (&pod["serviceAccount"], &pod["volumes"][0]["emptyDir"], &pod["securityContext"]),
        (&json!("sa"), &json!({}), &json!({}))
    );
    let container = &pod["containers"][0];
    assert_eq!(
        (&container["imagePullPolicy"], &container["resources"], &container["env"][0]),
        (&json!("Always"), &json!({}), &json!({"name": "E"}))
    );
    assert_eq!(
        container["livenessProbe"],
        json!({"httpGet": {"path": "/", "port": 80, "scheme": "HTTP"}, "timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3})
    );
}

#[test]
fn kinds_are_filled_as_the_server_fills_them() {
    let job = decoded(
        "batch",
        "v1",
        "Job",
        json!({"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": []}}}}),
    );
    assert_eq!(
        (&job["spec"]["completions"], &job["spec"]["backoffLimit"], &job["spec"]["podReplacementPolicy"]),
        (&json!(1), &json!(6), &json!("TerminatingOrFailed"))
    );
    let cron = decoded(
        "batch",
        "v1",
        "CronJob",
        json!({"spec": {"schedule": "* * * * *", "jobTemplate": {"spec": {"template": {"spec": {}}}}}}),
    );
    assert_eq!(
        (&cron["spec"]["concurrencyPolicy"], cron["spec"]["jobTemplate"]["spec"].get("parallelism")),
        (&json!("Allow"), None)
    );
    assert_eq!(cron["spec"]["jobTemplate"]["metadata"], json!({}));
    let hpa = decoded(
        "autoscaling",
        "v2",
        "HorizontalPodAutoscaler",
        json!({"spec": {"maxReplicas": 3, "scaleTargetRef": {"kind": "D", "name": "d"}}}),
    );
    assert_eq!(
        (
            &hpa["spec"]["metrics"][0]["resource"]["target"]["averageUtilization"],
            &hpa["status"]["currentMetrics"]
        ),
        (&json!(80), &Value::Null)
    );
    let policy = decoded(
        "networking.k8s.io",
        "v1",
        "NetworkPolicy",
        json!({"spec": {"podSelector": {}, "egress": [{"ports": [{"port": 53}]}]}}),
    );
    assert_eq!(
        (&policy["spec"]["policyTypes"], &policy["spec"]["egress"][0]["ports"][0]["protocol"]),
        (&json!(["Ingress", "Egress"]), &json!("TCP"))
    );
    let binding = decoded(
        "rbac.authorization.k8s.io",
        "v1",
        "RoleBinding",
        json!({"roleRef": {"kind": "Role", "name": "r"}, "subjects": [{"kind": "User", "name": "u"}, {"kind": "ServiceAccount", "name": "s"}]}),
    );
    assert_eq!(
        (&binding["roleRef"]["apiGroup"], binding["subjects"][1].get("apiGroup")),
        (&json!("rbac.authorization.k8s.io"), None)
    );
    let claim = decoded(
        "",
        "v1",
        "PersistentVolumeClaim",
        json!({"spec": {"resources": {"requests": {"storage": "1024Mi"}}}}),
    );
    assert_eq!(
        (
            &claim["spec"]["volumeMode"],
            &claim["spec"]["resources"]["requests"]["storage"],
            &claim["status"]["phase"]
        ),
        (&json!("Filesystem"), &json!("1Gi"), &json!("Pending"))
    );
    let pod = decoded(
        "",
        "v1",
        "Pod",
        json!({"spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "0.5"}}}]}}),
    );
    assert_eq!(
        (&pod["spec"]["containers"][0]["resources"]["requests"]["cpu"], &pod["spec"]["enableServiceLinks"]),
        (&json!("500m"), &json!(true))
    );
}

#[test]
fn decoding_is_idempotent_for_every_kind() {
    for resource in builtin().resources() {
        let target = Target::main(builtin(), resource);
        let once = decode(target, json!({"metadata": {"name": "x"}, "spec": {}})).unwrap();
        assert_eq!(decode(target, once.clone()).unwrap(), once, "{}", resource.kind);
    }
}
