//! H7: custom resources, access, flow control.

use std::time::Duration;

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, CRDS, Check, causes, definition, has_cause, version};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (111, h111),
    (112, h112),
    (113, h113),
    (114, h114),
    (115, h115),
    (116, h116),
    (117, h117),
    (118, h118),
    (119, h119),
    (120, h120),
    (121, h121),
    (122, h122),
    (123, h123),
    (124, h124),
    (125, h125),
    (126, h126),
    (127, h127),
    (128, h128),
    (129, h129),
    (130, h130),
];

const SOON: Duration = Duration::from_secs(30);

/// A definition `widgets` whose spec has these properties.
fn widgets(ask: &Ask<'_>, properties: Value) -> Value {
    let schema = json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": properties},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    definition(&ask.own_group(), "widgets", "Widget", schema)
}

fn widget(ask: &Ask<'_>, name: &str, spec: Value) -> Value {
    json!({"apiVersion": format!("{}/v1", ask.own_group()), "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn h111(ask: &Ask<'_>) -> Check {
    let mut crd = widgets(ask, json!({"size": {"type": "integer"}}));
    crd["spec"]["names"].as_object_mut().map(|names| names.remove("singular"));
    let made = ask.post(CRDS, &crd).is(201)?;
    let names = &made["spec"]["names"];
    ensure!(names["singular"] == "widget" && names["listKind"] == "WidgetList", "{names}");
    ensure!(made["spec"]["conversion"]["strategy"] == "None", "{}", made["spec"]["conversion"]);
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    ask.eventually(|| {
        let live = ask.get(&format!("{CRDS}/{name}")).is(200)?;
        let conditions = live["status"]["conditions"].as_array().cloned().unwrap_or_default();
        for (kind, reason) in [("NamesAccepted", "NoConflicts"), ("Established", "InitialNamesAccepted")] {
            let set = conditions
                .iter()
                .any(|c| c["type"] == kind && c["status"] == "True" && c["reason"] == reason);
            ensure!(set, "{}", live["status"]);
        }
        Ok(())
    })?;
    let group = ask.own_group();
    ask.eventually(|| {
        ask.get(&ask.group(&format!("{group}/v1"), "widgets", "")).is(200)?;
        ask.get(&format!("/apis/{group}/v1")).is(200)?;
        let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
        let all = ask.get_as("/apis", accept).is(200)?;
        let items = all["items"].as_array().cloned().unwrap_or_default();
        ensure!(
            items.iter().any(|item| item["metadata"]["name"] == json!(group)),
            "not in aggregated discovery"
        );
        let index = ask.get("/openapi/v3").is(200)?;
        ensure!(index["paths"].get(format!("apis/{group}/v1")).is_some(), "not in OpenAPI");
        Ok(())
    })
}

fn h112(ask: &Ask<'_>) -> Check {
    let target = format!("/apis/nowhere.example.com/v1/namespaces/{}/widgets/x", ask.ns);
    let reply = ask.get(&target);
    ensure!(reply.code == 404 && reply.text() == "404 page not found\n", "{reply:?}");
    let reply = ask.apply(&target, "m", &widget(ask, "x", json!({})));
    ensure!(reply.code == 404 && reply.text() == "404 page not found\n", "{reply:?}");
    Ok(())
}

fn h113(ask: &Ask<'_>) -> Check {
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let path = ask.define(&widgets(ask, json!({"size": {"type": "integer"}, "open": open})))?;
    let made =
        ask.post(&path, &widget(ask, "x", json!({"size": 1, "bogus": 2, "open": {"any": 3}}))).is(201)?;
    ensure!(made["spec"] == json!({"size": 1, "open": {"any": 3}}), "{}", made["spec"]);
    Ok(())
}

fn h114(ask: &Ask<'_>) -> Check {
    let path = ask.define(&widgets(ask, json!({"size": {"type": "integer", "default": 7}})))?;
    let made = ask.post(&path, &widget(ask, "x", json!({}))).is(201)?;
    ensure!(made["spec"]["size"] == 7, "{made}");
    let read = ask.get(&format!("{path}/x")).is(200)?;
    ensure!(read["spec"]["size"] == 7, "{read}");
    let name = format!("widgets.{}", ask.own_group());
    let more = json!([{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/colour",
        "value": {"type": "string", "default": "red"}}]);
    ask.json_patch(&format!("{CRDS}/{name}"), &more).is(200)?;
    ask.eventually(|| {
        let read = ask.get(&format!("{path}/x")).is(200)?;
        ensure!(read["spec"]["colour"] == "red", "{}", read["spec"]);
        Ok(())
    })
}

fn h115(ask: &Ask<'_>) -> Check {
    let rule = json!([{"rule": "self.min <= self.max", "message": "min must not exceed max",
        "reason": "FieldValueForbidden", "fieldPath": ".min"}]);
    let mut crd = widgets(
        ask,
        json!({"min": {"type": "integer"}, "max": {"type": "integer"},
        "colour": {"type": "string", "enum": ["red", "blue"]}}),
    );
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["x-kubernetes-validations"] =
        rule;
    let path = ask.define(&crd)?;
    let bad = widget(ask, "x", json!({"min": "one", "max": 2, "colour": "green"}));
    let status = ask.post(&path, &bad).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueTypeInvalid", "spec.min")?;
    has_cause(&status, "FieldValueNotSupported", "spec.colour")?;
    ensure!(causes(&status).iter().any(|(_, field)| field == "<nil>"), "{status}");
    let bad = widget(ask, "x", json!({"min": 3, "max": 2, "colour": "red"}));
    let status = ask.post(&path, &bad).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueForbidden", "spec.min")?;
    let message = status["details"]["causes"][0]["message"].as_str().unwrap_or_default().to_owned();
    ensure!(message.contains("min must not exceed max"), "{message}");
    ask.post(&path, &widget(ask, "x", json!({"min": 1, "max": 2}))).is(201).map(drop)
}

fn h116(ask: &Ask<'_>) -> Check {
    let path = ask.define(&widgets(ask, json!({"size": {"type": "integer"}})))?;
    ask.post(&path, &widget(ask, "x", json!({"size": 1}))).is(201)?;
    let reply = ask.strategic(&format!("{path}/x"), &json!({"spec": {"size": 2}}));
    reply.refused(415, "UnsupportedMediaType").map(drop)
}

fn h117(ask: &Ask<'_>) -> Check {
    let path = ask.define(&widgets(ask, json!({"size": {"type": "integer"}})))?;
    let mut body = widget(ask, "x", json!({"size": 1}));
    body["status"] = json!({"phase": "Ready"});
    let made = ask.post(&path, &body).is(201)?;
    ensure!(made.get("status").is_none() && made["metadata"]["generation"] == 1, "{made}");
    let told = ask
        .merge(&format!("{path}/x/status"), &json!({"status": {"phase": "Ready"}, "spec": {"size": 9}}))
        .is(200)?;
    ensure!(told["status"]["phase"] == "Ready" && told["spec"]["size"] == 1, "{told}");
    ensure!(told["metadata"]["generation"] == 1, "{told}");
    let changed = ask
        .merge(&format!("{path}/x"), &json!({"spec": {"size": 2}, "status": {"phase": "Lost"}}))
        .is(200)?;
    ensure!(changed["metadata"]["generation"] == 2 && changed["status"]["phase"] == "Ready", "{changed}");
    Ok(())
}

fn h118(ask: &Ask<'_>) -> Check {
    let mut crd = widgets(ask, json!({"size": {"type": "integer"}}));
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}]);
    let path = ask.define(&crd)?;
    ask.post(&path, &widget(ask, "x", json!({"size": 5}))).is(201)?;
    let table = ask.get_as(&path, "application/json;as=Table;v=v1;g=meta.k8s.io").is(200)?;
    let columns = table["columnDefinitions"].as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = columns.iter().filter_map(|column| column["name"].as_str()).collect();
    ensure!(names == ["Name", "Size", "Age"], "{names:?}");
    let cells = &table["rows"][0]["cells"];
    ensure!(
        cells[0] == "x" && cells[1] == 5 && cells[2].as_str().is_some_and(|age| age.ends_with('s')),
        "{cells}"
    );
    Ok(())
}

