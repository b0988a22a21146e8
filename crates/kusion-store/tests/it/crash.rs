//! Killed at every step of a write, the state opens again and tells the truth: on every medium.

use kusion_model::{Action, Phase};
use kusion_store::{Outcome, StoreError, wait};

use crate::setup::{Medium, STRIDE, at, end, key, on_every_medium, plan, recorded, release, step};

on_every_medium! {
    kill_at_every_step_loses_nothing_that_was_acknowledged
    lost_answers_lose_nothing_and_write_nothing_twice
    release_after_an_interrupted_one_marks_it_failed_and_keeps_its_intents
    certain_failure_forgets_the_intent_and_an_uncertain_one_keeps_it
    what_was_being_made_is_known_after_a_crash
    full_medium_is_told_and_the_log_stays_good
}

/// The scenario: a finished release, then one that makes three and deletes one; the last goes with the end.
pub(crate) fn scenario(medium: &Medium, acknowledged: &mut Vec<&'static str>) -> Result<(), StoreError> {
    let mut session = medium.open()?;
    release(&mut session, &["old"])?;
    acknowledged.push("first");
    let mut steps: Vec<_> = ["a", "b", "c"].map(|name| step(name, Action::Create)).into();
    steps.push(step("old", Action::Delete));
    let plan = plan(session.state(), steps);
    let no = wait(session.begin(&plan, Default::default(), at(2)))?;
    acknowledged.push("begin");
    wait(session.record(no, vec![recorded("a", no)]))?;
    acknowledged.push("a");
    wait(session.heartbeat(at(2)))?;
    wait(session.record(no, vec![recorded("b", no), Outcome::Forgotten(key("old"))]))?;
    acknowledged.push("b");
    wait(session.end(no, vec![recorded("c", no)], end(Phase::Succeeded)))?;
    acknowledged.push("end");
    wait(session.compact(1))?;
    wait(session.close(at(3)))
}

/// What was acknowledged is there, and the next release works.
pub(crate) fn tells_the_truth(medium: &Medium, done: &[&str], context: &str) {
    let mut session = medium.open().unwrap_or_else(|e| panic!("{context}: {e}"));
    let state = session.state();
    let has = |name: &str| state.records.contains_key(&key(name));
    if done.contains(&"first") && !done.contains(&"b") {
        assert!(has("old") || has("b"), "{context}");
    }
    if done.contains(&"begin") {
        assert_eq!(state.releases.len(), 2, "{context}");
        for name in ["a", "b", "c"] {
            let known = has(name) || state.intents.contains_key(&key(name));
            assert!(known, "{context}: {name} is forgotten");
        }
    }
    assert!(!done.contains(&"a") || has("a"), "{context}");
    assert!(!done.contains(&"b") || (has("b") && !has("old")), "{context}");
    if done.contains(&"end") {
        assert_eq!((state.open, state.intents.len(), has("c")), (None, 0, true), "{context}");
    }
    release(&mut session, &["next"]).unwrap_or_else(|e| panic!("{context}: {e}"));
    let state = medium.read();
    assert!(state.records.contains_key(&key("next")) && !state.torn_tail, "{context}");
}

fn kill_at_every_step_loses_nothing_that_was_acknowledged(new: fn() -> Medium) {
    let mut completed = false;
    for steps in (0..300).step_by(*STRIDE) {
        let medium = new();
        medium.plug.kill_after(steps);
        let mut done = Vec::new();
        completed = scenario(&medium, &mut done).is_ok();
        medium.plug.revive();
        tells_the_truth(&medium, &done, &format!("after {steps} steps"));
        if completed {
            break;
        }
    }
    assert!(completed, "the scenario never ran to its end");
}

fn lost_answers_lose_nothing_and_write_nothing_twice(new: fn() -> Medium) {
    for every in 2..12 {
        let medium = new();
        medium.plug.lose_answers(Some(every));
        let mut done = Vec::new();
        scenario(&medium, &mut done).unwrap_or_else(|e| panic!("every {every}th answer is lost: {e}"));
        medium.plug.lose_answers(None);
        assert_eq!(medium.read().serial, 8, "every {every}th answer is lost");
        tells_the_truth(&medium, &done, &format!("every {every}th answer is lost"));
    }
}

