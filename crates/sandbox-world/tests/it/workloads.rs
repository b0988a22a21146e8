//! StatefulSet, DaemonSet, Job, CronJob, claims, budgets.

use kusion_health::Grade;
use sandbox_world::{Propagation, Removal};
use serde_json::{Value, json};

use crate::rig::{Rig, conditions, secs, web};

fn set(replicas: i64, image: &str) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"},
        "spec": {"replicas": replicas, "serviceName": "db", "selector": {"matchLabels": {"app": "db"}},
            "template": {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "db", "image": image,
                "volumeMounts": [{"name": "data", "mountPath": "/data"}]}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}]},
    })
}

fn job(spec: Value, annotations: Value) -> Value {
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"},
        "spec": {"template": {"metadata": {"annotations": annotations},
            "spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "tools:v1"}]}}},
    });
    for (key, value) in spec.as_object().unwrap() {
        job["spec"][key] = value.clone();
    }
    job
}

#[test]
fn a_stateful_set_goes_up_in_order_with_its_claims() {
    let mut rig = Rig::new();
    rig.apply(set(2, "db:v1"));
    rig.world.advance(secs(1) / 2);
    assert_eq!(rig.pods().len(), 1, "the second waits for the first");
    rig.world.settle(secs(30));
    let pods = rig.pods();
    let names: Vec<&str> = pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["db-0", "db-1"]);
    let db = rig.get("apps", "statefulsets", "db").unwrap();
    assert_eq!(db["status"]["readyReplicas"], 2);
    assert_eq!(db["status"]["currentRevision"], db["status"]["updateRevision"]);
    assert_eq!(rig.verdict(&db).verdict, Grade::Healthy);
    for claim in rig.list("", "persistentvolumeclaims") {
        assert_eq!(claim["status"]["phase"], "Bound", "{claim}");
        assert_eq!(rig.verdict(&claim).verdict, Grade::Healthy);
    }
    rig.apply(set(2, "db:v2"));
    rig.world.settle(secs(30));
    let db = rig.get("apps", "statefulsets", "db").unwrap();
    assert!(rig.pods().iter().all(|pod| pod["spec"]["containers"][0]["image"] == "db:v2"));
    assert_eq!(db["status"]["currentRevision"], db["status"]["updateRevision"]);
    assert_eq!(rig.list("apps", "controllerrevisions").len(), 2);
    assert_eq!(rig.verdict(&db).verdict, Grade::Healthy);
}

#[test]
fn a_stateful_set_stops_at_the_first_bad_pod() {
    let mut rig = Rig::new();
    rig.apply(set(3, "db:v1"));
    rig.world.settle(secs(30));
    rig.apply(set(3, "db:typo"));
    let cause = rig.cause("apps", "statefulsets", "db", secs(15));
    assert!(cause.contains("db:typo"), "{cause}");
    let images: Vec<Value> =
        rig.pods().iter().map(|pod| pod["spec"]["containers"][0]["image"].clone()).collect();
    assert_eq!(images, [json!("db:v1"), json!("db:v1"), json!("db:typo")]);
}

#[test]
fn a_daemon_set_has_one_pod_on_every_node() {
    let mut rig = Rig::new();
    let agent = |image: &str| {
        json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {"name": "agent"},
            "spec": {"selector": {"matchLabels": {"app": "agent"}}, "template": {"metadata": {"labels": {"app": "agent"}},
                "spec": {"containers": [{"name": "main", "image": image}]}}}})
    };
    rig.apply(agent("agent:v1"));
    rig.world.settle(secs(30));
    let nodes: Vec<Value> = rig.pods().iter().map(|pod| pod["spec"]["nodeName"].clone()).collect();
    assert_eq!(nodes.len(), 2);
    assert_ne!(nodes[0], nodes[1]);
    let set = rig.get("apps", "daemonsets", "agent").unwrap();
    assert_eq!(
        (&set["status"]["desiredNumberScheduled"], &set["status"]["numberAvailable"]),
        (&json!(2), &json!(2))
    );
    assert_eq!(rig.verdict(&set).verdict, Grade::Healthy);
    rig.apply(agent("agent:v2"));
    rig.world.settle(secs(30));
    assert!(rig.pods().iter().all(|pod| pod["spec"]["containers"][0]["image"] == "agent:v2"));
    assert_eq!(rig.verdict_of("apps", "daemonsets", "agent").verdict, Grade::Healthy);
}

