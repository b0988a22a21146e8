//! No object, however malformed, may panic a rule.

use crate::cases;
use kusion_health::{Grade, Profile, Snapshot, dependents, judge_all, judge_input};
use serde_json::{Value, json};

/// Every value of the tree, as paths of keys and indexes.
fn paths(value: &Value, here: &mut Vec<String>, out: &mut Vec<Vec<String>>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                here.push(key.clone());
                out.push(here.clone());
                paths(inner, here, out);
                here.pop();
            }
        }
        Value::Array(list) => {
            for (at, inner) in list.iter().enumerate() {
                here.push(at.to_string());
                out.push(here.clone());
                paths(inner, here, out);
                here.pop();
            }
        }
        _ => {}
    }
}

fn replace(value: &mut Value, path: &[String], with: &Value) {
    let Some((first, rest)) = path.split_first() else {
        *value = with.clone();
        return;
    };
    let inner = match value {
        Value::Object(map) => map.get_mut(first),
        Value::Array(list) => first.parse::<usize>().ok().and_then(|at| list.get_mut(at)),
        _ => None,
    };
    if let Some(inner) = inner {
        replace(inner, rest, with);
    }
}

#[test]
fn a_wrong_type_anywhere_never_panics() {
    let replacements = [
        json!(null),
        json!(-7),
        json!(9_223_372_036_854_775_807_i64),
        json!("ü x"),
        json!(["a", 1, {}]),
        json!({"a": {"b": []}}),
    ];
    let profile = Profile::default();
    let mut judged = 0_usize;
    for case in cases::all() {
        for (at, object) in case.objects.iter().enumerate() {
            let mut found = Vec::new();
            paths(object, &mut Vec::new(), &mut found);
            for path in found {
                // the reviewer's budget is seconds: one replacement per node, all of them over the suite
                let with = &replacements[judged % replacements.len()];
                let mut objects = case.objects.clone();
                replace(&mut objects[at], &path, with);
                let snapshot = Snapshot::of(objects);
                let now = judged.is_multiple_of(2).then_some(1_800_000_000_000);
                for (object, verdict) in judge_all(&snapshot, &profile, None, now) {
                    assert!(!verdict.reason.is_empty(), "{object}");
                    dependents(object, &snapshot);
                }
                judged += 1;
            }
        }
    }
    assert!(judged > 3000, "{judged}");
}

#[test]
fn things_that_are_no_objects_are_left_out_or_judged() {
    let rows =
        judge_input([json!(null), json!(3), json!("x"), json!([]), json!({}), json!({"kind": 7})], None);
    assert_eq!(rows.len(), 2);
    assert!(rows.iter().all(|row| row["verdict"] == "healthy"));
}

#[test]
fn objects_that_own_each_other_do_not_loop() {
    let owned = |name: &str, owner: &str| {
        json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": name, "uid": name,
            "ownerReferences": [{"apiVersion": "x.io/v1", "kind": "Thing", "name": owner, "uid": owner}]},
            "status": {"conditions": [{"type": "Ready", "status": "False"}]}})
    };
    let snapshot = Snapshot::of([owned("a", "b"), owned("b", "a"), owned("c", "c")]);
    for (_, verdict) in judge_all(&snapshot, &Profile::default(), None, None) {
        assert_eq!(verdict.verdict, Grade::Progressing);
    }
}
