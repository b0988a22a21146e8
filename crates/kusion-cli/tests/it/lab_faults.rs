//! A provider that fails as a program: it does not start, dies at each call, answers nonsense, hangs. What is told says which
//! call it was, the state stays valid, and the next run converges with one object of each kind.

use std::time::{Duration, Instant};

use crate::lab::{Lab, THING, TOKEN};

#[test]
fn a_provider_that_does_not_start_is_told_and_the_next_run_converges() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\"", "")]);
    let table = [
        ("LAB_LINE", "hello world", "expected a handshake, got \"hello world\""),
        ("LAB_LINE", "1|6|un", "expected a handshake, got \"1|6|un\""),
        ("LAB_LINE", "1|4|unix|/nowhere|netrpc", "speaks protocol 4 over `netrpc`"),
        ("LAB_LINE", "1|7|unix|/nowhere|grpc", "speaks protocol 7; 5 or 6 is needed"),
        ("LAB_LINE", "1|6|unix|/nowhere|grpc", "socket /nowhere can not be reached"),
        ("LAB_TLS", "wrong", "mutual TLS with it failed"),
    ];
    for made in [false, true] {
        for (name, value, says) in table {
            let told = lab.call_in(&[(name, value)], "apply dev -y", 5);
            assert!(told.contains(says) && told.contains("acme/lab"), "{value}: {told}");
            assert_eq!(lab.objects(), usize::from(made), "{value}");
        }
        let applied = lab.call("apply dev -y", 0);
        assert!(!applied.contains("may exist already"), "nothing was asked of it: {applied}");
        lab.call("preview dev --exit-code", 0);
    }
    assert_eq!(lab.objects(), 1);
    for (name, value, says) in table {
        let told = lab.call_in(&[(name, value)], "destroy dev -y", 5);
        assert!(told.contains(says), "{value}: {told}");
    }
    lab.call("destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
    lab.wait_for_the_end_of_providers();
}

/// Everything that the calls of a create are made for.
pub(crate) fn all(lab: &Lab, opt: &str) {
    let thing = format!("name = \"one\", opt = \"{opt}\", write = \"$kusion_path.{TOKEN}.token\"");
    lab.stack(&[
        (TOKEN, "name = \"t\"", ", mode = \"ephemeral\""),
        ("acme:lab:lab_echo:e", "text = \"x\"", ", mode = \"data\""),
        (THING, &thing, ""),
    ]);
}

/// Ends and spoils a call in some words, and looks whether everything is as before.
fn strike(lab: &Lab, call: &str, words: &str, objects: usize) {
    let told = lab.call_with(&format!("{call}:exit"), words, 5);
    let says = format!("crashed in {call} (exit status: 7)");
    assert!(told.contains(&says) && told.contains("as asked"), "{words} {call}: {told}");
    let told = lab.call_with(&format!("{call}:error"), words, 5);
    assert!(told.contains(&format!("{call} failed (Internal): as asked")), "{words} {call}: {told}");
    assert_eq!(lab.objects(), objects, "{words} {call}");
    lab.call("preview dev", 0);
    lab.call("state list dev", 0);
}

