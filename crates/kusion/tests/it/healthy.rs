//! A release succeeds only if everything in the stack is healthy at its end, changed or not.

use std::time::Duration;

use crate::lab::{Kill, Lab, key};
use crate::objects::{config_map, deployment, namespace, spec};

const BAD: &str = "web:v2-typo";

#[tokio::test(start_paused = true)]
async fn a_failed_release_is_not_laundered_by_the_next_change() {
    let lab = Lab::new();
    let stack =
        |image: &str, value: &str| spec(&[namespace(), config_map("c", value), deployment("web", image)]);
    assert!(!lab.apply(&stack(BAD, "1")).await.is_success());
    let report = lab.apply(&stack(BAD, "2")).await;
    assert!(!report.is_success(), "the change is applied, the stack is not well: {report:#?}");
    assert_eq!((report.tally.update, report.tally.unchanged), (1, 2));
    assert!(format!("{report:?}").contains(BAD), "{report:#?}");
    // Nothing is to be changed: that is no success either.
    let ready = lab.plan(&stack(BAD, "2")).await;
    let unwell: Vec<String> = ready.unwell().iter().map(|(key, _)| key.to_string()).collect();
    assert_eq!(unwell, ["apps/v1:Deployment:lab:web"]);
    assert!(!lab.apply(&stack(BAD, "2")).await.is_success());
    let report = lab.apply(&stack("web:v1", "2")).await;
    assert!(report.is_success(), "{report:#?}");
    assert!(lab.plan(&stack("web:v1", "2")).await.unwell().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_apply_after_a_kill_waits_for_what_the_other_left() {
    let lab = Lab::new();
    let stack = spec(&[namespace(), config_map("c", "1"), deployment("web", "web:v1")]);
    lab.kill(Kill::After(2));
    let killed = lab.try_apply(&stack).await;
    assert!(killed.is_none(), "killed behind its last write");
    lab.kill(Kill::Never);
    let started = lab.now();
    let report = lab.apply(&stack).await;
    assert!(report.is_success(), "{report:#?}");
    assert!(lab.now().millis_since(started) > 400, "it waited until the pods were ready and stayed so");
}

#[tokio::test(start_paused = true)]
async fn what_goes_while_the_release_runs_is_noticed() {
    let lab = Lab::new();
    let stack = |value: &str| spec(&[namespace(), config_map("c", value), deployment("web", "web:v1")]);
    assert!(lab.apply(&stack("1")).await.is_success());
    let ready = lab.plan(&stack("2")).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let path = "/apis/apps/v1/namespaces/lab/deployments/web";
    let _: serde_json::Value =
        client.request(http::Request::delete(path).body(Vec::new()).unwrap()).await.unwrap();
    tokio::time::sleep(Duration::from_secs(5)).await;
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert!(report.end_of(&key("c")).is_some_and(kusion::StepEnd::is_success));
    assert!(!report.is_success(), "a workload that is gone is not healthy: {report:#?}");
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_says_nothing_is_not_trusted_for_ever() {
    let lab = Lab::new();
    lab.faults("watch-silent");
    let report = lab.apply(&spec(&[namespace(), deployment("web", "web:v1")])).await;
    assert!(report.is_success(), "a list tells what the watch does not: {report:#?}");
}
