//! The ten causes an apply must name, end to end: a whole snapshot in, the cause within its deadline out.

use kusion_health::{
    DeleteOutcome, DeleteWaiter, Grade, Profile, Snapshot, Verdict, WaitOutcome, Waiter, judge, judge_all,
};
use serde_json::{Value, json};

const NOW: i64 = 1_800_000_000_000;

fn meta(kind: &str, name: &str, owner: Option<(&str, &str)>) -> Value {
    let mut meta =
        json!({"name": name, "namespace": "shop", "uid": format!("{kind}/{name}"), "generation": 1});
    if let Some((kind, owner)) = owner {
        meta["ownerReferences"] = json!([{"apiVersion": "apps/v1", "kind": kind, "name": owner, "uid": format!("{kind}/{owner}"), "controller": true}]);
    }
    meta
}

fn deployment(status: Value) -> Value {
    let mut meta = meta("Deployment", "web", None);
    meta["annotations"] = json!({"deployment.kubernetes.io/revision": "2"});
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": {"replicas": 2, "progressDeadlineSeconds": 600}, "status": status})
}

fn set() -> Value {
    let mut meta = meta("ReplicaSet", "web-2", Some(("Deployment", "web")));
    meta["annotations"] = json!({"deployment.kubernetes.io/revision": "2"});
    json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": meta, "spec": {"replicas": 2}, "status": {"observedGeneration": 1}})
}

fn pod(name: &str, spec: Value, status: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("Pod", name, Some(("ReplicaSet", "web-2"))), "spec": spec, "status": status})
}

fn event(about: (&str, &str), reason: &str, message: &str) -> Value {
    let (kind, name) = about;
    json!({"apiVersion": "v1", "kind": "Event", "metadata": {"name": format!("{name}.{reason}"), "namespace": "shop"}, "type": "Warning",
        "reason": reason, "message": message, "count": 5, "involvedObject": {"kind": kind, "namespace": "shop", "name": name, "uid": format!("{kind}/{name}")}})
}

fn rolling() -> Value {
    json!({"observedGeneration": 1, "replicas": 3, "updatedReplicas": 1, "readyReplicas": 2, "availableReplicas": 2,
        "conditions": [{"type": "Available", "status": "True"}, {"type": "Progressing", "status": "True", "reason": "ReplicaSetUpdated"}]})
}

/// The first object judged as a file, and waited for until the wait is over; returns both and the seconds it took.
fn run(objects: &[Value]) -> (Verdict, WaitOutcome, i64) {
    let profile = Profile::default();
    let snapshot = Snapshot::of(objects.to_vec());
    let offline = judge(&objects[0], &snapshot, &profile, None);
    let mut waiter = Waiter::new(&objects[0], &profile, NOW);
    let mut now = NOW;
    loop {
        let outcome = waiter.step(judge(&objects[0], &snapshot, &profile, Some(now)), now);
        if outcome.is_over() {
            return (offline, outcome, (now - NOW) / 1000);
        }
        assert!(now - NOW < 4_000_000, "waits for ever: {outcome:?}");
        now = waiter.wake().max(now + 1000);
    }
}

fn expect(objects: &[Value], cause: &str, seconds: i64) {
    let (offline, outcome, took) = run(objects);
    for verdict in [&offline, outcome.verdict()] {
        let told = verdict.cause.as_deref().unwrap_or_default();
        assert!(told.contains(cause), "`{cause}` is not in `{told}`: {verdict:?}");
        assert!(verdict.next.is_some(), "no next step: {verdict:?}");
    }
    assert!(matches!(outcome, WaitOutcome::Failed(_) | WaitOutcome::TimedOut(_)), "{outcome:?}");
    assert!(took <= seconds, "took {took} s: {outcome:?}");
}

