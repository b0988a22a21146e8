//! Two applies at once: one wins, the other is told; nothing is lost.

use kusion_apply::ApplyError;
use kusion_store::{Liveness, StoreError};

use crate::lab::{Lab, ten};

#[test]
fn second_apply_is_told_who_holds_the_lock() {
    let lab = Lab::new();
    let mut first = lab.open("li", Liveness::Alive).unwrap();
    let Err(StoreError::Locked { holder }) = lab.open("wang", Liveness::Alive) else { panic!("two holders") };
    assert_eq!(holder.owner.user, "li");
    let ready = lab.plan(&ten(1), first.state());
    lab.execute(&ready, &mut first).unwrap().unwrap();
    lab.assert_converged(&ten(1), "the winner");
}

#[test]
fn apply_that_lost_its_lock_stops_and_the_winner_finishes_the_work() {
    let lab = Lab::new();
    let mut first = lab.open("li", Liveness::Alive).unwrap();
    let ready = lab.plan(&ten(1), first.state());
    lab.world.kill_at(4, true);
    assert!(lab.execute(&ready, &mut first).is_none());
    lab.world.revive();
    let mut second = lab.open("wang", Liveness::Dead).unwrap();
    let theirs = lab.plan(&ten(1), second.state());
    // The first comes back from a long sleep and tries again with its old plan.
    let late = lab.execute(&ready, &mut first).unwrap();
    assert!(matches!(
        late,
        Err(ApplyError::Store { source: StoreError::Stale { .. } | StoreError::Fenced { .. }, .. })
    ));
    lab.execute(&theirs, &mut second).unwrap().unwrap();
    lab.assert_converged(&ten(1), "the winner");
}

#[test]
fn apply_that_is_fenced_in_the_middle_starts_nothing_new() {
    let lab = Lab::new();
    let mut first = lab.open("li", Liveness::Alive).unwrap();
    let ready = lab.plan(&ten(1), first.state());
    lab.store().break_lock(ready_time()).unwrap();
    let result = lab.execute(&ready, &mut first).unwrap();
    assert!(matches!(result, Err(ApplyError::Store { source: StoreError::Fenced { .. }, report: None })));
    assert!(lab.world.names().is_empty());
}

fn ready_time() -> kusion_model::Timestamp {
    kusion_model::Timestamp::from_millis(1_700_000_000_001)
}
