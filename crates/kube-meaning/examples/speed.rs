//! Measures the hot roads on one core: `cargo run --release -p kube-meaning --example speed`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::time::{Duration, Instant};

use kube_meaning::decide::{Decision, Question, decide};
use kube_meaning::managed::Managed;
use kube_meaning::ssa::{self, Applier, Target};
use kube_meaning::write::{Verb, Writer, write};
use serde_json::{Value, json};

const NOW: &str = "2026-01-01T00:00:00Z";

fn put(target: Target<'_>, live: Option<&Value>, verb: Verb<'_>, manager: &str) -> Value {
    let by = Writer { manager, force: true, now: NOW, uid: "u", admit: &mut |_, _| Ok(()) };
    write(target, live, verb, by).unwrap().object
}

/// Time on the processor where the system tells it, so that a busy machine does not count; else time on the wall.
fn clock(start: Instant) -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    match text.split(' ').next().and_then(|n| n.parse().ok()) {
        Some(nanos) => Duration::from_nanos(nanos),
        None => start.elapsed(),
    }
}

fn rate(name: &str, n: u32, mut work: impl FnMut(u32)) {
    (0..n / 10).for_each(&mut work);
    let begin = Instant::now();
    let start = clock(begin);
    (0..n).for_each(&mut work);
    let each = (clock(begin) - start).as_secs_f64() / f64::from(n);
    println!("{name:<44} {:>9.2} µs  {:>9.0}/s", each * 1e6, 1.0 / each);
}

fn main() {
    let start = Instant::now();
    let schema = kube_meaning::builtin();
    println!("tables indexed in {:?}", start.elapsed());
    let target = Target::main(schema, schema.resource("apps", "v1", "Deployment").unwrap());
    let manifest = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "labels": {"app": "x", "team": "y"}},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "x"}}, "template": {"metadata": {"labels": {"app": "x"}},
            "spec": {"containers": [{"name": "main", "image": "i:1", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}],
                "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}, "ports": [{"containerPort": 80}],
                "readinessProbe": {"httpGet": {"port": 80}}, "volumeMounts": [{"name": "v", "mountPath": "/v"}]}],
                "volumes": [{"name": "v", "configMap": {"name": "c"}}]}}}});
    let live = put(target, None, Verb::Apply(&manifest), "kusion");
    let status = json!({"status": {"replicas": 2, "readyReplicas": 2, "observedGeneration": 1,
        "conditions": [{"type": "Available", "status": "True", "lastUpdateTime": NOW, "lastTransitionTime": NOW}]}});
    let live =
        put(Target { subresource: "status", ..target }, Some(&live), Verb::MergePatch(&status), "controller");
    let mut changed = manifest.clone();
    changed["spec"]["template"]["spec"]["containers"][0]["image"] = json!("i:2");
    let by = |force| Applier { manager: "kusion", force, now: NOW };

    rate("apply, merge only, nothing changes", 20_000, |_| {
        let applied = ssa::apply(target, &live, Managed::of(&live), &manifest, by(false)).unwrap();
        assert!(applied.object.is_none());
    });
    rate("apply, merge only, image changes", 20_000, |_| {
        let applied = ssa::apply(target, &live, Managed::of(&live), &changed, by(false)).unwrap();
        assert!(applied.object.is_some());
    });
    rate("apply, whole write, nothing changes", 20_000, |_| {
        put(target, Some(&live), Verb::Apply(&manifest), "kusion");
    });
    rate("apply, whole write, image changes", 20_000, |_| {
        put(target, Some(&live), Verb::Apply(&changed), "kusion");
    });
    rate("create, whole write", 20_000, |_| {
        put(target, None, Verb::Create(&manifest), "kusion");
    });
    rate("decide, nothing changes", 100_000, |_| {
        assert_eq!(
            decide(Question { target, live: &live, manager: "kusion", desired: &manifest, prior: None }),
            Decision::NoChange
        );
    });
    rate("decide, image changes", 20_000, |_| {
        let answer =
            decide(Question { target, live: &live, manager: "kusion", desired: &changed, prior: None });
        assert!(matches!(answer, Decision::Change(_)));
    });
}
