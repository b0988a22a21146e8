//! Two applies at once: one wins, the other is told who holds the lock; nothing is lost.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use kusion::model::Phase;
use kusion::{ApplyError, DryRun, Happening};
use kusion_store::{Liveness, StoreError};
use serde_json::Value;

use crate::lab::{Kill, Lab};
use crate::objects::{others, ten};

const TROUBLE: &str = "seed=5 verb=write chance=20% error=429 retry-after=1; verb=write chance=15% lost; \
     chance=20% delay=400; verb=watch chance=50% watch-drop=1";

async fn race(faults: &str, mine: &Value, theirs: &Value) {
    let lab = Lab::new();
    let (first, second) = (lab.plan(mine).await, lab.plan(theirs).await);
    lab.faults(faults);
    let (mut li, mut wang) = (lab.ask("li"), lab.ask("wang"));
    li.alive = |_| Liveness::Alive;
    wang.alive = |_| Liveness::Alive;
    let (a, b) = tokio::join!(lab.execute(&first, &li), lab.execute(&second, &wang));
    let (a, b) = (a.expect("nobody kills it"), b.expect("nobody kills it"));
    let (winner, report, refused, won, lost) = match (a, b) {
        (Ok(report), Err(refused)) => ("li", report, refused, mine, theirs),
        (Err(refused), Ok(report)) => ("wang", report, refused, theirs, mine),
        (a, b) => panic!("not exactly one winner: {a:?} {b:?}"),
    };
    let ApplyError::Store { source: StoreError::Locked { holder }, report: None } = refused else {
        panic!("{refused:?}")
    };
    assert_eq!(holder.owner.user, winner);
    assert!(holder.to_string().contains(&format!("{winner} on h (process 1, `kusion apply`) since 20")));
    assert!(report.is_success(), "{report:#?}");
    lab.faults("");
    lab.assert_converged(won, "the winner").await;
    // The other comes again, with a plan of the world as it is now.
    assert!(lab.apply(lost).await.is_success());
    lab.assert_converged(lost, "the other, later").await;
    let phases: Vec<Phase> = lab.state().releases.values().map(|release| release.phase).collect();
    assert_eq!(phases, [Phase::Succeeded, Phase::Succeeded], "both are in the history, nobody else");
}

#[tokio::test(start_paused = true)]
async fn one_of_two_wins_and_the_other_is_told_by_whom() {
    race("", &ten("1"), &ten("1")).await;
    race("", &ten("1"), &others()).await;
    race("", &others(), &ten("1")).await;
}

