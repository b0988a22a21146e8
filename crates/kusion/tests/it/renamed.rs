//! One object under another id on a cluster: it is renamed, not made and deleted.

use kusion::model::Spec;
use kusion::{DryRun, PlanFailure};
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::spec;

fn map(namespace: Option<&str>) -> Value {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"v": "1"}});
    if let Some(namespace) = namespace {
        map["metadata"]["namespace"] = json!(namespace);
    }
    map
}

fn role(namespace: Option<&str>) -> Value {
    let mut role = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": "reader"},
        "rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]});
    if let Some(namespace) = namespace {
        role["metadata"]["namespace"] = json!(namespace);
    }
    role
}

fn scaler(version: &str) -> Value {
    let mut scaler = json!({"apiVersion": format!("autoscaling/{version}"), "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"maxReplicas": 3, "minReplicas": 1,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}}});
    if version == "v1" {
        scaler["spec"]["targetCPUUtilizationPercentage"] = json!(80);
    } else {
        scaler["spec"]["metrics"] = json!([{"type": "Resource",
            "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}]);
    }
    scaler
}

/// Applies one form, then the other, then destroys: one object all the time.
async fn renamed(before: Value, after: Value, path: &str) {
    let mut lab = Lab::new();
    lab.options.wait = false;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let uid = async || {
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        client.request::<Value>(request).await.map(|object| object["metadata"]["uid"].clone()).ok()
    };
    lab.apply(&spec(std::slice::from_ref(&before))).await;
    let first = uid().await;
    assert!(first.is_some(), "{path}");
    lab.writes();
    let report = lab.apply(&spec(std::slice::from_ref(&after))).await;
    assert_eq!(uid().await, first, "{path}: the same object; {report:?}");
    assert!(lab.writes().iter().all(|write| !write.starts_with("DELETE")), "{path}");
    let ids: Vec<String> = lab.state().records.keys().map(ToString::to_string).collect();
    assert_eq!(ids, [crate::objects::id(&after)], "the record is under the new id only");
    let again = lab.plan(&spec(std::slice::from_ref(&after))).await;
    assert!(again.changes_nothing(), "{:?}", again.plan().steps);
    lab.apply(&spec(&[])).await;
    assert_eq!(uid().await, None, "{path}: destroyed once");
}

#[tokio::test(start_paused = true)]
async fn a_namespace_written_out_or_left_out_is_the_same_object() {
    let path = "/api/v1/namespaces/default/configmaps/settings";
    renamed(map(None), map(Some("default")), path).await;
    renamed(map(Some("default")), map(None), path).await;
}

#[tokio::test(start_paused = true)]
async fn a_cluster_scoped_object_with_a_namespace_is_the_same_object() {
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/reader";
    renamed(role(Some("default")), role(None), path).await;
    renamed(role(None), role(Some("default")), path).await;
}

#[tokio::test(start_paused = true)]
async fn another_version_of_the_kind_is_the_same_object() {
    let path = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers/web";
    renamed(scaler("v1"), scaler("v2"), path).await;
    renamed(scaler("v2"), scaler("v1"), path).await;
}

#[tokio::test(start_paused = true)]
async fn two_spellings_in_one_configuration_are_refused_with_both() {
    let lab = Lab::new();
    let target = lab.target();
    let twice = Spec::from_value(spec(&[map(None), map(Some("default"))]), &kusion::platforms(), &target.key)
        .unwrap();
    let Err(PlanFailure::Spec(problems)) = lab.engine().plan(&target, twice, DryRun::Updates).await else {
        panic!("one object twice must not be planned");
    };
    let text = problems[0].to_string();
    assert!(
        text.contains("v1:ConfigMap:settings") && text.contains("v1:ConfigMap:default:settings"),
        "{text}"
    );
}
