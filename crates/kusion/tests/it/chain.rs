//! Chains of replacements on a platform that deletes nothing which is used, like a cloud: networks, subnets, machines.

use std::sync::Mutex;

use kusion::model::{Action, Reason, ResourceKey};
use kusion::{CancelToken, Report, StepEnd};
use kusion_apply::EventKind;
use serde_json::{Value, json};

use crate::forge::{Lab, key};

fn id(name: &str) -> ResourceKey {
    key(&format!("forge:Net:{name}"))
}

/// A resource that uses others; another `engine` makes another object.
fn resource(name: &str, engine: &str, first: &str, uses: &[&str]) -> Value {
    let uses: Vec<String> =
        uses.iter().map(|on| format!("${{kusion_path[\"forge:Net:{on}\"].id}}")).collect();
    let uses = if uses.is_empty() { json!("nothing") } else { json!(uses.join(" ")) };
    json!({"id": format!("forge:Net:{name}"), "type": "Forge",
           "attributes": {"engine": engine, "first": first, "uses": uses}})
}

fn chain(engine: &str, first: &str) -> Value {
    json!([
        resource("base", engine, first, &[]),
        resource("nap", engine, first, &["base"]),
        resource("top", engine, first, &["nap"]),
    ])
}

async fn made(first: &str) -> Lab {
    let lab = Lab::new();
    assert!(lab.apply(&chain("one", first)).await.is_success());
    assert_eq!(lab.log(), ["create base", "create nap", "create top"]);
    lab
}

async fn converges(lab: &Lab, wanted: &Value, n_objects: usize) {
    let report = lab.apply(wanted).await;
    assert!(report.is_success(), "{report:?}");
    assert!(lab.plan(wanted).await.plan().is_empty());
    assert_eq!(lab.world.lock().unwrap().objects.len(), n_objects, "nothing is left behind");
    assert!(lab.state().records.values().all(|record| record.deposed.is_empty()));
}

#[tokio::test(start_paused = true)]
async fn the_old_chain_goes_down_before_the_new_one_comes_up() {
    let lab = made("old").await;
    assert!(lab.apply(&chain("two", "old")).await.is_success());
    let log = lab.log();
    assert_eq!(
        log,
        ["delete obj-3", "delete obj-2", "delete obj-1", "create base", "create nap", "create top"]
    );
    converges(&lab, &chain("two", "old"), 3).await;
}

#[tokio::test(start_paused = true)]
async fn the_new_chain_comes_up_before_the_old_one_goes_down() {
    let lab = made("new").await;
    assert!(lab.apply(&chain("two", "new")).await.is_success());
    let log = lab.log();
    assert_eq!(
        log,
        ["create base", "create nap", "create top", "delete obj-3", "delete obj-2", "delete obj-1"]
    );
    converges(&lab, &chain("two", "new"), 3).await;
}

#[tokio::test(start_paused = true)]
async fn one_row_tells_of_both_objects() {
    let lab = made("new").await;
    let words = Mutex::new(Vec::new());
    let note = |event: kusion_apply::Event| {
        let word = match &event.kind {
            EventKind::StepStarted { key, .. } if *key == id("base") => "started",
            EventKind::StepApplied { key, .. } if *key == id("base") => "applied",
            EventKind::HealthKnown { key, .. } if *key == id("base") => "healthy",
            EventKind::OldLeaving { key } if *key == id("base") => "leaving",
            EventKind::OldGone { key, .. } if *key == id("base") => "gone",
            _ => return,
        };
        words.lock().unwrap().push(word);
    };
    lab.apply_with(&chain("two", "new"), &CancelToken::default(), &note).await;
    assert_eq!(*words.lock().unwrap(), ["started", "applied", "healthy", "leaving", "gone"]);
    words.lock().unwrap().clear();
    lab.apply_with(&chain("three", "old"), &CancelToken::default(), &note).await;
    assert_eq!(*words.lock().unwrap(), ["started", "leaving", "gone", "applied", "healthy"]);
}

