//! H5: delete, finalizers, garbage collection, namespaces.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check, has_cause, version};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (81, h081),
    (82, h082),
    (83, h083),
    (84, h084),
    (85, h085),
    (86, h086),
    (87, h087),
    (88, h088),
    (89, h089),
    (90, h090),
    (91, h091),
    (92, h092),
    (93, h093),
    (94, h094),
    (95, h095),
    (96, h096),
];

/// A ConfigMap that a finalizer holds.
fn held(ask: &Ask<'_>) -> Result<Value, String> {
    let body = json!({"metadata": {"name": "x", "finalizers": ["a.b/c"]}, "data": {"a": "1"}});
    ask.post(&ask.cm(""), &body).is(201)
}

fn free(ask: &Ask<'_>) -> Check {
    ask.merge(&ask.cm("x"), &json!({"metadata": {"finalizers": null}})).is(200).map(drop)
}

/// A ConfigMap owned by another object.
fn owned(ask: &Ask<'_>, name: &str, owner: &Value, block: bool) -> Result<Value, String> {
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": block});
    ask.post(&ask.cm(""), &json!({"metadata": {"name": name, "ownerReferences": [reference]}})).is(201)
}

fn gone(ask: &Ask<'_>, target: &str) -> Check {
    ask.eventually(|| ask.get(target).refused(404, "NotFound")).map(drop)
}

fn h081(ask: &Ask<'_>) -> Check {
    held(ask)?;
    let first = ask.delete(&ask.cm("x")).is(200)?;
    ensure!(first["kind"] == "ConfigMap" && first["metadata"]["deletionTimestamp"].is_string(), "{first}");
    ensure!(first["metadata"]["deletionGracePeriodSeconds"] == 0, "{first}");
    let second = ask.delete(&ask.cm("x")).is(200)?;
    ensure!(version(&first) == version(&second), "{second}");
    free(ask)
}

fn h082(ask: &Ask<'_>) -> Check {
    held(ask)?;
    ask.delete(&ask.cm("x")).is(200)?;
    let after = ask.merge(&ask.cm("x"), &json!({"data": {"a": "2"}})).is(200)?;
    ensure!(after["data"]["a"] == "2", "{after}");
    let body =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": {"b": "1"}});
    let after = ask.apply(&ask.cm("x"), "m", &body).is(200)?;
    ensure!(after["data"]["b"] == "1", "{after}");
    free(ask)
}

fn h083(ask: &Ask<'_>) -> Check {
    held(ask)?;
    ask.delete(&ask.cm("x")).is(200)?;
    let more = json!({"metadata": {"finalizers": ["a.b/c", "a.b/d"]}});
    let status = ask.merge(&ask.cm("x"), &more).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueForbidden", "metadata.finalizers")?;
    free(ask)?;
    let bad = json!({"metadata": {"name": "y", "finalizers": ["plain"]}});
    ask.post(&ask.cm(""), &bad).refused(422, "Invalid").map(drop)
}

fn h084(ask: &Ask<'_>) -> Check {
    held(ask)?;
    let deleted = ask.delete(&ask.cm("x")).is(200)?;
    let last = ask.merge(&ask.cm("x"), &json!({"metadata": {"finalizers": null}})).is(200)?;
    ensure!(last["kind"] == "ConfigMap" && version(&last) == version(&deleted), "{last}");
    ask.get(&ask.cm("x")).refused(404, "NotFound").map(drop)
}

fn h085(ask: &Ask<'_>) -> Check {
    held(ask)?;
    ask.delete(&ask.cm("x")).is(200)?;
    let status = ask.post(&ask.cm(""), &json!({"metadata": {"name": "x"}})).refused(409, "AlreadyExists")?;
    ensure!(
        status["message"].as_str().is_some_and(|t| t.starts_with("object is being deleted:")),
        "{status}"
    );
    free(ask)
}