fn h119(ask: &Ask<'_>) -> Check {
    let as_user = |token: &str, target: &str| {
        ask.wire.call("GET", target, &[("Authorization", token), ("Accept", "application/json")], b"")
    };
    let status = as_user("Bearer wrong", &ask.cm("")).refused(401, "Unauthorized")?;
    ensure!(status["message"] == "Unauthorized" && status.get("details").is_none(), "{status}");
    let status = as_user("none", &ask.cm("x")).refused(403, "Forbidden")?;
    let wanted = format!(
        "configmaps \"x\" is forbidden: User \"system:anonymous\" cannot get resource \"configmaps\" in API group \"\" in the namespace \"{}\"",
        ask.ns
    );
    ensure!(status["message"] == wanted, "{status}");
    for target in ["/version", "/healthz"] {
        as_user("none", target).is(200)?;
    }
    let status = as_user("none", "/metrics").refused(403, "Forbidden")?;
    ensure!(
        status["message"] == "forbidden: User \"system:anonymous\" cannot get path \"/metrics\"",
        "{status}"
    );
    Ok(())
}

fn h120(ask: &Ask<'_>) -> Check {
    let access = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"namespace": ask.ns, "verb": "create", "resource": "pods"}}});
    let answer = ask.post("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", &access).is(201)?;
    ensure!(answer["status"]["allowed"] == true, "{answer}");
    let rules = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": {"namespace": ask.ns}});
    let answer = ask.post("/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", &rules).is(201)?;
    ensure!(answer["status"]["resourceRules"].is_array(), "{answer}");
    let who = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let answer = ask.post("/apis/authentication.k8s.io/v1/selfsubjectreviews", &who).is(201)?;
    ensure!(answer["status"]["userInfo"]["username"].is_string(), "{answer}");
    Ok(())
}