fn end<'r>(report: &'r Report, name: &str) -> &'r StepEnd {
    report.end_of(&id(name)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn an_old_dependent_that_stays_keeps_what_it_needs() {
    let lab = made("old").await;
    lab.world.lock().unwrap().held = Some("obj-2".into());
    let report = lab.apply(&chain("two", "old")).await;
    assert_eq!(lab.log(), ["delete obj-3"], "nothing below the nap is touched");
    assert!(matches!(end(&report, "nap"), StepEnd::Failed { .. }), "{report:?}");
    assert_eq!(end(&report, "base"), &StepEnd::Skipped { because: id("nap") });
    assert_eq!(end(&report, "top"), &StepEnd::HalfReplaced { because: Some(id("nap")) });
    assert!(report.is_partial());
    assert_eq!(report.tally.replace, 0);
    lab.world.lock().unwrap().held = None;
    let planned = lab.plan(&chain("two", "old")).await;
    let top = planned.plan().step(&id("top")).unwrap();
    assert_eq!((top.action, &top.reason), (Action::Create, &Reason::DeletedOutside));
    converges(&lab, &chain("two", "old"), 3).await;
}

#[tokio::test(start_paused = true)]
async fn an_old_object_that_cannot_go_stays_recorded_with_all_below_it() {
    let lab = made("new").await;
    lab.world.lock().unwrap().held = Some("obj-2".into());
    let stays = Mutex::new(Vec::new());
    let note = |event: kusion_apply::Event| {
        if let EventKind::OldStays { key, because } = event.kind {
            stays.lock().unwrap().push((key, because));
        }
    };
    let report = lab.apply_with(&chain("two", "new"), &CancelToken::default(), &note).await;
    assert_eq!(lab.log(), ["create base", "create nap", "create top", "delete obj-3"]);
    assert!(matches!(end(&report, "nap"), StepEnd::Failed { .. }), "{report:?}");
    assert!(!report.is_success());
    assert_eq!(*stays.lock().unwrap(), [(id("base"), id("nap"))]);
    let state = lab.state();
    let left = |name: &str| state.records[&id(name)].deposed.len();
    assert_eq!([left("base"), left("nap"), left("top")], [1, 1, 0]);
    lab.world.lock().unwrap().held = None;
    assert!(lab.apply(&chain("two", "new")).await.is_success());
    let log: Vec<String> = lab.log().into_iter().filter(|line| line.starts_with("delete")).collect();
    assert_eq!(log, ["delete obj-2", "delete obj-1"], "in the order of what they were made with");
    converges(&lab, &chain("two", "new"), 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_cancel_in_between_is_told_and_the_next_run_goes_on() {
    let lab = made("old").await;
    let cancel = CancelToken::default();
    let stop = |event: kusion_apply::Event| {
        if matches!(event.kind, EventKind::OldLeaving { key } if key == id("top")) {
            cancel.cancel();
        }
    };
    let report = lab.apply_with(&chain("two", "old"), &cancel, &stop).await;
    assert_eq!(lab.log(), ["delete obj-3"]);
    assert_eq!(end(&report, "top"), &StepEnd::HalfReplaced { because: None });
    assert_eq!(end(&report, "base"), &StepEnd::NotStarted);
    assert!(report.cancelled && !report.is_success());
    converges(&lab, &chain("two", "old"), 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_replacement_that_has_begun_is_finished_although_the_run_stops() {
    let lab = made("old").await;
    let cancel = CancelToken::default();
    let stop = |event: kusion_apply::Event| {
        if matches!(event.kind, EventKind::OldLeaving { .. }) {
            cancel.cancel();
        }
    };
    let mut wanted = chain("one", "old");
    wanted[2] = resource("top", "two", "old", &["nap"]);
    let report = lab.apply_with(&wanted, &cancel, &stop).await;
    assert_eq!(lab.log(), ["delete obj-3", "create top"]);
    assert!(end(&report, "top").is_made());
    converges(&lab, &wanted, 3).await;
}

#[tokio::test(start_paused = true)]
async fn a_run_that_dies_anywhere_in_between_is_taken_up() {
    for first in ["old", "new"] {
        for last in 0..14 {
            let lab = made(first).await;
            let wanted = chain("two", first);
            // The run is dropped where it stands, like a process that is killed.
            let seen = Mutex::new(0);
            let (tell, died) = tokio::sync::mpsc::unbounded_channel();
            let count = |_| {
                let mut seen = seen.lock().unwrap();
                *seen += 1;
                if *seen > last {
                    let _ = tell.send(());
                }
            };
            let (cancel, mut died) = (CancelToken::default(), died);
            tokio::select! {
                biased;
                _ = died.recv() => {}
                _ = lab.apply_with(&wanted, &cancel, &count) => {}
            }
            let report = lab.apply(&wanted).await;
            assert!(report.is_success(), "{first} first, killed after {last} events: {report:?}");
            assert!(lab.plan(&wanted).await.plan().is_empty());
        }
    }
}

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % sides
    }
}

#[tokio::test(start_paused = true)]
async fn whatever_is_replaced_the_platform_never_refuses() {
    const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];
    let mut dice = Dice(3);
    for round in 0..200 {
        let uses: Vec<Vec<&str>> = (0..NAMES.len())
            .map(|at| (0..at).filter(|_| dice.roll(3) == 0).map(|on| NAMES[on]).collect())
            .collect();
        let mut first: Vec<&str> = NAMES.iter().map(|_| ["old", "new"][dice.roll(2)]).collect();
        // A new one that comes first makes what it needs come first.
        for at in (0..NAMES.len()).rev().filter(|&at| first[at] == "new").collect::<Vec<_>>() {
            let mut stack = uses[at].clone();
            while let Some(on) = stack.pop() {
                let on = NAMES.iter().position(|name| *name == on).unwrap();
                first[on] = "new";
                stack.extend(&uses[on]);
            }
        }
        let stack = |engines: &[&str]| {
            let all = NAMES.iter().enumerate();
            Value::Array(all.map(|(at, name)| resource(name, engines[at], first[at], &uses[at])).collect())
        };
        let lab = Lab::new();
        assert!(lab.apply(&stack(&["one"; 6])).await.is_success());
        let mut engines: Vec<&str> = NAMES.iter().map(|_| ["one", "two"][dice.roll(2)]).collect();
        // What is used cannot go first, unless its users go, too: no order helps there.
        for at in 0..NAMES.len() {
            let goes = |on: usize| first[on] == "old" && engines[on] == "two";
            if (0..at).any(|on| uses[at].contains(&NAMES[on]) && goes(on)) {
                engines[at] = "two";
            }
        }
        let wanted = stack(&engines);
        lab.log();
        let report = lab.apply(&wanted).await;
        assert!(
            report.is_success(),
            "round {round}: {first:?} {engines:?} {uses:?}\n{:?}\n{report:?}",
            lab.log()
        );
        converges(&lab, &wanted, 6).await;
        assert!(lab.apply(&json!([])).await.is_success(), "round {round}");
        assert!(lab.world.lock().unwrap().objects.is_empty());
    }
}
