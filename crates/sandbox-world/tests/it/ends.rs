//! How things end: grace, finalizers, garbage collection, namespaces; and quota, which keeps them from beginning.

use kusion_health::Grade;
use sandbox_world::Removal;
use sandbox_world::write::Propagation;
use serde_json::{Value, json};

use crate::rig::{NS, Rig, conditions, secs, web};

fn by(propagation: Propagation) -> Removal {
    Removal { propagation: Some(propagation), ..Removal::default() }
}

fn deployed() -> Rig {
    let mut rig = Rig::new();
    rig.apply(web(2, "gocity:v1", json!({})));
    rig.world.settle(secs(30));
    rig
}

#[test]
fn in_the_background_the_owner_goes_first() {
    let mut rig = deployed();
    rig.delete("apps", "deployments", "web", by(Propagation::Background));
    assert!(rig.get("apps", "deployments", "web").is_none());
    rig.world.advance(std::time::Duration::ZERO);
    assert!(rig.list("apps", "replicasets").is_empty());
    assert!(rig.pods().iter().all(|pod| pod["metadata"]["deletionTimestamp"].is_string()));
    rig.world.settle(secs(5));
    assert!(rig.pods().is_empty());
    let killed = rig.events("Pod").iter().filter(|(_, message)| message == "Stopping container main").count();
    assert_eq!(killed, 2);
}

#[test]
fn in_the_foreground_the_owner_goes_last() {
    let mut rig = deployed();
    rig.delete("apps", "deployments", "web", by(Propagation::Foreground));
    rig.world.advance(std::time::Duration::ZERO);
    let web = rig.get("apps", "deployments", "web").unwrap();
    assert_eq!(web["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    assert_eq!(rig.list("apps", "replicasets")[0]["metadata"]["finalizers"], json!(["foregroundDeletion"]));
    while rig.get("apps", "deployments", "web").is_some() {
        assert!(rig.world.step(), "stuck");
    }
    assert!(rig.pods().is_empty() && rig.list("apps", "replicasets").is_empty());
}

#[test]
fn orphans_stay_and_have_no_owner() {
    let mut rig = deployed();
    rig.delete("apps", "deployments", "web", by(Propagation::Orphan));
    rig.world.settle(secs(5));
    assert!(rig.get("apps", "deployments", "web").is_none());
    let sets = rig.list("apps", "replicasets");
    assert!(sets.len() == 1 && sets[0]["metadata"]["ownerReferences"].is_null());
    assert_eq!(rig.pods().len(), 2);
    // Applied again, the Deployment takes its set back.
    rig.apply(web(2, "gocity:v1", json!({})));
    rig.world.settle(secs(30));
    let sets = rig.list("apps", "replicasets");
    assert_eq!((sets.len(), rig.pods().len()), (1, 2));
    assert_eq!(sets[0]["metadata"]["ownerReferences"][0]["name"], "web");
}

#[test]
fn a_pod_that_does_not_listen_takes_its_whole_grace() {
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", json!({"sandbox.kusion.io/ignore-term": "true"}));
    object["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = json!(7);
    rig.apply(object);
    rig.world.settle(secs(30));
    rig.delete("apps", "deployments", "web", Removal::default());
    rig.world.advance(secs(6));
    assert_eq!(rig.pods().len(), 1);
    rig.world.advance(secs(2));
    assert!(rig.pods().is_empty());
}

#[test]
fn a_finalizer_that_nobody_serves_holds_an_object() {
    let mut rig = Rig::new();
    let map = |finalizers: Value| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": finalizers}});
    rig.apply(map(json!(["example.com/hold"])));
    rig.delete("", "configmaps", "held", Removal::default());
    rig.world.settle(secs(60));
    let held = rig.get("", "configmaps", "held").unwrap();
    let verdict = rig.verdict(&held);
    assert_ne!(verdict.verdict, Grade::Healthy);
    assert!(format!("{verdict:?}").contains("example.com/hold"), "{verdict:?}");
    rig.apply(map(json!([])));
    assert!(rig.get("", "configmaps", "held").is_none());
}

#[test]
fn a_namespace_goes_with_all_it_holds() {
    let mut rig = deployed();
    rig.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "held", "finalizers": ["example.com/hold"]}}));
    rig.delete("", "namespaces", NS, Removal::default());
    rig.world.settle(secs(60));
    let namespace = rig.world.view().get("", "namespaces", "", NS).cloned().unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let told = conditions(&namespace);
    for wanted in [
        "NamespaceContentRemaining=True SomeResourcesRemain",
        "NamespaceDeletionContentFailure=False ContentDeleted",
        "NamespaceDeletionDiscoveryFailure=False ResourcesDiscovered",
        "NamespaceDeletionGroupVersionParsingFailure=False ParsedGroupVersions",
        "NamespaceFinalizersRemaining=True SomeFinalizersRemain",
    ] {
        assert!(told.contains(&wanted.to_owned()), "{wanted} is not in {told:?}");
    }
    assert!(rig.pods().is_empty() && rig.list("apps", "deployments").is_empty());
    let verdict = rig.verdict(&namespace);
    assert!(format!("{verdict:?}").contains("example.com/hold"), "{verdict:?}");
    let held = rig.get("", "configmaps", "held").unwrap();
    let served = rig.world.view().registry.of_object(&held).unwrap();
    let patch = json!({"metadata": {"finalizers": null}});
    let ask = sandbox_world::Write {
        served,
        namespace: NS,
        name: "held",
        subresource: "",
        verb: kube_meaning::write::Verb::MergePatch(&patch),
        manager: "me",
        force: false,
        dry_run: false,
    };
    rig.world.write(&ask).unwrap();
    rig.world.settle(secs(60));
    assert!(rig.world.view().get("", "namespaces", "", NS).is_none());
}