fn h121(ask: &Ask<'_>) -> Check {
    let play = |headers: &[(&str, &str)]| ask.wire.call("GET", &ask.cm(""), headers, b"");
    play(&[("Impersonate-User", "alice")]).refused(403, "Forbidden")?;
    play(&[("Impersonate-User", "alice"), ("Impersonate-Group", "system:masters")]).is(200)?;
    play(&[("Impersonate-Group", "system:masters")]).refused(400, "BadRequest")?;
    let status =
        play(&[("Authorization", "none"), ("Impersonate-User", "alice")]).refused(403, "Forbidden")?;
    ensure!(
        status["message"].as_str().is_some_and(|t| t.contains("cannot impersonate-on:user-info:list")),
        "{status}"
    );
    Ok(())
}

fn h122(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({}))?;
    ask.wire.faults("path=*/configmaps/* call=1 error=503 retry-after=1; path=*/configmaps/* call=2 throttle=1; path=*/configmaps/* call=4 error=500");
    let first = ask.get(&ask.cm("x"));
    ensure!(first.code == 503 && first.header("retry-after") == "1", "{first:?}");
    let second = ask.get(&ask.cm("x"));
    ensure!(second.code == 429 && second.header("retry-after") == "1", "{second:?}");
    ensure!(second.text().starts_with("Too many requests, please try again later."), "{second:?}");
    ask.get(&ask.cm("x")).is(200)?;
    let last = ask.get(&ask.cm("x"));
    ask.wire.faults("");
    ensure!(last.code == 500 && last.header("retry-after").is_empty(), "{last:?}");
    Ok(())
}

fn h123(ask: &Ask<'_>) -> Check {
    let start = version(&ask.get(&ask.core("secrets", "")).is(200)?);
    for at in 0..10 {
        ask.post(&ask.core("secrets", ""), &json!({"metadata": {"name": format!("s{at}")}})).is(201)?;
    }
    ask.wire.faults("path=*/secrets call=1 watch-drop=3; path=*/secrets call=2 error=503 retry-after=1; path=*/secrets call=3 watch-drop=2");
    let (mut last, mut seen) = (start, Vec::new());
    for _ in 0..4 {
        let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion={last}", ask.core("secrets", "")));
        while let Some(event) = watch.next(Duration::from_millis(200)) {
            if event["type"] != "ADDED" {
                break;
            }
            last = version(&event["object"]);
            seen.push(event["object"]["metadata"]["name"].clone());
        }
    }
    ask.wire.faults("");
    let wanted: Vec<Value> = (0..10).map(|at| json!(format!("s{at}"))).collect();
    ensure!(seen == wanted, "{seen:?}");
    Ok(())
}

fn h124(ask: &Ask<'_>) -> Check {
    ask.post(&ask.core("secrets", ""), &json!({"metadata": {"name": "a"}})).is(201)?;
    ask.wire.faults("path=*/secrets watch-stale=0");
    let mut watch = ask.watch(&format!("{}?watch=1&resourceVersion=5", ask.core("secrets", "")));
    let event = watch.next(SOON);
    let ended = watch.ends(SOON);
    drop(watch);
    ask.wire.faults("");
    let event = event.ok_or("no event")?;
    ensure!(event["type"] == "ERROR" && event["object"]["code"] == 410 && ended, "{event}");
    let list = ask.get(&ask.core("secrets", "")).is(200)?;
    ensure!(list["items"].as_array().is_some_and(|items| items.len() == 1), "{list}");
    Ok(())
}

