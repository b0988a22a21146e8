//! The cluster remembers how far the log was written, and a folder that was put back is told by it.

use std::sync::Arc;
use std::time::Duration;

use http::Method;
use kusion::model::Spec;
use kusion::{DryRun, Stand};
use kusion_store::{Damage, StoreError};
use serde_json::{Value, json};

use crate::identity::ask;
use crate::lab::Lab;
use crate::objects::{namespace, others, spec, ten};

/// The witnesses of the lab's stack.
pub(crate) fn witnesses(lab: &Lab) -> Vec<Value> {
    lab.host.with(|world| {
        let view = world.view();
        let maps = sandbox_world::ResourceKey::new("", "configmaps");
        let all = view.store.list(&maps, None);
        let ours = all.filter(|(key, _)| key.name.starts_with("kusion-state."));
        ours.map(|(_, object)| Value::clone(&object.value)).collect()
    })
}

async fn damage(lab: &Lab, wanted: &Value) -> Damage {
    let target = lab.target();
    let wanted = Spec::from_value(wanted.clone(), &kusion::platforms(), &target.key).unwrap();
    match lab.engine().plan(&target, wanted, DryRun::Updates).await {
        Err(kusion::PlanFailure::Store(StoreError::Damaged { damage, .. })) => damage,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("planned on a state that is not the newest"),
    }
}

#[tokio::test(start_paused = true)]
async fn head_is_told_at_begin_and_end_and_forgotten_with_the_last_object() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    let head = lab.state().head().unwrap();
    let known = witnesses(&lab);
    assert_eq!(known.len(), 1);
    assert_eq!(known[0]["metadata"]["namespace"], "lab");
    assert_eq!(known[0]["data"]["serial"], head.serial.to_string());
    assert_eq!(
        (&known[0]["data"]["hash"], &known[0]["data"]["lineage"]),
        (&head.hash.into(), &head.lineage.into())
    );
    lab.apply(&others()).await;
    assert_eq!(witnesses(&lab)[0]["data"]["serial"], lab.state().serial.to_string());
    lab.apply(&spec(&[])).await;
    assert!(witnesses(&lab).is_empty());
}

#[tokio::test(start_paused = true)]
async fn older_folder_and_a_lost_one_are_told_before_anything_is_planned() {
    let lab = Lab::new();
    let scope = lab.target().scope;
    lab.apply(&ten("1")).await;
    let mut older = None;
    lab.medium.tamper(&scope, |stack| older = Some(stack.clone()));
    lab.apply(&others()).await;
    lab.medium.tamper(&scope, |stack| *stack = older.clone().unwrap());
    assert!(matches!(damage(&lab, &ten("1")).await, Damage::Old { .. }));
    lab.medium.tamper(&scope, |stack| *stack = Default::default());
    assert!(matches!(damage(&lab, &ten("1")).await, Damage::Lost { .. }));
}

#[tokio::test(start_paused = true)]
async fn cluster_that_forbids_the_witness_is_warned_about_and_worked_on() {
    let lab = Lab::new();
    lab.faults("path=*kusion-state* error=403");
    let ready = lab.plan(&ten("1")).await;
    assert_eq!(ready.warnings.len(), 1, "{:?}", ready.warnings);
    assert!(
        ready.warnings[0].contains("could not be read: the cluster does not allow it"),
        "{:?}",
        ready.warnings
    );
    assert!(lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap().is_success());
    lab.faults("");
    lab.assert_converged(&ten("1"), "without a witness").await;
}

#[tokio::test(start_paused = true)]
async fn slow_medium_holds_up_no_step() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    let ready = lab.plan(&others()).await;
    lab.medium.set_pause(Some(Arc::new(|| Box::pin(tokio::time::sleep(Duration::from_secs(10))))));
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    lab.medium.set_pause(None);
    assert!(report.is_success());
    // Every write of the state takes ten seconds; the longest step does not know.
    let longest = report.millis.values().max().unwrap();
    assert!(*longest < 5_000, "{longest} ms");
    lab.assert_converged(&others(), "on a slow medium").await;
}

fn elsewhere() -> Value {
    let object =
        |kind: &str, metadata: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": metadata});
    spec(&[
        object("Namespace", json!({"name": "other"})),
        object("ConfigMap", json!({"name": "a", "namespace": "other"})),
    ])
}

#[tokio::test(start_paused = true)]
async fn lost_state_is_told_to_who_destroys_and_where_the_namespace_has_moved() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    let scope = lab.target().scope;
    lab.medium.tamper(&scope, |stack| *stack = Default::default());
    assert!(matches!(damage(&lab, &spec(&[])).await, Damage::Lost { .. }));
    let Damage::Lost { at: Some(at), .. } = damage(&lab, &elsewhere()).await else { panic!("not lost") };
    assert!(at.starts_with("ConfigMap lab/kusion-state."), "{at}");
}