#[test]
fn bad_image() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3-typo"}]});
    let waiting = json!({"phase": "Pending", "containerStatuses": [{"name": "main", "image": "shop:v3-typo", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "ImagePullBackOff", "message": "Back-off pulling image \"shop:v3-typo\": ErrImagePull: rpc error: code = NotFound desc = shop:v3-typo: not found"}}}],
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady"}]});
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, waiting)];
    expect(&objects, "image shop:v3-typo does not exist", 30);
    assert_eq!(run(&objects).0.verdict, Grade::Failed);
}

#[test]
fn crash_loop() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3"}]});
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "main", "ready": false, "restartCount": 4,
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting failed container"}},
        "lastState": {"terminated": {"exitCode": 1, "reason": "Error", "message": "error: DB_HOST is empty"}}}]});
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, status)];
    expect(&objects, "container `main` ends with exit code 1, 4 restarts: error: DB_HOST is empty", 60);
}

#[test]
fn quota_exceeded() {
    let status = json!({"observedGeneration": 1, "conditions": [{"type": "Available", "status": "False"}]});
    let refused = event(
        ("ReplicaSet", "web-2"),
        "FailedCreate",
        "Error creating: pods \"web-2-x\" is forbidden: exceeded quota: team, requested: pods=1, used: pods=10, limited: pods=10",
    );
    expect(&[deployment(status), set(), refused], "quota team is used up (10 of 10 pods)", 120);
}

#[test]
fn unschedulable() {
    let status = json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable",
        "message": "0/3 nodes are available: 1 node(s) had untolerated taint {gpu: true}, 2 Insufficient cpu. preemption: 0/3 nodes are available."}]});
    let objects = [deployment(rolling()), set(), pod("web-2-a", json!({}), status)];
    expect(&objects, "no node fits web-2-a: 2 Insufficient cpu, 1 had untolerated taint", 300);
}

#[test]
fn failing_probe() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3"}]});
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "main", "ready": false, "started": true, "restartCount": 0, "state": {"running": {}}}],
        "conditions": [{"type": "Ready", "status": "False", "reason": "ContainersNotReady", "message": "containers with unready status: [main]"}]});
    let probe = event(
        ("Pod", "web-2-a"),
        "Unhealthy",
        "Readiness probe failed: HTTP probe failed with statuscode: 503",
    );
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, status), probe];
    expect(&objects, "its readiness probe fails: HTTP probe failed with statuscode: 503", 630);
}

#[test]
fn missing_config_map() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3"}]});
    let status = json!({"phase": "Pending", "containerStatuses": [{"name": "main", "ready": false, "restartCount": 0,
        "state": {"waiting": {"reason": "CreateContainerConfigError", "message": "configmap \"settings\" not found"}}}]});
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, status)];
    expect(&objects, "needs ConfigMap settings, which does not exist", 60);
}

#[test]
fn missing_config_map_in_a_volume() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3"}]});
    let status = json!({"phase": "Pending", "containerStatuses": [{"name": "main", "ready": false, "restartCount": 0, "state": {"waiting": {"reason": "ContainerCreating"}}}]});
    let mount = event(
        ("Pod", "web-2-a"),
        "FailedMount",
        "MountVolume.SetUp failed for volume \"conf\" : configmap \"settings\" not found",
    );
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, status), mount];
    expect(&objects, "volume conf needs ConfigMap settings", 60);
}

#[test]
fn out_of_memory() {
    let spec = json!({"nodeName": "n1", "containers": [{"name": "main", "image": "shop:v3", "resources": {"limits": {"memory": "64Mi"}}}]});
    let status = json!({"phase": "Running", "containerStatuses": [{"name": "main", "ready": false, "restartCount": 5,
        "state": {"waiting": {"reason": "CrashLoopBackOff"}}, "lastState": {"terminated": {"exitCode": 137, "reason": "OOMKilled"}}}]});
    let objects = [deployment(rolling()), set(), pod("web-2-a", spec, status)];
    expect(&objects, "killed for using more than its memory limit 64Mi (5 times): out of memory", 60);
}

