//! From one medium to another: killed anywhere it counts in one place or in none, never in two, and doing it again finishes it:
//! from and to every medium.

use std::time::Duration;

use kusion_store::{Claim, Liveness, Migrated, Owner, Places, StackStore, State, StoreError, wait};

use crate::setup::{Medium, STRIDE, at, key, on_every_medium, owner, release};

on_every_medium! {
    state_goes_and_the_old_place_points_to_the_new_one
    state_comes_back
    migration_killed_at_every_step_leaves_one_truth
    migration_with_lost_answers_is_done_once
    nothing_is_written_over_a_state_that_counts
    state_that_is_locked_does_not_go
}

fn places() -> Places {
    Places { from: "here".to_owned(), to: "there".to_owned() }
}

fn go(from: &StackStore, to: &StackStore, places: &Places) -> Result<Migrated, StoreError> {
    let (elapsed, alive) = (Duration::ZERO, &|_: &Owner| Liveness::Dead);
    wait(from.migrate(to, &Claim { owner: owner("li"), now: at(60), elapsed, alive }, places))
}

fn filled(new: fn() -> Medium) -> (Medium, State) {
    let medium = new();
    let mut session = medium.open().unwrap();
    release(&mut session, &["a", "b"]).unwrap();
    release(&mut session, &["c"]).unwrap();
    wait(session.close(at(2))).unwrap();
    let state = medium.read();
    (medium, state)
}

fn state_goes_and_the_old_place_points_to_the_new_one(new: fn() -> Medium) {
    let ((here, before), there) = (filled(new), Medium::sim());
    let digest = wait(here.store().digest_key()).unwrap();
    assert!(matches!(go(&here.store(), &there.store(), &places()), Ok(Migrated::Done { .. })));
    let after = there.read();
    assert_eq!((&after.records, &after.releases), (&before.records, &before.releases));
    assert_eq!((&after.lineage, after.serial), (&before.lineage, before.serial + 2));
    assert_eq!(after.agrees_with(&before.head().unwrap()), Ok(()), "the cluster\'s witness still fits");
    assert_eq!(wait(there.store().digest_key()).unwrap(), digest, "no secret looks changed");
    let told = |error: StoreError| matches!(error, StoreError::Moved { to, .. } if to == "there");
    assert!(told(wait(here.store().read()).unwrap_err()));
    assert!(told(here.open().err().unwrap()), "nobody writes there any more");
    assert!(told(wait(here.store().state_at(kusion_model::ReleaseNo(1))).unwrap_err()));
    let mut session = there.open().unwrap();
    release(&mut session, &["d"]).unwrap();
    assert_eq!(go(&here.store(), &there.store(), &places()).unwrap(), Migrated::Before, "it is done once");
    assert_eq!(there.read().records.len(), 4);
}

fn state_comes_back(new: fn() -> Medium) {
    let ((here, _), there) = (filled(new), Medium::objects());
    go(&here.store(), &there.store(), &places()).unwrap();
    let mut session = there.open().unwrap();
    release(&mut session, &["d"]).unwrap();
    wait(session.close(at(3))).unwrap();
    let back = Places { from: "there".to_owned(), to: "here".to_owned() };
    go(&there.store(), &here.store(), &back).unwrap();
    assert_eq!(here.read().records.len(), 4);
    assert!(matches!(wait(there.store().read()), Err(StoreError::Moved { .. })));
    release(&mut here.open().unwrap(), &["e"]).unwrap();
}

/// At most one of the two can be written; going on brings everything there.
fn one_truth(here: &Medium, there: &Medium, before: &State, context: &str) {
    let counts = |medium: &Medium| match wait(medium.store().read()) {
        Ok(state) => state.is_written(),
        Err(StoreError::Moved { .. } | StoreError::OnItsWay { .. }) => false,
        // What is half there says where it comes from; nobody is sent to repair it.
        Err(error) => panic!("{context}: {error}"),
    };
    assert!(!(counts(here) && counts(there)), "{context}: two truths");
    go(&here.store(), &there.store(), &places()).unwrap_or_else(|error| panic!("{context}, again: {error}"));
    let after = there.read();
    assert_eq!((&after.records, &after.releases), (&before.records, &before.releases), "{context}");
    assert!(!counts(here), "{context}: it went");
    release(&mut there.open().unwrap(), &["next"]).unwrap_or_else(|error| panic!("{context}: {error}"));
    assert!(there.read().records.contains_key(&key("next")), "{context}");
}

fn migration_killed_at_every_step_leaves_one_truth(new: fn() -> Medium) {
    for killed_here in [true, false] {
        let mut completed = false;
        for steps in (0..200).step_by(*STRIDE) {
            let ((here, before), there) = (filled(new), new());
            let plug = if killed_here { &here.plug } else { &there.plug };
            plug.kill_after(steps);
            completed = go(&here.store(), &there.store(), &places()).is_ok();
            here.plug.revive();
            there.plug.revive();
            one_truth(&here, &there, &before, &format!("killed after {steps} steps (here: {killed_here})"));
            if completed {
                break;
            }
        }
        assert!(completed, "it never came to its end");
    }
}

fn migration_with_lost_answers_is_done_once(new: fn() -> Medium) {
    for every in 2..7 {
        let ((here, before), there) = (filled(new), new());
        here.plug.lose_answers(Some(every));
        there.plug.lose_answers(Some(every + 1));
        let done = go(&here.store(), &there.store(), &places());
        here.plug.lose_answers(None);
        there.plug.lose_answers(None);
        assert!(done.is_ok(), "every {every}th answer is lost: {done:?}");
        assert_eq!(there.read().serial, before.serial + 2, "every {every}th answer is lost");
        one_truth(&here, &there, &before, &format!("every {every}th answer is lost"));
    }
}

fn nothing_is_written_over_a_state_that_counts(new: fn() -> Medium) {
    let ((here, before), (there, other)) = (filled(new), filled(new));
    assert!(matches!(go(&here.store(), &there.store(), &places()), Err(StoreError::Occupied { .. })));
    assert_eq!((here.read(), there.read()), (before, other));
    let empty = new();
    assert!(matches!(go(&empty.store(), &there.store(), &places()), Err(StoreError::NoState { .. })));
}

fn state_that_is_locked_does_not_go(new: fn() -> Medium) {
    let ((here, _), there) = (filled(new), Medium::sim());
    let _session = here.acquire("wang", Liveness::Alive).unwrap();
    let (elapsed, alive) = (Duration::ZERO, &|_: &Owner| Liveness::Alive);
    let claim = Claim { owner: owner("li"), now: at(60), elapsed, alive };
    let refused = wait(here.store().migrate(&there.store(), &claim, &places()));
    assert!(matches!(refused, Err(StoreError::Locked { .. })));
}
