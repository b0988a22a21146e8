//! H2: server-side apply.

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check, causes, deployment, entry, fields, has_cause, version};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (26, h026),
    (27, h027),
    (28, h028),
    (29, h029),
    (30, h030),
    (31, h031),
    (32, h032),
    (33, h033),
    (34, h034),
    (35, h035),
    (36, h036),
    (37, h037),
    (38, h038),
    (39, h039),
    (40, h040),
    (41, h041),
    (42, h042),
    (43, h043),
    (44, h044),
    (45, h045),
    (46, h046),
    (47, h047),
    (48, h048),
    (49, h049),
    (50, h050),
];

/// A ConfigMap to apply.
fn cm(data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}, "data": data})
}

/// A Deployment with only some replicas.
fn replicas(count: u32) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": {"replicas": count}})
}

/// A Deployment `d` applied by `m1`, without pods.
fn applied(ask: &Ask<'_>) -> Result<Value, String> {
    let reply = ask.apply(&ask.dep("d"), "m1", &deployment("d"));
    reply.is(201)?;
    // The controller's first status must not come between two requests of a statement.
    ask.eventually(|| {
        let live = ask.get(&ask.dep("d")).is(200)?;
        ensure!(live["status"]["observedGeneration"] == live["metadata"]["generation"], "{}", live["status"]);
        Ok(live)
    })
}

fn h026(ask: &Ask<'_>) -> Check {
    let made = ask.apply(&ask.dep("d"), "m1", &deployment("d")).is(201)?;
    let own = entry(&made, "m1").ok_or("no entry")?;
    ensure!(
        own["operation"] == "Apply" && own["fieldsType"] == "FieldsV1" && own["apiVersion"] == "apps/v1",
        "{own}"
    );
    let wanted = json!({"f:spec": {"f:replicas": {}, "f:selector": {}, "f:template": {
        "f:metadata": {"f:labels": {"f:app": {}}},
        "f:spec": {"f:containers": {"k:{\"name\":\"c\"}": {".": {}, "f:image": {}, "f:name": {}}}}}}});
    ensure!(own["fieldsV1"] == wanted, "{}", own["fieldsV1"]);
    Ok(())
}

fn h027(ask: &Ask<'_>) -> Check {
    let first = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(201)?;
    let again = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(200)?;
    ensure!(first == again, "{first} became {again}");
    Ok(())
}

fn h028(ask: &Ask<'_>) -> Check {
    let body = cm(json!({})).to_string();
    let reply = ask.send("PATCH", &ask.cm("x"), "application/apply-patch+yaml", body.as_bytes());
    let status = reply.refused(422, "Invalid")?;
    ensure!(status["details"]["kind"] == "PatchOptions", "{status}");
    has_cause(&status, "FieldValueRequired", "fieldManager")
}

fn h029(ask: &Ask<'_>) -> Check {
    let before = applied(ask)?;
    let after = ask.apply(&ask.dep("d"), "m2", &replicas(0)).is(200)?;
    ensure!(version(&after) > version(&before), "{after}");
    ensure!(after["metadata"]["generation"] == before["metadata"]["generation"], "generation");
    let second = entry(&after, "m2").ok_or("no entry")?;
    ensure!(second.get("time").is_none(), "{second}");
    ensure!(second["fieldsV1"] == json!({"f:spec": {"f:replicas": {}}}), "{second}");
    ensure!(fields(&after, "m1")["f:spec"]["f:replicas"] == json!({}), "m1 lost it");
    Ok(())
}

fn h030(ask: &Ask<'_>) -> Check {
    applied(ask)?;
    let status = ask.apply(&ask.dep("d"), "m2", &replicas(1)).refused(409, "Conflict")?;
    has_cause(&status, "FieldManagerConflict", ".spec.replicas")?;
    ensure!(status["details"]["causes"][0]["message"] == "conflict with \"m1\"", "{status}");
    Ok(())
}

fn h031(ask: &Ask<'_>) -> Check {
    applied(ask)?;
    let target = format!("{}?force=true", ask.dep("d"));
    let after = ask.apply(&target, "m2", &replicas(1)).is(200)?;
    ensure!(fields(&after, "m1")["f:spec"].get("f:replicas").is_none(), "m1 kept it");
    ensure!(fields(&after, "m2")["f:spec"]["f:replicas"] == json!({}), "m2 has it not");
    Ok(())
}

