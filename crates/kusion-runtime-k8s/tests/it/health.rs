//! Health on the real plane: good, bad image, gone.

use std::sync::{Arc, Mutex};

use kusion_apply::StepEnd;
use kusion_model::{ResourceId, ResourceKey};
use serde_json::{Value, json};

use crate::lab::Lab;

fn spec(lab: &Lab, image: &str) -> Value {
    json!([
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": lab.namespace}},
        {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": lab.namespace},
         "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": {
             "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "main", "image": image}]}}}},
    ])
}

fn key(lab: &Lab) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts(["apps/v1", "Deployment", &lab.namespace, "web"]))
}

#[test]
fn good_deployment_becomes_healthy_and_a_bad_image_is_named() {
    let Some(mut lab) = Lab::new() else { return };
    lab.wait = true;
    let verdicts = Arc::new(Mutex::new(Vec::new()));
    lab.verdicts = Some(Arc::clone(&verdicts));
    let report = lab.apply(&spec(&lab, "nginx:1"));
    assert_eq!(report.end_of(&key(&lab)), Some(&StepEnd::Healthy));
    let ready = lab.plan(&spec(&lab, "missing:1"));
    let report = lab.execute(&ready).0.unwrap();
    let Some(StepEnd::Unhealthy { cause: Some(cause), timed_out: false, .. }) = report.end_of(&key(&lab))
    else {
        panic!("{report:#?}");
    };
    assert!(cause.contains("missing:1"), "{cause}");
    assert!(lab.state().latest().unwrap().cause.as_ref().unwrap().contains("missing:1"));
    assert!(verdicts.lock().unwrap().iter().any(|text: &String| text.contains("progressing")));
}
