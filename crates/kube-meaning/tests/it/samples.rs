//! Valid objects of sixty kinds, as a real server returned them: our defaults, and no plan noise.

use std::fs;
use std::path::Path;

use kube_meaning::builtin;
use kube_meaning::decide::{Decision, Question, decide};
use kube_meaning::decode::decode;
use kube_meaning::managed::Managed;
use kube_meaning::ssa::{self, Applier, Target};
use serde_json::Value;

fn samples() -> Vec<(Value, Value)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/samples/defaults.jsonl");
    let text = fs::read_to_string(path).unwrap();
    let parse = |line: &str| {
        let sample: Value = serde_json::from_str(line).unwrap();
        (sample["body"].clone(), sample["object"].clone())
    };
    text.lines().map(parse).collect()
}

/// The live object as if its manifest had been applied by `kusion` when it was created.
fn applied(target: Target<'_>, body: &Value, object: &Value) -> Value {
    let mut live = object.clone();
    live["metadata"]["uid"] = Value::from("u");
    live["metadata"].as_object_mut().unwrap().shift_remove("managedFields");
    let by = Applier { manager: "kusion", force: true, now: "2026-01-01T00:00:00Z" };
    let empty = serde_json::json!({});
    let managed = ssa::apply(target, &empty, Managed::default(), body, by).unwrap().managed;
    managed.write_to(&mut live);
    live
}

#[test]
fn what_the_server_made_of_a_manifest_is_no_change_to_it() {
    let mut noisy = Vec::new();
    let mut kinds = std::collections::BTreeSet::new();
    for (body, object) in samples() {
        let Some(resource) = builtin().resource_of(&body) else { continue };
        let target = Target::main(builtin(), resource);
        let live = applied(target, &body, &object);
        kinds.insert(resource.kind.to_string());
        match decide(Question { target, live: &live, manager: "kusion", desired: &body, prior: None }) {
            Decision::NoChange => {}
            Decision::Change(change) => {
                let fields: Vec<String> = change
                    .fields
                    .iter()
                    .map(|f| format!("{} {:?} -> {:?}", f.path_text(), f.live, f.desired))
                    .collect();
                noisy.push(format!("{} {}: {}", resource.kind, body["metadata"]["name"], fields.join("; ")));
            }
            other => noisy.push(format!("{} {}: {other:?}", resource.kind, body["metadata"]["name"])),
        }
    }
    assert!(noisy.is_empty(), "{} noisy of {} kinds:\n{}", noisy.len(), kinds.len(), noisy.join("\n"));
    assert!(kinds.len() >= 45, "only {} kinds", kinds.len());
}

#[test]
fn what_the_server_returned_is_already_in_its_own_form() {
    let mut wrong = Vec::new();
    for (_, object) in samples() {
        let Some(resource) = builtin().resource_of(&object) else { continue };
        let again = decode(Target::main(builtin(), resource), object.clone()).unwrap();
        if again != object {
            wrong.push(format!(
                "{} {}:\n  ours   {again}\n  theirs {object}",
                resource.kind, object["metadata"]["name"]
            ));
        }
    }
    assert!(wrong.is_empty(), "{}:\n{}", wrong.len(), wrong.join("\n"));
}
