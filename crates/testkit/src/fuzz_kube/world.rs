//! A few requests to a whole world, then some seconds of its life.

use super::feed::Feed;
use super::text::encoded;
use kube_meaning::api_path::collection_path;
use sandbox_world::{Answer, ObjectKey, Request, Time, World};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;
use std::time::Duration;

/// A settled world with a custom resource definition; made once.
static WORLD: LazyLock<World> = LazyLock::new(|| {
    let mut world = World::with_defaults(3, Time::from_millis(1_767_225_600_000));
    let crd = json!({"metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "kind": "Thing"}, "versions": [{"name": "v1", "served": true, "storage": true,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {
                "spec": {"type": "object", "properties": {
                    "replicas": {"type": "integer", "default": 1, "maximum": 9}, "size": {"type": "string", "enum": ["s", "m"]},
                    "parts": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"],
                        "items": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}, "at": {"x-kubernetes-int-or-string": true}}}},
                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}},
                "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}}}]}});
    let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    answer(&mut world, "POST", crds, "", "application/json", crd.to_string().as_bytes());
    world.advance(Duration::from_secs(1));
    world
});

pub(super) fn fresh() -> World {
    WORLD.clone()
}

/// Requests with a body that nearly fits, and some that do not try; after them time passes and controllers work on what
/// is there. No panic, every refusal is a Status or a page, and the store is whole.
pub fn world(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let mut world = fresh();
    for step in 0..10 {
        if feed.is_empty() && step > 0 {
            break;
        }
        request(&mut feed, &mut world);
        if feed.rarely(3) {
            world.advance(Duration::from_millis(*feed.pick(&[1, 500, 3000, 70_000])));
        }
    }
    world.advance(Duration::from_secs(3));
    whole(&world);
}

const NAMES: &[&str] =
    &["a", "b", "web", "default", "node-1", "kube-root-ca.crt", "kubernetes", "x%2Fy", "..", ""];
const PATCHES: &[&str] = &[
    "application/apply-patch+yaml",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/json-patch+json",
    "application/json",
    "application/yaml",
    "",
];

fn request(feed: &mut Feed<'_>, world: &mut World) {
    let sample = match feed.rarely(8) {
        true => thing(feed),
        false => feed.sample(),
    };
    let schema = kube_meaning::builtin();
    let found = schema.resource_of(&sample);
    let collection = match found {
        Some(resource) => collection_path(resource, resource.namespaced.then_some("default")),
        None => "/apis/example.com/v1/namespaces/default/things".to_owned(),
    };
    let name = match feed.byte() % 3 {
        0 => (*feed.pick(NAMES)).to_owned(),
        _ => sample["metadata"]["name"].as_str().unwrap_or("a").to_owned(),
    };
    let sub = *feed.pick(&[
        "",
        "",
        "",
        "/status",
        "/scale",
        "/eviction",
        "/log",
        "/exec",
        "/binding",
        "/finalize",
        "/x",
    ]);
    let one = format!("{collection}/{name}{sub}");
    let body = match found {
        Some(resource) => feed.changed(schema, resource, sample),
        None => sample,
    };
    let mut body = body.to_string().into_bytes();
    if feed.rarely(20) {
        body = feed.slice().to_vec();
    }
    let query = query(feed);
    match feed.below(8) {
        0 | 1 => answer(world, "POST", &collection, &query, *feed.pick(&PATCHES[4..]), &body),
        2 => answer(world, "PATCH", &one, &query, *feed.pick(PATCHES), &body),
        3 => answer(world, "PUT", &one, &query, "application/json", &body),
        4 => answer(world, "DELETE", &one, &query, "", &options(feed)),
        5 => answer(world, "GET", &collection, &query, "", b""),
        6 => answer(world, *feed.pick(&["POST", "GET", "DELETE"]), &one, &query, "application/json", &body),
        _ => {
            let path = String::from_utf8_lossy(feed.slice()).into_owned();
            let method = *feed.pick(&["GET", "POST", "DELETE", "OPTIONS", ""]);
            answer(world, method, &path, &query, "application/json", &body);
        }
    }
}

