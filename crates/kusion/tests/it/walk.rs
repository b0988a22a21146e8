//! Order, concurrency, health, references.

use std::sync::atomic::Ordering;

use kusion::StepEnd;
use kusion::model::{Phase, ResourceId, ResourceKey};
use kusion_apply::EventKind;
use serde_json::json;

use crate::lab::{Lab, key};
use crate::objects::{config_map, deployment, graph, namespace, service, spec};

#[tokio::test(start_paused = true)]
async fn writes_respect_every_edge_and_the_limit() {
    for limit in [1, 3, 16] {
        let mut lab = Lab::new();
        lab.options.concurrency = limit;
        lab.faults("verb=write delay=50");
        lab.apply(&graph("1")).await;
        let writes = lab.writes();
        let at = |name: &str| writes.iter().position(|write| write == &format!("PATCH {name}")).unwrap();
        for (before, after) in [
            ("lab", "m0"),
            ("m0", "m1"),
            ("m2", "m3"),
            ("m4", "m6"),
            ("m5", "m6"),
            ("m3", "m9"),
            ("m8", "m9"),
        ] {
            assert!(at(before) < at(after), "{before} before {after} with limit {limit}: {writes:?}");
        }
        let most = lab.wire.most_running.load(Ordering::SeqCst);
        assert!(most <= limit && (limit == 1 || most > 1), "{most} at once with limit {limit}");
    }
}

#[tokio::test(start_paused = true)]
async fn destroy_goes_backwards() {
    let lab = Lab::new();
    lab.apply(&graph("1")).await;
    lab.writes();
    let report = lab.apply(&spec(&[])).await;
    assert_eq!((report.phase, report.tally.delete), (Phase::Succeeded, 11));
    let writes = lab.writes();
    let at = |name: &str| writes.iter().position(|write| write == &format!("DELETE {name}")).unwrap();
    assert!(at("m9") < at("m3") && at("m3") < at("m2") && at("m6") < at("m4") && at("m1") < at("m0"));
    assert!(at("m0") < at("lab"), "the namespace goes last: {writes:?}");
}

#[tokio::test(start_paused = true)]
async fn nothing_to_do_writes_nothing() {
    let lab = Lab::new();
    lab.apply(&graph("1")).await;
    lab.writes();
    assert!(lab.plan(&graph("1")).await.plan().is_empty());
    assert!(lab.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn references_are_filled_from_what_the_platform_gave() {
    let lab = Lab::new();
    let mut user = config_map("user", "1");
    user["data"]["url"] = json!(r#"http://${kusion_path["v1:Service:lab:web"].spec.clusterIP}:80"#);
    let wanted = spec(&[namespace(), user, service("web")]);
    let report = lab.apply(&wanted).await;
    assert!(report.is_success(), "{report:?}");
    let address = lab.objects()["v1:Service:lab:web"]["spec"]["clusterIP"].as_str().unwrap().to_owned();
    let record = &lab.state().records[&key("user")];
    assert_eq!(record.attributes["data"]["url"], format!("http://{address}:80").as_str());
    lab.assert_converged(&wanted, "with references").await;
}

#[tokio::test(start_paused = true)]
async fn sick_resource_fails_the_release_and_its_dependents_do_not_start() {
    let lab = Lab::new();
    let mut wanted = spec(&[namespace(), deployment("sick", "sick:typo"), config_map("user", "1")]);
    wanted["resources"][2]["dependsOn"] = json!(["apps/v1:Deployment:lab:sick"]);
    let report = lab.apply(&wanted).await;
    let sick = ResourceKey::new(ResourceId::from_parts(["apps/v1", "Deployment", "lab", "sick"]));
    assert_eq!(report.phase, Phase::Failed);
    assert!(matches!(report.end_of(&sick), Some(StepEnd::Unhealthy { timed_out: false, .. })));
    assert_eq!(report.end_of(&key("user")), Some(&StepEnd::Skipped { because: sick.clone() }));
    assert!(lab.maps().is_empty());
    let state = lab.state();
    assert!(state.records.contains_key(&sick), "it was applied, so it is recorded");
    assert!(state.latest().unwrap().cause.as_ref().unwrap().contains("image"));
}

#[tokio::test(start_paused = true)]
async fn healthy_is_told_only_after_applied() {
    let lab = Lab::new();
    let report = lab.apply(&spec(&[namespace()])).await;
    assert!(report.steps.values().all(|end| *end == StepEnd::Healthy));
    let word = |kind: &EventKind| match kind {
        EventKind::ReleaseStarted { .. } => "started",
        EventKind::StepStarted { .. } => "step",
        EventKind::StepApplied { .. } => "applied",
        EventKind::HealthAwaited { .. } => "awaited",
        EventKind::HealthKnown { .. } => "known",
        EventKind::ReleaseEnded { .. } => "ended",
        _ => "other",
    };
    let words: Vec<&str> = lab.events.lock().unwrap().iter().map(|event| word(&event.kind)).collect();
    assert_eq!(words, ["started", "step", "applied", "awaited", "known", "ended"]);
}

#[tokio::test(start_paused = true)]
async fn without_waiting_nobody_is_asked_for_health_unless_somebody_depends() {
    let mut lab = Lab::new();
    lab.options.wait = false;
    let report = lab.apply(&spec(&[namespace(), deployment("sick", "sick:typo")])).await;
    assert!(report.is_success());
    assert_eq!(report.steps["apps/v1:Deployment:lab:sick"], StepEnd::Applied);
}

#[tokio::test(start_paused = true)]
async fn outcomes_are_committed_in_groups() {
    let lab = Lab::new();
    let mut many = vec![namespace()];
    many.extend((0..300).map(|n| config_map(&format!("m{n}"), "1")));
    lab.apply(&spec(&many)).await;
    let serial = lab.state().serial;
    assert!(serial < 40, "{serial} writes for 300 resources");
}
