//! A cluster is more than a name, and an object more than its name: another of either is not ours.

use kusion::model::{Action, Reason, Spec};
use kusion::{DryRun, Engine, Exit, Hand, PlanFailure, Ready, StepEnd};
use kusion_store::{Liveness, Owner, wait};
use serde_json::{Value, json};

use crate::lab::{Lab, key};
use crate::liar::{About, Liar, Lie, Mood};
use crate::objects::{config_map, job, namespace, spec};

pub(crate) async fn ask(lab: &Lab, method: http::Method, path: &str, body: &Value) {
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request =
        http::Request::builder().method(method).uri(path).header("content-type", "application/json");
    client.request::<Value>(request.body(serde_json::to_vec(body).unwrap()).unwrap()).await.unwrap();
}

/// Somebody deletes an object and makes another of its name.
async fn make_anew(lab: &Lab, collection: &str, object: &Value) {
    let name = object["metadata"]["name"].as_str().unwrap();
    ask(
        lab,
        http::Method::DELETE,
        &format!("{collection}/{name}"),
        &json!({"propagationPolicy": "Background"}),
    )
    .await;
    ask(lab, http::Method::POST, collection, object).await;
}

const MAPS: &str = "/api/v1/namespaces/lab/configmaps";

#[tokio::test(start_paused = true)]
async fn what_somebody_made_anew_is_released_not_deleted() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1"), config_map("b", "1")])).await;
    make_anew(&lab, MAPS, &config_map("a", "theirs")).await;
    lab.writes();
    let ready = lab.plan(&spec(&[namespace()])).await;
    let step = ready.plan().step(&key("a")).unwrap();
    assert_eq!((step.action, &step.reason), (Action::Release, &Reason::MadeAnew));
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert_eq!((report.tally.delete, report.tally.release), (1, 1));
    assert_eq!(lab.writes(), ["DELETE b"]);
    assert_eq!(lab.maps(), ["a"]);
    assert!(!lab.state().records.contains_key(&key("a")));
}

#[tokio::test(start_paused = true)]
async fn what_is_made_anew_between_plan_and_delete_stays() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1")])).await;
    let ready = lab.plan(&spec(&[namespace()])).await;
    assert_eq!(ready.plan().step(&key("a")).unwrap().action, Action::Delete);
    make_anew(&lab, MAPS, &config_map("a", "theirs")).await;
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert!(report.is_success());
    assert_eq!(lab.maps(), ["a"], "the precondition keeps it");
    let said = lab.events.lock().unwrap().iter().any(|event| format!("{event:?}").contains("left alone"));
    assert!(said, "and it is told");
}

#[tokio::test(start_paused = true)]
async fn what_is_wanted_and_was_made_anew_is_imported_and_never_replaced() {
    let lab = Lab::new();
    let wanted = spec(&[namespace(), config_map("a", "1"), job("once", "once:v1")]);
    lab.apply(&wanted).await;
    make_anew(&lab, MAPS, &config_map("a", "theirs")).await;
    let ready = lab.plan(&wanted).await;
    let step = ready.plan().step(&key("a")).unwrap();
    assert_eq!((step.action, &step.reason), (Action::Import, &Reason::MadeAnew));
    make_anew(&lab, "/apis/batch/v1/namespaces/lab/jobs", &job("once", "once:theirs")).await;
    let target = lab.target();
    let spec = Spec::from_value(wanted, &kusion::platforms(), &target.key).unwrap();
    let Err(PlanFailure::Refused(list)) = lab.engine().plan(&target, spec, DryRun::All).await else {
        panic!("a plan that deletes somebody's Job")
    };
    assert!(list[0].error.message.contains("not ours to replace"), "{list:?}");
}

#[tokio::test(start_paused = true)]
async fn what_is_made_anew_during_a_replacement_stops_it() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), job("once", "once:v1")])).await;
    let ready = lab.plan(&spec(&[namespace(), job("once", "once:v2")])).await;
    make_anew(&lab, "/apis/batch/v1/namespaces/lab/jobs", &job("once", "once:theirs")).await;
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert!(
        matches!(&report.steps["batch/v1:Job:lab:once"], StepEnd::Failed { message, .. } if message.contains("left alone"))
    );
    let image = &lab.objects()["batch/v1:Job:lab:once"]["spec"]["template"]["spec"]["containers"][0]["image"];
    assert_eq!(image, "once:theirs");
}

/// The same medium, another world.
fn elsewhere(lab: &Lab, uid: &str) -> Lab {
    let mut other = Lab::new();
    other.medium = lab.medium.clone();
    other.host.with(|world| world.set_identity(uid));
    other
}

async fn plan_on(engine: &Engine, lab: &Lab, wanted: &Value) -> Result<Ready, PlanFailure> {
    let target = lab.target();
    let spec = Spec::from_value(wanted.clone(), &kusion::platforms(), &target.key).unwrap();
    engine.plan(&target, spec, DryRun::All).await
}

