//! Generator and recordings: what makes them worth comparing with.

#![allow(clippy::unwrap_used)]

mod samples;

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;

use kube_sequences::live::{Live, Step};
use kube_sequences::model::{Answer, Class, Model};
use kube_sequences::record::{Writer, read};
use kube_sequences::{Request, Sequence, kinds};
use serde_json::Value;
use testenv::{ControlPlane, Options};

/// A plane without controllers, which would write to the objects too; skipped by the rule of all tests on the real plane.
fn plane() -> Option<&'static ControlPlane> {
    static PLANE: OnceLock<Option<ControlPlane>> = OnceLock::new();
    let start = || {
        if testenv::binary().is_none() {
            // Says so loudly, or builds it where it is required.
            testenv::shared()?;
        }
        Some(ControlPlane::start(Options { controllers: false, ..Options::default() }).unwrap())
    };
    PLANE.get_or_init(start).as_ref()
}

#[test]
fn the_same_seed_gives_the_same_requests() {
    for seed in 0..40 {
        let live = serde_json::json!({"metadata": {"labels": {"a": "b"}}, "spec": {"replicas": 1}});
        let requests = |seed| {
            let mut sequence = Sequence::new(seed);
            (0..sequence.steps).map(|n| sequence.next((n > 0).then_some(&live))).collect::<Vec<_>>()
        };
        assert_eq!(requests(seed), requests(seed));
    }
}

#[test]
fn every_kind_has_a_valid_core_and_every_outcome_occurs_on_the_real_server() {
    let Some(plane) = plane() else { return };
    let mut live = Live::new(plane).unwrap();
    let mut created: BTreeMap<&str, usize> = BTreeMap::new();
    let mut conflicts = 0;
    let mut unchanged = 0;
    let mut writer = Writer::default();
    let mut steps: Vec<Step> = Vec::new();
    for seed in 0..30 {
        let mut sequence = Sequence::new(seed);
        let kind = sequence.kind.kind.as_str();
        writer.begin(&sequence);
        live.run(&mut sequence, |step| {
            *created.entry(kind).or_default() += usize::from(step.code == 201);
            conflicts += usize::from(step.code == 409);
            unchanged += usize::from(step.outcome.is_ok() && step.unchanged);
            writer.step(step);
            steps.push(step.clone());
        })
        .unwrap();
    }
    assert_eq!(created.values().filter(|count| **count > 0).count(), kinds().len(), "{created:?}");
    assert!(conflicts > 10 && unchanged > 5, "{conflicts} conflicts, {unchanged} unchanged");
    let recorded: Vec<_> =
        read(&writer.finish()).unwrap().into_iter().flat_map(|sequence| sequence.steps).collect();
    assert_eq!(recorded.len(), steps.len());
    for (recorded, step) in recorded.iter().zip(&steps) {
        assert_eq!(
            (&recorded.request, recorded.code, &recorded.outcome),
            (&step.request, step.code, &step.outcome)
        );
    }
}

/// Steps on which objects, owners or "nothing changed" differ. Not counted, but listed by `cargo xtask ssa-diff`: the wording
/// of a refusal; values that only the server's validation refuses; a write without effect to a custom resource, which the
/// server stores when its stored bytes held what reading drops; and a strategic patch that adds and deletes one item, which
/// the server answers now one way, now the other.
fn differences(
    kind: &'static kube_sequences::Kind,
    steps: &[(Request, u16, Result<Value, Value>, bool)],
) -> Vec<String> {
    let mut model = Model::new(kind).unwrap();
    let mut found = Vec::new();
    for (request, code, outcome, unchanged) in steps {
        let answer = Answer { code: *code, outcome, unchanged: *unchanged };
        if let Err(difference) = model.step(request, &answer)
            && !matches!(difference.class, Class::Words | Class::Validation)
            && !(difference.class == Class::Unchanged && kind.kind == "Widget")
            && !is_contradictory(request)
        {
            found.push(format!("{:?} {} after {request:?}", difference.class, difference.lines().join("; ")));
        }
    }
    found
}

fn is_contradictory(request: &Request) -> bool {
    let meta = &request.body["metadata"];
    let gone = meta["$deleteFromPrimitiveList/finalizers"].as_array().into_iter().flatten();
    let mut added = meta["finalizers"].as_array().into_iter().flatten();
    let gone: Vec<&Value> = gone.collect();
    added.any(|item| gone.contains(&item))
}

#[test]
fn the_model_agrees_with_the_recorded_server() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../kube-meaning/fixtures/ssa");
    let mut wrong = Vec::new();
    for kind in kinds() {
        let path = folder.join(format!("{}.jsonl", kind.kind.to_lowercase()));
        for recording in read(&std::fs::read_to_string(path).unwrap()).unwrap() {
            let steps: Vec<_> = recording
                .steps
                .into_iter()
                .map(|step| (step.request, step.code, step.outcome, step.unchanged))
                .collect();
            assert!(!steps.is_empty());
            let found = differences(kind, &steps);
            wrong.extend(found.into_iter().map(|line| format!("{} {}: {line}", kind.kind, recording.seed)));
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_model_agrees_with_the_real_server_on_sequences_it_has_not_seen() {
    let Some(plane) = plane() else { return };
    let mut live = Live::new(plane).unwrap();
    let mut wrong = Vec::new();
    // The recordings are mostly lower seeds; `cargo xtask ssa-diff` runs any number and shows more.
    let given = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let (first, count) =
        (given("KUSION_SEQUENCES_FROM").unwrap_or(30_000), given("KUSION_SEQUENCES").unwrap_or(300));
    for seed in first..first + count {
        let mut sequence = Sequence::new(seed);
        let kind = sequence.kind;
        let mut steps = Vec::new();
        live.run(&mut sequence, |step| {
            steps.push((step.request.clone(), step.code, step.outcome.clone(), step.unchanged));
        })
        .unwrap();
        wrong.extend(
            differences(kind, &steps).into_iter().map(|line| format!("{} {seed}: {line}", kind.kind)),
        );
        if (seed + 1 - first) % 500 == 0 {
            eprintln!("{} sequences, {} differences", seed + 1 - first, wrong.len());
        }
    }
    assert!(wrong.is_empty(), "{} differences\n{}", wrong.len(), wrong.join("\n"));
}