#[tokio::test(start_paused = true)]
async fn older_folder_from_before_the_namespace_moved_is_told() {
    let lab = Lab::new();
    let scope = lab.target().scope;
    lab.apply(&ten("1")).await;
    let mut older = None;
    lab.medium.tamper(&scope, |stack| older = Some(stack.clone()));
    lab.apply(&elsewhere()).await;
    assert_eq!(witnesses(&lab).len(), 1);
    lab.medium.tamper(&scope, |stack| *stack = older.clone().unwrap());
    assert!(matches!(damage(&lab, &spec(&[])).await, Damage::Old { .. }));
}

/// Two teams may call their stacks alike and keep them in namespaces of their own; who has a state is not told of the other's.
#[tokio::test(start_paused = true)]
async fn witness_of_a_namesake_says_nothing_about_a_state_that_is_there() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    let mut theirs = witnesses(&lab).remove(0);
    let name = theirs["metadata"]["name"].as_str().unwrap().to_owned();
    theirs["metadata"] = json!({"name": name, "namespace": "default"});
    theirs["data"]["lineage"] = json!("theirs");
    ask(&lab, Method::DELETE, &format!("/api/v1/namespaces/lab/configmaps/{name}"), &json!({})).await;
    ask(&lab, Method::POST, "/api/v1/namespaces/default/configmaps", &theirs).await;
    assert!(lab.plan(&ten("1")).await.warnings.is_empty());
    lab.apply(&others()).await;
    let kept: Vec<Value> =
        witnesses(&lab).into_iter().map(|one| one["metadata"]["namespace"].clone()).collect();
    assert_eq!(kept, [json!("default"), json!("lab")]);
}

/// A repair takes over what it is told: at the expected place whatever is there, elsewhere only its own history.
#[tokio::test(start_paused = true)]
async fn repair_follows_no_namesake() {
    let lab = Lab::new();
    lab.apply(&ten("1")).await;
    let (target, own) = (lab.target(), lab.state().lineage.clone());
    lab.medium.tamper(&target.scope, |stack| *stack = Default::default());
    let sites = lab.engine().sites(&target, DryRun::All);
    for (wanted, lineage, is_followed) in [
        (ten("1"), "", true),
        (elsewhere(), "", false),
        (elsewhere(), "other", false),
        (elsewhere(), own.as_str(), true),
    ] {
        let wanted = Spec::from_value(wanted, &kusion::platforms(), &target.key).unwrap();
        let mut stand = Stand::of(&target.scope, &wanted, &lab.state(), &sites).of_history(lineage);
        let (known, warnings) = stand.recall().await;
        assert_eq!(
            (known.is_some(), warnings.is_empty()),
            (is_followed, is_followed),
            "{lineage}: {warnings:?}"
        );
    }
}

/// A destroyed stack leaves no witness. A copy of its state from before can do no harm: what it records is not there, and what
/// others have made under the same names since is not its own. It is told all the same.
#[tokio::test(start_paused = true)]
async fn a_copy_put_back_after_a_destroy_is_told_and_harms_nobody() {
    let lab = Lab::new();
    let scope = lab.target().scope;
    lab.apply(&ten("1")).await;
    let mut copy = None;
    lab.medium.tamper(&scope, |stack| copy = Some(stack.clone()));
    lab.apply(&spec(&[])).await;
    lab.medium.tamper(&scope, |stack| *stack = copy.clone().unwrap());
    let told = lab.plan(&ten("1")).await.warnings;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].contains("destroyed since") && told[0].ends_with("after release 1"), "{told:?}");

    // Somebody else makes what the copy records.
    let recorded = lab.state().prior().keys().into_iter().map(|key| key.to_string()).collect::<Vec<_>>();
    let map = recorded.iter().find_map(|id| id.strip_prefix("v1:ConfigMap:lab:")).unwrap().to_owned();
    let theirs =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": map}, "data": {"by": "them"}});
    ask(&lab, Method::POST, "/api/v1/namespaces", &namespace()).await;
    ask(&lab, Method::POST, "/api/v1/namespaces/lab/configmaps", &theirs).await;
    lab.writes();
    assert!(lab.apply(&spec(&[])).await.is_success());
    assert!(lab.writes().iter().all(|write| !write.ends_with(&format!(" {map}"))));
    assert_eq!(lab.maps(), [map]);
    assert!(lab.state().records.is_empty());
}

/// The same copy, applied: everything is made anew, once.
#[tokio::test(start_paused = true)]
async fn a_copy_put_back_after_a_destroy_converges() {
    let lab = Lab::new();
    let scope = lab.target().scope;
    lab.apply(&ten("1")).await;
    let mut copy = None;
    lab.medium.tamper(&scope, |stack| copy = Some(stack.clone()));
    lab.apply(&spec(&[])).await;
    lab.medium.tamper(&scope, |stack| *stack = copy.clone().unwrap());
    assert!(lab.apply(&ten("1")).await.is_success());
    lab.assert_converged(&ten("1"), "after a copy was put back").await;
    assert!(lab.plan(&ten("1")).await.warnings.is_empty());
}

/// Who may not list ConfigMaps of the whole cluster works on as before.
#[tokio::test(start_paused = true)]
async fn looking_everywhere_may_be_forbidden() {
    let lab = Lab::new();
    lab.faults("path=/api/v1/configmaps* error=403");
    assert!(lab.plan(&ten("1")).await.warnings.is_empty());
}
