//! Other managers: drift, refusal, take-over, leaving alone, import.

use kusion_model::{Action, ConflictPolicy, ConflictRule, FieldPath, Mover, Note, ResourceId, ResourceKey};
use serde_json::{Value, json};

use crate::lab::Lab;

fn spec(namespace: &str, replicas: i32, image: &str) -> Value {
    json!([
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": namespace},
         "spec": {"replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": {
             "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}}},
    ])
}

fn key(lab: &Lab) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts(["apps/v1", "Deployment", &lab.namespace, "web"]))
}

#[test]
fn edit_by_another_shows_as_drift_with_its_manager() {
    let Some(lab) = Lab::new() else { return };
    let spec = spec(&lab.namespace, 1, "nginx:1");
    lab.apply(&spec);
    lab.kubectl(&[
        "set",
        "image",
        "deployment/web",
        "main=nginx:9",
        "-n",
        &lab.namespace,
        "--field-manager=kubectl-edit",
    ]);
    let ready = lab.plan(&spec);
    let step = ready.plan.step(&key(&lab)).unwrap();
    assert!(step.drift, "{step:?}");
    let change = step.changes.iter().find(|c| c.path.to_string().ends_with("[main].image")).unwrap();
    assert_eq!((change.origin, change.manager.as_deref()), (Mover::Theirs, Some("kubectl-edit")));
    assert_eq!(
        (change.before.clone(), change.after.clone()),
        (Some(json!("nginx:9").into()), Some(json!("nginx:1").into()))
    );
    assert_eq!(change.note, Some(Note::Conflict), "without a rule it is refused");
    assert!(lab.execute(&ready).0.is_err());
}

#[test]
fn rule_takes_a_field_over_or_leaves_it() {
    for (policy, left) in [(ConflictPolicy::TakeOver, "1"), (ConflictPolicy::Leave, "3")] {
        let Some(mut lab) = Lab::new() else { return };
        lab.apply(&spec(&lab.namespace, 1, "nginx:1"));
        let patch = r#"{"spec":{"replicas":3}}"#;
        lab.kubectl(&["patch", "deployment", "web", "-n", &lab.namespace, "--type=merge", "-p", patch]);
        let path = FieldPath::keys(["spec", "replicas"]);
        lab.rules = vec![ConflictRule { kind: "Deployment".into(), path, policy }];
        lab.apply(&spec(&lab.namespace, 1, "nginx:2"));
        let replicas = ["get", "deployment", "web", "-n", &lab.namespace, "-o", "jsonpath={.spec.replicas}"];
        assert_eq!(lab.kubectl(&replicas), left, "{policy:?}");
        assert_eq!(lab.pending(&spec(&lab.namespace, 1, "nginx:2")), Vec::<String>::new(), "{policy:?}");
    }
}

#[test]
fn replicas_that_an_autoscaler_moved_are_left_alone_without_a_rule() {
    let Some(lab) = Lab::new() else { return };
    lab.apply(&spec(&lab.namespace, 1, "nginx:1"));
    lab.kubectl(&["scale", "deployment/web", "--replicas=4", "-n", &lab.namespace]);
    let ready = lab.plan(&spec(&lab.namespace, 1, "nginx:1"));
    let step = ready.plan.step(&key(&lab)).unwrap();
    assert_eq!(step.action, Action::NoOp);
    assert_eq!(step.changes[0].note, Some(Note::LeftAlone));
    lab.apply(&spec(&lab.namespace, 1, "nginx:2"));
    let replicas = ["get", "deployment", "web", "-n", &lab.namespace, "-o", "jsonpath={.spec.replicas}"];
    assert_eq!(lab.kubectl(&replicas), "4");
}

#[test]
fn objects_of_client_side_apply_are_imported() {
    let Some(lab) = Lab::new() else { return };
    let wanted = spec(&lab.namespace, 2, "nginx:2");
    lab.kubectl(&["create", "namespace", &lab.namespace]);
    lab.kubectl_apply(&spec(&lab.namespace, 1, "nginx:1")[1], &[]);
    let ready = lab.plan(&wanted);
    let step = ready.plan.step(&key(&lab)).unwrap();
    assert_eq!(step.action, Action::Import);
    assert!(!step.drift && step.changes.len() >= 2, "{:?}", step.changes);
    lab.apply(&wanted);
    assert!(lab.state().records[&key(&lab)].imported);
    assert_eq!(lab.pending(&wanted), Vec::<String>::new());
}
