//! Stacks do not steal from each other: every object says whose it is, and what others made is not deleted.

use kube_meaning::managed::Managed;
use kusion::model::{Action, ImportedPolicy, OWNER_ANNOTATION, Reason};
use kusion::{ApplyError, Ending, Exit, Ready, Report};
use serde_json::{Value, json};

use crate::lab::{Lab, key};
use crate::objects::{config_map, namespace, spec};
use crate::witness::witnesses;

const PATH: &str = "/api/v1/namespaces/lab/configmaps/c";

async fn get(lab: &Lab) -> Option<Value> {
    let client = kube::Client::new(lab.wire.clone(), "default");
    client.request(http::Request::get(PATH).body(Vec::new()).unwrap()).await.ok()
}

async fn owner(lab: &Lab) -> Value {
    get(lab).await.unwrap()["metadata"]["annotations"][OWNER_ANNOTATION].clone()
}

/// Another stack on the same world.
async fn as_stack(lab: &mut Lab, stack: &'static str, wanted: &Value) -> Result<Report, ApplyError> {
    lab.stack = stack;
    lab.try_apply(wanted).await.unwrap()
}

async fn step_of(lab: &Lab, wanted: &Value) -> (Action, Reason) {
    let ready = lab.plan(wanted).await;
    let step = ready.plan().step(&key("c")).unwrap();
    (step.action, step.reason.clone())
}

fn both(value: &str) -> Value {
    spec(&[namespace(), config_map("c", value)])
}

fn only(value: &str) -> Value {
    spec(&[config_map("c", value)])
}

fn nothing() -> Value {
    spec(&[])
}

