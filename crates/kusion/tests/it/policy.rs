//! Retries, failure policies, cancel.

use std::time::Duration;

use kusion::model::{Phase, ReleaseNo, Spec};
use kusion::{DryRun, FailurePolicy, PlanFailure, StepEnd};
use kusion_apply::EventKind;
use serde_json::to_value;

use crate::lab::{Lab, key};
use crate::objects::{config_map, graph, namespace, spec, with_needs};

#[tokio::test(start_paused = true)]
async fn retry_after_is_obeyed() {
    let lab = Lab::new();
    lab.faults("verb=apply path=*/configmaps/a call=1 error=429 retry-after=7");
    let start = lab.now();
    assert!(lab.apply(&spec(&[namespace(), config_map("a", "1")])).await.is_success());
    let millis = lab.now().millis_since(start);
    assert!((7_000..9_000).contains(&millis), "{millis}");
    assert_eq!(lab.writes(), ["PATCH lab", "PATCH a", "PATCH a"]);
    let retries = |kind: &EventKind| match kind {
        EventKind::Retrying { attempt, after_millis, .. } => Some((*attempt, *after_millis)),
        _ => None,
    };
    let told: Vec<_> = lab.events.lock().unwrap().iter().filter_map(|event| retries(&event.kind)).collect();
    assert_eq!(told, [(1, 7_000)]);
}

#[tokio::test(start_paused = true)]
async fn what_passes_is_tried_again_and_refusals_are_not() {
    let wanted = spec(&[namespace(), config_map("a", "1")]);
    for fault in ["conflict", "drop", "lost", "error=500", "error=503", "error=504", "throttle=1", "restart"]
    {
        let lab = Lab::new();
        lab.faults(&format!("verb=apply path=*/configmaps/a call=1 {fault}"));
        assert!(lab.apply(&wanted).await.is_success(), "{fault}");
        // A create is refused once it has happened: the object is found to be ours, and written under its uid.
        let writes = if fault == "lost" { 4 } else { 3 };
        assert_eq!(lab.writes().len(), writes, "{fault}");
    }
    for fault in ["error=403", "error=422", "error=400"] {
        let lab = Lab::new();
        lab.faults(&format!("verb=apply path=*/configmaps/a call=1 {fault}"));
        assert!(!lab.apply(&wanted).await.is_success(), "{fault}");
        assert_eq!(lab.writes().len(), 2, "{fault}");
    }
}

#[tokio::test(start_paused = true)]
async fn server_that_never_recovers_is_given_up_in_words() {
    let lab = Lab::new();
    lab.faults("verb=apply path=*/configmaps/a error=503");
    let report = lab.apply(&spec(&[namespace(), config_map("a", "1")])).await;
    let Some(StepEnd::Failed { message, .. }) = report.end_of(&key("a")) else { panic!("{report:?}") };
    assert!(message.contains("unavailable"), "{message}");
    assert_eq!(lab.writes().len(), 9, "the namespace and eight tries");
}

#[tokio::test(start_paused = true)]
async fn stop_starts_nothing_new_and_skips_dependents() {
    let mut lab = Lab::new();
    lab.options.concurrency = 1;
    lab.faults("verb=apply path=*/configmaps/a call=1 error=422");
    let maps = [namespace(), config_map("a", "1"), config_map("b", "1"), config_map("c", "1")];
    let wanted = with_needs(spec(&maps), &[("b", &["a"])]);
    let report = lab.apply(&wanted).await;
    assert_eq!(report.phase, Phase::Failed);
    assert!(matches!(report.end_of(&key("a")), Some(StepEnd::Failed { .. })));
    assert_eq!(report.end_of(&key("b")), Some(&StepEnd::Skipped { because: key("a") }));
    assert_eq!(report.end_of(&key("c")), Some(&StepEnd::NotStarted));
    assert!(lab.state().intents.is_empty(), "nothing was made, nothing is intended");
    assert!(lab.apply(&wanted).await.is_success());
    lab.assert_converged(&wanted, "after the repair").await;
}

