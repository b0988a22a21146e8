//! Killed at every write step, the state opens again and tells the truth.

use kusion_model::{Action, Phase};
use kusion_store::{Outcome, SimDisk, StoreError};

use crate::setup::{at, end, key, open, plan, recorded, release, step, store};

/// The scenario: a finished release, then one that makes two and deletes one.
fn scenario(disk: &SimDisk, acknowledged: &mut Vec<&'static str>) -> Result<(), StoreError> {
    let mut session = open(disk)?;
    release(&mut session, &["old"])?;
    acknowledged.push("first");
    let steps = vec![step("a", Action::Create), step("b", Action::Create), step("old", Action::Delete)];
    let plan = plan(session.state(), steps);
    let no = session.begin(&plan, Default::default(), at(2))?;
    acknowledged.push("begin");
    session.record(no, vec![recorded("a", no)])?;
    acknowledged.push("a");
    session.record(no, vec![recorded("b", no), Outcome::Forgotten(key("old"))])?;
    acknowledged.push("b");
    session.end(no, end(Phase::Succeeded))?;
    acknowledged.push("end");
    session.compact(1)?;
    session.close(at(3))
}

#[test]
fn kill_at_every_write_step_loses_nothing_that_was_acknowledged() {
    let mut completed = false;
    for steps in 0..200 {
        let disk = SimDisk::default();
        disk.kill_after(steps);
        let mut done = Vec::new();
        completed = scenario(&disk, &mut done).is_ok();
        disk.revive();
        let session = open(&disk).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        let state = session.state();
        let has = |name: &str| state.records.contains_key(&key(name));
        if done.contains(&"first") && !done.contains(&"b") {
            assert!(has("old") || has("b"), "after {steps} steps");
        }
        if done.contains(&"begin") {
            assert_eq!(state.releases.len(), 2, "after {steps} steps");
            for name in ["a", "b"] {
                let known = has(name) || state.intents.contains_key(&key(name));
                assert!(known, "{name} forgotten after {steps} steps");
            }
        }
        assert!(!done.contains(&"a") || has("a"), "after {steps} steps");
        assert!(!done.contains(&"b") || (has("b") && !has("old")), "after {steps} steps");
        if done.contains(&"end") {
            assert_eq!((state.open, state.intents.len()), (None, 0), "after {steps} steps");
        }
        let mut session = session;
        release(&mut session, &["next"]).unwrap_or_else(|e| panic!("after {steps} steps: {e}"));
        if completed {
            break;
        }
    }
    assert!(completed, "the scenario never ran to its end");
}

#[test]
fn release_after_an_interrupted_one_marks_it_failed_and_keeps_its_intents() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    let plan = plan(session.state(), vec![step("a", Action::Create)]);
    session.begin(&plan, Default::default(), at(1)).unwrap();
    drop(session);
    let mut session = open(&disk).unwrap();
    assert!(session.state().intents.contains_key(&key("a")));
    release(&mut session, &["b"]).unwrap();
    let state = session.state();
    let first = state.releases.values().next().unwrap();
    assert_eq!((first.phase, first.message.as_deref()), (Phase::Failed, Some("interrupted")));
    assert!(state.intents.contains_key(&key("a")), "an orphan must stay known");
}

#[test]
fn certain_failure_forgets_the_intent_and_an_uncertain_one_keeps_it() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    let plan =
        plan(session.state(), ["sure", "unsure", "not-tried"].map(|n| step(n, Action::Create)).to_vec());
    let no = session.begin(&plan, Default::default(), at(1)).unwrap();
    let failed = |name: &str, uncertain| Outcome::Failed { key: key(name), message: "x".into(), uncertain };
    session.record(no, vec![failed("sure", false), failed("unsure", true)]).unwrap();
    session.end(no, end(Phase::Failed)).unwrap();
    let intents: Vec<_> = session.state().intents.keys().cloned().collect();
    assert_eq!(intents, [key("unsure")]);
}

#[test]
fn full_disk_is_told_and_the_log_stays_good() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a"]).unwrap();
    disk.set_full(true);
    let error = release(&mut session, &["b"]).unwrap_err().to_string();
    assert!(error.contains("disk is full"), "{error}");
    disk.set_full(false);
    release(&mut session, &["b"]).unwrap();
    assert_eq!(store(&disk).read().unwrap().records.len(), 2);
}

#[test]
fn file_cut_in_half_opens_up_to_the_last_whole_line() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a"]).unwrap();
    let log = store(&disk).dir().join("log");
    disk.tamper(&log, |bytes| bytes.truncate(bytes.len() - 40));
    let state = store(&disk).read().unwrap();
    assert!(state.torn_tail && state.records.contains_key(&key("a")));
    let mut session = open(&disk).unwrap();
    release(&mut session, &["b"]).unwrap();
    assert!(!store(&disk).read().unwrap().torn_tail);
}

#[test]
fn damage_in_the_middle_is_an_error_with_its_line() {
    let disk = SimDisk::default();
    let mut session = open(&disk).unwrap();
    release(&mut session, &["a"]).unwrap();
    let log = store(&disk).dir().join("log");
    disk.tamper(&log, |bytes| {
        let second = bytes.iter().position(|&b| b == b'\n').unwrap() + 30;
        bytes[second] ^= 1;
    });
    assert!(matches!(store(&disk).read(), Err(StoreError::Damaged { line: 2, .. })));
}