fn thing(feed: &mut Feed<'_>) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": *feed.pick(NAMES)}, "spec": {
        "replicas": feed.any(0), "size": feed.word(), "free": feed.any(3),
        "parts": [{"name": feed.word(), "at": feed.any(1)}, {"name": feed.word()}]}, "status": feed.any(2)})
}

fn options(feed: &mut Feed<'_>) -> Vec<u8> {
    if feed.byte().is_multiple_of(2) {
        return Vec::new();
    }
    let policy = *feed.pick(&["Background", "Foreground", "Orphan", "x"]);
    json!({"propagationPolicy": policy, "gracePeriodSeconds": feed.any(0), "preconditions": feed.any(1)})
        .to_string()
        .into_bytes()
}

fn query(feed: &mut Feed<'_>) -> String {
    let mut query = "fieldManager=m".to_owned();
    for _ in 0..feed.below(3) {
        let (key, value) = match feed.below(11) {
            0 => ("force", "true".to_owned()),
            1 => ("dryRun", (*feed.pick(&["All", "x"])).to_owned()),
            2 => ("fieldValidation", (*feed.pick(&["Strict", "Warn", "Ignore", "x"])).to_owned()),
            3 => ("labelSelector", encoded(feed.word())),
            4 => ("fieldSelector", encoded(&format!("metadata.name={}", feed.word()))),
            5 => ("limit", feed.byte().to_string()),
            6 => ("watch", "1".to_owned()),
            7 => ("resourceVersion", (*feed.pick(&["0", "5", "999999", "x"])).to_owned()),
            8 => ("continue", encoded(&String::from_utf8_lossy(feed.slice()))),
            9 => ("sendInitialEvents", "true&resourceVersionMatch=NotOlderThan".to_owned()),
            _ => ("pretty", "true".to_owned()),
        };
        query = format!("{query}&{key}={value}");
    }
    query
}

/// One request. An error must be a Status with its code, or a page in plain text.
pub(super) fn answer(world: &mut World, method: &str, path: &str, query: &str, kind: &str, body: &[u8]) {
    let headers = [("content-type".to_owned(), kind.to_owned())];
    match world.handle(&Request { method, path, query, headers: &headers, body }) {
        Answer::Stream { id, .. } => {
            world.poll(id);
            world.close(id);
        }
        Answer::Upgrade { .. } => {}
        Answer::Broken => panic!("{method} {path} broke off without a fault"),
        Answer::Whole(response) if response.status < 400 => {}
        Answer::Whole(response) => {
            let text =
                |(name, value): &(&str, String)| *name == "content-type" && value.starts_with("text/plain");
            let status: Value = serde_json::from_slice(&response.body).unwrap_or_default();
            assert!(
                response.headers.iter().any(text)
                    || (status["kind"] == "Status" && status["code"] == response.status),
                "{method} {path}: {} without a Status",
                response.status
            );
        }
    }
}

/// Every object is where it says it is, with a uid and a version of its own; what is kept comes back.
fn whole(world: &World) {
    let store = world.view().store;
    let (mut uids, mut versions) = (BTreeSet::new(), BTreeSet::new());
    for resource in store.resources() {
        for (key, object) in store.list(resource, None) {
            let value = &*object.value;
            let meta = &value["metadata"];
            assert_eq!(ObjectKey::of(value), *key);
            assert!(!key.name.is_empty(), "an object without a name");
            assert!(
                uids.insert(meta["uid"].as_str().unwrap_or_default()),
                "{key:?}: a uid that another one has"
            );
            assert!(
                versions.insert(object.revision) && object.revision <= store.revision(),
                "{key:?}: version"
            );
            let text: Result<Value, _> = serde_json::from_slice(object.text().bytes());
            let owners = text.as_ref().map(|text| text["metadata"].get("managedFields"));
            assert!(owners.is_ok_and(|owners| owners.is_none_or(Value::is_array)), "{key:?}: no owners");
        }
    }
    let kept = world.snapshot();
    let restored = World::restore(&kept).expect("a snapshot can be read");
    assert!(restored.snapshot() == kept, "a snapshot does not come back as it was");
}