#[test]
fn a_job_completes() {
    let mut rig = Rig::new();
    rig.apply(job(json!({"completions": 3, "parallelism": 2}), json!({})));
    rig.world.advance(secs(1));
    assert_eq!(rig.get("batch", "jobs", "once").unwrap()["status"]["active"], 2);
    rig.world.settle(secs(60));
    let done = rig.get("batch", "jobs", "once").unwrap();
    assert_eq!(
        conditions(&done),
        ["Complete=True CompletionsReached", "SuccessCriteriaMet=True CompletionsReached"]
    );
    assert_eq!(done["status"]["succeeded"], 3);
    assert_eq!(rig.verdict(&done).verdict, Grade::Healthy);
    assert!(rig.pods().iter().all(|pod| pod["metadata"]["finalizers"].is_null()));
}

#[test]
fn an_indexed_job_does_each_index_once() {
    let mut rig = Rig::new();
    rig.apply(job(json!({"completions": 4, "parallelism": 2, "completionMode": "Indexed"}), json!({})));
    rig.world.settle(secs(60));
    let done = rig.get("batch", "jobs", "once").unwrap();
    assert_eq!(done["status"]["completedIndexes"], "0-3", "{}", done["status"]);
    assert_eq!(done["status"]["succeeded"], 4);
}

#[test]
fn a_job_gives_up_after_its_limit() {
    let mut rig = Rig::new();
    rig.apply(job(json!({"backoffLimit": 1}), json!({"sandbox.kusion.io/exit": "4"})));
    let cause = rig.cause("batch", "jobs", "once", secs(15));
    assert!(cause.contains('4'), "{cause}");
    let job = rig.get("batch", "jobs", "once").unwrap();
    assert_eq!(
        conditions(&job),
        ["Failed=True BackoffLimitExceeded", "FailureTarget=True BackoffLimitExceeded"]
    );
    assert_eq!(job["status"]["failed"], 2);
}

#[test]
fn a_cron_job_starts_jobs_on_time_and_keeps_few() {
    let mut rig = Rig::new();
    let cron = |schedule: &str| {
        json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {"schedule": schedule,
            "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main", "image": "tools:v1"}]}}}}}})
    };
    rig.apply(cron("*/2 * * * *"));
    rig.world.advance(secs(125));
    let jobs = rig.list("batch", "jobs");
    assert_eq!(jobs.len(), 1);
    // Minutes since 1970 of the time it was due.
    assert_eq!(jobs[0]["metadata"]["name"], "tick-29453762");
    rig.world.advance(secs(1200));
    assert_eq!(rig.list("batch", "jobs").len(), 3, "the history limit");
    let tick = rig.get("batch", "cronjobs", "tick").unwrap();
    assert!(tick["status"]["lastSuccessfulTime"].is_string(), "{tick}");
    assert_eq!(rig.verdict(&tick).verdict, Grade::Healthy);
}

#[test]
fn a_schedule_that_cannot_be_read_is_refused() {
    let mut rig = Rig::new();
    let cron = json!({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "tick"}, "spec": {"schedule": "61 * * * *",
        "jobTemplate": {"spec": {"template": {"spec": {"restartPolicy": "OnFailure", "containers": [{"name": "main", "image": "tools:v1"}]}}}}}});
    let ask = sandbox_world::Write {
        served: rig.world.view().registry.of_object(&cron).unwrap(),
        namespace: "default",
        name: "tick",
        subresource: "",
        verb: kube_meaning::write::Verb::Apply(&cron),
        manager: "kusion",
        force: false,
        dry_run: false,
    };
    let refusal = rig.world.write(&ask).unwrap_err();
    assert_eq!(refusal.causes[0].field, "spec.schedule");
    assert!(refusal.message.ends_with("end of range (61) above maximum (59): 61"), "{refusal}");
}

