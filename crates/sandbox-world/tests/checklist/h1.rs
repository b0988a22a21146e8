//! H1: basics that every client needs.

use serde_json::{Value, json};

use crate::Statement;
use crate::ask::{Ask, Check, deployment, has_cause, version};
use crate::ensure;

pub const ALL: &[Statement] = &[
    (1, h001),
    (2, h002),
    (3, h003),
    (4, h004),
    (5, h005),
    (6, h006),
    (7, h007),
    (8, h008),
    (9, h009),
    (10, h010),
    (11, h011),
    (12, h012),
    (13, h013),
    (14, h014),
    (15, h015),
    (16, h016),
    (17, h017),
    (18, h018),
    (19, h019),
    (20, h020),
    (21, h021),
    (22, h022),
    (23, h023),
    (24, h024),
    (25, h025),
];

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

fn h001(ask: &Ask<'_>) -> Check {
    let version = ask.get("/version").is(200)?;
    ensure!(version["major"] == "1" && version["minor"].is_string(), "{version}");
    ensure!(version["gitVersion"].as_str().is_some_and(|text| text.starts_with("v1.")), "{version}");
    Ok(())
}

fn h002(ask: &Ask<'_>) -> Check {
    let accept = format!("{AGGREGATED},application/json");
    let reply = ask.get_as("/api", &accept);
    let list = reply.is(200)?;
    ensure!(reply.header("content-type") == AGGREGATED, "content type {}", reply.header("content-type"));
    let tag = reply.header("etag");
    ensure!(tag.starts_with('"') && tag.len() == 130, "etag {tag}");
    let items = list["items"].as_array().ok_or("no items")?;
    ensure!(items.len() == 1 && items[0]["metadata"] == json!({}), "{} items", items.len());
    ensure!(items[0]["versions"][0]["version"] == "v1", "not v1");
    let again = ask.wire.call("GET", "/api", &[("Accept", &accept), ("If-None-Match", tag)], b"");
    ensure!(again.code == 304, "{} with the tag", again.code);
    Ok(())
}

fn h003(ask: &Ask<'_>) -> Check {
    let reply = ask.get_as("/apis", AGGREGATED);
    let list = reply.is(200)?;
    let items = list["items"].as_array().ok_or("no items")?;
    let names: Vec<&str> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    let at = |name: &str| names.iter().position(|own| *own == name);
    ensure!(
        at("apps").is_some() && at("apps") < at("batch") && at("batch") < at("storage.k8s.io"),
        "{names:?}"
    );
    let apps = &items[at("apps").unwrap_or(0)];
    let resources = apps["versions"][0]["resources"].as_array().ok_or("no resources")?;
    let dep = resources.iter().find(|r| r["resource"] == "deployments").ok_or("no deployments")?;
    ensure!(dep["responseKind"]["kind"] == "Deployment" && dep["scope"] == "Namespaced", "{dep}");
    ensure!(dep["singularResource"] == "deployment" && dep["shortNames"] == json!(["deploy"]), "{dep}");
    ensure!(dep["categories"] == json!(["all"]), "{dep}");
    ensure!(dep["verbs"].as_array().is_some_and(|verbs| verbs.contains(&json!("deletecollection"))), "{dep}");
    let subs = dep["subresources"].as_array().ok_or("no subresources")?;
    let scale = subs.iter().find(|s| s["subresource"] == "scale").ok_or("no scale")?;
    ensure!(scale["responseKind"]["group"] == "autoscaling", "{scale}");
    Ok(())
}

fn h004(ask: &Ask<'_>) -> Check {
    let core = ask.get("/api").is(200)?;
    ensure!(core["kind"] == "APIVersions" && core["versions"] == json!(["v1"]), "{core}");
    let groups = ask.get("/apis").is(200)?;
    ensure!(groups["kind"] == "APIGroupList", "{}", groups["kind"]);
    let all = groups["groups"].as_array().ok_or("no groups")?;
    let scaling = all.iter().find(|group| group["name"] == "autoscaling").ok_or("no autoscaling")?;
    ensure!(scaling["preferredVersion"]["groupVersion"] == "autoscaling/v2", "{scaling}");
    Ok(())
}