fn h086(ask: &Ask<'_>) -> Check {
    let owner = ask.make_cm("owner", &json!({}))?;
    let reference = json!({"apiVersion": "v1", "kind": "ConfigMap", "name": "owner",
        "uid": owner["metadata"]["uid"], "blockOwnerDeletion": true});
    let child =
        json!({"metadata": {"name": "child", "finalizers": ["a.b/c"], "ownerReferences": [reference]}});
    ask.post(&ask.cm(""), &child).is(201)?;
    ask.wire.pass(Duration::from_secs(1));
    let shown = ask.delete_with(&ask.cm("owner"), &json!({"propagationPolicy": "Foreground"})).is(200)?;
    ensure!(shown["metadata"]["finalizers"] == json!(["foregroundDeletion"]), "{shown}");
    ask.eventually(|| {
        let child = ask.get(&ask.cm("child")).is(200)?;
        ensure!(child["metadata"]["deletionTimestamp"].is_string(), "{child}");
        Ok(())
    })?;
    ask.get(&ask.cm("owner")).is(200)?;
    ask.merge(&ask.cm("child"), &json!({"metadata": {"finalizers": null}})).is(200)?;
    gone(ask, &ask.cm("owner"))?;
    ask.make_cm("z", &json!({}))?;
    let status =
        ask.delete_with(&ask.cm("z"), &json!({"propagationPolicy": "Foo"})).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueNotSupported", "propagationPolicy")
        .or_else(|_| has_cause(&status, "FieldValueInvalid", "propagationPolicy"))
}

fn h087(ask: &Ask<'_>) -> Check {
    let owner = ask.make_cm("owner", &json!({}))?;
    owned(ask, "child", &owner, false)?;
    ask.wire.pass(Duration::from_secs(1));
    let shown = ask.delete_with(&ask.cm("owner"), &json!({"propagationPolicy": "Orphan"})).is(200)?;
    ensure!(shown["metadata"]["finalizers"] == json!(["orphan"]), "{shown}");
    gone(ask, &ask.cm("owner"))?;
    let child = ask.get(&ask.cm("child")).is(200)?;
    ensure!(child["metadata"].get("ownerReferences").is_none(), "{child}");
    Ok(())
}

fn h088(ask: &Ask<'_>) -> Check {
    let owner = ask.make_cm("owner", &json!({}))?;
    owned(ask, "child", &owner, false)?;
    ask.wire.pass(Duration::from_secs(1));
    let status = ask.delete_with(&ask.cm("owner"), &json!({"propagationPolicy": "Background"})).is(200)?;
    ensure!(status["status"] == "Success", "{status}");
    ask.get(&ask.cm("owner")).refused(404, "NotFound")?;
    gone(ask, &ask.cm("child"))
}

fn h089(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({}))?;
    for precondition in [json!({"uid": "other"}), json!({"resourceVersion": "1"})] {
        let options = json!({"preconditions": precondition});
        ask.delete_with(&ask.cm("x"), &options).refused(409, "Conflict")?;
    }
    ask.get(&ask.cm("x")).is(200).map(drop)
}

fn h090(ask: &Ask<'_>) -> Check {
    // A node that no kubelet speaks for.
    let pod = ask.make_pod("p", json!({"nodeName": "nowhere"}))?;
    let shown = ask.delete_with(&ask.core("pods", "p"), &json!({"gracePeriodSeconds": 7})).is(200)?;
    let meta = &shown["metadata"];
    ensure!(meta["deletionGracePeriodSeconds"] == 7 && meta["deletionTimestamp"].is_string(), "{meta}");
    ensure!(meta["generation"].as_i64() == pod["metadata"]["generation"].as_i64().map(|n| n + 1), "{meta}");
    ask.get(&ask.core("pods", "p")).is(200)?;
    let last = ask.delete_with(&ask.core("pods", "p"), &json!({"gracePeriodSeconds": 0})).is(200)?;
    ensure!(last["kind"] == "Pod", "{last}");
    ask.get(&ask.core("pods", "p")).refused(404, "NotFound")?;
    ask.make_pod("q", json!({}))?;
    let last = ask.delete(&ask.core("pods", "q")).is(200)?;
    ensure!(last["kind"] == "Pod", "{last}");
    ask.get(&ask.core("pods", "q")).refused(404, "NotFound").map(drop)
}

