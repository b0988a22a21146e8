//! Hostile clients: whatever is sent, the answer is a Status or a page, nothing panics, nothing grows.

#![allow(clippy::unwrap_used)]

use std::time::Duration;

use sandbox_world::{Answer, Request, Response, StreamId, Time, World};
use serde_json::{Value, json};

fn world() -> World {
    World::with_defaults(3, Time::from_millis(1_767_225_600_000))
}

fn call(world: &mut World, method: &str, target: &str, kind: &str, body: &[u8]) -> Response {
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let headers = [("content-type".to_owned(), kind.to_owned())];
    match world.handle(&Request { method, path, query, headers: &headers, body }) {
        Answer::Whole(response) => response,
        Answer::Stream { id, .. } => {
            world.close(id);
            Response { status: 200, ..Response::default() }
        }
        Answer::Upgrade { .. } => Response { status: 101, ..Response::default() },
        Answer::Broken => panic!("{method} {target} broke off"),
    }
}

/// An error is a Status with its code, or a page in plain text.
fn is_refusal(response: &Response) -> bool {
    let text = response
        .headers
        .iter()
        .any(|(name, value)| *name == "content-type" && value.starts_with("text/plain"));
    let status: Value = serde_json::from_slice(&response.body).unwrap_or_default();
    response.status >= 400 && (text || (status["kind"] == "Status" && status["code"] == response.status))
}

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const JSON: &str = "application/json";
const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

#[test]
fn malformed_bodies_are_refused_and_store_nothing() {
    let mut world = world();
    let revision = world.revision();
    let deep = format!("{}{}", "{\"a\":".repeat(5000), "1");
    let lists = "[".repeat(5000);
    let bodies: [&[u8]; 16] = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"7",
        b"\"x\"",
        b"\xff\xff\xff",
        b"{\"metadata\":7}",
        b"{\"metadata\":[]}",
        b"{\"metadata\":{\"name\":7}}",
        b"{\"metadata\":{\"name\":\"x\",\"labels\":[1]}}",
        b"{\"data\":\"x\"}",
        deep.as_bytes(),
        lists.as_bytes(),
        b"k8s\0\x0a\xff\xff\xff\xff\x0f",
        b"k8s\0",
    ];
    for body in bodies {
        for kind in [JSON, "application/yaml", "application/vnd.kubernetes.protobuf", "text/html"] {
            for (method, target) in
                [("POST", MAPS), ("PUT", "/api/v1/namespaces/default/configmaps/x"), ("POST", DEPLOYMENTS)]
            {
                let response = call(&mut world, method, target, kind, body);
                assert!(
                    is_refusal(&response),
                    "{method} {kind} {:?}: {}",
                    &body[..body.len().min(40)],
                    response.status
                );
            }
        }
        for kind in [APPLY, MERGE, JSON_PATCH, STRATEGIC] {
            let target = format!("{MAPS}/kube-root-ca.crt?fieldManager=m");
            let response = call(&mut world, "PATCH", &target, kind, body);
            let same = response.status == 200 && !matches!(kind, APPLY);
            assert!(
                same || is_refusal(&response),
                "{kind} {:?}: {}",
                &body[..body.len().min(40)],
                response.status
            );
        }
    }
    assert!(world.revision() <= revision + 8, "{} revisions were used", world.revision() - revision);
}

#[test]
fn deep_objects_and_patches_are_refused_or_kept_but_never_overflow_a_stack() {
    let mut world = world();
    let mut nested = json!({"x": 1});
    for _ in 0..100 {
        nested = json!({"a": [nested]});
    }
    let crd = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    assert_eq!(call(&mut world, "POST", crds, JSON, crd.to_string().as_bytes()).status, 201);
    let things = "/apis/example.com/v1/namespaces/default/things";
    let thing =
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": nested});
    for (method, target, kind) in [
        ("POST", things.to_owned(), JSON),
        ("PATCH", format!("{things}/t?fieldManager=m"), APPLY),
        ("PATCH", format!("{things}/t"), MERGE),
        ("PUT", format!("{things}/t"), JSON),
    ] {
        let response = call(&mut world, method, &target, kind, thing.to_string().as_bytes());
        assert!(response.status < 300 || is_refusal(&response), "{method}: {}", response.status);
    }
    let ops = json!([{"op": "add", "path": format!("/{}", "a/".repeat(3000)), "value": 1}]);
    let response = call(&mut world, "PATCH", &format!("{things}/t"), JSON_PATCH, ops.to_string().as_bytes());
    assert!(is_refusal(&response), "{}", response.status);
}

