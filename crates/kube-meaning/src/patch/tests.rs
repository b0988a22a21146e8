//! Worked examples of the three patch formats.

use serde_json::{Value, json};

use super::*;
use crate::builtin::builtin;

fn pod_spec(containers: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "spec": {"containers": containers}})
}

fn strategic(live: &Value, patch: Value) -> Value {
    strategic_patch(builtin(), builtin().resource("", "v1", "Pod").unwrap(), live, &patch).unwrap()
}

#[test]
fn merge_patch_removes_by_null_and_replaces_lists() {
    let out = merge_patch(&json!({"a": {"b": 1, "c": 2}, "l": [1, 2]}), &json!({"a": {"b": null}, "l": [3]}))
        .unwrap();
    assert_eq!(out, json!({"a": {"c": 2}, "l": [3]}));
}

#[test]
fn json_patch_walks_operations_and_refuses_the_whole_on_the_first_failure() {
    let live = json!({"a": [1, 2, 3], "b": {"c/d": 1}});
    let ops = json!([{"op": "test", "path": "/a/0", "value": 1}, {"op": "add", "path": "/a/-", "value": 4},
        {"op": "remove", "path": "/a/1"}, {"op": "move", "from": "/b/c~1d", "path": "/e"}, {"op": "replace", "path": "/b", "value": 0}]);
    assert_eq!(json_patch(&live, &ops).unwrap(), json!({"a": [1, 3, 4], "b": 0, "e": 1}));
    for bad in [
        json!([{"op": "test", "path": "/a/0", "value": 2}]),
        json!([{"op": "remove", "path": "/x"}]),
        json!([{"op": "add", "path": "/a/9", "value": 1}]),
        json!([{}]),
    ] {
        let refusal = json_patch(&live, &bad).unwrap_err();
        assert_eq!((refusal.code, refusal.causes.len()), (422, 0), "{bad}");
    }
}

#[test]
fn strategic_patch_merges_lists_by_key_and_obeys_directives() {
    let live = pod_spec(json!([{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "1"}]));
    let image = strategic(&live, json!({"spec": {"containers": [{"name": "b", "image": "2"}]}}));
    assert_eq!(
        image["spec"]["containers"],
        json!([{"name": "a", "image": "1", "args": ["x"]}, {"name": "b", "image": "2"}])
    );
    let gone = strategic(&live, json!({"spec": {"containers": [{"name": "a", "$patch": "delete"}]}}));
    assert_eq!(gone["spec"]["containers"], json!([{"name": "b", "image": "1"}]));
    let replaced = strategic(&live, json!({"spec": {"containers": [{"name": "c"}, {"$patch": "replace"}]}}));
    assert_eq!(replaced["spec"]["containers"], json!([{"name": "c"}]));
    let ordered = strategic(
        &live,
        json!({"spec": {"$setElementOrder/containers": [{"name": "c"}, {"name": "b"}, {"name": "a"}], "containers": [{"name": "c"}]}}),
    );
    let names: Vec<&str> = ordered["spec"]["containers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| c["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["c", "b", "a"]);
    assert!(
        strategic_patch(
            builtin(),
            builtin().resource("", "v1", "Pod").unwrap(),
            &live,
            &json!({"spec": {"containers": [{"image": "x"}]}})
        )
        .is_err()
    );
}

#[test]
fn primitive_lists_lose_named_values() {
    let live = json!({"metadata": {"finalizers": ["a/x", "a/y"]}});
    let out = strategic(
        &live,
        json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/x"], "finalizers": ["a/z"]}}),
    );
    let list = out["metadata"]["finalizers"].as_array().unwrap();
    assert!(
        list.contains(&json!("a/y")) && list.contains(&json!("a/z")) && !list.contains(&json!("a/x")),
        "{list:?}"
    );
}

#[test]
fn deep_patches_are_refused() {
    let mut deep = json!(1);
    for _ in 0..500 {
        deep = json!({"a": deep});
    }
    assert!(merge_patch(&json!({}), &deep).is_err());
}
