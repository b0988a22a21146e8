//! A record means the object that was made, whatever namespace the context has by now.

use kusion::model::{Action, FieldPath, Reason, ResourceRecord, Spec, Subject};
use kusion::{DryRun, Engine, Hand, PlanFailure, Ready};
use kusion_store::{Damage, Liveness, Outcome, Owner, StoreError};
use sandbox_world::ResourceKey;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::spec;
use crate::witness::witnesses;

/// A ConfigMap that says nothing about its namespace, or names it.
fn map(namespace: Option<&str>, value: &str) -> Value {
    let mut map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": {"v": value}});
    if let Some(namespace) = namespace {
        map["metadata"]["namespace"] = json!(namespace);
    }
    map
}

/// An engine whose context has this namespace.
fn in_namespace(lab: &Lab, namespace: &str) -> Engine {
    lab.engine_on(kube::Client::new(lab.wire.clone(), namespace))
}

async fn plan(lab: &Lab, namespace: &str, wanted: &[Value]) -> Result<Ready, PlanFailure> {
    plan_with(lab, namespace, wanted, DryRun::All).await
}

async fn plan_with(
    lab: &Lab,
    namespace: &str,
    wanted: &[Value],
    dry_run: DryRun,
) -> Result<Ready, PlanFailure> {
    let target = lab.target();
    let spec = Spec::from_value(spec(wanted), &kusion::platforms(), &target.key).unwrap();
    in_namespace(lab, namespace).plan(&target, spec, dry_run).await
}

async fn apply(lab: &Lab, namespace: &str, wanted: &[Value]) {
    let ready = plan(lab, namespace, wanted).await.unwrap();
    let report = in_namespace(lab, namespace).apply(&lab.target(), &ready, &lab.ask("li")).await.unwrap();
    assert!(report.is_success(), "{report:#?}");
}

/// Where a ConfigMap of this name is.
fn places(lab: &Lab) -> Vec<String> {
    lab.host.with(|world| {
        let maps = world.view().store.list(&ResourceKey::new("", "configmaps"), None);
        let own = maps.filter(|(key, _)| key.name == "settings");
        own.map(|(key, _)| key.namespace.to_string()).collect()
    })
}

async fn lab() -> Lab {
    let lab = Lab::new();
    let client = kube::Client::new(lab.wire.clone(), "default");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "teamx"}});
    let request = http::Request::post("/api/v1/namespaces").header("content-type", "application/json");
    let request = request.body(serde_json::to_vec(&body).unwrap()).unwrap();
    client.request::<Value>(request).await.unwrap();
    apply(&lab, "default", &[map(None, "1")]).await;
    assert_eq!(places(&lab), ["default"]);
    lab
}

