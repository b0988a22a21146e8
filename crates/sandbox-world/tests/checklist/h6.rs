//! H6: behaviour of kinds.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check, deployment, has_cause};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (97, h097),
    (98, h098),
    (99, h099),
    (100, h100),
    (101, h101),
    (102, h102),
    (103, h103),
    (104, h104),
    (105, h105),
    (106, h106),
    (107, h107),
    (108, h108),
    (109, h109),
    (110, h110),
];

/// Whether every value of `wanted` is in `found`.
fn within(found: &Value, wanted: &Value, path: &str) -> Check {
    match wanted {
        Value::Object(map) => {
            map.iter().try_for_each(|(key, value)| within(&found[key], value, &format!("{path}.{key}")))
        }
        _ => {
            ensure!(found == wanted, "{path}: {found} instead of {wanted}");
            Ok(())
        }
    }
}

fn template() -> Value {
    json!({"metadata": {"labels": {"app": "a"}}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}})
}

fn h097(ask: &Ask<'_>) -> Check {
    let pod_defaults = json!({"restartPolicy": "Always", "terminationGracePeriodSeconds": 30, "dnsPolicy": "ClusterFirst",
        "securityContext": {}, "schedulerName": "default-scheduler"});
    let selector = json!({"matchLabels": {"app": "a"}});
    let cases = [
        (
            "apps/v1",
            "deployments",
            json!({"selector": selector, "template": template()}),
            json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
                "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
                "template": {"spec": pod_defaults}}),
        ),
        (
            "apps/v1",
            "statefulsets",
            json!({"selector": selector, "template": template(), "serviceName": "s"}),
            json!({"replicas": 1, "podManagementPolicy": "OrderedReady", "revisionHistoryLimit": 10,
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
                "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"}}),
        ),
        (
            "apps/v1",
            "daemonsets",
            json!({"selector": selector, "template": template()}),
            json!({"updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
                "revisionHistoryLimit": 10}),
        ),
        (
            "batch/v1",
            "jobs",
            json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]}}}),
            json!({"parallelism": 1, "completions": 1, "backoffLimit": 6, "completionMode": "NonIndexed", "suspend": false,
                "manualSelector": false, "podReplacementPolicy": "TerminatingOrFailed"}),
        ),
        (
            "batch/v1",
            "cronjobs",
            json!({"schedule": "0 0 1 1 *", "jobTemplate": {"spec": {"template": {"spec": {
            "restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]}}}}}),
            json!({"concurrencyPolicy": "Allow", "suspend": false, "successfulJobsHistoryLimit": 3, "failedJobsHistoryLimit": 1}),
        ),
        (
            "autoscaling/v2",
            "horizontalpodautoscalers",
            json!({"maxReplicas": 3, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}}),
            json!({"minReplicas": 1, "metrics": [{"type": "Resource", "resource": {"name": "cpu",
                "target": {"type": "Utilization", "averageUtilization": 80}}}]}),
        ),
    ];
    for (version, plural, spec, wanted) in cases {
        let target = format!("{}?dryRun=All", ask.group(version, plural, ""));
        let made = ask.post(&target, &json!({"metadata": {"name": "m"}, "spec": spec})).is(201)?;
        within(&made["spec"], &wanted, plural)?;
    }
    let container = ask
        .post(
            &format!("{}?dryRun=All", ask.dep("")),
            &json!({"metadata": {"name": "m"},
        "spec": {"selector": selector, "template": template()}}),
        )
        .is(201)?;
    within(
        &container["spec"]["template"]["spec"]["containers"][0],
        &json!({"resources": {}, "imagePullPolicy": "Always",
        "terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}),
        "container",
    )
}

fn h098(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "s"}, "spec": {"type": "NodePort", "ports": [{"port": 80}]}});
    let made = ask.post(&ask.core("services", ""), &body).is(201)?;
    let spec = &made["spec"];
    within(
        spec,
        &json!({"ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack", "internalTrafficPolicy": "Cluster",
        "sessionAffinity": "None", "externalTrafficPolicy": "Cluster"}),
        "spec",
    )?;
    ensure!(spec["clusterIP"].is_string() && spec["clusterIPs"][0] == spec["clusterIP"], "{spec}");
    let port = &spec["ports"][0];
    ensure!(port["protocol"] == "TCP" && port["targetPort"] == 80, "{port}");
    ensure!(port["nodePort"].as_i64().is_some_and(|n| (30000..=32767).contains(&n)), "{port}");
    let change = json!({"spec": {"clusterIP": "10.96.200.200", "clusterIPs": ["10.96.200.200"]}});
    let status = ask.merge(&ask.core("services", "s"), &change).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueInvalid", "spec.clusterIPs[0]")
}

fn h099(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "s"}, "stringData": {"a": "b"}, "data": {"c": "ZA=="}});
    let made = ask.post(&ask.core("secrets", ""), &body).is(201)?;
    ensure!(made["data"] == json!({"a": "Yg==", "c": "ZA=="}) && made.get("stringData").is_none(), "{made}");
    ensure!(made["type"] == "Opaque", "{made}");
    let bad = json!({"metadata": {"name": "t"}, "data": {"c": "%%%"}});
    ask.post(&ask.core("secrets", ""), &bad).refused(400, "BadRequest").map(drop)
}