fn h032(ask: &Ask<'_>) -> Check {
    ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1", "b": "2"}))).is(201)?;
    let after = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(200)?;
    ensure!(after["data"] == json!({"a": "1"}), "{after}");
    applied(ask)?;
    let mut without = deployment("d");
    without["spec"].as_object_mut().ok_or("no spec")?.remove("replicas");
    let after = ask.apply(&ask.dep("d"), "m1", &without).is(200)?;
    ensure!(after["spec"]["replicas"] == 1, "{}", after["spec"]["replicas"]);
    Ok(())
}

fn h033(ask: &Ask<'_>) -> Check {
    ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1", "b": "2"}))).is(201)?;
    ask.apply(&ask.cm("x"), "m2", &cm(json!({"b": "2"}))).is(200)?;
    let after = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(200)?;
    ensure!(after["data"]["b"] == "2", "{after}");
    ensure!(fields(&after, "m1") == json!({"f:data": {"f:a": {}}}), "{after}");
    Ok(())
}

fn h034(ask: &Ask<'_>) -> Check {
    applied(ask)?;
    let target = format!("{}?fieldManager=upd", ask.dep("d"));
    let after = ask.merge(&target, &json!({"spec": {"replicas": 1}})).is(200)?;
    ensure!(fields(&after, "m1")["f:spec"].get("f:replicas").is_none(), "m1 kept it");
    let status = ask.apply(&ask.dep("d"), "m1", &deployment("d")).refused(409, "Conflict")?;
    let told = &status["details"]["causes"][0]["message"];
    ensure!(*told == "conflict with \"upd\" using apps/v1", "{told}");
    Ok(())
}

fn h035(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["spec"]["template"]["spec"]["containers"][0]["ports"] = json!([{"containerPort": 80}]);
    let made = ask.apply(&ask.dep("d"), "m1", &body).is(201)?;
    let ports = &fields(&made, "m1")["f:spec"]["f:template"]["f:spec"]["f:containers"]["k:{\"name\":\"c\"}"]
        ["f:ports"];
    let wanted = json!({"k:{\"containerPort\":80,\"protocol\":\"TCP\"}": {".": {}, "f:containerPort": {}}});
    ensure!(*ports == wanted, "{ports}");
    Ok(())
}

fn h036(ask: &Ask<'_>) -> Check {
    ask.apply(&ask.dep("d"), "m1", &deployment("d")).is(201)?;
    let container = json!({"name": "side", "image": "side:1"});
    let second = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "spec": {"template": {"spec": {"containers": [container]}}}});
    let both = ask.apply(&ask.dep("d"), "m2", &second).is(200)?;
    let names = |object: &Value| -> Vec<String> {
        let list = object["spec"]["template"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
        list.iter().filter_map(|c| c["name"].as_str()).map(str::to_owned).collect()
    };
    let mut all = names(&both);
    all.sort();
    ensure!(all == ["c", "side"], "{all:?}");
    let empty = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
    let after = ask.apply(&ask.dep("d"), "m2", &empty).is(200)?;
    ensure!(names(&after) == ["c"], "{:?}", names(&after));
    Ok(())
}

fn h037(ask: &Ask<'_>) -> Check {
    let with = |args: Value| {
        let mut body = deployment("d");
        body["spec"]["template"]["spec"]["containers"][0]["args"] = args;
        body
    };
    ask.apply(&ask.dep("d"), "m1", &with(json!(["a", "b"]))).is(201)?;
    let status = ask.apply(&ask.dep("d"), "m2", &with(json!(["a", "c"]))).refused(409, "Conflict")?;
    has_cause(&status, "FieldManagerConflict", ".spec.template.spec.containers[name=\"c\"].args")
}

fn h038(ask: &Ask<'_>) -> Check {
    let with = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "finalizers": finalizers}});
    ask.apply(&ask.cm("x"), "m1", &with(json!(["a.b/x"]))).is(201)?;
    let both = ask.apply(&ask.cm("x"), "m2", &with(json!(["a.b/y"]))).is(200)?;
    ensure!(both["metadata"]["finalizers"] == json!(["a.b/x", "a.b/y"]), "{both}");
    ensure!(fields(&both, "m2")["f:metadata"]["f:finalizers"] == json!({"v:\"a.b/y\"": {}}), "{both}");
    let after = ask.apply(&ask.cm("x"), "m1", &with(json!([]))).is(200)?;
    ensure!(after["metadata"]["finalizers"] == json!(["a.b/y"]), "{after}");
    ask.merge(&ask.cm("x"), &json!({"metadata": {"finalizers": null}})).is(200).map(drop)
}