fn h005(ask: &Ask<'_>) -> Check {
    let core = ask.get("/api/v1").is(200)?;
    ensure!(core["kind"] == "APIResourceList" && core["groupVersion"] == "v1", "{}", core["kind"]);
    let has = |list: &Value, name: &str| {
        list["resources"].as_array().is_some_and(|all| all.iter().any(|r| r["name"] == name))
    };
    ensure!(has(&core, "pods") && has(&core, "pods/log") && has(&core, "namespaces/finalize"), "core");
    let apps = ask.get("/apis/apps/v1").is(200)?;
    ensure!(has(&apps, "deployments/scale"), "apps");
    let scale = apps["resources"].as_array().into_iter().flatten().find(|r| r["name"] == "deployments/scale");
    ensure!(scale.is_some_and(|s| s["group"] == "autoscaling" && s["version"] == "v1"), "{scale:?}");
    Ok(())
}

fn h006(ask: &Ask<'_>) -> Check {
    let none = ask.get("/apis/none.io/v1");
    ensure!(none.code == 404 && none.header("content-type").starts_with("text/plain"), "{none:?}");
    ask.get("/apis/apps/v1beta1").refused(404, "NotFound").map(drop)
}

fn h007(ask: &Ask<'_>) -> Check {
    let made = ask.make_cm("x", &json!({"a": "1"}))?;
    let meta = &made["metadata"];
    ensure!(meta["uid"].as_str().is_some_and(|uid| uid.len() == 36), "{meta}");
    ensure!(version(&made) > 0, "{meta}");
    let time = meta["creationTimestamp"].as_str().unwrap_or_default();
    ensure!(time.len() == 20 && time.ends_with('Z'), "{time}");
    ensure!(meta["managedFields"][0]["fieldsV1"]["f:data"]["f:a"] == json!({}), "{meta}");
    let empty = ask.post(&ask.cm(""), &json!({"metadata": {"name": "empty"}})).is(201)?;
    ensure!(empty["metadata"].get("managedFields").is_none(), "{empty}");
    Ok(())
}

fn h008(ask: &Ask<'_>) -> Check {
    let made = ask.make_cm("x", &json!({"a": "1"}))?;
    let read = ask.get(&ask.cm("x")).is(200)?;
    ensure!(read == made, "{read} is not {made}");
    ensure!(read["kind"] == "ConfigMap" && read["apiVersion"] == "v1", "{read}");
    Ok(())
}

fn h009(ask: &Ask<'_>) -> Check {
    for name in ["b", "a", "c"] {
        ask.make_cm(name, &json!({}))?;
    }
    let list = ask.get(&format!("{}?fieldSelector=metadata.name!%3Dkube-root-ca.crt", ask.cm(""))).is(200)?;
    ensure!(list["kind"] == "ConfigMapList" && list["apiVersion"] == "v1" && version(&list) > 0, "{list}");
    let items = list["items"].as_array().ok_or("no items")?;
    let names: Vec<&str> = items.iter().filter_map(|item| item["metadata"]["name"].as_str()).collect();
    ensure!(names == ["a", "b", "c"], "{names:?}");
    ensure!(
        items.iter().all(|item| item.get("kind").is_none() && item.get("apiVersion").is_none()),
        "{list}"
    );
    let none = ask.get(&ask.core("secrets", "")).is(200)?;
    ensure!(none["items"] == json!([]), "{none}");
    Ok(())
}

fn h010(ask: &Ask<'_>) -> Check {
    let status = ask.get(&ask.cm("x")).refused(404, "NotFound")?;
    ensure!(status["message"] == "configmaps \"x\" not found", "{status}");
    ensure!(status["details"] == json!({"name": "x", "kind": "configmaps"}), "{status}");
    let dep = ask.get(&ask.dep("x")).refused(404, "NotFound")?;
    ensure!(
        dep["message"] == "deployments.apps \"x\" not found" && dep["details"]["group"] == "apps",
        "{dep}"
    );
    Ok(())
}

fn h011(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({}))?;
    let status = ask.post(&ask.cm(""), &json!({"metadata": {"name": "x"}})).refused(409, "AlreadyExists")?;
    ensure!(status["message"] == "configmaps \"x\" already exists", "{status}");
    Ok(())
}