#[test]
fn a_quota_stops_a_deployment_and_is_named() {
    let mut rig = Rig::new();
    rig.apply(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "1"}}}));
    rig.apply(web(2, "gocity:v1", json!({})));
    let cause = rig.cause("apps", "deployments", "web", secs(15));
    assert!(cause.contains("quota"), "{cause}");
    let set = &rig.list("apps", "replicasets")[0];
    assert!(conditions(set).contains(&"ReplicaFailure=True FailedCreate".to_owned()));
    let web_now = rig.get("apps", "deployments", "web").unwrap();
    assert!(conditions(&web_now).contains(&"ReplicaFailure=True FailedCreate".to_owned()));
    let message = set["status"]["conditions"][0]["message"].as_str().unwrap();
    assert!(
        message
            .ends_with("is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"),
        "{message}"
    );
    assert_eq!(rig.get("", "resourcequotas", "q").unwrap()["status"]["used"], json!({"pods": "1"}));
    rig.apply(json!({"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": {"hard": {"pods": "5"}}}));
    rig.world.advance(secs(60));
    assert_eq!(rig.verdict_of("apps", "deployments", "web").verdict, Grade::Healthy);
    assert_eq!(conditions(&rig.list("apps", "replicasets")[0]), Vec::<String>::new());
}

#[test]
fn a_job_that_is_too_slow_is_ended() {
    let mut rig = Rig::new();
    rig.apply(json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "slow"},
        "spec": {"activeDeadlineSeconds": 3, "ttlSecondsAfterFinished": 60, "template": {
            "metadata": {"annotations": {"sandbox.kusion.io/exit-after": "1h"}},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "tools:v1"}]}}},
    }));
    rig.world.advance(secs(10));
    let slow = rig.get("batch", "jobs", "slow").unwrap();
    assert_eq!(
        conditions(&slow),
        ["Failed=True DeadlineExceeded", "FailureTarget=True DeadlineExceeded"],
        "{slow}"
    );
    assert!(rig.pods().is_empty());
    rig.world.advance(secs(60));
    assert!(rig.get("batch", "jobs", "slow").is_none());
}
