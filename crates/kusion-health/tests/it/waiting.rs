//! Waiting with a virtual clock.

use kusion_health::{
    DeleteOutcome, DeleteWaiter, Grade, Hold, Profile, Rules, Snapshot, Verdict, WaitOutcome, Waiter, judge,
    judge_absent, judge_with,
};
use serde_json::{Value, json};

fn deployment() -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"}})
}

fn waiter(profile: &Profile) -> Waiter {
    Waiter::new(&deployment(), profile, 0)
}

fn held(key: &str, grace: i64, armed: bool) -> Verdict {
    let mut verdict = Verdict::progressing("NotAvailable", "0 of 1 available");
    verdict.hold = Some(Hold {
        key: key.into(),
        grace,
        armed,
        then: Grade::Failed,
        reason: "ImagePullBackOff".into(),
        warning: None,
    });
    verdict
}

#[test]
fn healthy_must_hold_before_it_is_believed() {
    let mut wait = waiter(&Profile::default());
    let good = || Verdict::healthy("RolledOut", "1 of 1");
    assert!(!wait.step(good(), 1000).is_over());
    assert_eq!(wait.wake(), 3000);
    assert!(!wait.step(good(), 2900).is_over());
    assert!(matches!(wait.step(good(), 3000), WaitOutcome::Done(_)));
}

#[test]
fn a_relapse_or_a_restart_starts_settling_again() {
    let mut wait = waiter(&Profile::default());
    let good = |restarts| Verdict { restarts, ..Verdict::healthy("RolledOut", "1 of 1") };
    wait.step(good(0), 0);
    wait.step(Verdict::progressing("NotAvailable", "0 of 1"), 1000);
    assert!(!wait.step(good(0), 2500).is_over());
    assert!(!wait.step(good(1), 4400).is_over());
    assert!(!wait.step(good(1), 6000).is_over());
    assert!(wait.step(good(1), 6400).is_over());
}

#[test]
fn what_cannot_flap_is_done_at_once() {
    let mut wait = waiter(&Profile::default());
    assert!(matches!(wait.step(Verdict::healthy("NothingToWatch", ""), 0), WaitOutcome::Done(_)));
}

#[test]
fn suspended_ends_well_too() {
    let mut wait = waiter(&Profile::default());
    wait.step(Verdict::suspended("Paused", ""), 0);
    assert!(matches!(wait.step(Verdict::suspended("Paused", ""), 2000), WaitOutcome::Done(_)));
}

#[test]
fn a_grace_runs_out_even_when_its_two_faces_alternate() {
    let mut wait = waiter(&Profile::default());
    for second in 0..30 {
        assert!(!wait.step(held("image:main", 30_000, true), second * 1000).is_over());
    }
    let over = wait.step(held("image:main", 30_000, true), 30_000);
    assert!(matches!(over, WaitOutcome::Failed(_)));
    assert_eq!(over.verdict().reason, "ImagePullBackOff");
}

#[test]
fn evidence_that_went_away_for_long_starts_a_new_clock() {
    let mut wait = waiter(&Profile::default());
    wait.step(held("image:main", 30_000, true), 0);
    for second in 1..40 {
        wait.step(Verdict::progressing("NotAvailable", ""), second * 1000);
    }
    assert!(!wait.step(held("image:main", 30_000, true), 40_000).is_over());
    assert!(!wait.step(held("image:main", 30_000, true), 60_000).is_over());
}

#[test]
fn an_unarmed_grace_starts_the_clock_but_cannot_run_out() {
    let mut wait = waiter(&Profile::default());
    for second in 0..6 {
        assert!(!wait.step(held("crash:main", 60_000, false), second * 20_000).is_over());
    }
    assert!(wait.step(held("crash:main", 60_000, true), 101_000).is_over());
}

#[test]
fn a_hold_may_heal_with_a_warning() {
    let mut wait = waiter(&Profile::default());
    let pending = || {
        Verdict::progressing("AddressPending", "").heals_after(
            30_000,
            "Unpublished",
            "its controller publishes no address",
        )
    };
    wait.step(pending(), 0);
    wait.step(pending(), 30_000);
    let over = wait.step(pending(), 32_000);
    assert!(matches!(over, WaitOutcome::Done(_)), "{over:?}");
    assert_eq!(over.verdict().warnings, ["its controller publishes no address"]);
}

#[test]
fn the_deadline_tells_timed_out_from_failed() {
    let profile = Profile::default();
    let late = 630_000;
    let mut wait = waiter(&profile);
    assert!(matches!(wait.step(Verdict::progressing("Updating", ""), late), WaitOutcome::TimedOut(_)));
    let mut wait = waiter(&profile);
    assert!(matches!(wait.step(Verdict::unknown("NodeSilent", ""), late), WaitOutcome::Failed(_)));
    let mut wait = waiter(&profile);
    wait.set_deadline(5000);
    assert!(matches!(wait.step(Verdict::progressing("Updating", ""), 5000), WaitOutcome::TimedOut(_)));
}

