//! A version that is not served any more, and a list of kinds that is short: the objects are there all the same.

use kusion::model::{Action, Spec};
use kusion::{DryRun, PlanFailure, Ready};
use kusion_runtime::ErrorKind;
use sandbox_world::ResourceKey;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::liar::{About, Liar, Lie, Mood};
use crate::objects::{namespace, spec};

fn definition(served: &[(&str, bool)]) -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |(name, served): &(&str, bool)| json!({"name": name, "served": served, "storage": *name == "v1", "schema": schema});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "bars.lab.example.com"}, "spec": {"group": "lab.example.com", "scope": "Namespaced",
        "names": {"kind": "Bar", "plural": "bars", "singular": "bar", "listKind": "BarList"},
        "versions": served.iter().map(version).collect::<Vec<_>>()}})
}

fn bar() -> Value {
    json!({"apiVersion": "lab.example.com/v1alpha1", "kind": "Bar", "metadata": {"name": "bar1", "namespace": "lab"}})
}

async fn ask(lab: &Lab, method: http::Method, path: &str, body: &Value) {
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request = http::Request::builder().method(method).uri(path);
    let patch = request.method_ref() == Some(&http::Method::PATCH);
    let form = if patch { "application/merge-patch+json" } else { "application/json" };
    let request = request.header("content-type", form);
    client.request::<Value>(request.body(serde_json::to_vec(body).unwrap()).unwrap()).await.unwrap();
}

const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/bars.lab.example.com";

/// A stack with an object of `v1alpha1`, whose definition is somebody else's and serves these versions by now.
async fn lab(served: &[(&str, bool)]) -> Lab {
    let lab = Lab::new();
    let mut first = definition(&[("v1alpha1", true), ("v1", true)]);
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request = http::Request::post("/apis/apiextensions.k8s.io/v1/customresourcedefinitions")
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&first).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    assert!(lab.apply(&spec(&[namespace(), bar()])).await.is_success());
    first = definition(served);
    ask(&lab, http::Method::PATCH, DEFINITION, &json!({"spec": first["spec"]})).await;
    tokio::time::sleep(std::time::Duration::from_secs(5)).await;
    lab
}

fn bars(lab: &Lab) -> usize {
    lab.host.with(|world| world.view().store.list(&ResourceKey::new("lab.example.com", "bars"), None).count())
}

async fn plan_on(lab: &Lab, client: kube::Client, wanted: &[Value]) -> Result<Ready, PlanFailure> {
    let target = lab.target();
    let spec = Spec::from_value(spec(wanted), &kusion::platforms(), &target.key).unwrap();
    lab.engine_on(client).plan(&target, spec, DryRun::All).await
}

async fn plan(lab: &Lab, wanted: &[Value]) -> Result<Ready, PlanFailure> {
    plan_on(lab, kube::Client::new(lab.wire.clone(), "default"), wanted).await
}

#[tokio::test(start_paused = true)]
async fn what_is_served_in_another_version_is_deleted_there() {
    let lab = lab(&[("v1alpha1", false), ("v1", true)]).await;
    assert_eq!(bars(&lab), 1);
    let ready = plan(&lab, &[]).await.unwrap();
    assert!(ready.plan().steps.iter().all(|step| step.action == Action::Delete && step.before.is_some()));
    assert!(lab.apply(&spec(&[])).await.is_success());
    assert_eq!((bars(&lab), lab.state().records.len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_no_version_serves_is_not_known() {
    let lab = lab(&[("v1alpha1", false), ("v1", false)]).await;
    let Err(PlanFailure::Remote(error)) = plan(&lab, &[]).await else { panic!("already gone, it said") };
    assert_eq!(error.kind, ErrorKind::Unreadable, "{error}");
    assert!(error.message.contains("bars.lab.example.com"), "{error}");
    assert_eq!((bars(&lab), lab.state().records.len()), (1, 2));
}

#[tokio::test(start_paused = true)]
async fn what_lost_its_definition_is_gone() {
    let lab = lab(&[("v1alpha1", true), ("v1", true)]).await;
    ask(&lab, http::Method::DELETE, DEFINITION, &json!({})).await;
    tokio::time::sleep(std::time::Duration::from_secs(30)).await;
    assert_eq!(bars(&lab), 0);
    assert!(lab.apply(&spec(&[])).await.is_success());
    assert!(lab.state().records.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_of_kinds_proves_nothing() {
    let lab = lab(&[("v1alpha1", true), ("v1", true)]).await;
    let liar = Liar::new(lab.wire.clone());
    for wanted in [&[][..], &[namespace(), bar()][..]] {
        liar.set(Some(Mood { lie: Lie::NoKinds, about: About::Reads, after: 0, times: usize::MAX }));
        let planned = plan_on(&lab, kube::Client::new(liar.clone(), "default"), wanted).await;
        let Err(PlanFailure::Remote(error)) = planned else { panic!("it was believed") };
        assert_eq!(error.kind, ErrorKind::Unreadable, "{error}");
    }
    assert_eq!((bars(&lab), lab.state().records.len()), (1, 2));
}
