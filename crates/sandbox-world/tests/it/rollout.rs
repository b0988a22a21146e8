//! Deployments, good and bad.

use kusion_health::Grade;
use serde_json::{Value, json};

use crate::rig::{NS, Rig, conditions, secs, web};

#[test]
fn a_deployment_becomes_available_within_seconds() {
    let mut rig = Rig::new();
    rig.apply(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
        "spec": {"selector": {"app": "web"}, "ports": [{"port": 80, "protocol": "TCP", "targetPort": 8080}]}}));
    rig.apply(web(2, "gocity:v1", json!({})));
    let took = rig.world.settle(secs(60));
    assert!(took <= secs(3), "took {took:?}");
    let web = rig.get("apps", "deployments", "web").unwrap();
    assert_eq!(web["metadata"]["annotations"]["deployment.kubernetes.io/revision"], "1");
    let mut status = web["status"].clone();
    status["conditions"].take();
    assert_eq!(
        status,
        json!({"observedGeneration": 1, "replicas": 2, "updatedReplicas": 2, "readyReplicas": 2, "availableReplicas": 2,
            "terminatingReplicas": 0, "conditions": null})
    );
    assert_eq!(
        conditions(&web),
        ["Available=True MinimumReplicasAvailable", "Progressing=True NewReplicaSetAvailable"]
    );
    assert_eq!(rig.verdict(&web).verdict, Grade::Healthy);
    let slice = rig.list("discovery.k8s.io", "endpointslices");
    assert_eq!(slice[0]["endpoints"].as_array().unwrap().len(), 2);
    assert_eq!(slice[0]["ports"][0]["port"], 8080);
    let pods = rig.pods();
    assert!(pods.iter().all(|pod| pod["status"]["phase"] == "Running"), "{pods:?}");
    assert_ne!(pods[0]["spec"]["nodeName"], pods[1]["spec"]["nodeName"]);
    assert_ne!(pods[0]["status"]["podIP"], pods[1]["status"]["podIP"]);
    let reasons: Vec<String> = rig.events("Pod").into_iter().map(|(reason, _)| reason).collect();
    for reason in ["Scheduled", "Pulling", "Pulled", "Created", "Started"] {
        assert_eq!(reasons.iter().filter(|r| *r == reason).count(), 2, "{reason}: {reasons:?}");
    }
    let name = pods[0]["metadata"]["name"].as_str().unwrap();
    assert!(rig.world.logs(NS, name, "main", false).unwrap()[0].text.contains("gocity:v1"));
}

#[test]
fn an_update_replaces_the_pods_and_keeps_enough_of_them() {
    let mut rig = Rig::new();
    rig.apply(web(4, "gocity:v1", json!({})));
    rig.world.settle(secs(60));
    rig.apply(web(4, "gocity:v2", json!({})));
    let mut steps = 0;
    while rig.world.is_busy() || rig.world.next_timer().is_some_and(|at| at < rig.world.now() + secs(30)) {
        rig.world.step();
        steps += 1;
        let web = rig.get("apps", "deployments", "web").unwrap();
        assert!(
            web["status"]["availableReplicas"].as_i64().unwrap_or(0) >= 3,
            "step {steps}: {}",
            web["status"]
        );
        let active = rig.pods().iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).count();
        assert!(active <= 5, "step {steps}: {active} pods");
    }
    assert!(rig.pods().iter().all(|pod| pod["spec"]["containers"][0]["image"] == "gocity:v2"));
    assert_eq!(rig.verdict_of("apps", "deployments", "web").verdict, Grade::Healthy);
    // Going back to the first template takes its set again and gives it a new revision.
    rig.apply(web(4, "gocity:v1", json!({})));
    rig.world.settle(secs(60));
    let sets = rig.list("apps", "replicasets");
    assert_eq!(sets.len(), 2);
    let annotation = |set: &Value, key: &str| {
        set["metadata"]["annotations"][format!("deployment.kubernetes.io/{key}")].clone()
    };
    let back = sets.iter().find(|set| set["spec"]["replicas"] == 4).unwrap();
    assert_eq!(
        (annotation(back, "revision"), annotation(back, "revision-history")),
        (json!("3"), json!("1"))
    );
}

#[test]
fn a_bad_image_is_told_and_the_old_pods_still_serve() {
    let mut rig = Rig::new();
    rig.apply(web(2, "gocity:v2", json!({})));
    rig.world.settle(secs(60));
    rig.apply(web(2, "gocity:v3-typo", json!({})));
    let cause = rig.cause("apps", "deployments", "web", secs(6));
    let web = rig.get("apps", "deployments", "web").unwrap();
    assert!(cause.contains("gocity:v3-typo") && cause.contains("not found"), "{cause}");
    assert_eq!(web["status"]["availableReplicas"], 2);
    assert!(conditions(&web).contains(&"Available=True MinimumReplicasAvailable".to_owned()));
    // The deadline of ten minutes.
    rig.world.advance(secs(700));
    let web = rig.get("apps", "deployments", "web").unwrap();
    assert!(
        conditions(&web).contains(&"Progressing=False ProgressDeadlineExceeded".to_owned()),
        "{:?}",
        conditions(&web)
    );
    // Rolled back, it is healthy again at once.
    rig.apply(crate::rig::web(2, "gocity:v2", json!({})));
    rig.world.settle(secs(10));
    assert_eq!(rig.verdict_of("apps", "deployments", "web").verdict, Grade::Healthy);
}