fn h091(ask: &Ask<'_>) -> Check {
    for (name, value) in [("a", "1"), ("b", "2"), ("c", "1")] {
        let body = json!({"metadata": {"name": name, "labels": {"x": value}}});
        ask.post(&ask.core("secrets", ""), &body).is(201)?;
    }
    let list = ask.delete(&format!("{}?labelSelector=x%3D1", ask.core("secrets", ""))).is(200)?;
    ensure!(list["kind"] == "SecretList", "{list}");
    let left = ask.get(&ask.core("secrets", "")).is(200)?;
    let items = left["items"].as_array().ok_or("no items")?;
    ensure!(items.len() == 1 && items[0]["metadata"]["name"] == "b", "{left}");
    Ok(())
}

/// A second namespace.
fn other_namespace(ask: &Ask<'_>) -> Result<String, String> {
    let name = format!("{}-other", ask.ns);
    ask.post("/api/v1/namespaces", &json!({"metadata": {"name": name}})).is(201)?;
    Ok(name)
}

fn h092(ask: &Ask<'_>) -> Check {
    let name = other_namespace(ask)?;
    let target = format!("/api/v1/namespaces/{name}");
    ask.post(&format!("{target}/configmaps"), &json!({"metadata": {"name": "x"}})).is(201)?;
    let shown = ask.delete(&target).is(200)?;
    ensure!(shown["status"]["phase"] == "Terminating", "{shown}");
    ensure!(shown["spec"]["finalizers"] == json!(["kubernetes"]), "{shown}");
    gone(ask, &target)?;
    ask.delete("/api/v1/namespaces/kube-system").refused(403, "Forbidden").map(drop)
}

/// Makes a namespace that cannot go, because something in it is held.
fn stuck(ask: &Ask<'_>) -> Result<String, String> {
    let name = other_namespace(ask)?;
    let target = format!("/api/v1/namespaces/{name}");
    let body = json!({"metadata": {"name": "x", "finalizers": ["a.b/c"]}});
    ask.post(&format!("{target}/configmaps"), &body).is(201)?;
    ask.delete(&target).is(200)?;
    Ok(target)
}

fn unstick(ask: &Ask<'_>, target: &str) -> Check {
    let held = format!("{target}/configmaps/x");
    ask.merge(&held, &json!({"metadata": {"finalizers": null}})).is(200)?;
    gone(ask, target)
}

fn h093(ask: &Ask<'_>) -> Check {
    let target = stuck(ask)?;
    let reply = ask.post(&format!("{target}/configmaps"), &json!({"metadata": {"name": "y"}}));
    let status = reply.refused(403, "Forbidden")?;
    has_cause(&status, "NamespaceTerminating", "metadata.namespace")?;
    unstick(ask, &target)
}

fn h094(ask: &Ask<'_>) -> Check {
    let target = stuck(ask)?;
    let patched = ask.merge(&target, &json!({"spec": {"finalizers": []}})).is(200)?;
    ensure!(patched["spec"]["finalizers"] == json!(["kubernetes"]), "{patched}");
    let body = json!({"metadata": {"name": patched["metadata"]["name"]}, "spec": {"finalizers": []}});
    let shown = ask.put(&format!("{target}/finalize"), &body).is(200)?;
    ensure!(shown["spec"].get("finalizers").is_none_or(|f| f == &json!([])), "{shown}");
    gone(ask, &target)
}

fn h095(ask: &Ask<'_>) -> Check {
    let target = stuck(ask)?;
    ask.eventually(|| {
        let live = ask.get(&target).is(200)?;
        let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for kind in ["NamespaceContentRemaining", "NamespaceFinalizersRemaining"] {
            let set = conditions.iter().any(|c| c["type"] == kind && c["status"] == "True");
            ensure!(set, "no {kind}: {}", live["status"]);
        }
        Ok(())
    })?;
    unstick(ask, &target)
}

fn h096(ask: &Ask<'_>) -> Check {
    let live = ask.get(&format!("/api/v1/namespaces/{}", ask.ns)).is(200)?;
    ensure!(live["metadata"]["labels"]["kubernetes.io/metadata.name"] == json!(ask.ns), "{live}");
    ask.ready_for_pods()?;
    ask.eventually(|| ask.get(&ask.cm("kube-root-ca.crt")).is(200))?;
    let pod = json!({"metadata": {"name": "p"}, "spec": {"serviceAccountName": "nobody",
        "containers": [{"name": "c", "image": "nginx"}]}});
    ask.post(&ask.core("pods", ""), &pod).refused(403, "Forbidden").map(drop)
}
