//! What a plan costs: lists per kind and namespace, and a dry run for each change, no more.
//!
//! `KUSION_MEASURE=2000` makes the stack that large and tells times and CPU seconds on stderr.

use std::io::Write;
use std::time::Instant;

use kusion_runtime::DryRun;
use serde_json::{Value, json};

use crate::lab::Lab;

fn stack(lab: &Lab, n: usize, changed: usize) -> Value {
    let ns = &lab.namespace;
    let mut all = vec![json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": ns}})];
    for at in 0..n {
        let name = format!("m{at}");
        let value = if at < changed { "new" } else { "old" };
        all.push(match at % 4 {
            0 | 2 => json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": ns,
                "labels": {"v": value}}, "data": {"k": "x".repeat(200)}}),
            1 => json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": ns, "labels": {"v": value}},
                "spec": {"replicas": 0, "selector": {"matchLabels": {"app": name}}, "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "nginx", "resources": {"limits": {"cpu": "0.5"}}}]}}}}),
            _ => json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": ns, "labels": {"v": value}},
                "spec": {"selector": {"app": name}, "ports": [{"port": 80}]}}),
        });
    }
    Value::Array(all)
}

/// CPU seconds of this process.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|t| t.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(11) + ticks(12)) / 100.0
}

#[test]
fn requests_are_lists_and_a_dry_run_for_each_change() {
    let Some(mut lab) = Lab::new() else { return };
    let n = std::env::var("KUSION_MEASURE").ok().and_then(|n| n.parse().ok()).unwrap_or(40);
    let measured = std::env::var_os("KUSION_MEASURE").is_some();
    let mut told = String::new();
    lab.dry_run = DryRun::Updates;
    let mut time = |what: &str, run: &mut dyn FnMut() -> usize| {
        let (wall, used) = (Instant::now(), cpu());
        let requests = run();
        told.push_str(&format!(
            "{what}: {:.2} s wall, {:.2} CPU s, {requests} requests\n",
            wall.elapsed().as_secs_f64(),
            cpu() - used
        ));
        requests
    };
    let spec = stack(&lab, n, 0);
    let pages = |count: usize| count.div_ceil(5000).max(1);
    let lists = pages(n / 2) + 2 * pages(n / 4) + 1;
    time("apply of all", &mut || {
        let ready = lab.plan(&spec);
        assert!(lab.execute(&ready).0.unwrap().is_success());
        ready.runtime.n_requests()
    });
    let unchanged = time("plan, nothing changed", &mut || {
        let ready = lab.plan(&spec);
        assert!(ready.plan.is_empty());
        ready.runtime.n_requests()
    });
    assert!(unchanged <= lists, "{unchanged} requests, {lists} lists");
    let changed = time("plan, ten changed", &mut || {
        let ready = lab.plan(&stack(&lab, n, 10));
        assert_eq!(ready.plan.tally().update, 10);
        ready.runtime.n_requests()
    });
    assert!(changed <= lists + 10, "{changed} requests, {lists} lists");
    if measured {
        let _ = std::io::stderr().write_all(told.as_bytes());
    }
}