fn h039(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["status"] = json!({"replicas": 5});
    let made = ask.apply(&ask.dep("d"), "m1", &body).is(201)?;
    ensure!(made["status"].get("replicas").is_none(), "{}", made["status"]);
    ensure!(fields(&made, "m1").get("f:status").is_none(), "owned");
    let status = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
        "status": {"conditions": [{"type": "Own", "status": "True"}]}});
    let after = ask.apply(&format!("{}/status", ask.dep("d")), "m1", &status).is(200)?;
    let entries = after["metadata"]["managedFields"].as_array().ok_or("no entries")?;
    let own = entries.iter().find(|e| e["manager"] == "m1" && e["subresource"] == "status");
    ensure!(own.is_some_and(|own| own["fieldsV1"].get("f:status").is_some()), "{entries:?}");
    Ok(())
}

fn h040(ask: &Ask<'_>) -> Check {
    applied(ask)?;
    let scale = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "d"}, "spec": {"replicas": 1}});
    let target = format!("{}/scale?force=true", ask.dep("d"));
    ask.apply(&target, "scaler", &scale).is(200)?;
    let after = ask.get(&ask.dep("d")).is(200)?;
    let own = entry(&after, "scaler").ok_or("no entry")?;
    ensure!(
        own["subresource"] == "scale" && own["fieldsV1"] == json!({"f:spec": {"f:replicas": {}}}),
        "{own}"
    );
    ensure!(own["apiVersion"] == "apps/v1" && after["spec"]["replicas"] == 1, "{own}");
    Ok(())
}

fn h041(ask: &Ask<'_>) -> Check {
    let mut body = cm(json!({}));
    body["metadata"]["managedFields"] = json!([]);
    ask.apply(&ask.cm("x"), "m1", &body).refused(400, "BadRequest").map(drop)
}

fn h042(ask: &Ask<'_>) -> Check {
    let mut body = cm(json!({}));
    body["apiVersion"] = json!("v2");
    ask.apply(&ask.cm("x"), "m1", &body).refused(400, "BadRequest")?;
    body["apiVersion"] = json!("v1");
    body["kind"] = json!("Secret");
    ask.apply(&ask.cm("x"), "m1", &body).refused(400, "BadRequest").map(drop)
}

fn h043(ask: &Ask<'_>) -> Check {
    let mut unknown = deployment("d");
    unknown["spec"]["bogus"] = json!(1);
    let status = ask.apply(&ask.dep("d"), "m1", &unknown).is(500)?;
    ensure!(status.get("reason").is_none(), "{status}");
    let text = status["message"].as_str().unwrap_or_default();
    ensure!(text.ends_with(".spec.bogus: field not declared in schema"), "{text}");
    let mut wrong = deployment("d");
    wrong["spec"]["replicas"] = json!("x");
    let status = ask.apply(&ask.dep("d"), "m1", &wrong).is(500)?;
    ensure!(status.get("reason").is_none(), "{status}");
    let mut twice = deployment("d");
    let one = twice["spec"]["template"]["spec"]["containers"][0].clone();
    twice["spec"]["template"]["spec"]["containers"] = json!([one, one]);
    let status = ask.apply(&ask.dep("d"), "m1", &twice).is(500)?;
    let text = status["message"].as_str().unwrap_or_default();
    ensure!(text.contains("duplicate entries for key [name=\"c\"]"), "{text}");
    ask.get(&ask.dep("d")).refused(404, "NotFound").map(drop)
}

fn h044(ask: &Ask<'_>) -> Check {
    let mut body = deployment("d");
    body["metadata"]["labels"] = json!({"b": null});
    body["spec"]["paused"] = json!(null);
    let made = ask.apply(&ask.dep("d"), "m1", &body).is(201)?;
    ensure!(made["metadata"]["labels"]["b"] == "", "{}", made["metadata"]);
    ensure!(made["spec"].get("paused").is_none(), "paused");
    let own = fields(&made, "m1");
    ensure!(
        own["f:metadata"]["f:labels"]["f:b"] == json!({}) && own["f:spec"]["f:paused"] == json!({}),
        "{own}"
    );
    Ok(())
}

