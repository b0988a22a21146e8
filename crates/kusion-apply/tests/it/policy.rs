//! Retries, failure policies, cancel.

use std::time::Duration;

use kusion_apply::{Clock, EventKind, FailurePolicy, StepEnd};
use kusion_model::Phase;
use kusion_plan::rollback_spec;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::{json, to_value};

use crate::lab::{Lab, config_map, key, ten};

#[test]
fn retry_after_is_obeyed_to_the_millisecond() {
    let lab = Lab::new();
    let mut busy = RuntimeError::new(ErrorKind::TooManyRequests, "slow down");
    busy.retry_after = Some(Duration::from_secs(7));
    lab.world.fault_with("a", busy, false);
    let start = lab.clock.now();
    assert!(lab.apply(&json!([config_map("a", 1, &[])])).is_success());
    assert_eq!(lab.clock.now().millis_since(start), 7_020);
    assert_eq!(lab.world.calls(), ["apply a", "apply a"]);
}

#[test]
fn conflicts_timeouts_and_server_errors_are_retried_and_refusals_are_not() {
    for kind in [ErrorKind::Conflict, ErrorKind::Timeout, ErrorKind::Server, ErrorKind::Unreachable] {
        let lab = Lab::new();
        lab.world.fault("a", kind, false);
        assert!(lab.apply(&json!([config_map("a", 1, &[])])).is_success(), "{kind:?}");
    }
    for kind in [ErrorKind::Forbidden, ErrorKind::Invalid, ErrorKind::Owned] {
        let lab = Lab::new();
        lab.world.fault("a", kind, false);
        assert!(!lab.apply(&json!([config_map("a", 1, &[])])).is_success(), "{kind:?}");
        assert_eq!(lab.world.calls().len(), 1, "{kind:?}");
    }
}

#[test]
fn stop_starts_nothing_new_and_skips_dependents() {
    let mut lab = Lab::new();
    lab.options.concurrency = 1;
    lab.world.fault("a", ErrorKind::Invalid, false);
    let spec = json!([config_map("a", 1, &[]), config_map("b", 1, &["a"]), config_map("c", 1, &[])]);
    let report = lab.apply(&spec);
    assert_eq!(report.phase, Phase::Failed);
    assert!(matches!(report.end_of(&key("a")), Some(StepEnd::Failed { .. })));
    assert_eq!(report.end_of(&key("b")), Some(&StepEnd::Skipped { because: key("a") }));
    assert_eq!(report.end_of(&key("c")), Some(&StepEnd::NotStarted));
    assert!(lab.state().intents.is_empty(), "nothing was made, nothing is intended");
    assert!(lab.apply(&spec).is_success());
    lab.assert_converged(&spec, "after the repair");
}

#[test]
fn go_on_applies_everything_that_does_not_depend_on_the_failure() {
    let mut lab = Lab::new();
    lab.options.on_failure = FailurePolicy::Continue;
    lab.world.fault("m0", ErrorKind::Forbidden, false);
    let report = lab.apply(&ten(1));
    assert_eq!(lab.world.names(), ["m7", "m8"]);
    assert!(report.is_partial() && !report.rollback_wanted);
    assert_eq!(report.tally.create, 2);
}

#[test]
fn rollback_is_asked_for_and_brings_the_former_state_back() {
    let mut lab = Lab::new();
    lab.apply(&ten(1));
    lab.options.on_failure = FailurePolicy::Rollback;
    lab.world.fault("m3", ErrorKind::Invalid, false);
    let report = lab.apply(&ten(2));
    assert!(report.rollback_wanted);
    let records = lab.store().state_at(kusion_model::ReleaseNo(1)).unwrap();
    let back = to_value(rollback_spec(&records)).unwrap();
    assert!(lab.apply(&back).is_success());
    lab.assert_converged(&ten(1), "rolled back");
}

#[test]
fn cancel_drains_and_records() {
    let mut lab = Lab::new();
    lab.options.concurrency = 1;
    lab.cancel.cancel();
    let report = lab.apply(&ten(1));
    assert!(report.cancelled && lab.world.names().is_empty());
    assert_eq!(lab.state().open, None);

    let mut lab = Lab::new();
    lab.options.concurrency = 2;
    let cancel = lab.cancel.clone();
    let world = lab.world.clone();
    struct Canceller(kusion_apply::CancelToken, crate::world::World);
    impl kusion_apply::Health for Canceller {
        fn wait<'a>(
            &'a self,
            _: kusion_apply::HealthTarget,
        ) -> futures::future::BoxFuture<'a, kusion_apply::HealthOutcome> {
            if self.1.names().len() >= 3 {
                self.0.cancel();
            }
            kusion_apply::Health::wait(&kusion_apply::NoHealth, target_of())
        }
    }
    fn target_of() -> kusion_apply::HealthTarget {
        kusion_apply::HealthTarget {
            key: key("x"),
            kind: kusion_model::ResourceType::kubernetes(),
            action: kusion_model::Action::Create,
            observed: Default::default(),
        }
    }
    lab.health = Box::new(Canceller(cancel, world));
    let report = lab.apply(&ten(1));
    let made = lab.world.names().len();
    assert!((3..10).contains(&made), "{made}");
    assert_eq!(lab.state().records.len(), made, "what was in flight is recorded");
    assert_eq!(report.steps.values().filter(|end| **end == StepEnd::NotStarted).count(), 10 - made);
    let draining = |event: &kusion_apply::Event| matches!(event.kind, EventKind::Draining { .. });
    assert!(lab.events.lock().unwrap().iter().any(draining));
}

#[test]
fn object_that_will_not_go_is_named_with_its_finalizer() {
    let lab = Lab::new();
    lab.apply(&json!([config_map("a", 1, &[])]));
    lab.world.hold(&key("a"), "example.com/hold");
    let report = lab.apply(&json!([]));
    let Some(StepEnd::Failed { message }) = report.end_of(&key("a")) else { panic!("{report:?}") };
    assert!(message.contains("held by example.com/hold"), "{message}");
    assert!(lab.state().records.contains_key(&key("a")), "it is still ours");
}