fn h012(ask: &Ask<'_>) -> Check {
    let mut object = ask.make_cm("x", &json!({"a": "1"}))?;
    let before = version(&object);
    object["data"]["a"] = json!("2");
    let after = ask.put(&ask.cm("x"), &object).is(200)?;
    ensure!(version(&after) > before && after["data"]["a"] == "2", "{after}");
    Ok(())
}

fn h013(ask: &Ask<'_>) -> Check {
    let mut object = ask.make_cm("x", &json!({"a": "1"}))?;
    ask.merge(&ask.cm("x"), &json!({"data": {"a": "2"}})).is(200)?;
    object["data"]["a"] = json!("3");
    let status = ask.put(&ask.cm("x"), &object).refused(409, "Conflict")?;
    let end = "the object has been modified; please apply your changes to the latest version and try again";
    ensure!(status["message"].as_str().is_some_and(|text| text.ends_with(end)), "{status}");
    Ok(())
}

fn h014(ask: &Ask<'_>) -> Check {
    ask.make_cm("x", &json!({"a": "1"}))?;
    ask.put(&ask.cm("x"), &json!({"metadata": {"name": "x"}, "data": {"a": "2"}})).is(200)?;
    ask.post(&ask.dep(""), &deployment("d")).is(201)?;
    ask.put(&ask.dep("d"), &deployment("d")).is(200)?;
    let service = json!({"metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}});
    ask.post(&ask.core("services", ""), &service).is(201)?;
    ask.put(&ask.core("services", "s"), &service).is(200)?;
    let budgets = ask.group("policy/v1", "poddisruptionbudgets", "");
    let budget = json!({"metadata": {"name": "b"}, "spec": {"minAvailable": 1}});
    ask.post(&budgets, &budget).is(201)?;
    let status = ask.put(&format!("{budgets}/b"), &budget).refused(422, "Invalid")?;
    ensure!(
        status["message"].as_str().is_some_and(|text| text.contains("metadata.resourceVersion")),
        "{status}"
    );
    Ok(())
}

fn h015(ask: &Ask<'_>) -> Check {
    let named = json!({"metadata": {"name": "x"}});
    for path in [ask.cm("x"), ask.core("secrets", "x")] {
        ask.put(&path, &named).refused(404, "NotFound")?;
    }
    ask.put(&ask.dep("x"), &deployment("x")).refused(404, "NotFound")?;
    let service = json!({"metadata": {"name": "x"}, "spec": {"ports": [{"port": 80}]}});
    ask.put(&ask.core("services", "x"), &service).is(201)?;
    for path in [
        ask.group("coordination.k8s.io/v1", "leases", "x"),
        ask.core("endpoints", "x2"),
        ask.group("rbac.authorization.k8s.io/v1", "roles", "x"),
    ] {
        let name = path.rsplit('/').next().unwrap_or_default().to_owned();
        let mut body = json!({"metadata": {"name": name}});
        if path.contains("roles") {
            body["rules"] = json!([]);
        }
        ask.put(&path, &body).is(201)?;
    }
    let range = json!({"metadata": {"name": "x"}, "spec": {"limits": []}});
    ask.put(&ask.core("limitranges", "x"), &range).is(201).map(drop)
}

fn h016(ask: &Ask<'_>) -> Check {
    let made = ask.make_cm("x", &json!({}))?;
    let status = ask.delete(&ask.cm("x")).is(200)?;
    ensure!(status["kind"] == "Status" && status["status"] == "Success", "{status}");
    let wanted = json!({"name": "x", "kind": "configmaps", "uid": made["metadata"]["uid"]});
    ensure!(status["details"] == wanted, "{status}");
    ask.get(&ask.cm("x")).refused(404, "NotFound").map(drop)
}

fn h017(ask: &Ask<'_>) -> Check {
    ask.delete(&ask.cm("x")).refused(404, "NotFound").map(drop)
}

fn h018(ask: &Ask<'_>) -> Check {
    let page = ask.get("/nothing/here");
    ensure!(page.code == 404 && page.text() == "404 page not found\n", "{page:?}");
    ensure!(page.header("content-type").starts_with("text/plain"), "{page:?}");
    let status = ask.get("/apis/apps/v1/nothings").refused(404, "NotFound")?;
    ensure!(status["message"] == "the server could not find the requested resource", "{status}");
    Ok(())
}

fn h019(ask: &Ask<'_>) -> Check {
    let reply = ask.send("POST", &ask.cm(""), "application/json", b"{\"metadata\": {\"name\": ");
    reply.refused(400, "BadRequest").map(drop)
}

fn h020(ask: &Ask<'_>) -> Check {
    let other = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "x"}});
    ask.post(&ask.cm(""), &other).refused(400, "BadRequest")?;
    let old = json!({"apiVersion": "apps/v1beta1", "kind": "Deployment", "metadata": {"name": "x"}});
    ask.post(&ask.dep(""), &old).refused(400, "BadRequest")?;
    ask.post(&ask.cm(""), &json!({"metadata": {"name": "x"}})).is(201).map(drop)
}