fn h045(ask: &Ask<'_>) -> Check {
    let dry = format!("{}?dryRun=All", ask.cm("x"));
    let made = ask.apply(&dry, "m1", &cm(json!({"a": "1"}))).is(201)?;
    ensure!(made["metadata"].get("resourceVersion").is_none(), "{made}");
    ensure!(entry(&made, "m1").is_some(), "{made}");
    ask.get(&ask.cm("x")).refused(404, "NotFound")?;
    let live = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(201)?;
    let dry = ask.apply(&dry, "m1", &cm(json!({"a": "2"}))).is(200)?;
    ensure!(version(&dry) == version(&live) && dry["data"]["a"] == "2", "{dry}");
    let read = ask.get(&ask.cm("x")).is(200)?;
    ensure!(read == live, "{read}");
    Ok(())
}

/// A ConfigMap as client-side apply leaves it.
fn client_side(ask: &Ask<'_>) -> Result<Value, String> {
    let applied = "{\"apiVersion\":\"v1\",\"data\":{\"a\":\"1\",\"b\":\"2\"},\"kind\":\"ConfigMap\",\"metadata\":{\"annotations\":{},\"name\":\"x\"}}\n";
    let mut body = cm(json!({"a": "1", "b": "2"}));
    body["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": applied});
    ask.post(&format!("{}?fieldManager=kubectl-client-side-apply", ask.cm("")), &body).is(201)
}

fn h046(ask: &Ask<'_>) -> Check {
    client_side(ask)?;
    let after = ask.apply(&ask.cm("x"), "kubectl", &cm(json!({"a": "9"}))).is(200)?;
    ensure!(after["data"] == json!({"a": "9", "b": "2"}), "{after}");
    let told = &after["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"];
    let told: Value = serde_json::from_str(told.as_str().unwrap_or_default()).unwrap_or_default();
    ensure!(told["data"] == json!({"a": "9"}), "{told}");
    Ok(())
}

fn h047(ask: &Ask<'_>) -> Check {
    client_side(ask)?;
    let status = ask.apply(&ask.cm("x"), "other", &cm(json!({"a": "9"}))).refused(409, "Conflict")?;
    let told = &status["details"]["causes"][0]["message"];
    ensure!(*told == "conflict with \"kubectl-client-side-apply\" using v1", "{told}");
    Ok(())
}

fn h048(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({"a": "0"}))?;
    for at in 0..13 {
        let target = format!("{}?fieldManager=u{at}", ask.cm("x"));
        let key = format!("k{at}");
        ask.merge(&target, &json!({"data": {key: "1"}})).is(200)?;
    }
    let after = ask.get(&ask.cm("x")).is(200)?;
    let entries = after["metadata"]["managedFields"].as_array().ok_or("no entries")?;
    ensure!(entries.len() == 10, "{} entries", entries.len());
    ensure!(entry(&after, "ancient-changes").is_some(), "{entries:?}");
    Ok(())
}

fn h049(ask: &Ask<'_>) -> Check {
    ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1"}))).is(201)?;
    let cleared = ask.merge(&ask.cm("x"), &json!({"metadata": {"managedFields": [{}]}})).is(200)?;
    ensure!(cleared["metadata"].get("managedFields").is_none(), "{cleared}");
    let after = ask.apply(&ask.cm("x"), "m2", &cm(json!({"a": "1"}))).is(200)?;
    let first = entry(&after, "before-first-apply").ok_or("no entry")?;
    ensure!(first["operation"] == "Update", "{first}");
    Ok(())
}

fn h050(ask: &Ask<'_>) -> Check {
    let made = ask.apply(&ask.cm("x"), "m1", &cm(json!({"a": "1", "b": "1"}))).is(201)?;
    let status = ask.apply(&ask.cm("x"), "m2", &cm(json!({"b": "2", "a": "2"}))).refused(409, "Conflict")?;
    let message = "Apply failed with 2 conflicts: conflicts with \"m1\":\n- .data.a\n- .data.b";
    ensure!(status["message"] == message, "{status}");
    ensure!(causes(&status).len() == 2, "{status}");
    ask.merge(&ask.cm("x"), &json!({"data": {"c": "1"}})).is(200)?;
    let mut stale = cm(json!({"a": "1", "b": "1"}));
    stale["metadata"]["resourceVersion"] = made["metadata"]["resourceVersion"].clone();
    let status = ask.apply(&ask.cm("x"), "m1", &stale).refused(409, "Conflict")?;
    ensure!(causes(&status).is_empty(), "{status}");
    Ok(())
}