/// Made by another tool.
async fn made_elsewhere(lab: &Lab) {
    let client = kube::Client::new(lab.wire.clone(), "default");
    for (path, object) in
        [("/api/v1/namespaces", namespace()), ("/api/v1/namespaces/lab/configmaps", config_map("c", "0"))]
    {
        let request = http::Request::post(format!("{path}?fieldManager=kubectl-create"))
            .header("content-type", "application/json")
            .body(serde_json::to_vec(&object).unwrap())
            .unwrap();
        client.request::<Value>(request).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_carries_its_owner_and_the_mark_makes_no_noise() {
    let lab = Lab::new();
    lab.apply(&both("1")).await;
    assert_eq!(owner(&lab).await, json!("lab/dev/default"));
    lab.writes();
    let ready = lab.plan(&both("1")).await;
    assert!(ready.changes_nothing(), "{:?}", ready.plan().steps);
    assert!(!format!("{:?}", lab.state().records[&key("c")].attributes).contains(OWNER_ANNOTATION));
    let changed = lab.plan(&both("2")).await;
    let step = changed.plan().step(&key("c")).unwrap();
    let paths: Vec<String> = step.changes.iter().map(|change| change.path.to_string()).collect();
    assert_eq!(paths, ["data.v"], "the mark is no change of the user");
    assert!(lab.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_object_from_before_is_left_as_it_is_until_it_changes() {
    let lab = Lab::new();
    lab.apply(&both("1")).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let patch = json!({"metadata": {"annotations": {OWNER_ANNOTATION: null}}});
    let request = http::Request::patch(format!("{PATH}?fieldManager=old"))
        .header("content-type", "application/merge-patch+json")
        .body(serde_json::to_vec(&patch).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
    let ready = lab.plan(&both("1")).await;
    assert!(ready.changes_nothing(), "{:?}", ready.plan().steps);
    lab.apply(&both("2")).await;
    assert_eq!(owner(&lab).await, json!("lab/dev/default"));
}

#[tokio::test(start_paused = true)]
async fn an_object_of_another_stack_is_refused_and_its_destroy_leaves_it() {
    let mut lab = Lab::new();
    as_stack(&mut lab, "a", &both("1")).await.unwrap();
    lab.writes();
    let refused = as_stack(&mut lab, "b", &only("2")).await;
    assert!(
        matches!(&refused, Err(ApplyError::Owned(list)) if list[0].contains("lab/a/default")),
        "{refused:?}"
    );
    assert_eq!(step_of(&lab, &only("2")).await, (Action::Import, Reason::OwnedBy("lab/a/default".into())));
    assert!(lab.writes().is_empty(), "nothing was written");
    as_stack(&mut lab, "b", &nothing()).await.unwrap();
    assert_eq!(owner(&lab).await, json!("lab/a/default"));
}

#[tokio::test(start_paused = true)]
async fn a_taken_over_object_is_its_former_owners_no_more() {
    let mut lab = Lab::new();
    as_stack(&mut lab, "a", &both("1")).await.unwrap();
    lab.owners.take_over = vec!["lab/a".into()];
    lab.stack = "b";
    assert_eq!(step_of(&lab, &only("2")).await, (Action::Import, Reason::TakenOver("lab/a/default".into())));
    as_stack(&mut lab, "b", &only("2")).await.unwrap();
    assert_eq!(owner(&lab).await, json!("lab/b/default"));
    lab.owners.take_over.clear();
    lab.stack = "a";
    assert_eq!(step_of(&lab, &both("1")).await, (Action::Update, Reason::OwnedBy("lab/b/default".into())));
    assert!(matches!(as_stack(&mut lab, "a", &both("1")).await, Err(ApplyError::Owned(_))));
    // It leaves the former owner's configuration: forgotten there, untouched here.
    assert_eq!(
        step_of(&lab, &spec(&[namespace()])).await,
        (Action::Release, Reason::OwnedBy("lab/b/default".into()))
    );
    let report = as_stack(&mut lab, "a", &spec(&[namespace()])).await.unwrap();
    assert_eq!((report.tally.release, report.tally.delete), (1, 0));
    assert!(!lab.state().records.contains_key(&key("c")));
    assert_eq!(get(&lab).await.unwrap()["data"]["v"], "2");
    assert_eq!(owner(&lab).await, json!("lab/b/default"));
}

#[tokio::test(start_paused = true)]
async fn a_namespace_stays_while_another_stacks_object_lives_in_it() {
    let mut lab = Lab::new();
    as_stack(&mut lab, "a", &both("1")).await.unwrap();
    lab.owners.take_over = vec!["*".into()];
    as_stack(&mut lab, "b", &only("2")).await.unwrap();
    let report = as_stack(&mut lab, "a", &nothing()).await.unwrap();
    assert_eq!((report.tally.release, report.tally.delete), (2, 0), "{report:?}");
    assert!(lab.state().records.is_empty());
    assert_eq!(get(&lab).await.unwrap()["data"]["v"], "2");
}

#[tokio::test(start_paused = true)]
async fn what_was_imported_is_released_without_a_trace_and_deleted_only_on_demand() {
    for policy in [ImportedPolicy::Release, ImportedPolicy::Delete] {
        let mut lab = Lab::new();
        made_elsewhere(&lab).await;
        assert_eq!(step_of(&lab, &only("1")).await, (Action::Import, Reason::ExistsUnmanaged));
        lab.apply(&only("1")).await;
        assert_eq!(owner(&lab).await, json!("lab/dev/default"));
        lab.owners.imported = policy;
        let report = lab.apply(&nothing()).await;
        assert!(lab.state().records.is_empty());
        if policy == ImportedPolicy::Delete {
            assert_eq!((report.tally.delete, get(&lab).await), (1, None));
            continue;
        }
        assert_eq!(report.tally.release, 1);
        let left = get(&lab).await.unwrap();
        assert_eq!(left["data"]["v"], "1", "left as it is");
        assert_eq!(left["metadata"].get("annotations").and_then(|a| a.get(OWNER_ANNOTATION)), None);
        let managers: Vec<String> =
            Managed::of(&left).entries.iter().map(|entry| entry.manager.name.to_string()).collect();
        assert!(!managers.contains(&"kusion".to_owned()), "our fields are handed back: {managers:?}");
    }
}

/// The folder is gone, and so is the witness that would tell.
async fn lose_state(lab: &mut Lab) {
    lab.medium = kusion_store::SimMedium::default();
    let client = kube::Client::new(lab.wire.clone(), "default");
    for witness in witnesses(lab) {
        let metadata = &witness["metadata"];
        let place = |name: &str| metadata[name].as_str().unwrap().to_owned();
        let path = format!("/api/v1/namespaces/{}/configmaps/{}", place("namespace"), place("name"));
        client.request::<Value>(http::Request::delete(path).body(Vec::new()).unwrap()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_lost_state_still_knows_its_own_objects_and_what_was_imported() {
    let mut lab = Lab::new();
    lab.apply(&both("1")).await;
    lose_state(&mut lab).await;
    assert_eq!(step_of(&lab, &both("1")).await, (Action::Import, Reason::Ours));
    lab.apply(&both("1")).await;
    assert_eq!(lab.apply(&nothing()).await.tally.delete, 2, "made by this stack: deleted with it");
    made_elsewhere(&lab).await;
    lab.apply(&only("1")).await;
    lose_state(&mut lab).await;
    lab.apply(&only("1")).await;
    assert_eq!(lab.apply(&nothing()).await.tally.release, 1, "imported once, imported for ever");
}

#[tokio::test(start_paused = true)]
async fn a_delete_looks_at_the_owner_of_the_last_moment() {
    let mut lab = Lab::new();
    as_stack(&mut lab, "a", &both("1")).await.unwrap();
    let destroy = lab.plan(&spec(&[namespace()])).await;
    lab.owners.take_over = vec!["*".into()];
    as_stack(&mut lab, "b", &only("2")).await.unwrap();
    lab.stack = "a";
    let report = lab.execute(&destroy, &lab.ask("li")).await.unwrap().unwrap();
    assert!(!report.is_success(), "{report:?}");
    assert!(format!("{report:?}").contains("lab/b/default"), "{report:?}");
    assert_eq!(get(&lab).await.unwrap()["data"]["v"], "2");
}

/// Two stacks that have planned to make the same object, which nobody has made yet.
async fn two_creates(lab: &mut Lab, mine: &Value, theirs: &Value) -> (Ready, Ready) {
    lab.stack = "base";
    lab.apply(&spec(&[namespace()])).await;
    lab.stack = "one";
    let first = lab.plan(mine).await;
    lab.stack = "two";
    let second = lab.plan(theirs).await;
    assert_eq!(second.plan().step(&key("c")).unwrap().action, Action::Create, "nobody has made it yet");
    (first, second)
}

#[tokio::test(start_paused = true)]
async fn of_two_stacks_that_create_one_object_the_second_changes_nothing() {
    let mut lab = Lab::new();
    let (first, second) = two_creates(&mut lab, &only("1"), &only("2")).await;
    lab.stack = "one";
    assert!(lab.execute(&first, &lab.ask("li")).await.unwrap().unwrap().is_success());
    let before = get(&lab).await.unwrap();
    lab.stack = "two";
    let report = lab.execute(&second, &lab.ask("wang")).await.unwrap().unwrap();
    assert!(!report.is_success(), "{report:#?}");
    assert!(format!("{report:?}").contains("lab/one/default created it meanwhile"), "{report:#?}");
    assert!(lab.state().records.is_empty(), "who has lost does not count it as made");
    assert_eq!(get(&lab).await.unwrap(), before, "not one byte of the winner's object is another");
    // The same code as where the plan sees it: scripts need not know who was how fast.
    assert_eq!(Ending::Released(Box::new(report)).exit(), Exit::Conflict);
}

#[tokio::test(start_paused = true)]
async fn of_two_stacks_that_race_for_many_objects_each_object_is_wholly_of_one() {
    for seed in 0..40 {
        let mut lab = Lab::new();
        let all = |value: &str| -> Value {
            let maps = ["c", "d", "e", "f", "g", "h"].map(|name| config_map(name, value));
            spec(&maps)
        };
        let (first, second) = two_creates(&mut lab, &all("1"), &all("2")).await;
        lab.faults(&format!("seed={seed} verb=write chance=50% delay=300; verb=write chance=15% lost"));
        let (mut one, mut two) = (lab.clone(), lab.clone());
        (one.stack, two.stack) = ("one", "two");
        let (li, wang) = (one.ask("li"), two.ask("wang"));
        let (a, b) = tokio::join!(one.execute(&first, &li), two.execute(&second, &wang));
        let (a, b) = (a.unwrap().unwrap(), b.unwrap().unwrap());
        lab.faults("");
        let mut won = [0, 0];
        for object in lab.objects().values().filter(|object| object["kind"] == "ConfigMap") {
            let of = [("1", "lab/one/default"), ("2", "lab/two/default")];
            let at = of.iter().position(|(value, _)| object["data"]["v"] == *value).unwrap();
            assert_eq!(object["metadata"]["annotations"][OWNER_ANNOTATION], of[at].1, "{seed}: {object}");
            won[at] += 1;
        }
        assert_eq!(won[0] + won[1], 6, "{seed}: every object is made");
        let counts = |state: kusion_store::State| state.records.len();
        assert_eq!([counts(one.state()), counts(two.state())], won, "{seed}: each records what is its own");
        assert_eq!([a.is_success(), b.is_success()], [won[0] == 6, won[1] == 6], "{seed}: no false success");
    }
}

#[tokio::test(start_paused = true)]
async fn what_somebody_made_after_the_plan_is_neither_changed_nor_counted_as_ours() {
    let mut lab = Lab::new();
    let (first, _) = two_creates(&mut lab, &only("1"), &only("2")).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    let request = http::Request::post("/api/v1/namespaces/lab/configmaps?fieldManager=kubectl-create")
        .header("content-type", "application/json")
        .body(serde_json::to_vec(&config_map("c", "1")).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
    let before = get(&lab).await.unwrap();
    lab.stack = "one";
    let report = lab.execute(&first, &lab.ask("li")).await.unwrap().unwrap();
    assert!(
        format!("{report:?}").contains("kubectl-create created it after this plan was made"),
        "{report:?}"
    );
    assert_eq!(get(&lab).await.unwrap(), before);
    assert_eq!(step_of(&lab, &only("1")).await, (Action::Import, Reason::ExistsUnmanaged));
}

#[tokio::test(start_paused = true)]
async fn an_update_is_for_the_object_that_was_planned() {
    let mut lab = Lab::new();
    lab.stack = "one";
    lab.apply(&both("1")).await;
    let ready = lab.plan(&both("2")).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    client.request::<Value>(http::Request::delete(PATH).body(Vec::new()).unwrap()).await.unwrap();
    lab.stack = "two";
    lab.apply(&only("3")).await;
    let before = get(&lab).await.unwrap();
    lab.stack = "one";
    let report = lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap();
    assert!(format!("{report:?}").contains("lab/two/default created it meanwhile"), "{report:?}");
    assert_eq!(get(&lab).await.unwrap(), before);
}

#[tokio::test(start_paused = true)]
async fn what_was_deleted_after_the_plan_is_made_again() {
    let lab = Lab::new();
    lab.apply(&both("1")).await;
    let ready = lab.plan(&both("2")).await;
    let client = kube::Client::new(lab.wire.clone(), "default");
    client.request::<Value>(http::Request::delete(PATH).body(Vec::new()).unwrap()).await.unwrap();
    assert!(lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap().is_success());
    lab.assert_converged(&both("2"), "made again").await;
}

#[tokio::test(start_paused = true)]
async fn what_a_controller_puts_into_a_new_namespace_is_no_other_stack() {
    let lab = Lab::new();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": "lab",
        "labels": {"team": "a"}}});
    let wanted = spec(&[namespace(), account]);
    let ready = lab.plan(&wanted).await;
    assert!(lab.execute(&ready, &lab.ask("li")).await.unwrap().unwrap().is_success());
}