fn h100(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1000m", "memory": "1024Mi"}, "requests": {"cpu": "0.5", "memory": "1.5Gi"}});
    body["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"]["memory"] = json!("512Mi");
    let made = ask.post(&ask.dep(""), &body).is(201)?;
    let resources = &made["spec"]["template"]["spec"]["containers"][0]["resources"];
    ensure!(resources["limits"] == json!({"cpu": "1", "memory": "1Gi"}), "{resources}");
    ensure!(resources["requests"]["cpu"] == "500m", "{resources}");
    Ok(())
}

fn h101(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["spec"]["replicas"] = json!(1);
    ask.post(&ask.dep(""), &body).is(201)?;
    let set = ask.eventually(|| {
        let list = ask.get(&ask.group("apps/v1", "replicasets", "")).is(200)?;
        let set = list["items"][0].clone();
        ensure!(set.is_object(), "no ReplicaSet");
        Ok(set)
    })?;
    let hash = set["metadata"]["labels"]["pod-template-hash"].as_str().ok_or("no hash")?.to_owned();
    ensure!(set["metadata"]["name"] == format!("d-{hash}"), "{}", set["metadata"]["name"]);
    let owner = &set["metadata"]["ownerReferences"][0];
    ensure!(owner["kind"] == "Deployment" && owner["controller"] == true, "{owner}");
    let notes = &set["metadata"]["annotations"];
    within(
        notes,
        &json!({"deployment.kubernetes.io/revision": "1", "deployment.kubernetes.io/desired-replicas": "1",
        "deployment.kubernetes.io/max-replicas": "2"}),
        "annotations",
    )?;
    ask.eventually(|| {
        let live = ask.get(&ask.dep("d")).is(200)?;
        ensure!(live["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "1", "{live}");
        ensure!(
            live["status"]["replicas"] == 1 && live["status"]["updatedReplicas"] == 1,
            "{}",
            live["status"]
        );
        let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
        ensure!(
            conditions.iter().any(|c| c["type"] == "Progressing" && c["status"] == "True"),
            "{}",
            live["status"]
        );
        Ok(())
    })
}

fn h102(ask: &Ask<'_>) -> Check {
    let made = ask.post(&ask.dep(""), &deployment("d")).is(201)?;
    ensure!(made["metadata"]["generation"] == 1, "{made}");
    let labelled = ask.merge(&ask.dep("d"), &json!({"metadata": {"labels": {"x": "1"}}})).is(200)?;
    ensure!(labelled["metadata"]["generation"] == 1, "labels");
    let changed = ask.merge(&ask.dep("d"), &json!({"spec": {"minReadySeconds": 1}})).is(200)?;
    ensure!(changed["metadata"]["generation"] == 2, "spec");
    let status = json!({"status": {"conditions": [{"type": "Own", "status": "True"}]}});
    let told = ask.merge(&format!("{}/status", ask.dep("d")), &status).is(200)?;
    ensure!(told["metadata"]["generation"] == 2, "status");
    Ok(())
}

fn h103(ask: &Ask<'_>) -> Check {
    let set = |mut object: Value| {
        object["spec"]["minReadySeconds"] = json!(9);
        object["status"] = json!({"observedGeneration": 77});
        object["metadata"].as_object_mut().map(|meta| meta.remove("resourceVersion"));
        object
    };
    let target = ask.group("apps/v1", "replicasets", "");
    let body = json!({"metadata": {"name": "r"}, "spec": {"replicas": 0, "selector": {"matchLabels": {"app": "a"}}, "template": template()}});
    let made = ask.post(&target, &body).is(201)?;
    let main = ask.put(&format!("{target}/r"), &set(made)).is(200)?;
    ensure!(main["spec"]["minReadySeconds"] == 9 && main["status"]["observedGeneration"] != 77, "{main}");
    let mut next = set(main);
    next["spec"]["minReadySeconds"] = json!(4);
    let status = ask.put(&format!("{target}/r/status"), &next).is(200)?;
    ensure!(
        status["spec"]["minReadySeconds"] == 9 && status["status"]["observedGeneration"] == 77,
        "{status}"
    );
    Ok(())
}

fn h104(ask: &Ask<'_>) -> Check {
    ask.post(&ask.dep(""), &deployment("d")).is(201)?;
    let scale = ask.get(&format!("{}/scale", ask.dep("d"))).is(200)?;
    ensure!(scale["kind"] == "Scale" && scale["apiVersion"] == "autoscaling/v1", "{scale}");
    ensure!(
        scale["spec"].get("replicas").is_none_or(|n| n == 0) && scale["status"]["selector"] == "app=d",
        "{scale}"
    );
    Ok(())
}

fn h105(ask: &Ask<'_>) -> Check {
    ask.make_pod("free", json!({}))?;
    let evict = |name: &str| {
        let body = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}});
        ask.post(&format!("{}/eviction", ask.core("pods", name)), &body)
    };
    let status = evict("free").is(201)?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    ask.make_pod("kept", json!({"nodeName": "nowhere"}))?;
    let running = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "c", "ready": true, "restartCount": 0, "image": "nginx:1", "imageID": "i"}]}});
    ask.merge(&format!("{}/status", ask.core("pods", "kept")), &running).is(200)?;
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "kept"}}}});
    ask.post(&ask.group("policy/v1", "poddisruptionbudgets", ""), &budget).is(201)?;
    ask.eventually(|| {
        let live = ask.get(&ask.group("policy/v1", "poddisruptionbudgets", "b")).is(200)?;
        ensure!(live["status"]["observedGeneration"] == 1 || !ask.wire.is_real(), "{}", live["status"]);
        Ok(())
    })?;
    let status = evict("kept").refused(429, "TooManyRequests")?;
    ensure!(status["details"]["causes"][0]["reason"] == "DisruptionBudget", "{status}");
    ask.delete_with(&ask.core("pods", "kept"), &json!({"gracePeriodSeconds": 0})).is(200).map(drop)
}