#[test]
fn a_crash_loop_is_told_with_its_restarts() {
    let mut rig = Rig::new();
    rig.apply(web(
        1,
        "gocity:v1",
        json!({"sandbox.kusion.io/exit": "3", "sandbox.kusion.io/log": "cannot open /data"}),
    ));
    rig.world.advance(secs(8));
    let pod = &rig.pods()[0];
    let status = &pod["status"]["containerStatuses"][0];
    assert_eq!(status["state"]["waiting"]["reason"], "CrashLoopBackOff", "{status}");
    let message = status["state"]["waiting"]["message"].as_str().unwrap();
    let (name, uid) = (pod["metadata"]["name"].as_str().unwrap(), pod["metadata"]["uid"].as_str().unwrap());
    assert_eq!(message, format!("back-off 4s restarting failed container=main pod={name}_{NS}({uid})"));
    assert_eq!(status["lastState"]["terminated"]["exitCode"], 3);
    assert_eq!(status["restartCount"], 2);
    let cause = rig.cause("apps", "deployments", "web", secs(1));
    assert!(cause.contains("exit code 3") && cause.contains("restarts"), "{cause}");
    let name = pod["metadata"]["name"].as_str().unwrap();
    assert_eq!(rig.world.logs(NS, name, "main", false).unwrap()[0].text, "cannot open /data");
}

#[test]
fn the_same_seed_and_calls_give_the_same_world() {
    let run = || {
        let mut rig = Rig::new();
        rig.apply(web(3, "gocity:v1", json!({})));
        rig.world.advance(secs(2));
        rig.apply(web(3, "gocity:v2", json!({})));
        rig.world.settle(secs(60));
        format!("{:?}", rig.world.view().store.events_after(1).unwrap().collect::<Vec<_>>())
    };
    assert_eq!(run(), run());
}

#[test]
fn a_world_goes_on_after_a_restart() {
    let mut rig = Rig::new();
    rig.apply(web(2, "gocity:v1", json!({})));
    rig.apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "bad"}, "spec": {"selector": {"matchLabels": {"app": "bad"}},
        "template": {"metadata": {"labels": {"app": "bad"}}, "spec": {"containers": [{"name": "main", "image": "gocity:crashloop"}]}}}}));
    rig.world.advance(secs(10));
    let before: Vec<Value> = rig.pods().iter().map(|pod| pod["status"].clone()).collect();
    rig.world = sandbox_world::World::restore(&rig.world.snapshot()).unwrap();
    rig.world.wake_all();
    rig.world.advance(std::time::Duration::ZERO);
    let after: Vec<Value> = rig.pods().iter().map(|pod| pod["status"].clone()).collect();
    assert_eq!(before, after);
    rig.apply(web(3, "gocity:v1", json!({})));
    rig.world.advance(secs(10));
    assert_eq!(rig.verdict_of("apps", "deployments", "web").verdict, Grade::Healthy);
    let addresses: std::collections::BTreeSet<String> =
        rig.pods().iter().map(|pod| pod["status"]["podIP"].to_string()).collect();
    assert_eq!(addresses.len(), 4);
    let restarts =
        |rig: &Rig| rig.pods()[0]["status"]["containerStatuses"][0]["restartCount"].as_i64().unwrap();
    assert!(restarts(&rig) > before[0]["containerStatuses"][0]["restartCount"].as_i64().unwrap());
}

/// What the status of the Deployment said, change by change.
#[test]
fn a_rollout_is_told_in_the_order_of_a_real_cluster() {
    let mut rig = Rig::new();
    rig.apply(web(2, "gocity:v1", json!({})));
    rig.world.settle(secs(30));
    let mut told: Vec<String> = Vec::new();
    for object in rig.journal() {
        let line = match object["kind"].as_str().unwrap_or_default() {
            "Deployment" => {
                let status = &object["status"];
                let progress = conditions(&object).into_iter().find(|line| line.starts_with("Progressing"));
                format!(
                    "deployment {} observed {} {}",
                    status["replicas"],
                    status["observedGeneration"],
                    progress.unwrap_or_default()
                )
            }
            "ReplicaSet" => format!("set {}", object["status"]["replicas"]),
            "Pod" if object["spec"]["nodeName"].is_null() => "pod".to_owned(),
            "Event" => format!("event {}", object["reason"].as_str().unwrap_or_default()),
            _ => continue,
        };
        if told.last() != Some(&line) {
            told.push(line);
        }
    }
    let wanted = [
        "deployment null observed null ",
        "set 0",
        "event ScalingReplicaSet",
        "deployment null observed null Progressing=True NewReplicaSetCreated",
        "pod",
        "event SuccessfulCreate",
        "deployment null observed 1 Progressing=True NewReplicaSetCreated",
        "deployment 2 observed 1 Progressing=True ReplicaSetUpdated",
        "event Pulling",
        "event Pulled",
        "event Created",
        "event Started",
        "deployment 2 observed 1 Progressing=True NewReplicaSetAvailable",
    ];
    let mut rest = told.iter();
    for line in wanted {
        assert!(rest.any(|other| other == line), "`{line}` is not in its place in {told:#?}");
    }
}