#[test]
fn huge_objects_and_patches_are_refused_by_size() {
    let mut world = world();
    let large = json!({"metadata": {"name": "x"}, "data": {"a": "x".repeat(4 << 20)}}).to_string();
    assert_eq!(call(&mut world, "POST", MAPS, JSON, large.as_bytes()).status, 413);
    let ops: Vec<Value> =
        (0..10_001).map(|_| json!({"op": "add", "path": "/data/a", "value": "1"})).collect();
    let target = format!("{MAPS}/kube-root-ca.crt");
    assert_eq!(call(&mut world, "PATCH", &target, JSON_PATCH, json!(ops).to_string().as_bytes()).status, 413);
    let aliases = format!(
        "a: &a [x,x,x,x,x,x,x,x,x]\n{}",
        (0..20).map(|i| format!("b{i}: &b{i} [*a,*a,*a,*a,*a,*a,*a,*a]\n")).collect::<String>()
    );
    let bomb = (1..12).fold("a0: &a0 [x,x,x,x,x,x,x,x]\n".to_owned(), |text, i| {
        let above = vec![format!("*a{}", i - 1); 9].join(",");
        format!("{text}a{i}: &a{i} [{above}]\n")
    });
    for body in [aliases, bomb] {
        let response = call(&mut world, "PATCH", &format!("{MAPS}/y?fieldManager=m"), APPLY, body.as_bytes());
        assert!(is_refusal(&response), "{}", response.status);
    }
}

#[test]
fn path_tricks_lead_nowhere() {
    let mut world = world();
    for target in [
        "",
        "/",
        "//",
        "/api/v1/../v1/pods",
        "/api/v1/namespaces/%2e%2e/pods",
        "/api/v1/namespaces/a%2fb/configmaps/x",
        "/api/v1/namespaces/default/configmaps/..",
        "/api/v1/namespaces/default/configmaps/x%00y",
        "/api/v1/namespaces/default/pods/x/log/../../y",
        "/apis/apps/v1/namespaces/default/deployments/x/scale/y",
        "/api/v1/pods/x",
        "/api/v1/namespaces/default/nodes",
        "/api/v1/namespaces/default/pods/x/nothing",
        "/apis//v1/x",
        "/apis/apps",
        "/apis/apps/v1/deployments/x",
        "/openapi/v3/../../etc",
        "/openapi/v3/apis/none/v1",
        "/api/v1/namespaces/default/pods/x/proxy",
        "/api/v1/watch",
        "/logs/x",
        "/metrics",
        "/debug/pprof",
    ] {
        for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "", "GET\r\n"] {
            let response = call(&mut world, method, target, JSON, b"{}");
            assert!(is_refusal(&response) || response.status < 300, "{method} {target}: {}", response.status);
            assert!(
                response.status < 300 || response.status >= 400,
                "{method} {target}: {}",
                response.status
            );
        }
    }
}