#[tokio::test(start_paused = true)]
async fn the_same_among_faults() {
    race(TROUBLE, &ten("1"), &others()).await;
    race(TROUBLE, &others(), &ten("1")).await;
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_the_lock_is_told_that_the_plan_is_old() {
    let lab = Lab::new();
    let (first, second) = (lab.plan(&ten("1")).await, lab.plan(&others()).await);
    let mut wang = lab.ask("wang");
    wang.alive = |_| Liveness::Alive;
    wang.lock_timeout = Duration::from_secs(600);
    let li = lab.ask("li");
    let (a, b) = tokio::join!(lab.execute(&first, &li), lab.execute(&second, &wang));
    assert!(a.unwrap().unwrap().is_success());
    let late = b.unwrap();
    assert!(matches!(late, Err(ApplyError::Store { source: StoreError::Stale { .. }, .. })), "{late:?}");
    lab.assert_converged(&ten("1"), "the first").await;
}

/// Both are carried out one after the other, and the second does what is right after the first.
async fn one_after_the_other(faults: &str, mine: &Value, theirs: &Value) {
    let lab = Lab::new();
    let (first, second) = (lab.plan(mine).await, lab.plan(theirs).await);
    lab.faults(faults);
    let (mut li, mut wang) = (lab.ask("li"), lab.ask("wang"));
    for ask in [&mut li, &mut wang] {
        ask.alive = |_| Liveness::Alive;
        ask.lock_timeout = Duration::from_secs(3600);
    }
    let told = Arc::new(Mutex::new(Vec::new()));
    for ask in [&mut li, &mut wang] {
        let told = Arc::clone(&told);
        ask.observer = Arc::new(move |happening| {
            if let Happening::Waiting(holder) = happening {
                told.lock().unwrap().push(holder.owner.user.clone());
            }
        });
    }
    let (a, b) = tokio::join!(lab.execute_late(&first, &li), lab.execute_late(&second, &wang));
    assert!(a.unwrap().is_success() && b.unwrap().is_success());
    assert_eq!(*told.lock().unwrap(), ["li"], "who waits is told for whom, once");
    lab.faults("");
    lab.assert_converged(theirs, "the one that came second").await;
    let phases: Vec<Phase> = lab.state().releases.values().map(|release| release.phase).collect();
    assert_eq!(phases, [Phase::Succeeded, Phase::Succeeded]);
}

#[tokio::test(start_paused = true)]
async fn who_plans_again_after_waiting_takes_the_first_into_account() {
    // The second deletes what the first has made and it does not want, and makes nothing twice.
    one_after_the_other("", &ten("1"), &others()).await;
    one_after_the_other("", &ten("1"), &ten("2")).await;
    one_after_the_other(TROUBLE, &others(), &ten("1")).await;
}

#[tokio::test(start_paused = true)]
async fn who_waited_for_one_that_did_the_same_has_nothing_left_to_do() {
    let lab = Lab::new();
    let (first, second) = (lab.plan(&ten("1")).await, lab.plan(&ten("1")).await);
    assert!(lab.execute_late(&first, &lab.ask("li")).await.unwrap().is_success());
    let (target, engine, wang) = (lab.target(), lab.engine(), lab.ask("wang"));
    let session = engine.lock(&target, &second.state, &wang).await.unwrap();
    let again = engine.plan_again(&session, &target, &second, DryRun::Updates).await.unwrap();
    assert!(again.expect("the state has moved").plan().is_empty());
    let current = lab.plan(&ten("1")).await;
    let same = engine.plan_again(&session, &target, &current, DryRun::Updates).await.unwrap();
    assert!(same.is_none(), "nothing moved");
}

#[tokio::test(start_paused = true)]
async fn holder_that_comes_back_from_a_long_sleep_writes_nothing_more() {
    let lab = Lab::new();
    let ready = lab.plan(&ten("1")).await;
    lab.kill(Kill::After(4));
    assert!(lab.execute(&ready, &lab.ask("li")).await.is_none());
    lab.kill(Kill::Never);
    let theirs = lab.plan(&ten("1")).await;
    lab.execute(&theirs, &lab.ask("wang")).await.unwrap().unwrap();
    lab.writes();
    // The first tries again with its old plan.
    let late = lab.execute(&ready, &lab.ask("li")).await.unwrap();
    assert!(matches!(late, Err(ApplyError::Store { source: StoreError::Stale { .. }, .. })), "{late:?}");
    assert!(lab.writes().is_empty());
    lab.assert_converged(&ten("1"), "the second").await;
}

#[tokio::test(start_paused = true)]
async fn apply_whose_lock_is_broken_in_the_middle_stops() {
    let mut lab = Lab::new();
    lab.options.concurrency = 2;
    // Slow enough that a heartbeat comes in between.
    lab.faults("verb=write delay=4000");
    let ready = lab.plan(&ten("1")).await;
    let breaker = async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        lab.target().store.break_lock(lab.now()).await.unwrap();
    };
    let li = lab.ask("li");
    let (result, ()) = tokio::join!(lab.execute(&ready, &li), breaker);
    let result = result.unwrap();
    assert!(
        matches!(result, Err(ApplyError::Store { source: StoreError::Fenced { .. }, report: Some(_) })),
        "{result:?}"
    );
    lab.faults("");
    let made = lab.objects().len();
    assert!((1..10).contains(&made), "{made}: what was in flight, and no more");
    assert!(lab.apply(&ten("1")).await.is_success());
    lab.assert_converged(&ten("1"), "finished by the next").await;
}