fn release_after_an_interrupted_one_marks_it_failed_and_keeps_its_intents(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    let plan = plan(session.state(), vec![step("a", Action::Create)]);
    wait(session.begin(&plan, Default::default(), at(1))).unwrap();
    drop(session);
    let mut session = medium.open().unwrap();
    assert!(session.state().intents.contains_key(&key("a")));
    release(&mut session, &["b"]).unwrap();
    let state = session.state();
    let first = state.releases.values().next().unwrap();
    assert_eq!((first.phase, first.cause.as_deref()), (Phase::Failed, Some("interrupted")));
    assert!(state.intents.contains_key(&key("a")), "an orphan must stay known");
    // Folding it away does not bring it back to life.
    let before = medium.read();
    wait(session.compact(1)).unwrap();
    assert_eq!(medium.read(), before);
}

fn certain_failure_forgets_the_intent_and_an_uncertain_one_keeps_it(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    let plan =
        plan(session.state(), ["sure", "unsure", "not-tried"].map(|n| step(n, Action::Create)).to_vec());
    let no = wait(session.begin(&plan, Default::default(), at(1))).unwrap();
    let failed = |name: &str, uncertain| Outcome::Failed { key: key(name), message: "x".into(), uncertain };
    wait(session.record(no, vec![failed("sure", false), failed("unsure", true)])).unwrap();
    wait(session.end(no, Vec::new(), end(Phase::Failed))).unwrap();
    let intents: Vec<_> = session.state().intents.keys().cloned().collect();
    assert_eq!(intents, [key("unsure")]);
}

/// A create that was announced and has no outcome may have happened; what it was is known after a crash, a fold and a release.
fn what_was_being_made_is_known_after_a_crash(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    let names = ["made", "failed", "cut-off", "unsure"];
    let plan = plan(session.state(), names.map(|n| step(n, Action::Create)).to_vec());
    let no = wait(session.begin(&plan, Default::default(), at(1))).unwrap();
    wait(session.record(no, names.map(|n| Outcome::Tried(key(n))).to_vec())).unwrap();
    let failed = |name: &str, uncertain| Outcome::Failed { key: key(name), message: "x".into(), uncertain };
    let came = vec![recorded("made", no), failed("failed", false), failed("unsure", true)];
    wait(session.record(no, came)).unwrap();
    drop(session);
    let tried = |state: &kusion_store::State| state.tried.iter().cloned().collect::<Vec<_>>();
    assert_eq!(tried(&medium.read()), [key("cut-off"), key("unsure")]);
    let mut session = medium.open().unwrap();
    release(&mut session, &["other"]).unwrap();
    wait(session.compact(1)).unwrap();
    assert_eq!(tried(&medium.read()), [key("cut-off"), key("unsure")], "until something came of it");
    // A second try that fails for sure says nothing about the first one; one that is never made even less.
    let again = ["cut-off", "unsure", "new"];
    let plan = crate::setup::plan(session.state(), again.map(|n| step(n, Action::Create)).to_vec());
    let no = wait(session.begin(&plan, Default::default(), at(2))).unwrap();
    wait(session.record(no, ["cut-off", "new"].map(|n| Outcome::Tried(key(n))).to_vec())).unwrap();
    wait(session.record(no, vec![failed("cut-off", false), failed("new", false)])).unwrap();
    wait(session.end(no, Vec::new(), end(Phase::Failed))).unwrap();
    assert_eq!(tried(&medium.read()), [key("cut-off"), key("unsure")]);
    assert!(["cut-off", "unsure"].iter().all(|n| session.state().intents.contains_key(&key(n))));
    let plan = crate::setup::plan(session.state(), vec![step("unsure", Action::Create)]);
    let no = wait(session.begin(&plan, Default::default(), at(3))).unwrap();
    wait(session.record(no, vec![Outcome::Forgotten(key("unsure"))])).unwrap();
    wait(session.end(no, Vec::new(), end(Phase::Succeeded))).unwrap();
    assert_eq!(tried(&medium.read()), [key("cut-off")], "given up");
    release(&mut session, &["cut-off", "unsure"]).unwrap();
    assert_eq!(tried(&medium.read()), []);
}

fn full_medium_is_told_and_the_log_stays_good(new: fn() -> Medium) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a"]).unwrap();
    medium.plug.set_full(true);
    let error = release(&mut session, &["b"]).unwrap_err().to_string();
    assert!(error.contains("disk is full"), "{error}");
    medium.plug.set_full(false);
    release(&mut session, &["b"]).unwrap();
    assert_eq!(medium.read().records.len(), 2);
}
