//! kill -9 at every call and at every write of the disk: a re-run converges.

use kusion_runtime::ErrorKind;
use serde_json::{Value, json};

use crate::lab::{Lab, config_map, ten};

fn faulty(lab: &Lab) {
    lab.world.fault("m1", ErrorKind::TooManyRequests, false);
    lab.world.fault("m2", ErrorKind::Timeout, true);
    lab.world.fault("m4", ErrorKind::Conflict, false);
    lab.world.fault("m9", ErrorKind::Server, true);
}

/// Kills an apply at each of its calls, then runs again.
fn kill_everywhere(with_faults: bool, after_effect: bool, second: &Value) {
    for call in 0..60 {
        let lab = Lab::new();
        if with_faults {
            faulty(&lab);
        }
        lab.world.kill_at(call, after_effect);
        let finished = lab.try_apply(&ten(1)).is_some();
        lab.world.revive();
        let report = lab.apply(second);
        assert!(report.is_success(), "killed at call {call}: {report:?}");
        lab.assert_converged(second, &format!("killed at call {call}"));
        lab.apply(&json!([]));
        lab.assert_converged(&json!([]), &format!("killed at call {call}, then destroyed"));
        if finished {
            return;
        }
    }
    panic!("the apply never ran to its end");
}

#[test]
fn killed_before_any_call_has_its_effect() {
    kill_everywhere(false, false, &ten(1));
}

#[test]
fn killed_after_any_call_had_its_effect() {
    kill_everywhere(false, true, &ten(1));
}

#[test]
fn killed_at_any_call_among_faults() {
    kill_everywhere(true, false, &ten(1));
    kill_everywhere(true, true, &ten(1));
}

#[test]
fn killed_at_any_call_and_then_another_configuration() {
    // m9 and others are wanted no more: what the dead run made of them must not stay behind.
    let less = json!([config_map("m0", 2, &[]), config_map("m4", 1, &["m0"]), config_map("new", 1, &["m4"])]);
    kill_everywhere(false, true, &less);
}

#[test]
fn killed_at_any_write_of_the_disk() {
    for step in 0..400 {
        let lab = Lab::new();
        lab.disk.kill_after(step);
        let result = lab.try_apply(&ten(1));
        let died = lab.disk.is_dead();
        lab.disk.revive();
        assert!(result.is_some());
        let report = lab.apply(&ten(1));
        assert!(report.is_success(), "disk died at step {step}");
        lab.assert_converged(&ten(1), &format!("disk died at step {step}"));
        if !died {
            return;
        }
    }
    panic!("the apply never ran to its end");
}

#[test]
fn killed_in_the_middle_of_an_update_and_a_destroy() {
    for second in [ten(2), json!([])] {
        for call in 0..12 {
            let lab = Lab::new();
            lab.apply(&ten(1));
            lab.world.kill_at(call, call % 2 == 0);
            let _ = lab.try_apply(&second);
            lab.world.revive();
            lab.apply(&second);
            lab.assert_converged(&second, &format!("killed at call {call}"));
        }
    }
}

#[test]
fn plan_is_on_disk_before_the_first_call() {
    let lab = Lab::new();
    lab.world.kill_at(0, false);
    assert!(lab.try_apply(&ten(1)).is_none());
    let state = lab.state();
    assert!(state.open.is_some());
    assert_eq!(state.intents.len(), 10);
}
