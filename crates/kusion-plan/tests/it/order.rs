//! Order of steps: forwards for what comes, backwards for what goes, recorded edges never forbid.

use kusion_model::{MeaningEdge, Plan, Wait};

use crate::world::{Situation, key};

fn names(plan: &Plan) -> Vec<String> {
    let name = |step: &kusion_model::Step| format!("{} {}", step.action, step.key.id.parts().pop().unwrap());
    plan.steps.iter().map(name).collect()
}

fn after(plan: &Plan, name: &str) -> Vec<String> {
    let step = plan.step(&key(name)).unwrap();
    step.after.iter().map(|edge| edge.on.id.parts().pop().unwrap()).collect()
}

#[test]
fn dependents_go_first() {
    let plan = Situation::default()
        .record("app", 1, &["db", "net"])
        .record("db", 1, &["net"])
        .record("net", 1, &[])
        .live("app", 1)
        .live("db", 1)
        .live("net", 1)
        .plan();
    assert_eq!(names(&plan), ["delete app", "delete db", "delete net"]);
    assert_eq!(after(&plan, "net"), ["db"], "the app is gone before the db");
}

#[test]
fn removing_one_of_two_services_is_no_error_although_the_workload_knew_it() {
    // Upstream refuses: "app dependsOn old, cannot delete old".
    let plan = Situation::default()
        .want("app", 2, &["svc"])
        .want("svc", 1, &[])
        .record("app", 1, &["old", "svc"])
        .record("old", 1, &[])
        .record("svc", 1, &[])
        .live("app", 1)
        .live("old", 1)
        .live("svc", 1)
        .plan();
    assert_eq!(names(&plan), ["no-op svc", "update app", "delete old"]);
    assert_eq!(after(&plan, "old"), ["app"]);
    assert!(after(&plan, "app").is_empty(), "a no-op is not waited for");
}

#[test]
fn order_that_turned_round_between_releases_makes_no_circle() {
    // Before: a needs b, b needs gone. Now: b needs a; and `gone` was needed by b, and itself needed a.
    let plan = Situation::default()
        .want("a", 2, &[])
        .want("b", 2, &["a"])
        .record("a", 1, &["b"])
        .record("b", 1, &["gone"])
        .record("gone", 1, &["a"])
        .live("a", 1)
        .live("b", 1)
        .live("gone", 1)
        .plan();
    assert_eq!(names(&plan), ["update a", "update b", "delete gone"]);
}

#[test]
fn recorded_circle_is_still_deleted() {
    let plan =
        Situation::default().record("a", 1, &["b"]).record("b", 1, &["a"]).live("a", 1).live("b", 1).plan();
    assert_eq!(plan.tally().delete, 2);
}

#[test]
fn waiting_goes_through_what_does_not_change() {
    let plan = Situation::default()
        .want("a", 2, &[])
        .want("b", 1, &["a"])
        .want("c", 2, &["b"])
        .record("a", 1, &[])
        .record("b", 1, &["a"])
        .record("c", 1, &["b"])
        .live("a", 1)
        .live("b", 1)
        .live("c", 1)
        .plan();
    assert_eq!(after(&plan, "c"), ["a"]);
}

#[test]
fn implied_edges_are_left_out_unless_they_ask_for_more() {
    let edge = |before: &str, after: &str, wait| MeaningEdge {
        before: key(before),
        after: key(after),
        wait,
        why: "test".into(),
    };
    let mut situation = Situation::default().want("a", 1, &[]).want("b", 1, &[]).want("c", 1, &[]);
    situation.meaning =
        vec![edge("a", "b", Wait::Applied), edge("b", "c", Wait::Applied), edge("a", "c", Wait::Applied)];
    assert_eq!(after(&situation.plan(), "c"), ["b"]);
    situation.meaning[2].wait = Wait::Ready;
    assert_eq!(after(&situation.plan(), "c"), ["a", "b"]);
}

#[test]
fn five_thousand_objects_are_planned_in_linear_fashion() {
    let situation = |n: usize| {
        let mut situation = Situation::default().want("ns", 1, &[]);
        for at in 0..n {
            situation = situation.want(&format!("m{at}"), 1, &["ns"]).record(&format!("m{at}"), 1, &["ns"]);
            situation = situation.live(&format!("m{at}"), 1);
        }
        situation
    };
    // The best of five: other tests run beside this one.
    let time = |n: usize| {
        let situation = situation(n);
        let once = |_| {
            let start = std::time::Instant::now();
            assert_eq!(situation.plan().tally().unchanged, n);
            start.elapsed()
        };
        (0..5).map(once).min().expect("five runs")
    };
    let (small, large) = (time(500).max(std::time::Duration::from_millis(5)), time(5_000));
    assert!(large < small * 60, "{small:?} → {large:?}");
}
