//! kill -9 at every write of an apply, an update, a destroy and a rollback, on a world that works and on worlds that go wrong:
//! another run converges, nothing is left over or made twice, the log can be read.

use kusion::model::{Phase, ReleaseNo};
use serde_json::{Value, to_value};

use crate::lab::{Kill, Lab};
use crate::objects::{others, spec, ten};
use crate::wire::Births;

/// A server that is busy: flow control, 429 with and without a body, slow answers.
const BUSY: &str = "seed=11 verb=write chance=20% error=429 retry-after=2; verb=write chance=10% throttle=1; \
     verb=read chance=5% error=429 retry-after=1; chance=10% delay=700";
/// A server that falls over: errors, answers that get lost after the work was done, restarts.
const BROKEN: &str = "seed=12 verb=write chance=12% error=500; verb=write chance=12% lost; verb=write chance=8% drop; \
     verb=read chance=5% error=503; verb=write call=every:13 restart";
/// A server on which others write too, and whose watches cannot be relied on.
const CROSSED: &str = "seed=13 verb=write chance=20% conflict; verb=watch chance=50% watch-drop=2; \
     verb=watch chance=40% watch-stale=1; verb=read chance=5% drop; verb=write chance=10% error=504";

/// What is killed in the middle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Work {
    Apply,
    /// An apply, and then one of another configuration.
    ApplyThenOther,
    Update,
    Destroy,
    Rollback,
}

impl Work {
    /// The releases before it.
    fn before(self) -> Vec<Value> {
        match self {
            Work::Apply | Work::ApplyThenOther => vec![],
            Work::Update | Work::Destroy => vec![ten("1")],
            Work::Rollback => vec![ten("1"), others()],
        }
    }

    /// What is killed, and what is run after that.
    fn wanted(self, lab: &Lab) -> (Value, Value) {
        match self {
            Work::Apply => (ten("1"), ten("1")),
            Work::ApplyThenOther => (ten("1"), others()),
            Work::Update => (others(), others()),
            Work::Destroy => (spec(&[]), spec(&[])),
            Work::Rollback => {
                let back =
                    kusion_store::wait(kusion::rollback_target(&lab.target().store, ReleaseNo(1))).unwrap();
                let back = to_value(back).unwrap();
                (back.clone(), back)
            }
        }
    }
}

/// Runs the work; returns whether it came to its end before it was killed.
async fn run(lab: &Lab, work: Work, faults: &str, kill: Kill) -> bool {
    let context = format!("{work:?}, {kill:?}, {faults}");
    for spec in work.before() {
        assert!(lab.apply(&spec).await.is_success(), "{context}");
    }
    let (first, second) = work.wanted(lab);
    lab.faults(faults);
    lab.kill(kill);
    let finished = lab.try_apply(&first).await.is_some();
    lab.kill(Kill::Never);
    // A world that goes wrong may make a run fail, but not for ever.
    let mut report = lab.apply(&second).await;
    for _ in 0..3 {
        if !report.is_success() {
            report = lab.apply(&second).await;
        }
    }
    assert!(report.is_success(), "{context}: {report:#?}");
    lab.faults("");
    lab.assert_converged(&second, &context).await;
    assert_history(lab, &context);
    finished
}

/// Every release has ended; their numbers follow each other; the log has no damage.
fn assert_history(lab: &Lab, context: &str) {
    let state = lab.state();
    assert!(!state.torn_tail, "{context}");
    for (at, (no, release)) in state.releases.iter().enumerate() {
        assert_eq!(no.0, at as u64 + 1, "{context}");
        assert!(release.phase.is_final(), "{context}: {release:?}");
    }
    assert_eq!(state.latest().unwrap().phase, Phase::Succeeded, "{context}");
}

/// Nothing has come into being more often than in a run without kills and faults.
fn assert_births(lab: &Lab, ideal: &Births, context: &str) {
    for (id, uids) in &*lab.wire.births.lock().unwrap() {
        let wanted = ideal.get(id).map_or(0, |uids| uids.len());
        assert!(uids.len() <= wanted, "{context}: {id} was made {} times, not {wanted}", uids.len());
    }
}