#[test]
fn queries_that_mean_nothing_are_refused_or_ignored() {
    let mut world = world();
    for query in [
        "limit=x",
        "limit=-5",
        "limit=99999999999999999999",
        "watch=maybe",
        "resourceVersion=x",
        "continue=%%%",
        "continue=e30",
        "labelSelector=%3D%3D",
        "labelSelector=a+in+(",
        "fieldSelector=x",
        "fieldSelector=a.b%3Dc",
        "timeoutSeconds=x&watch=1",
        "resourceVersionMatch=Maybe&resourceVersion=1",
        "watch=1&resourceVersion=x",
        "sendInitialEvents=1",
        "&&&===&",
        "labelSelector=!!!",
        "%ff=%fe",
    ] {
        let response = call(&mut world, "GET", &format!("{MAPS}?{query}"), "", b"");
        assert!(is_refusal(&response) || response.status == 200, "{query}: {}", response.status);
    }
}

#[test]
fn a_thousand_watches_that_nobody_reads_hold_places_and_not_bytes() {
    let mut world = world();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", world.revision());
    let (path, query) = target.split_once('?').unwrap();
    let mut ids: Vec<StreamId> = Vec::new();
    for _ in 0..1000 {
        let request = Request { method: "GET", path, query, headers: &[], body: b"" };
        match world.handle(&request) {
            Answer::Stream { id, .. } => ids.push(id),
            other => panic!("{other:?}"),
        }
    }
    for at in 0..50 {
        let body = json!({"metadata": {"name": format!("c{at}")}, "data": {"a": "x".repeat(1000)}});
        assert_eq!(call(&mut world, "POST", MAPS, JSON, body.to_string().as_bytes()).status, 201);
    }
    assert_eq!(world.open_streams(), 1000);
    let events = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    for id in &ids {
        assert_eq!(events(&world.poll(*id).bytes), 50);
        assert!(world.poll(*id).bytes.is_empty());
        world.close(*id);
    }
    assert_eq!(world.open_streams(), 0);
    assert!(world.poll(ids[0]).ended, "a closed stream ends");
}

#[test]
fn one_poll_says_a_bounded_amount() {
    let mut world = world();
    let target = format!("{MAPS}?watch=1&resourceVersion={}", world.revision());
    let (path, query) = target.split_once('?').unwrap();
    let Answer::Stream { id, .. } =
        world.handle(&Request { method: "GET", path, query, headers: &[], body: b"" })
    else {
        panic!("no stream")
    };
    for at in 0..30 {
        let body = json!({"metadata": {"name": format!("c{at}")}, "data": {"a": "x".repeat(100_000)}});
        assert_eq!(call(&mut world, "POST", MAPS, JSON, body.to_string().as_bytes()).status, 201);
    }
    let mut pieces = 0;
    loop {
        let polled = world.poll(id);
        if polled.bytes.is_empty() {
            break;
        }
        assert!(polled.bytes.len() < 500_000, "{} bytes", polled.bytes.len());
        pieces += 1;
    }
    assert!(pieces > 5, "{pieces}");
}

#[test]
fn random_bytes_in_every_place_never_panic() {
    let mut world = world();
    let mut state = 0x2545_F491_4F6C_DD1Du64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    };
    let words = [
        "/api",
        "/apis",
        "/v1",
        "/namespaces",
        "/default",
        "/pods",
        "/x",
        "/status",
        "/scale",
        "/apps",
        "/watch",
        "?watch=1",
        "&limit=1",
        "%",
        "%2f",
        "?",
        "=",
        "{",
        "}",
        "[",
        "\"",
        ":",
        "metadata",
        "name",
        "\\u0000",
        "k8s\0",
        "\n",
    ];
    for _ in 0..20_000 {
        let mut text = String::new();
        for _ in 0..random() % 9 {
            text.push_str(words[(random() % words.len() as u64) as usize]);
        }
        let mut body = String::new();
        for _ in 0..random() % 20 {
            body.push_str(words[(random() % words.len() as u64) as usize]);
        }
        let method = ["GET", "POST", "PUT", "PATCH", "DELETE"][(random() % 5) as usize];
        let kind = [JSON, APPLY, MERGE, JSON_PATCH, STRATEGIC, "application/yaml"][(random() % 6) as usize];
        call(&mut world, method, &text, kind, body.as_bytes());
    }
    world.advance(Duration::from_secs(1));
}