#[tokio::test(start_paused = true)]
async fn go_on_applies_everything_that_does_not_depend_on_the_failure() {
    let mut lab = Lab::new();
    lab.options.on_failure = FailurePolicy::Continue;
    lab.faults("verb=apply path=*/configmaps/m0 error=403");
    let report = lab.apply(&graph("1")).await;
    assert_eq!(lab.maps(), ["m7", "m8"]);
    assert!(report.is_partial() && !report.rollback_wanted);
    assert_eq!(report.tally.create, 3, "they and the namespace");
}

#[tokio::test(start_paused = true)]
async fn rollback_is_asked_for_and_brings_the_former_state_back() {
    let mut lab = Lab::new();
    lab.apply(&graph("1")).await;
    lab.options.on_failure = FailurePolicy::Rollback;
    // The first call is the plan's dry run.
    lab.faults("verb=apply path=*/configmaps/m3 call=2 error=422");
    let report = lab.apply(&graph("2")).await;
    assert!(report.rollback_wanted);
    let back = kusion::rollback_target(&lab.target().store, ReleaseNo(1)).await.unwrap();
    assert!(lab.apply(&to_value(back).unwrap()).await.is_success());
    lab.assert_converged(&graph("1"), "rolled back").await;
}

#[tokio::test(start_paused = true)]
async fn cancel_before_the_start_writes_nothing() {
    let lab = Lab::new();
    lab.cancel.cancel();
    let report = lab.apply(&graph("1")).await;
    assert!(report.cancelled && lab.objects().is_empty());
    assert_eq!(lab.state().open, None);
}

#[tokio::test(start_paused = true)]
async fn cancel_in_the_middle_drains_and_records() {
    let mut lab = Lab::new();
    lab.options.concurrency = 2;
    lab.faults("verb=write delay=1000");
    let ready = lab.plan(&graph("1")).await;
    let cancel = async {
        tokio::time::sleep(Duration::from_millis(3_500)).await;
        lab.cancel.cancel();
    };
    let li = lab.ask("li");
    let (report, ()) = tokio::join!(lab.execute(&ready, &li), cancel);
    let report = report.unwrap().unwrap();
    assert!(report.cancelled);
    let made = lab.objects().len();
    assert!((3..11).contains(&made), "{made}");
    assert_eq!(lab.state().records.len(), made, "what was in flight is recorded");
    assert_eq!(report.steps.values().filter(|end| **end == StepEnd::NotStarted).count(), 11 - made);
    let draining = |event: &kusion_apply::Event| matches!(event.kind, EventKind::Draining { in_flight: 1.. });
    assert!(lab.events.lock().unwrap().iter().any(draining));
}

#[tokio::test(start_paused = true)]
async fn object_that_will_not_go_is_named_with_its_finalizer() {
    let lab = Lab::new();
    let mut held = config_map("a", "1");
    held["metadata"]["finalizers"] = serde_json::json!(["example.com/hold"]);
    lab.apply(&spec(&[namespace(), held])).await;
    let report = lab.apply(&spec(&[namespace()])).await;
    let Some(StepEnd::Failed { message, .. }) = report.end_of(&key("a")) else { panic!("{report:?}") };
    assert!(message.contains("held by example.com/hold"), "{message}");
    assert!(lab.state().records.contains_key(&key("a")), "it is still ours");
}

#[tokio::test(start_paused = true)]
async fn what_does_not_fit_is_told_without_names_of_types() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1")])).await;
    let mut wrong = config_map("a", "1");
    wrong["data"]["v"] = serde_json::json!(5);
    for map in ["a", "new"] {
        wrong["metadata"]["name"] = map.into();
        let target = lab.target();
        let wanted = Spec::from_value(spec(&[namespace(), wrong.clone()]), &kusion::platforms(), &target.key);
        let planned = lab.engine().plan(&target, wanted.unwrap(), DryRun::All).await;
        let Err(PlanFailure::Refused(list)) = planned else { panic!("a number was taken for a text") };
        let told = &list[0].error.message;
        assert!(told.contains(".data.v: expected string, got 5") && !told.contains('&'), "{told}");
    }
}