#[tokio::test(start_paused = true)]
async fn another_cluster_is_refused_by_both_names() {
    let lab = Lab::new();
    let wanted = spec(&[namespace(), config_map("a", "1")]);
    lab.apply(&wanted).await;
    assert!(lab.state().clusters()[""].uid.is_some());
    let other = elsewhere(&lab, "00000000-0000-4000-8000-0000000000ff");
    for wanted in [wanted.clone(), spec(&[])] {
        let Err(PlanFailure::OtherCluster(refused)) = plan_on(&other.engine(), &other, &wanted).await else {
            panic!("planned on another cluster")
        };
        assert_ne!(refused.before.uid, refused.found.uid);
    }
    assert_eq!(lab.state().records.len(), 2, "nothing is forgotten");
    assert!(plan_on(&lab.engine(), &lab, &wanted).await.unwrap().plan().is_empty());
}

#[tokio::test(start_paused = true)]
async fn resources_are_given_to_another_stack_only_on_their_cluster() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1"), config_map("b", "1")])).await;
    let mut there = elsewhere(&lab, "00000000-0000-4000-8000-0000000000ff");
    there.stack = "prod";
    there.apply(&spec(&[namespace()])).await;
    let owner = Owner { user: "li".into(), host: "h".into(), pid: 1, started: 0, command: "mv".into() };
    let (now, alive) = (|| lab.now(), |_: &Owner| Liveness::Alive);
    let hand = Hand { owner, by: Default::default(), command: "kusion state mv", alive: &alive, now: &now };
    let given = |to: &Lab, name: &str| {
        let (from, to, ids) = (lab.target(), to.target(), [key(name).to_string()]);
        wait(hand.give(&from, &to, &ids, &kusion::platforms()))
    };
    let refused = given(&there, "a").unwrap_err();
    assert_eq!(
        (refused.exit, refused.what.as_str()),
        (Exit::Conflict, "the two stacks are on different clusters")
    );
    assert!(lab.state().records.contains_key(&key("a")), "it stays");
    assert!(!there.state().records.contains_key(&key("a")), "and is recorded nowhere else");
    // A stack that has been nowhere yet is on the cluster of what it is given: from then on another cluster is refused.
    let mut new = lab.clone();
    new.stack = "new";
    given(&new, "b").unwrap();
    assert_eq!(new.state().clusters()[""], lab.state().clusters()[""]);
    assert!(!lab.state().records.contains_key(&key("b")) && new.state().records.contains_key(&key("b")));
    there.stack = "new";
    let elsewhere = plan_on(&there.engine(), &there, &spec(&[])).await;
    assert!(matches!(elsewhere, Err(PlanFailure::OtherCluster(_))));
}

#[tokio::test(start_paused = true)]
async fn moving_creates_there_and_forgets_what_stays_behind() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1"), config_map("b", "1")])).await;
    let other = elsewhere(&lab, "00000000-0000-4000-8000-0000000000ff");
    let engine = other.engine().with_move(true);
    let wanted = spec(&[namespace(), config_map("a", "1")]);
    let ready = plan_on(&engine, &other, &wanted).await.unwrap();
    assert_eq!((ready.plan().tally().create, ready.plan().steps.len()), (2, 2));
    assert!(engine.apply(&other.target(), &ready, &other.ask("li")).await.unwrap().is_success());
    assert_eq!((other.maps(), lab.maps()), (vec!["a".to_owned()], vec!["a".to_owned(), "b".to_owned()]));
    other.assert_converged(&wanted, "after the move").await;
    let Err(PlanFailure::OtherCluster(_)) = plan_on(&lab.engine(), &lab, &wanted).await else {
        panic!("the old cluster is another one now")
    };
}

#[tokio::test(start_paused = true)]
async fn destroy_with_a_move_forgets_and_deletes_nothing() {
    let lab = Lab::new();
    lab.apply(&spec(&[namespace(), config_map("a", "1")])).await;
    let other = elsewhere(&lab, "00000000-0000-4000-8000-0000000000ff");
    let engine = other.engine().with_move(true);
    let ready = plan_on(&engine, &other, &spec(&[])).await.unwrap();
    assert!(ready.plan().steps.is_empty());
    assert!(engine.apply(&other.target(), &ready, &other.ask("li")).await.unwrap().is_success());
    assert!(lab.state().records.is_empty());
    assert_eq!(lab.maps(), ["a"]);
    lab.apply(&spec(&[namespace()])).await;
}

#[tokio::test(start_paused = true)]
async fn without_the_right_to_read_kube_system_the_authority_tells() {
    let lab = Lab::new();
    let liar = Liar::new(lab.wire.clone());
    let engine = |authority: &str| {
        let client = kube::Client::new(liar.clone(), "default");
        let cluster = kusion::Cluster {
            authority: Some(authority.to_owned()),
            ..kusion::Cluster::new(client, "sandbox", kusion::Profile::sandbox())
        };
        lab.engine_of(cluster)
    };
    let forbid = || liar.set(Some(Mood { lie: Lie::Forbidden, about: About::Reads, after: 0, times: 1 }));
    let wanted = spec(&[namespace(), config_map("a", "1")]);
    forbid();
    let ready = plan_on(&engine("x"), &lab, &wanted).await.unwrap();
    assert!(engine("x").apply(&lab.target(), &ready, &lab.ask("li")).await.unwrap().is_success());
    let known = lab.state().clusters().remove("").unwrap();
    assert_eq!((known.uid, known.authority.as_deref()), (None, Some("x")));
    forbid();
    assert!(plan_on(&engine("x"), &lab, &wanted).await.unwrap().plan().is_empty());
    forbid();
    assert!(matches!(plan_on(&engine("y"), &lab, &wanted).await, Err(PlanFailure::OtherCluster(_))));
}