fn h125(ask: &Ask<'_>) -> Check {
    let reply = ask.get("/openapi/v3/apis/apps/v1");
    reply.is(200)?;
    let tag = reply.header("etag").to_owned();
    ensure!(tag.starts_with('"'), "{tag}");
    let again = ask.wire.call(
        "GET",
        "/openapi/v3/apis/apps/v1",
        &[("If-None-Match", &tag), ("Accept", "application/json")],
        b"",
    );
    ensure!(again.code == 304, "{}", again.code);
    // Compression is the rim's; a small answer is never compressed.
    let small = ask.wire.call("GET", "/version", &[("Accept-Encoding", "gzip")], b"");
    ensure!(small.header("content-encoding").is_empty(), "{small:?}");
    Ok(())
}

fn h126(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({"a": "1"}))?;
    // The real server prefers protobuf; a client takes either, and the sandbox has JSON only.
    let reply = ask.get_as(&ask.cm("x"), "application/json,application/vnd.kubernetes.protobuf");
    let read = reply.is(200)?;
    ensure!(read["data"]["a"] == "1" && reply.header("content-type") == "application/json", "{reply:?}");
    let both = ask.get_as(&ask.cm("x"), "application/vnd.kubernetes.protobuf,application/json");
    ensure!(both.code == 200, "{}", both.code);
    Ok(())
}

fn h127(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({"a": "1"}))?;
    let reply = ask.get_as(&ask.cm("x"), "text/html");
    ensure!(reply.code == 406, "{}", reply.code);
    ask.send("POST", &ask.cm(""), "text/html", b"{}").refused(415, "UnsupportedMediaType")?;
    ask.send("PATCH", &ask.cm("x"), "application/json", b"{}").refused(415, "UnsupportedMediaType").map(drop)
}

fn h128(ask: &Ask<'_>) -> Check {
    let index = ask.get("/openapi/v3").is(200)?;
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().ok_or("no apps/v1")?;
    ensure!(url.contains("?hash="), "{url}");
    let document = ask.get(url).is(200)?;
    let path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}";
    let patch = &document["paths"][path]["patch"];
    ensure!(patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment", "{patch}");
    let has =
        |name: &str| patch["parameters"].as_array().is_some_and(|all| all.iter().any(|p| p["name"] == name));
    ensure!(has("fieldValidation") && has("dryRun"), "{patch}");
    let wrong = ask.get("/openapi/v3/apis/apps/v1?hash=0123");
    ensure!(wrong.code == 301 && wrong.header("location").contains("hash="), "{wrong:?}");
    ask.define(&widgets(ask, json!({})))?;
    let group = ask.own_group();
    ask.eventually(|| {
        let document = ask.get(&format!("/openapi/v3/apis/{group}/v1")).is(200)?;
        let path = format!("/apis/{group}/v1/namespaces/{{namespace}}/widgets/{{name}}");
        let kind = &document["paths"][&path]["patch"]["x-kubernetes-group-version-kind"]["kind"];
        ensure!(*kind == "Widget", "{kind}");
        Ok(())
    })
}

fn h129(ask: &Ask<'_>) -> Check {
    let large = |size: usize| json!({"metadata": {"name": "x"}, "data": {"a": "x".repeat(size)}});
    ask.post(&ask.cm(""), &large(3 * 1024 * 1024 + 10)).refused(413, "RequestEntityTooLarge")?;
    let status = ask.post(&ask.cm(""), &large(1024 * 1024 + 10)).refused(422, "Invalid")?;
    ensure!(causes(&status).iter().any(|(reason, _)| reason == "FieldValueTooLong"), "{status}");
    Ok(())
}

fn h130(ask: &Ask<'_>) -> Check {
    let start = version(&ask.get(&ask.core("secrets", "")).is(200)?);
    // On the real server, whose writes cost a disk's time, fewer.
    let writes = if ask.wire.is_real() { 300 } else { 10_000 };
    let target = format!("{}?watch=1&resourceVersion={start}", ask.core("secrets", ""));
    let mut watchers: Vec<_> = (0..3).map(|_| ask.watch(&target)).collect();
    let mut versions = Vec::new();
    for at in 0..writes {
        let made = match at {
            0 => ask.post(&ask.core("secrets", ""), &json!({"metadata": {"name": "s"}})).is(201)?,
            _ => ask
                .merge(&ask.core("secrets", "s"), &json!({"metadata": {"labels": {"n": at.to_string()}}}))
                .is(200)?,
        };
        versions.push(version(&made));
    }
    for watch in &mut watchers {
        for wanted in &versions {
            let event = watch.next(SOON).ok_or_else(|| format!("no event {wanted}"))?;
            ensure!(
                version(&event["object"]) == *wanted,
                "{} instead of {wanted}",
                version(&event["object"])
            );
        }
        ensure!(watch.next(Duration::from_millis(200)).is_none(), "one more event");
    }
    Ok(())
}