#[tokio::test(start_paused = true)]
async fn destroy_deletes_where_it_was_made() {
    let lab = lab().await;
    let ready = plan(&lab, "teamx", &[]).await.unwrap();
    let step = &ready.plan().steps[0];
    assert_eq!((step.action, &step.reason), (Action::Delete, &Reason::NotInConfiguration));
    apply(&lab, "teamx", &[]).await;
    assert_eq!(places(&lab), Vec::<String>::new());
    assert!(lab.state().records.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_move_is_planned_as_a_replacement_and_forgets_nothing() {
    let lab = lab().await;
    let ready = plan(&lab, "teamx", &[map(None, "1")]).await.unwrap();
    let step = &ready.plan().steps[0];
    let namespace = FieldPath::keys(["metadata", "namespace"]);
    assert_eq!((step.action, &step.reason), (Action::Replace, &Reason::Immutable(vec![namespace])));
    let told = |value: &str| Some(Value::from(value).into());
    assert_eq!((&step.changes[0].before, &step.changes[0].after), (&told("default"), &told("teamx")));
    assert_eq!(places(&lab), ["default"], "a plan changes nothing");
    apply(&lab, "teamx", &[map(None, "1")]).await;
    assert_eq!(places(&lab), ["teamx"]);
    assert!(plan(&lab, "teamx", &[map(None, "1")]).await.unwrap().changes_nothing());
    apply(&lab, "default", &[]).await;
    assert_eq!(places(&lab), Vec::<String>::new());
}

/// A move deletes: `apply -y` asks the server for the new object, too.
#[tokio::test(start_paused = true)]
async fn a_move_that_the_server_refuses_is_told_before_anything_is_deleted() {
    let lab = lab().await;
    lab.faults("verb=apply path=/api/v1/namespaces/teamx/configmaps/settings* error=422");
    for dry_run in [DryRun::All, DryRun::Updates] {
        let Err(PlanFailure::Refused(list)) = plan_with(&lab, "teamx", &[map(None, "1")], dry_run).await
        else {
            panic!("a plan whose new object nobody takes")
        };
        assert_eq!(list.len(), 1, "{list:?}");
    }
    lab.faults("");
    let ready = plan_with(&lab, "teamx", &[map(None, "2")], DryRun::Updates).await.unwrap();
    let changed: Vec<String> = ready.plan().steps[0].changes.iter().map(|c| c.path.to_string()).collect();
    assert_eq!(changed, ["metadata.namespace", "data.v"]);
}

/// The witness of what was made is where that is; it moves with it, and none is left behind.
#[tokio::test(start_paused = true)]
async fn the_witness_is_asked_where_the_object_was_made() {
    let lab = lab().await;
    let kept = || witnesses(&lab).iter().map(|one| one["metadata"]["namespace"].clone()).collect::<Vec<_>>();
    assert_eq!(kept(), ["default"]);
    let mut older = None;
    lab.medium.tamper(&lab.target().scope, |stack| older = Some(stack.clone()));
    apply(&lab, "default", &[map(None, "2")]).await;
    let mut newer = None;
    lab.medium.tamper(&lab.target().scope, |stack| newer = Some(stack.clone()));
    lab.medium.tamper(&lab.target().scope, |stack| *stack = older.clone().unwrap());
    // Nobody may look through all namespaces: only the expected places are known.
    lab.faults("path=/api/v1/configmaps* error=403");
    let Err(PlanFailure::Store(StoreError::Damaged { damage, .. })) =
        plan(&lab, "teamx", &[map(None, "2")]).await
    else {
        panic!("planned on a state that is not the newest")
    };
    assert!(matches!(damage, Damage::Old { .. }), "{damage}");
    lab.faults("");
    lab.medium.tamper(&lab.target().scope, |stack| *stack = newer.clone().unwrap());
    apply(&lab, "teamx", &[map(None, "2")]).await;
    assert_eq!(kept(), ["teamx"]);
}

#[tokio::test(start_paused = true)]
async fn a_namespace_that_is_written_out_keeps_the_object() {
    let lab = lab().await;
    let ready = plan(&lab, "teamx", &[map(Some("default"), "1")]).await.unwrap();
    assert_eq!((ready.plan().steps.len(), ready.plan().steps[0].action), (1, Action::NoOp));
    apply(&lab, "teamx", &[map(Some("default"), "1")]).await;
    assert_eq!(places(&lab), ["default"]);
    apply(&lab, "teamx", &[]).await;
    assert_eq!(places(&lab), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_place_that_somebody_has_is_told_before_anything_is_deleted() {
    let lab = lab().await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request = http::Request::post("/api/v1/namespaces/teamx/configmaps")
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&map(Some("teamx"), "theirs")).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
    let Err(PlanFailure::Refused(list)) = plan(&lab, "teamx", &[map(None, "1")]).await else {
        panic!("a plan that runs into somebody's object")
    };
    assert!(list[0].error.message.contains("made in namespace `default`"), "{list:?}");
    assert_eq!(places(&lab), ["default", "teamx"]);
}

#[tokio::test(start_paused = true)]
async fn two_records_that_mean_one_object_by_now_are_both_remembered() {
    let lab = lab().await;
    let both = [map(None, "1"), map(Some("teamx"), "1")];
    apply(&lab, "default", &both).await;
    assert_eq!(places(&lab), ["default", "teamx"]);
    for wanted in [&both[..1], &both[1..], &both[..]] {
        match plan(&lab, "teamx", wanted).await {
            Err(PlanFailure::Spec(problems)) => assert_eq!(problems.len(), 1, "{problems:?}"),
            Err(other) => panic!("{other}"),
            // The one that is not wanted is deleted where it is.
            Ok(ready) => {
                let leaving = ready.plan().steps.iter().find(|step| step.action == Action::Delete).unwrap();
                assert_eq!(leaving.key.to_string(), "v1:ConfigMap:settings");
            }
        }
    }
    apply(&lab, "teamx", &[]).await;
    assert_eq!(places(&lab), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_record_from_before_means_what_the_context_says_and_learns_its_place() {
    let lab = lab().await;
    let record = || lab.state().records.values().next().unwrap().clone();
    let place = || record().kept.and_then(|kept| kept.private).map(|private| private.0.to_vec());
    assert_eq!(place().unwrap(), b"default");
    let before = ResourceRecord { kept: None, ..record() };
    let text = serde_json::to_string(&before).unwrap();
    assert_eq!(
        serde_json::from_str::<ResourceRecord>(&text).unwrap(),
        before,
        "as the earlier release wrote it"
    );
    let now = || lab.now();
    let alive = |_: &Owner| Liveness::Dead;
    let (owner, by) = (lab.ask("li").owner, Subject::default());
    let hand = Hand { owner, by, command: "test", alive: &alive, now: &now };
    hand.edit(&lab.target(), |_| Ok(vec![Outcome::Recorded(Box::new(before))])).await.unwrap();
    assert_eq!(place(), None);
    let step = plan(&lab, "default", &[]).await.unwrap().plan().steps[0].clone();
    assert_eq!((step.action, &step.reason), (Action::Delete, &Reason::NotInConfiguration));
    apply(&lab, "default", &[map(None, "1")]).await;
    assert_eq!(place().unwrap(), b"default");
}
