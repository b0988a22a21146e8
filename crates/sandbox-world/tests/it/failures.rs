//! Pods that fail, each in its way, and what the engine says of it.

use serde_json::{Value, json};

use crate::rig::{Rig, conditions, secs, web};

/// The cause the engine names for a Deployment with these pod annotations and container fields.
fn cause(annotations: Value, container: Value, within: u64) -> (Rig, String) {
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", annotations);
    for (key, value) in container.as_object().unwrap() {
        object["spec"]["template"]["spec"]["containers"][0][key] = value.clone();
    }
    rig.apply(object);
    let cause = rig.cause("apps", "deployments", "web", secs(within));
    (rig, cause)
}

fn state(rig: &Rig) -> Value {
    rig.pods()[0]["status"]["containerStatuses"][0].clone()
}

#[test]
fn images_fail_in_each_way() {
    for (image, reason, told) in [
        ("gocity:not-found", "ImagePullBackOff", "not found"),
        ("ghcr.io/denied/x:1", "ImagePullBackOff", "ghcr.io/denied/x:1"),
        ("Gocity:v1", "InvalidImageName", "Gocity:v1"),
    ] {
        let (rig, cause) = cause(json!({}), json!({"image": image}), 20);
        assert!(cause.contains(told), "{image}: {cause}");
        assert_eq!(state(&rig)["state"]["waiting"]["reason"], reason, "{image}");
    }
    let (rig, cause) = cause(json!({}), json!({"imagePullPolicy": "Never"}), 20);
    assert_eq!(state(&rig)["state"]["waiting"]["reason"], "ErrImageNeverPull");
    assert!(cause.contains("gocity:v1"), "{cause}");
}

#[test]
fn a_registry_that_is_away_is_told_but_only_slow() {
    let mut rig = Rig::new();
    rig.apply(web(1, "registry-down.example/x:1", json!({})));
    rig.world.advance(secs(10));
    let cause = rig.verdict_of("apps", "deployments", "web").cause.unwrap();
    assert!(cause.contains("registry-down.example/x:1"), "{cause}");
}

#[test]
fn a_bad_image_is_tried_again_with_longer_waits() {
    let mut rig = Rig::new();
    rig.apply(web(1, "gocity:v3-typo", json!({})));
    rig.world.advance(secs(60));
    let events = rig.list("", "events");
    let count = |reason: &str, piece: &str| {
        let found = events
            .iter()
            .find(|event| event["reason"] == reason && event["message"].as_str().unwrap().contains(piece));
        found.map_or(0, |event| event["count"].as_i64().unwrap())
    };
    // At 0, 2, 6, 14, 30 s and so on, each after a pull of less than a second.
    assert_eq!(count("Pulling", "gocity:v3-typo"), 5);
    assert_eq!(count("Failed", "Error: ErrImagePull"), 5);
    assert_eq!(count("Failed", "Error: ImagePullBackOff"), 5);
    assert_eq!(count("BackOff", "Back-off pulling image"), 5);
}

#[test]
fn a_missing_config_map_is_named_and_comes_to_rest_when_it_appears() {
    let env =
        json!({"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "a"}}}]});
    let (mut rig, cause) = cause(json!({}), env, 10);
    assert!(cause.contains("settings"), "{cause}");
    assert_eq!(state(&rig)["state"]["waiting"]["message"], "configmap \"settings\" not found");
    rig.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"b": "1"}}));
    rig.world.advance(secs(3));
    assert_eq!(state(&rig)["state"]["waiting"]["message"], "couldn't find key a in ConfigMap shop/settings");
    rig.apply(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"a": "1"}}));
    rig.world.settle(secs(10));
    assert_eq!(state(&rig)["ready"], true);
}

#[test]
fn a_missing_secret_in_a_volume_is_told_by_events_only() {
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", json!({}));
    object["spec"]["template"]["spec"]["volumes"] =
        json!([{"name": "keys", "secret": {"secretName": "keys"}}]);
    rig.apply(object);
    let cause = rig.cause("apps", "deployments", "web", secs(15));
    assert!(cause.contains("keys"), "{cause}");
    assert_eq!(state(&rig)["state"]["waiting"]["reason"], "ContainerCreating");
    let told = (
        "FailedMount".to_owned(),
        "MountVolume.SetUp failed for volume \"keys\" : secret \"keys\" not found".to_owned(),
    );
    assert!(rig.events("Pod").contains(&told));
}

#[test]
fn memory_is_named_when_it_runs_out() {
    let (rig, cause) = cause(
        json!({"sandbox.kusion.io/oom": "true"}),
        json!({"resources": {"limits": {"memory": "64Mi"}}}),
        8,
    );
    assert!(cause.contains("memory"), "{cause}");
    let last = &state(&rig)["lastState"]["terminated"];
    assert_eq!((last["reason"].as_str(), last["exitCode"].as_i64()), (Some("OOMKilled"), Some(137)));
}