async fn kill_everywhere(work: Work, faults: &str) {
    let ideal = Lab::new();
    run(&ideal, work, "", Kill::Never).await;
    let ideal = ideal.wire.births.lock().unwrap().clone();
    for at in [Kill::Before as fn(usize) -> Kill, Kill::After] {
        let mut finished = false;
        for number in 0..80 {
            let lab = Lab::new();
            finished = run(&lab, work, faults, at(number)).await;
            assert_births(&lab, &ideal, &format!("{work:?}, {:?}, {faults}", at(number)));
            if finished {
                break;
            }
        }
        assert!(finished, "the work never ran to its end");
    }
}

/// One test for each work and world, so that they run beside each other.
macro_rules! killed {
    ($($name:ident: $work:ident, $faults:expr;)*) => {
        $(#[tokio::test(start_paused = true)]
        async fn $name() {
            kill_everywhere(Work::$work, $faults).await;
        })*
    };
}

killed! {
    apply_killed_at_any_write: Apply, "";
    apply_killed_on_a_busy_server: Apply, BUSY;
    apply_killed_on_a_broken_server: Apply, BROKEN;
    apply_killed_on_a_crossed_server: Apply, CROSSED;
    other_configuration_after_a_kill: ApplyThenOther, "";
    other_configuration_after_a_kill_on_a_broken_server: ApplyThenOther, BROKEN;
    update_killed_at_any_write: Update, "";
    update_killed_on_a_busy_server: Update, BUSY;
    update_killed_on_a_broken_server: Update, BROKEN;
    update_killed_on_a_crossed_server: Update, CROSSED;
    destroy_killed_at_any_write: Destroy, "";
    destroy_killed_on_a_busy_server: Destroy, BUSY;
    destroy_killed_on_a_broken_server: Destroy, BROKEN;
    destroy_killed_on_a_crossed_server: Destroy, CROSSED;
    rollback_killed_at_any_write: Rollback, "";
    rollback_killed_on_a_busy_server: Rollback, BUSY;
    rollback_killed_on_a_broken_server: Rollback, BROKEN;
    rollback_killed_on_a_crossed_server: Rollback, CROSSED;
}

/// The machine dies at each step of each write of the disk, in the middle of a line too.
#[tokio::test(start_paused = true)]
async fn apply_killed_at_any_write_of_the_disk() {
    for step in 0..400 {
        let lab = Lab::new();
        let ready = lab.plan(&ten("1")).await;
        lab.medium.plug().kill_after(step);
        let _ = lab.execute(&ready, &lab.ask("li")).await.expect("nobody kills it");
        let died = lab.medium.plug().is_dead();
        lab.medium.plug().revive();
        let report = lab.apply(&ten("1")).await;
        assert!(report.is_success(), "the disk died at step {step}: {report:#?}");
        lab.assert_converged(&ten("1"), &format!("the disk died at step {step}")).await;
        if !died {
            return;
        }
    }
    panic!("the apply never ran to its end");
}

#[tokio::test(start_paused = true)]
async fn plan_is_on_disk_before_the_first_write() {
    let lab = Lab::new();
    lab.kill(Kill::Before(0));
    assert!(lab.try_apply(&ten("1")).await.is_none());
    let state = lab.state();
    assert!(state.open.is_some());
    assert_eq!(state.intents.len(), 10);
}

#[tokio::test(start_paused = true)]
async fn full_disk_is_said_and_nothing_is_lost() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    lab.medium.plug().set_full(true);
    let ready = lab.plan(&others()).await;
    let refused = lab.execute(&ready, &lab.ask("li")).await.expect("nobody kills it").unwrap_err();
    assert!(refused.to_string().contains("the disk is full"), "{refused}");
    lab.medium.plug().set_full(false);
    lab.assert_converged(&ten("1"), "nothing was begun").await;
    assert!(lab.apply(&others()).await.is_success());
    lab.assert_converged(&others(), "with space again").await;
}