#[test]
fn a_claim_of_an_unknown_class_stays_pending() {
    let mut rig = Rig::new();
    rig.apply(json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"},
        "spec": {"storageClassName": "nope", "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}));
    let cause = rig.cause("", "persistentvolumeclaims", "data", secs(20));
    assert!(cause.contains("nope"), "{cause}");
    assert_eq!(rig.events("PersistentVolumeClaim")[0].1, "storageclass.storage.k8s.io \"nope\" not found");
}

#[test]
fn a_budget_counts_its_pods() {
    let mut rig = Rig::new();
    rig.apply(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "web"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}}));
    rig.apply(web(3, "gocity:v1", json!({})));
    rig.world.settle(secs(30));
    let budget = rig.get("policy", "poddisruptionbudgets", "web").unwrap();
    assert_eq!(budget["status"]["disruptionsAllowed"], 2);
    assert_eq!(conditions(&budget), ["DisruptionAllowed=True SufficientPods"]);
}

#[test]
fn an_autoscaler_without_metrics_says_so() {
    let mut rig = Rig::new();
    let scaler = |annotations: Value| {
        json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web", "annotations": annotations},
            "spec": {"minReplicas": 1, "maxReplicas": 5, "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
                "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]}})
    };
    rig.apply(scaler(json!({})));
    rig.world.settle(secs(10));
    let found = rig.get("autoscaling", "horizontalpodautoscalers", "web").unwrap();
    assert_eq!(conditions(&found), ["AbleToScale=False FailedGetScale"]);
    rig.apply(web(2, "gocity:v1", json!({})));
    rig.world.settle(secs(30));
    let found = rig.get("autoscaling", "horizontalpodautoscalers", "web").unwrap();
    assert_eq!(
        conditions(&found),
        ["AbleToScale=True SucceededGetScale", "ScalingActive=False FailedGetResourceMetric"]
    );
    rig.apply(scaler(json!({"sandbox.kusion.io/metrics": "50"})));
    rig.world.settle(secs(30));
    let found = rig.get("autoscaling", "horizontalpodautoscalers", "web").unwrap();
    assert!(conditions(&found).contains(&"ScalingActive=True ValidMetricFound".to_owned()));
}

#[test]
fn the_pods_of_a_job_that_is_gone_are_let_go() {
    let mut rig = Rig::new();
    rig.apply(json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once"}, "spec": {"template": {"spec": {
        "restartPolicy": "Never", "containers": [{"name": "main", "image": "gocity:v1"}]}}}}));
    rig.world.settle(secs(5));
    assert_eq!(rig.pods().len(), 1);
    let removal = Removal { propagation: Some(Propagation::Background), ..Removal::default() };
    rig.delete("batch", "jobs", "once", removal);
    rig.world.settle(secs(60));
    assert!(rig.pods().is_empty(), "{:?}", rig.pods());
}

#[test]
fn with_add_ons_an_ingress_gets_an_address_and_an_autoscaler_settles() {
    let mut rig = Rig::new();
    rig.world.add_addons();
    rig.apply(json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": "web"},
        "spec": {"defaultBackend": {"service": {"name": "web", "port": {"number": 80}}}}}));
    rig.apply(json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}, "spec": {"replicas": 2,
        "selector": {"matchLabels": {"app": "web"}}, "template": {"metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "main", "image": "web:v1"}]}}}}));
    rig.apply(json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}, "minReplicas": 1, "maxReplicas": 4}}));
    rig.world.settle(secs(60));
    assert_eq!(rig.verdict_of("networking.k8s.io", "ingresses", "web").verdict, Grade::Healthy);
    assert_eq!(rig.verdict_of("autoscaling", "horizontalpodautoscalers", "web").verdict, Grade::Healthy);
    assert_eq!(rig.verdict_of("apps", "deployments", "web").message, "2 of 2 updated pods available");
}
