//! What goes wrong on a cluster is named with its cause, within its deadline: an apply of each, on the world in virtual time.

use std::time::Duration;

use kusion::DryRun;
use kusion::model::Spec;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::{config_map, deployment, job, namespace, spec};

/// The latest is a probe that may yet succeed: it is given the Deployment's own ten minutes.
const DEADLINE: Duration = Duration::from_secs(660);

/// A workload with other fields in its pod template.
fn with_template(mut workload: Value, path: &str, value: Value) -> Value {
    let template = workload.pointer_mut("/spec/template").unwrap();
    let (parents, last) = path.rsplit_once('/').unwrap();
    template.pointer_mut(parents).unwrap()[last] = value;
    workload
}

fn annotated(workload: Value, name: &str, value: &str) -> Value {
    with_template(workload, "/metadata/annotations", json!({format!("sandbox.kusion.io/{name}"): value}))
}

/// Applies the objects; the report must fail and say these words.
async fn is_named(objects: &[Value], words: &[&str]) {
    let lab = Lab::new();
    let mut all = vec![namespace()];
    all.extend_from_slice(objects);
    let started = tokio::time::Instant::now();
    let report = lab.apply(&spec(&all)).await;
    let text = format!("{report:?}");
    assert!(!report.is_success(), "{words:?}: {text}");
    for word in words {
        assert!(text.contains(word), "`{word}` is missing: {text}");
    }
    assert!(started.elapsed() < DEADLINE, "{words:?}: only after {:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn bad_image() {
    is_named(&[deployment("web", "web:typo")], &["web:typo", "pull"]).await;
}

#[tokio::test(start_paused = true)]
async fn crash_loop() {
    is_named(&[deployment("web", "web:crashloop")], &["exit code 1"]).await;
}

#[tokio::test(start_paused = true)]
async fn quota_exceeded() {
    let quota = json!({"apiVersion": "v1", "kind": "ResourceQuota",
        "metadata": {"name": "team", "namespace": "lab"}, "spec": {"hard": {"pods": "1"}}});
    is_named(&[quota, deployment("web", "web:v1")], &["quota", "team"]).await;
}

#[tokio::test(start_paused = true)]
async fn unschedulable() {
    let greedy = with_template(
        deployment("web", "web:v1"),
        "/spec/containers/0/resources",
        json!({"requests": {"cpu": "5000"}}),
    );
    is_named(&[greedy], &["cpu"]).await;
}

#[tokio::test(start_paused = true)]
async fn failing_probe() {
    let probed = with_template(
        annotated(deployment("web", "web:v1"), "not-ready", "true"),
        "/spec/containers/0/readinessProbe",
        json!({"httpGet": {"path": "/ready", "port": 80}, "periodSeconds": 1}),
    );
    is_named(&[probed], &["probe"]).await;
}

#[tokio::test(start_paused = true)]
async fn missing_config_map() {
    let needy = with_template(
        deployment("web", "web:v1"),
        "/spec/containers/0/envFrom",
        json!([{"configMapRef": {"name": "settings"}}]),
    );
    is_named(&[needy], &["settings"]).await;
}

#[tokio::test(start_paused = true)]
async fn out_of_memory() {
    is_named(&[deployment("web", "web:oomkill")], &["memory"]).await;
}

#[tokio::test(start_paused = true)]
async fn failed_job() {
    let mut failing = annotated(job("setup", "setup:v1"), "exit", "3");
    failing["spec"]["backoffLimit"] = json!(0);
    is_named(&[failing], &["exit code 3"]).await;
}

#[tokio::test(start_paused = true)]
async fn stuck_finalizer() {
    let lab = Lab::new();
    let mut held = config_map("held", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    assert!(lab.apply(&spec(&[namespace(), held])).await.is_success());
    let started = tokio::time::Instant::now();
    let report = lab.apply(&spec(&[namespace()])).await;
    let text = format!("{report:?}");
    assert!(!report.is_success() && text.contains("example.com/hold"), "{text}");
    assert!(started.elapsed() < DEADLINE, "only after {:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn unparsable_schedule_is_refused_before_anything_happens() {
    let lab = Lab::new();
    let template = job("daily", "daily:v1")["spec"].clone();
    let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "daily", "namespace": "lab"},
        "spec": {"schedule": "every day", "jobTemplate": {"spec": template}}});
    let target = lab.target();
    let spec = Spec::from_value(spec(&[namespace(), cron]), &kusion::platforms(), &target.key).unwrap();
    let refused = lab.engine().plan(&target, spec, DryRun::All).await.err().unwrap().to_string();
    assert!(refused.contains("schedule") && refused.contains("every day"), "{refused}");
    assert!(lab.objects().is_empty());
}