#[test]
fn stuck_finalizer() {
    let object = json!({"apiVersion": "db.example.com/v1", "kind": "Database", "metadata": {"name": "main", "namespace": "shop", "uid": "u",
        "deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["db.example.com/cleanup"]}});
    let profile = Profile::default();
    let snapshot = Snapshot::of([object.clone()]);
    let offline = judge(&object, &snapshot, &profile, None);
    assert_eq!((offline.verdict, offline.reason.as_str()), (Grade::Terminating, "Deleting"));
    assert!(
        offline
            .cause
            .as_deref()
            .is_some_and(|cause| cause.contains("finalizer db.example.com/cleanup is still set"))
    );
    let waiter = DeleteWaiter::new(&object, &profile, NOW);
    assert!(matches!(
        waiter.step(Some(&object), &snapshot, &profile, NOW + 299_000),
        DeleteOutcome::Waiting(_)
    ));
    let DeleteOutcome::Failed(stuck) = waiter.step(Some(&object), &snapshot, &profile, NOW + 300_000) else {
        panic!("not stuck")
    };
    assert_eq!(stuck.reason, "StuckDeleting");
    assert!(stuck.cause.as_deref().is_some_and(|cause| cause.contains("the controller of db.example.com")));
    assert!(stuck.next.is_some());
}

#[test]
fn unparsable_cron_job() {
    let object = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": meta("CronJob", "nightly", None), "spec": {"schedule": "0 25 * * *"}});
    expect(&[object], "schedule \"0 25 * * *\" cannot be used: 25 is out of range for hour", 0);
}

#[test]
fn failed_job() {
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": meta("Job", "migrate", None), "spec": {"backoffLimit": 1},
        "status": {"startTime": "2026-01-01T00:00:00Z", "failed": 2, "conditions": [
            {"type": "FailureTarget", "status": "True", "reason": "BackoffLimitExceeded"},
            {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "Job has reached the specified backoff limit"}]}});
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": meta("Pod", "migrate-x", Some(("Job", "migrate"))),
        "spec": {"restartPolicy": "Never", "containers": [{"name": "run"}]},
        "status": {"phase": "Failed", "containerStatuses": [{"name": "run", "state": {"terminated": {"exitCode": 1, "reason": "Error", "message": "relation \"users\" does not exist"}}}]}});
    expect(
        &[job, pod],
        "migrate failed 2 times; last: container `run` ends with exit code 1: relation \"users\" does not exist",
        0,
    );
}

#[test]
fn several_pods_are_counted_and_a_second_cause_is_kept() {
    let spec = |image: &str| json!({"nodeName": "n1", "containers": [{"name": "main", "image": image}]});
    let status = |reason: &str, message: &str| json!({"phase": "Pending", "containerStatuses": [{"name": "main", "restartCount": 0, "state": {"waiting": {"reason": reason, "message": message}}}]});
    let objects = [
        deployment(rolling()),
        set(),
        pod("web-2-a", spec("shop:v9"), status("ErrImagePull", "not found")),
        pod("web-2-b", spec("shop:v9"), status("ImagePullBackOff", "not found")),
        pod("web-2-c", spec("shop:v9"), status("CreateContainerConfigError", "secret \"s\" not found")),
    ];
    let verdict = run(&objects).0;
    let told = verdict.cause.unwrap_or_default();
    assert!(told.starts_with("2 of 3 new pods: image shop:v9 does not exist"), "{told}");
    assert_eq!(verdict.also.len(), 1);
    assert!(verdict.also[0].contains("Secret s"));
    assert_eq!(verdict.subject.map(|subject| subject.name).as_deref(), Some("web-2-a"));
}

#[test]
fn every_object_of_an_input_is_judged_in_order() {
    let objects = [event(("Pod", "x"), "X", "y"), deployment(rolling()), set()];
    let snapshot = Snapshot::of(objects);
    let states: Vec<Grade> = judge_all(&snapshot, &Profile::default(), None, None)
        .into_iter()
        .map(|(_, verdict)| verdict.verdict)
        .collect();
    assert_eq!(states, [Grade::Healthy, Grade::Progressing, Grade::Progressing]);
}
