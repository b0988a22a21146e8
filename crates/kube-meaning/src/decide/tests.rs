//! The planner's question on worked examples.

use serde_json::{Value, json};

use super::*;
use crate::builtin::builtin;
use crate::write::{Verb, Writer, write};

fn target(group: &str, kind: &str) -> Target<'static> {
    Target::main(builtin(), builtin().resource(group, "v1", kind).unwrap())
}

fn put(target: Target<'_>, live: Option<&Value>, verb: Verb<'_>, manager: &str) -> Value {
    let mut admit = |_: &mut Value, _: Option<&Value>| Ok(());
    let by = Writer { manager, force: true, now: "2026-01-01T00:00:00Z", uid: "u", admit: &mut admit };
    write(target, live, verb, by).unwrap().object
}

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "x"}},
        "spec": {"replicas": 2, "paused": false, "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": {
                "tolerations": [{"key": "a", "operator": "Exists"}],
                "volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "t"}}]}}],
                "containers": [{"name": "main", "image": "i:1",
                    "resources": {"limits": {"cpu": "1000m", "memory": "1024Mi"}}, "ports": [{"containerPort": 80}]}]}}}})
}

fn ask<'a>(target: Target<'a>, live: &'a Value, desired: &'a Value) -> Question<'a> {
    Question { target, live, manager: "kusion", desired, prior: None }
}

#[test]
fn what_was_applied_is_unchanged_without_the_slow_road() {
    let target = target("apps", "Deployment");
    let live = put(target, None, Verb::Apply(&deployment()), "kusion");
    assert!(is_unchanged(target, &live, "kusion", &deployment()));
    assert_eq!(decide(ask(target, &live, &deployment())), Decision::NoChange);
}

#[test]
fn an_object_listed_without_its_kind_is_still_unchanged() {
    let target = target("apps", "Deployment");
    let mut live = put(target, None, Verb::Apply(&deployment()), "kusion");
    live.as_object_mut().unwrap().shift_remove("kind");
    live.as_object_mut().unwrap().shift_remove("apiVersion");
    assert_eq!(decide(ask(target, &live, &deployment())), Decision::NoChange);
}

#[test]
fn a_changed_field_is_named_with_its_owner() {
    let target = target("apps", "Deployment");
    let live = put(target, None, Verb::Apply(&deployment()), "kusion");
    let mut desired = deployment();
    desired["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
    let Decision::Change(change) = decide(ask(target, &live, &desired)) else { panic!() };
    let [field] = change.fields.as_slice() else { panic!("{:?}", change.fields) };
    assert_eq!(field.path_text(), "spec.template.spec.containers[main].image");
    assert_eq!((field.live.clone(), field.desired.clone()), (Some(json!("i:1")), Some(json!("i:2"))));
    assert_eq!((field.side, field.owners[0].manager.as_str()), (Side::Ours, "kusion"));
    assert!(change.conflicts.is_empty());
}

#[test]
fn drift_by_another_manager_is_theirs_and_conflicts() {
    let target = target("apps", "Deployment");
    let live = put(target, None, Verb::Apply(&deployment()), "kusion");
    let live = put(target, Some(&live), Verb::MergePatch(&json!({"spec": {"replicas": 5}})), "kubectl-edit");
    let desired = deployment();
    let question = Question { prior: Some(&desired), ..ask(target, &live, &desired) };
    let Decision::Change(change) = decide(question) else { panic!() };
    assert_eq!(change.fields[0].path_text(), "spec.replicas");
    assert_eq!(
        (change.fields[0].side, change.fields[0].owners[0].manager.as_str()),
        (Side::Theirs, "kubectl-edit")
    );
    assert_eq!(change.conflicts.len(), 1);
}

#[test]
fn a_dropped_field_goes_back_to_its_default() {
    let target = target("apps", "Deployment");
    let live = put(target, None, Verb::Apply(&deployment()), "kusion");
    let mut desired = deployment();
    desired["spec"].as_object_mut().unwrap().shift_remove("replicas");
    let Decision::Change(change) = decide(ask(target, &live, &desired)) else { panic!() };
    assert_eq!(
        (change.fields[0].path_text().as_str(), change.fields[0].desired.clone()),
        ("spec.replicas", Some(json!(1)))
    );
}

#[test]
fn an_immutable_field_means_replace_and_an_unknown_one_is_refused() {
    let target = target("apps", "Deployment");
    let live = put(target, None, Verb::Apply(&deployment()), "kusion");
    let mut desired = deployment();
    desired["spec"]["selector"]["matchLabels"]["app"] = json!("y");
    let Decision::Replace(replace) = decide(ask(target, &live, &desired)) else { panic!() };
    assert_eq!(replace.reasons[0].field, "spec.selector");
    desired["spec"]["bogus"] = json!(1);
    assert!(matches!(decide(ask(target, &live, &desired)), Decision::Refused(_)));
}

#[test]
fn fields_that_another_manager_holds_alone_are_left_out_of_the_answer() {
    let target = target("", "ConfigMap");
    let mine =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    let live = put(target, None, Verb::Apply(&mine), "kusion");
    let live = put(target, Some(&live), Verb::MergePatch(&json!({"data": {"b": "2"}})), "other");
    assert_eq!(decide(ask(target, &live, &mine)), Decision::NoChange);
}

#[test]
fn taking_shared_ownership_is_a_change_without_fields() {
    let target = target("", "ConfigMap");
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "1"}});
    let live = put(target, None, Verb::Create(&theirs), "helm");
    let Decision::Change(change) = decide(ask(target, &live, &theirs)) else { panic!() };
    assert!(change.fields.is_empty() && change.conflicts.is_empty());
}

#[test]
fn secrets_written_as_text_compare_with_their_data() {
    let target = target("", "Secret");
    let desired =
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "stringData": {"a": "b"}});
    let live = put(target, None, Verb::Apply(&desired), "kusion");
    assert_eq!(live["data"]["a"], "Yg==");
    assert_eq!(decide(ask(target, &live, &desired)), Decision::NoChange);
}