#[test]
fn a_provider_that_dies_at_each_call_leaves_a_state_from_which_the_next_run_converges() {
    let Some(lab) = Lab::new() else { return };
    all(&lab, "a");
    let create = [
        "GetProviderSchema",
        "ValidateProviderConfig",
        "ConfigureProvider",
        "ValidateEphemeralResourceConfig",
        "OpenEphemeralResource",
        "ValidateDataResourceConfig",
        "ReadDataSource",
        "ValidateResourceConfig",
        "PlanResourceChange",
        "ApplyResourceChange",
    ];
    for call in create {
        strike(&lab, call, "apply dev -y", 0);
        // What a provider says about itself is remembered: only the first start asks for it.
        std::fs::remove_dir_all(lab.path().join("home/providers/schemas")).unwrap_or_default();
    }
    let applied = lab.call("apply dev -y", 0);
    assert!(applied.contains("may exist already"), "the last one died while it made something: {applied}");
    lab.call("preview dev --exit-code", 0);
    all(&lab, "b");
    for call in ["UpgradeResourceState", "ReadResource", "PlanResourceChange", "ApplyResourceChange"] {
        strike(&lab, call, "apply dev -y", 1);
    }
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    for call in ["UpgradeResourceState", "ReadResource", "PlanResourceChange", "ApplyResourceChange"] {
        strike(&lab, call, "destroy dev -y", 1);
    }
    // It was made, or it was deleted, and died before it could say so.
    let told = lab.call_with("ApplyResourceChange.late:exit", "destroy dev -y", 5);
    assert!(told.contains("crashed in ApplyResourceChange"), "{told}");
    lab.call("destroy dev -y", 0);
    assert_eq!(lab.objects(), 0);
    let told = lab.call_with("ApplyResourceChange.late:exit", "apply dev -y", 5);
    assert!(told.contains("it may have been made all the same"), "{told}");
    let plan = lab.call("preview dev", 0);
    assert!(plan.contains(&format!("kusion import STACK {THING} ID")), "{plan}");
    let words = format!("import dev {THING} one -y");
    for kind in ["exit", "error"] {
        let told = lab.call_with(&format!("ImportResourceState:{kind}"), &words, 5);
        assert!(told.contains("ImportResourceState"), "{told}");
    }
    lab.call(&words, 0);
    lab.call("apply dev -y", 0);
    assert_eq!(lab.objects(), 1);
    lab.call("destroy dev -y --delete-imported", 0);
    lab.wait_for_the_end_of_providers();
}

#[test]
fn nonsense_from_a_provider_is_told_and_recorded_nowhere() {
    let Some(lab) = Lab::new() else { return };
    all(&lab, "a");
    let told = lab.call_with("PlanResourceChange:garbage", "apply dev -y", 5);
    assert!(told.contains("answered PlanResourceChange with something invalid"), "{told}");
    let told = lab.call_with("ReadDataSource:garbage", "apply dev -y", 5);
    assert!(told.contains("answered ReadDataSource with something invalid"), "{told}");
    assert_eq!(lab.objects(), 0);
    lab.call("apply dev -y", 0);
    all(&lab, "b");
    for call in ["UpgradeResourceState", "ReadResource", "ApplyResourceChange"] {
        let told = lab.call_with(&format!("{call}:garbage"), "apply dev -y", 5);
        assert!(told.contains(&format!("answered {call} with something invalid")), "{told}");
        assert_eq!(lab.objects(), 1);
    }
    lab.call("apply dev -y", 0);
    lab.call("preview dev --exit-code", 0);
    lab.call("destroy dev -y", 0);
    // A create whose answer nobody can read has made something.
    let told = lab.call_with("ApplyResourceChange:garbage", "apply dev -y", 5);
    assert!(told.contains("it may have been made all the same"), "{told}");
    assert_eq!(lab.objects(), 1);
    lab.call(&format!("import dev {THING} one -y"), 0);
    lab.call("apply dev -y", 0);
    assert_eq!(lab.objects(), 1);
}

#[test]
fn an_apply_that_hangs_is_told_to_stop_by_an_interrupt() {
    let Some(lab) = Lab::new() else { return };
    lab.stack(&[(THING, "name = \"one\"", "")]);
    let mut child = lab.hang_at("ApplyResourceChange", "apply dev -y");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let began = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it does not stop: {}", lab.trace());
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(130));
    assert!(lab.trace().contains("StopProvider"), "{}", lab.trace());
    lab.wait_for_the_end_of_providers();
    let applied = lab.call("apply dev -y", 0);
    assert!(applied.contains("succeeded"), "{applied}");
    lab.call("preview dev --exit-code", 0);
    assert_eq!(lab.objects(), 1);
}
