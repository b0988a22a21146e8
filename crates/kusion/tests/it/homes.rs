//! A record means the object that was made, whatever namespace the context has by now.

use kusion::model::{Action, FieldPath, Plan, Reason, ResourceRecord, Spec, Step, Subject};
use kusion::{DryRun, Engine, Hand, PlanFailure, Ready};
use kusion_plan::moved_since;
use kusion_store::{Damage, Liveness, Outcome, Owner, StoreError};
use sandbox_world::ResourceKey;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::spec;
use crate::wire::Kill;
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

#[tokio::test(start_paused = true)]
async fn a_saved_plan_is_for_the_namespace_that_it_was_made_in() {
    let lab = lab().await;
    apply(&lab, "default", &[]).await;
    let wanted = [map(None, "1")];
    let saved = plan(&lab, "default", &wanted).await.unwrap().plan().to_json();
    let saved = Plan::from_json(&saved).unwrap();
    let here = plan(&lab, "default", &wanted).await.unwrap();
    assert!(moved_since(&saved, here.plan()).is_empty());
    let there = plan(&lab, "teamx", &wanted).await.unwrap();
    assert_eq!((saved.steps[0].action, there.plan().steps[0].action), (Action::Create, Action::Create));
    let moved = moved_since(&saved, there.plan());
    assert_eq!((moved.len(), moved[0].key.to_string()), (1, "v1:ConfigMap:settings".to_owned()));
    let mut from_before = saved.steps[0].clone();
    from_before.kept = None;
    let text = serde_json::to_string(&from_before).unwrap();
    assert!(!text.contains("\"kept\""), "as the earlier release wrote it: {text}");
    assert_eq!(serde_json::from_str::<Step>(&text).unwrap(), from_before);
}

/// Applies and is killed after a write; whether it was.
async fn is_killed(lab: &Lab, namespace: &str, wanted: &[Value], number: usize) -> bool {
    let ready = plan(lab, namespace, wanted).await.unwrap();
    let (target, engine, ask) = (lab.target(), in_namespace(lab, namespace), lab.ask("li"));
    lab.kill(Kill::After(number));
    let killed = tokio::select! {
        biased;
        () = lab.wire.killed.notified() => true,
        _ = engine.apply(&target, &ready, &ask) => false,
    };
    lab.kill(Kill::Never);
    killed
}

#[tokio::test(start_paused = true)]
async fn what_a_killed_release_made_is_found_where_it_was_made() {
    let mut made_and_not_recorded = 0;
    for number in 0..8 {
        for (then, left) in [(vec![map(None, "1")], vec!["teamx"]), (vec![], vec![])] {
            let lab = lab().await;
            apply(&lab, "default", &[]).await;
            if !is_killed(&lab, "default", &[map(None, "1")], number).await {
                continue;
            }
            if places(&lab) == ["default"] && lab.state().intents.len() == 1 {
                made_and_not_recorded += 1;
            }
            apply(&lab, "teamx", &then).await;
            assert_eq!(places(&lab), left, "killed after write {number}");
            assert!(lab.state().intents.is_empty(), "killed after write {number}");
        }
    }
    assert!(made_and_not_recorded >= 2, "no kill was between the write and its record");
}
