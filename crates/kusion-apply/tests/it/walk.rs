//! Order, concurrency, health, references.

use futures::future::BoxFuture;
use kusion_apply::{EventKind, Health, HealthOutcome, HealthTarget, HealthVerdict, StepEnd};
use kusion_model::Phase;
use serde_json::json;

use crate::lab::{Lab, config_map, key, ten};

#[test]
fn calls_respect_every_edge_and_the_limit() {
    for limit in [1, 3, 16] {
        let mut lab = Lab::new();
        lab.options.concurrency = limit;
        lab.apply(&ten(1));
        let calls = lab.world.calls();
        let at = |name: &str| calls.iter().position(|call| call == &format!("apply {name}")).unwrap();
        for (before, after) in
            [("m0", "m1"), ("m2", "m3"), ("m4", "m6"), ("m5", "m6"), ("m3", "m9"), ("m8", "m9")]
        {
            assert!(at(before) < at(after), "{before} before {after} with limit {limit}: {calls:?}");
        }
        assert!(lab.world.lock().max_running <= limit);
    }
}

#[test]
fn destroy_goes_backwards() {
    let lab = Lab::new();
    lab.apply(&ten(1));
    lab.world.calls();
    let report = lab.apply(&json!([]));
    assert_eq!((report.phase, report.tally.delete), (Phase::Succeeded, 10));
    let calls = lab.world.calls();
    let at = |name: &str| calls.iter().position(|call| call == &format!("delete {name}")).unwrap();
    assert!(at("m9") < at("m3") && at("m3") < at("m2") && at("m6") < at("m4") && at("m1") < at("m0"));
}

#[test]
fn nothing_to_do_writes_nothing() {
    let lab = Lab::new();
    lab.apply(&ten(1));
    lab.world.calls();
    let state = lab.state();
    assert!(lab.plan(&ten(1), &state).plan.is_empty());
}

#[test]
fn references_are_filled_from_what_the_platform_gave() {
    let lab = Lab::new();
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "ns"}, "spec": {}});
    let mut user = config_map("user", 1, &[]);
    user["attributes"]["data"]["url"] =
        json!(r#"http://${kusion_path["v1:Service:ns:web"].spec.clusterIP}:80"#);
    let spec = json!([user, service]);
    let report = lab.apply(&spec);
    assert!(report.is_success(), "{report:?}");
    let record = &lab.state().records[&key("user")];
    assert_eq!(record.attributes["data"]["url"], "http://10.0.0.1:80");
    lab.assert_converged(&spec, "with references");
}

/// Judges by name: `sick*` fails, everything else is healthy.
struct ByName;

impl Health for ByName {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        let sick = target.key.id.to_kubernetes().unwrap().name.starts_with("sick");
        let (verdict, cause) = if sick {
            (HealthVerdict::Failed, Some("image not found".to_owned()))
        } else {
            (HealthVerdict::Healthy, None)
        };
        let outcome = HealthOutcome { verdict, message: "judged".into(), cause, next: None, observed: None };
        Box::pin(futures::future::ready(outcome))
    }
}

#[test]
fn sick_resource_fails_the_release_and_its_dependents_do_not_start() {
    let mut lab = Lab::new();
    lab.health = Box::new(ByName);
    let report = lab.apply(&json!([config_map("sick", 1, &[]), config_map("user", 1, &["sick"])]));
    assert_eq!(report.phase, Phase::Failed);
    assert!(matches!(report.end_of(&key("sick")), Some(StepEnd::Unhealthy { timed_out: false, .. })));
    assert_eq!(report.end_of(&key("user")), Some(&StepEnd::Skipped { because: key("sick") }));
    assert_eq!(lab.world.names(), ["sick"]);
    let state = lab.state();
    assert!(state.records.contains_key(&key("sick")), "it was applied, so it is recorded");
    assert!(state.latest().unwrap().message.as_ref().unwrap().contains("image not found"));
}

#[test]
fn healthy_is_told_only_after_applied() {
    let mut lab = Lab::new();
    lab.health = Box::new(ByName);
    let report = lab.apply(&json!([config_map("a", 1, &[])]));
    assert_eq!(report.end_of(&key("a")), Some(&StepEnd::Healthy));
    let names: Vec<&str> = lab
        .events
        .lock()
        .unwrap()
        .iter()
        .map(|event| match event.kind {
            EventKind::ReleaseStarted { .. } => "started",
            EventKind::StepStarted { .. } => "step",
            EventKind::StepApplied { .. } => "applied",
            EventKind::HealthAwaited { .. } => "awaited",
            EventKind::HealthKnown { .. } => "known",
            EventKind::ReleaseEnded { .. } => "ended",
            _ => "other",
        })
        .collect();
    assert_eq!(names, ["started", "step", "applied", "awaited", "known", "ended"]);
}

#[test]
fn without_waiting_nobody_is_asked_for_health_unless_somebody_depends() {
    let mut lab = Lab::new();
    lab.health = Box::new(ByName);
    lab.options.wait = false;
    assert!(lab.apply(&json!([config_map("sick", 1, &[])])).is_success());
}

#[test]
fn one_run_is_like_the_other() {
    let run = || {
        let lab = Lab::new();
        lab.apply(&ten(1));
        let events = serde_json::to_string(&*lab.events.lock().unwrap()).unwrap();
        (lab.world.calls(), events)
    };
    assert_eq!(run(), run());
}

#[test]
fn outcomes_are_committed_in_groups() {
    let lab = Lab::new();
    let many: Vec<_> = (0..300).map(|n| config_map(&format!("m{n}"), 1, &[])).collect();
    lab.apply(&json!(many));
    let serial = lab.state().serial;
    assert!(serial < 40, "{serial} writes for 300 resources");
}