#[test]
fn no_change_for_long_marks_the_row_stuck() {
    let mut wait = waiter(&Profile::default());
    wait.step(Verdict::progressing("Updating", "1 of 3"), 0);
    assert!(matches!(
        wait.step(Verdict::progressing("Updating", "1 of 3"), 90_000),
        WaitOutcome::Waiting { stuck: true, .. }
    ));
    assert!(matches!(
        wait.step(Verdict::progressing("Updating", "2 of 3"), 91_000),
        WaitOutcome::Waiting { stuck: false, .. }
    ));
}

#[test]
fn a_lost_watch_becomes_unknown_and_recovers() {
    let mut wait = waiter(&Profile::default());
    let last = || Verdict::progressing("Updating", "1 of 3");
    assert_eq!(wait.lose(last(), 0).verdict().verdict, Grade::Progressing);
    assert_eq!(wait.lose(last(), 60_000).verdict().verdict, Grade::Unknown);
    assert_eq!(wait.step(last(), 61_000).verdict().verdict, Grade::Progressing);
}

#[test]
fn a_crash_loop_fails_the_sandbox_after_two_restarts() {
    let pod = |restarts: i64| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "shop", "uid": "p"}, "spec": {"nodeName": "n", "containers": [{"name": "m"}]},
            "status": {"phase": "Running", "containerStatuses": [{"name": "m", "restartCount": restarts, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]}})
    };
    let profile = Profile::sandbox();
    let mut wait = Waiter::new(&pod(0), &profile, 0);
    let verdict = |restarts| judge(&pod(restarts), &Snapshot::of([pod(restarts)]), &profile, Some(1000));
    assert!(!wait.step(verdict(1), 1000).is_over());
    assert!(matches!(wait.step(verdict(2), 2000), WaitOutcome::Failed(_)));
}

#[test]
fn an_object_that_vanished_has_failed_unless_it_is_a_job_with_a_time_to_live() {
    let profile = Profile::default();
    let gone = judge_absent(Some(&deployment()), &Snapshot::new(), &profile, None);
    assert_eq!((gone.verdict, gone.reason.as_str()), (Grade::Failed, "Gone"));
    let job = |kind: &str| {
        json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"ttlSecondsAfterFinished": 5},
        "status": {"conditions": [{"type": kind, "status": "True", "reason": "X"}]}})
    };
    assert_eq!(
        judge_absent(Some(&job("Complete")), &Snapshot::new(), &profile, None).verdict,
        Grade::Healthy
    );
    assert_eq!(judge_absent(Some(&job("Failed")), &Snapshot::new(), &profile, None).verdict, Grade::Failed);
}

#[test]
fn rules_of_a_file_are_used_and_bad_ones_are_named() {
    let rules = Rules::parse("# ours\nx.io/Thing : H phase=Up | F phase=Down\n").expect("parses");
    let thing = json!({"apiVersion": "x.io/v1", "kind": "Thing", "metadata": {"name": "t"}, "status": {"phase": "Down"}});
    let verdict = judge_with(&thing, &Snapshot::new(), &Profile::default(), Some(&rules), None);
    assert_eq!(verdict.verdict, Grade::Failed);
    let problem = Rules::parse("\nx.io/Thing : Q phase=Up").expect_err("Q is no verdict");
    assert!(problem.starts_with("line 2:"), "{problem}");
}

fn claim(deleted: bool, finalizers: &[&str], uid: &str) -> Value {
    let mut object = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "d", "namespace": "shop", "uid": uid, "finalizers": finalizers}});
    if deleted {
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    }
    object
}

#[test]
fn deletion_is_followed_to_its_end() {
    let profile = Profile::default();
    let empty = Snapshot::new();
    let wait = DeleteWaiter::new(&claim(false, &[], "1"), &profile, 0);
    let step = |seen: Option<&Value>, now| wait.step(seen, &empty, &profile, now);
    assert_eq!(step(None, 0), DeleteOutcome::Done { recreated: None });
    assert!(matches!(step(Some(&claim(false, &[], "2")), 0), DeleteOutcome::Done { recreated: Some(_) }));
    assert!(matches!(step(Some(&claim(false, &[], "1")), 1000), DeleteOutcome::Waiting(_)));
    let ignored = step(Some(&claim(false, &[], "1")), 11_000);
    assert!(matches!(&ignored, DeleteOutcome::Failed(verdict) if verdict.reason == "DeleteIgnored"));
    let held = claim(true, &["kubernetes.io/pvc-protection"], "1");
    assert!(
        matches!(step(Some(&held), 1000), DeleteOutcome::Waiting(verdict) if verdict.reason == "Finalizer")
    );
    let stuck = step(Some(&held), 300_000);
    assert!(
        matches!(&stuck, DeleteOutcome::Failed(verdict) if verdict.reason == "StuckDeleting" && verdict.cause.as_deref().is_some_and(|c| c.contains("pvc-protection"))),
        "{stuck:?}"
    );
    let foreground = claim(true, &["foregroundDeletion"], "1");
    assert!(
        matches!(step(Some(&foreground), 1000), DeleteOutcome::Waiting(verdict) if verdict.reason == "Dependents")
    );
}