fn h021(ask: &Ask<'_>) -> Check {
    let path = format!("/api/v1/namespaces/{}-none/configmaps", ask.ns);
    let status = ask.post(&path, &json!({"metadata": {"name": "x"}})).refused(404, "NotFound")?;
    ensure!(status["message"] == format!("namespaces \"{}-none\" not found", ask.ns), "{status}");
    Ok(())
}

fn h022(ask: &Ask<'_>) -> Check {
    let status = ask.post(&ask.cm(""), &json!({"metadata": {"name": "Big_Name"}})).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueInvalid", "metadata.name")?;
    ask.post(&ask.cm("x"), &json!({})).refused(405, "MethodNotAllowed")?;
    ask.put(&ask.cm(""), &json!({})).refused(405, "MethodNotAllowed").map(drop)
}

fn h023(ask: &Ask<'_>) -> Check {
    let made = ask.post(&ask.cm(""), &json!({"metadata": {"generateName": "a-"}})).is(201)?;
    let name = made["metadata"]["name"].as_str().unwrap_or_default();
    let suffix = name.strip_prefix("a-").unwrap_or_default();
    ensure!(suffix.len() == 5, "{name}");
    ensure!(suffix.chars().all(|c| "bcdfghjklmnpqrstvwxz2456789".contains(c)), "{name}");
    ensure!(made["metadata"]["generateName"] == "a-", "{made}");
    Ok(())
}

fn h024(ask: &Ask<'_>) -> Check {
    let status = ask.post(&ask.cm(""), &json!({"metadata": {}})).refused(422, "Invalid")?;
    has_cause(&status, "FieldValueRequired", "metadata.name")?;
    let elsewhere = json!({"metadata": {"name": "x", "namespace": "default"}});
    ask.post(&ask.cm(""), &elsewhere).refused(400, "BadRequest").map(drop)
}

fn h025(ask: &Ask<'_>) -> Check {
    for reply in [
        ask.get(&ask.cm("x")),
        ask.post(&ask.cm("x"), &json!({})),
        ask.get("/apis/apps/v1/nothings"),
        ask.send("POST", &ask.cm(""), "application/x-nothing", b"{}"),
        ask.send("PATCH", &ask.cm("x"), "application/json", b"{}"),
    ] {
        let status = reply.json();
        ensure!(reply.code >= 400 && status["kind"] == "Status" && status["code"] == reply.code, "{reply:?}");
    }
    // A ConfigMap `p` with data {"a": "1"}, as kubectl sends it.
    let mut body = b"k8s\0".to_vec();
    body.extend_from_slice(b"\x0a\x0f\x0a\x02v1\x12\x09ConfigMap");
    let object = b"\x0a\x03\x0a\x01p\x12\x06\x0a\x01a\x12\x011";
    body.push(0x12);
    body.push(u8::try_from(object.len()).unwrap_or(0));
    body.extend_from_slice(object);
    let made = ask.send("POST", &ask.cm(""), "application/vnd.kubernetes.protobuf", &body).is(201)?;
    ensure!(made["metadata"]["name"] == "p" && made["data"]["a"] == "1", "{made}");
    Ok(())
}
