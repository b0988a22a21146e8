//! Sets of field paths and the list that holds them.

use super::feed::Feed;
use kube_meaning::elem::Elem;
use kube_meaning::fieldset::FieldSet;
use kube_meaning::managed::Managed;
use kube_meaning::ssa::Target;
use kube_meaning::write::{Verb, Writer, write};
use serde_json::{Map, Value, json};

/// Two documents in the form of `fieldsV1`: they are read or refused, written as they were read, and obey the laws of sets.
pub fn field_paths(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    for text in [feed.slice(), feed.slice()] {
        let text = String::from_utf8_lossy(text);
        if let Some(elem) = Elem::parse(&text) {
            let mut key = String::new();
            elem.write_key(&mut key);
            assert_eq!(Elem::parse(&key).as_ref(), Some(&elem), "{key:?} is read as something else");
        }
        if let Ok(value) = serde_json::from_str::<Value>(&text) {
            let _ = FieldSet::parse(&value);
        }
    }
    let (a, b) = (fields(&mut feed, 6), fields(&mut feed, 6));
    let (Some(a), Some(b)) = (FieldSet::parse(&a), FieldSet::parse(&b)) else { return };
    for set in [&a, &b] {
        assert_eq!(FieldSet::parse(&set.to_json()).as_ref(), Some(set), "a set does not survive its JSON");
        assert!(set.paths().iter().all(|path| set.has(path)), "a set lacks its own path");
        assert_eq!(set.union(set), *set);
        assert!(set.difference(set).is_empty() && set.is_subset(set));
    }
    let (both, either) = (a.intersection(&b), a.union(&b));
    assert_eq!(both, b.intersection(&a));
    assert_eq!(either, b.union(&a));
    assert!(both.is_subset(&a) && both.is_subset(&b) && a.is_subset(&either) && b.is_subset(&either));
    assert_eq!(a.difference(&b).union(&both), a, "what is taken away and what is kept are not all");
    assert!(a.difference(&b).intersection(&b).is_empty());
    assert!(a.difference_deep(&b).is_subset(&a.difference(&b)));
}

/// An object with a list of entries that no server wrote; then writes by others over it.
pub fn managed_fields(bytes: &[u8]) {
    let mut feed = Feed::new(bytes);
    let schema = kube_meaning::builtin();
    let sample = feed.sample();
    let Some(resource) = schema.resource_of(&sample) else { return };
    let target = Target::main(schema, resource);
    let mut live = sample.clone();
    let count = feed.below(14);
    live["metadata"]["managedFields"] = (0..count).map(|_| entry(&mut feed)).collect();
    if let Some(managed) = Managed::parse(&live["metadata"]["managedFields"]) {
        let again = Managed::parse(&managed.to_json());
        assert!(
            again.is_some_and(|again| again.same_ownership(&managed)),
            "a list does not survive its JSON"
        );
    }
    for at in 0..3 {
        let manager = *feed.pick(&["a", "b", "kubectl", ""]);
        let by = Writer {
            manager,
            force: feed.byte().is_multiple_of(2),
            now: "2026-01-01T00:00:09Z",
            uid: "00000000-0000-4000-8000-000000000001",
            admit: &mut |_, _| Ok(()),
        };
        let body = feed.changed(schema, resource, sample.clone());
        let verb = if at % 2 == 0 { Verb::Apply(&body) } else { Verb::Update(&body) };
        match write(target, Some(&live), verb, by) {
            Ok(written) => {
                let list = written.object["metadata"].get("managedFields");
                assert!(
                    list.is_none_or(|list| Managed::parse(list).is_some()),
                    "a list that nobody can read"
                );
                live = written.object;
            }
            Err(refusal) => assert!((400..600).contains(&refusal.code), "{refusal:?}"),
        }
    }
}

fn entry(feed: &mut Feed<'_>) -> Value {
    if feed.rarely(30) {
        return feed.any(3);
    }
    let odd = feed.rarely(30);
    let mut entry = json!({
        "manager": *feed.pick(&["a", "b", "c", "kubectl", "ancient-changes", ""]),
        "operation": if odd { "Other" } else { *feed.pick(&["Apply", "Update"]) },
        "apiVersion": *feed.pick(&["v1", "apps/v1", "apps/v1beta1", "autoscaling/v1", "x/y/z"]),
        "fieldsType": "FieldsV1",
        "fieldsV1": fields(feed, 6),
    });
    if feed.byte().is_multiple_of(2) {
        entry["time"] = Value::from(*feed.pick(&["2026-01-01T00:00:00Z", "2025-01-01T00:00:00Z", "x"]));
    }
    if feed.rarely(4) {
        entry["subresource"] = Value::from(*feed.pick(&["status", "scale", "x"]));
    }
    entry
}

const KEYS: &[&str] = &[
    ".",
    "f:metadata",
    "f:spec",
    "f:data",
    "f:a",
    "f:b",
    "f:labels",
    "f:template",
    "f:containers",
    "f:ports",
    "f:status",
    "k:{\"name\":\"c\"}",
    "k:{\"containerPort\":80,\"protocol\":\"TCP\"}",
    "v:\"x\"",
    "v:1",
    "v:1.5",
    "v:null",
    "i:0",
    "i:7",
    "k:{}",
    "f:",
    "v:",
    "x:y",
    "k:{\"a\":1.0}",
    "v:{\"a\":[1]}",
    "f:replicas",
    "f:image",
    "f:selector",
];

fn fields(feed: &mut Feed<'_>, depth: usize) -> Value {
    let mut map = Map::new();
    if depth > 0 {
        for _ in 0..feed.below(4) {
            let key = match feed.rarely(40) {
                true => String::from_utf8_lossy(feed.slice()).into_owned(),
                false => (*feed.pick(KEYS)).to_owned(),
            };
            map.insert(key, fields(feed, depth - 1));
        }
    }
    Value::Object(map)
}
