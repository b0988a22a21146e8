//! An autoscaler writes the number of replicas through `/scale`: that is its field, and an apply leaves it alone.

use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::{deployment, namespace, spec};

fn scaler() -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "lab"},
        "spec": {"minReplicas": 3, "maxReplicas": 5,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}})
}

#[tokio::test(start_paused = true)]
async fn what_an_autoscaler_scaled_is_left_alone() {
    let mut lab = Lab::new();
    lab.options.wait = false;
    let wanted = spec(&[namespace(), deployment("web", "web:v1"), scaler()]);
    assert!(lab.apply(&wanted).await.is_success());
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request =
        http::Request::get("/apis/apps/v1/namespaces/lab/deployments/web").body(Vec::new()).unwrap();
    let web = client.request::<Value>(request).await.unwrap();
    assert_eq!(web["spec"]["replicas"], 3);
    let managers = web["metadata"]["managedFields"].as_array().unwrap();
    let by_scale = managers.iter().find(|entry| entry["subresource"] == "scale").unwrap();
    assert_eq!(by_scale["fieldsV1"], json!({"f:spec": {"f:replicas": {}}}));
    let ready = lab.plan(&wanted).await;
    assert!(ready.plan().is_empty(), "{:#?}", ready.plan().steps);
    assert!(lab.apply(&wanted).await.is_success());
}