fn h106(ask: &Ask<'_>) -> Check {
    ask.make_pod("p", json!({}))?;
    let target = format!("{}/binding", ask.core("pods", "p"));
    let body = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": {"kind": "Node", "name": "nowhere"}});
    let status = ask.post(&target, &body).is(201)?;
    ensure!(status["status"] == "Success", "{status}");
    let status = ask.post(&target, &body).refused(409, "Conflict")?;
    ensure!(status["details"]["kind"] == "pods/binding", "{status}");
    let pod = ask.get(&ask.core("pods", "p")).is(200)?;
    ensure!(pod["spec"]["nodeName"] == "nowhere", "{}", pod["spec"]);
    ask.delete_with(&ask.core("pods", "p"), &json!({"gracePeriodSeconds": 0})).is(200).map(drop)
}

fn h107(ask: &Ask<'_>) -> Check {
    let two = json!([{"name": "a", "image": "nginx:1"}, {"name": "b", "image": "nginx:1"}]);
    ask.make_pod("one", json!({}))?;
    ask.make_pod("two", json!({"containers": two}))?;
    let log = |name: &str, query: &str| ask.get(&format!("{}/log{query}", ask.core("pods", name)));
    ensure!(log("one", "").code == 204, "{:?}", log("one", ""));
    let status = log("two", "").refused(400, "BadRequest")?;
    ensure!(
        status["message"] == "a container name must be specified for pod two, choose one of: [a b]",
        "{status}"
    );
    let status = log("two", "?container=zz").refused(400, "BadRequest")?;
    ensure!(status["message"] == "container zz is not valid for pod two", "{status}");
    Ok(())
}

fn h108(ask: &Ask<'_>) -> Check {
    ask.make_pod("p", json!({"nodeName": "nowhere"}))?;
    let headers = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
        ("Sec-WebSocket-Protocol", "v5.channel.k8s.io"),
    ];
    let target = format!("{}/exec?command=ls&container=c&stdout=true", ask.core("pods", "p"));
    let plain = ask.get(&target).refused(400, "BadRequest")?;
    ensure!(plain["message"] == "Upgrade request required", "{plain}");
    let upgraded = ask.wire.call("GET", &target, &headers, b"");
    ensure!(upgraded.code == 101, "no upgrade: {}", upgraded.code);
    Ok(())
}

fn h109(ask: &Ask<'_>) -> Check {
    let quota = json!({"metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}});
    ask.post(&ask.core("resourcequotas", ""), &quota).is(201)?;
    ask.eventually(|| {
        let live = ask.get(&ask.core("resourcequotas", "q")).is(200)?;
        ensure!(live["status"]["hard"]["pods"] == "1" || !ask.wire.is_real(), "{}", live["status"]);
        Ok(())
    })?;
    ask.make_pod("first", json!({}))?;
    let pod =
        json!({"metadata": {"name": "second"}, "spec": {"containers": [{"name": "c", "image": "nginx"}]}});
    let status = ask.post(&ask.core("pods", ""), &pod).refused(403, "Forbidden")?;
    let wanted =
        "pods \"second\" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1";
    ensure!(status["message"] == wanted, "{status}");
    let mut body = deployment("d");
    body["spec"]["replicas"] = json!(1);
    ask.post(&ask.dep(""), &body).is(201)?;
    ask.eventually(|| {
        ask.wire.pass(Duration::from_millis(200));
        let live = ask.get(&ask.dep("d")).is(200)?;
        let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
        ensure!(
            conditions.iter().any(|c| c["type"] == "ReplicaFailure" && c["status"] == "True"),
            "{}",
            live["status"]
        );
        Ok(())
    })
}

fn h110(ask: &Ask<'_>) -> Check {
    let body = json!({"metadata": {"name": "x"}, "immutable": true, "data": {"a": "1"}});
    ask.post(&ask.cm(""), &body).is(201)?;
    let status = ask.merge(&ask.cm("x"), &json!({"data": {"a": "2"}})).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueForbidden", "data")
}