#[test]
fn a_readiness_probe_that_never_succeeds_is_told() {
    let probe = json!({"httpGet": {"path": "/ready", "port": 8080}, "periodSeconds": 1});
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", json!({"sandbox.kusion.io/not-ready": "true"}));
    object["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = probe;
    rig.apply(object);
    rig.world.advance(secs(15));
    // Only the deadline makes it a failure; the cause is known before.
    let cause = rig.verdict_of("apps", "deployments", "web").cause.unwrap();
    assert!(cause.contains("503"), "{cause}");
    let status = state(&rig);
    assert_eq!((&status["ready"], &status["started"]), (&json!(false), &json!(true)));
    assert!(conditions(&rig.pods()[0]).contains(&"Ready=False ContainersNotReady".to_owned()));
}

#[test]
fn a_liveness_probe_restarts_the_container() {
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", json!({"sandbox.kusion.io/liveness-fails-after": "3s"}));
    object["spec"]["template"]["spec"]["containers"][0]["livenessProbe"] =
        json!({"tcpSocket": {"port": 8080}, "periodSeconds": 1, "failureThreshold": 2});
    rig.apply(object);
    rig.world.advance(secs(6));
    assert_eq!(state(&rig)["restartCount"], 1, "{}", state(&rig));
    let events = rig.events("Pod");
    let has = |reason: &str, text: &str| events.iter().any(|(r, m)| r == reason && m.contains(text));
    assert!(has("Unhealthy", "Liveness probe failed: dial tcp 10.244."), "{events:?}");
    assert!(has("Killing", "Container main failed liveness probe, will be restarted"), "{events:?}");
}

#[test]
fn a_command_that_cannot_start_is_told() {
    let (rig, cause) = cause(
        json!({"sandbox.kusion.io/start-error": "exec: \"serve\": executable file not found in $PATH"}),
        json!({}),
        10,
    );
    assert!(cause.contains("serve"), "{cause}");
    assert_eq!(state(&rig)["lastState"]["terminated"]["reason"], "StartError");
}

#[test]
fn no_node_is_large_enough() {
    let (rig, cause) = cause(json!({}), json!({"resources": {"requests": {"cpu": "64"}}}), 20);
    assert!(cause.to_lowercase().contains("cpu"), "{cause}");
    let pod = &rig.pods()[0];
    let told = "0/2 nodes are available: 2 Insufficient cpu. no new claims to deallocate, preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling.";
    assert_eq!(pod["status"]["conditions"][0]["message"], told);
    assert_eq!(rig.events("Pod"), [("FailedScheduling".to_owned(), told.to_owned())]);
}

#[test]
fn a_pod_waits_until_a_node_has_room() {
    let mut rig = Rig::new();
    let mut object = web(3, "gocity:v1", json!({}));
    object["spec"]["template"]["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "9"}});
    object["spec"]["template"]["spec"]["nodeSelector"] = json!({"kubernetes.io/os": "linux"});
    rig.apply(object.clone());
    rig.world.advance(secs(5));
    let waiting = |rig: &Rig| rig.pods().iter().filter(|pod| pod["spec"]["nodeName"].is_null()).count();
    assert_eq!(waiting(&rig), 1);
    let told = rig.events("Pod").into_iter().find(|(reason, _)| reason == "FailedScheduling").unwrap().1;
    assert!(told.ends_with("2 No preemption victims found for incoming pod."), "{told}");
    object["spec"]["replicas"] = json!(2);
    rig.apply(object);
    rig.world.settle(secs(10));
    assert_eq!(waiting(&rig), 0);
}

#[test]
fn an_init_container_holds_the_others_back() {
    let mut rig = Rig::new();
    let mut object = web(1, "gocity:v1", json!({"sandbox.kusion.io/exit.setup": "2"}));
    object["spec"]["template"]["spec"]["initContainers"] = json!([{"name": "setup", "image": "tools:v1"}]);
    rig.apply(object.clone());
    let cause = rig.cause("apps", "deployments", "web", secs(10));
    assert!(cause.contains("setup"), "{cause}");
    let pod = &rig.pods()[0];
    assert_eq!(pod["status"]["phase"], "Pending");
    assert_eq!(state(&rig)["state"]["waiting"]["reason"], "PodInitializing");
    assert!(conditions(pod).contains(&"Initialized=False ContainersNotInitialized".to_owned()));
    object["spec"]["template"]["metadata"]["annotations"] = json!({"sandbox.kusion.io/exit.setup": "0"});
    rig.apply(object);
    rig.world.settle(secs(10));
    assert_eq!(rig.pods().len(), 1);
    assert_eq!(state(&rig)["ready"], true);
}
