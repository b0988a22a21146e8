//! No wrong answer turns into a delete, a replacement, an orphan, a false "deleted" or a false success.

use std::collections::BTreeMap;
use std::time::Duration;

use kusion::model::{Action, Spec};
use kusion::{DryRun, Engine, PlanFailure, Ready, StepEnd};
use kusion_runtime::ErrorKind;
use sandbox_world::ResourceKey;
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::liar::{ABOUT, About, LIES, Liar, Lie, Mood};
use crate::objects::{config_map, deployment, job, namespace, spec};

fn definition() -> Value {
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": {"type": "object",
        "properties": {"size": {"type": "integer"}}}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.lab.example.com"}, "spec": {"group": "lab.example.com", "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}})
}

fn widget(size: u32) -> Value {
    json!({"apiVersion": "lab.example.com/v1", "kind": "Widget", "metadata": {"name": "w", "namespace": "lab"},
        "spec": {"size": size}})
}

/// Lists (two ConfigMaps), single reads, a definition and its object, a workload, a Job that only a replacement changes.
fn stack(value: &str) -> Value {
    spec(&[
        namespace(),
        config_map("c0", value),
        config_map("c1", "1"),
        deployment("web", "web:v1"),
        job("once", &format!("once:v{value}")),
        definition(),
        widget(if value == "1" { 1 } else { 2 }),
    ])
}

/// The same with another value, and without c1: one update each, one replacement, one delete.
fn changed() -> Value {
    let mut spec = stack("2");
    spec["resources"].as_array_mut().unwrap().retain(|r| r["id"] != "v1:ConfigMap:lab:c1");
    spec
}

struct Trial {
    lab: Lab,
    liar: Liar,
}

impl Trial {
    async fn new() -> Trial {
        let lab = Lab::new();
        let liar = Liar::new(lab.wire.clone());
        let trial = Trial { lab, liar };
        assert!(trial.lab.apply(&stack("1")).await.is_success());
        trial
    }

    fn engine(&self) -> Engine {
        self.lab.engine_on(kube::Client::new(self.liar.clone(), "default"))
    }

    async fn plan(&self, spec: &Value) -> Result<Ready, PlanFailure> {
        let target = self.lab.target();
        let spec = Spec::from_value(spec.clone(), &kusion::platforms(), &target.key).unwrap();
        self.engine().plan(&target, spec, DryRun::All).await
    }

    /// The uids of everything that the stack may have made, by id.
    fn world(&self) -> BTreeMap<String, String> {
        let kinds = [
            ("", "namespaces"),
            ("", "configmaps"),
            ("apps", "deployments"),
            ("batch", "jobs"),
            ("apiextensions.k8s.io", "customresourcedefinitions"),
            ("lab.example.com", "widgets"),
        ];
        self.lab.host.with(|world| {
            let view = world.view();
            let all = kinds
                .iter()
                .flat_map(|(group, plural)| view.store.list(&ResourceKey::new(group, plural), None))
                // The witness belongs to the state, not to the stack.
                .filter(|(key, _)| !key.name.starts_with("kusion-state."));
            all.map(|(_, object)| {
                (id(&object.value), object.value["metadata"]["uid"].as_str().unwrap().to_owned())
            })
            .filter(|(id, _)| id.contains("lab") && !id.contains("kube-root-ca"))
            .collect()
        })
    }
}

/// The id as the state writes it.
fn id(object: &Value) -> String {
    kusion_health::object_id(object)
}

fn actions(ready: &Ready) -> BTreeMap<String, Action> {
    ready.plan().steps.iter().map(|step| (step.key.to_string(), step.action)).collect()
}

fn moods() -> impl Iterator<Item = Mood> {
    let times = [(0, usize::MAX), (1, usize::MAX), (3, usize::MAX), (0, 1), (2, 1), (5, 1)];
    LIES.into_iter().flat_map(move |lie| {
        ABOUT.into_iter().flat_map(move |about| {
            times.into_iter().map(move |(after, times)| Mood { lie, about, after, times })
        })
    })
}

#[tokio::test(start_paused = true)]
async fn no_wrong_answer_changes_a_plan() {
    let trial = Trial::new().await;
    for wanted in [stack("1"), changed(), spec(&[])] {
        let truth = actions(&trial.plan(&wanted).await.unwrap());
        for mood in moods().filter(|mood| matches!(mood.about, About::Reads | About::DryRuns)) {
            trial.liar.set(Some(mood));
            let lied = trial.plan(&wanted).await;
            let told = *trial.liar.told.lock().unwrap();
            trial.liar.set(None);
            match lied {
                Ok(ready) => assert_eq!(actions(&ready), truth, "{mood:?}"),
                // One lie is waited out.
                Err(failure) => assert!(told > 1, "{mood:?}: {failure}"),
            }
        }
    }
    assert!(!trial.plan(&changed()).await.unwrap().plan().is_empty());
}

#[tokio::test(start_paused = true)]
async fn no_wrong_answer_makes_an_apply_lie() {
    applied_among_lies(&changed()).await;
}

#[tokio::test(start_paused = true)]
async fn no_wrong_answer_makes_a_destroy_lie() {
    applied_among_lies(&spec(&[])).await;
}

async fn applied_among_lies(wanted: &Value) {
    for mood in moods().filter(|mood| mood.after == 0 && mood.about != About::DryRuns) {
        let trial = Trial::new().await;
        let before = trial.world();
        let ready = trial.plan(wanted).await.unwrap();
        trial.liar.set(Some(mood));
        let (target, mut ask) = (trial.lab.target(), trial.lab.ask("li"));
        // Long enough for a Job, short enough for a watch that only lies.
        ask.timeout = Some(Duration::from_secs(20));
        let report = trial.engine().apply(&target, &ready, &ask).await.unwrap();
        trial.liar.set(None);
        check(&trial, &ready, &report, &before, &format!("{mood:?}"));
        let ready = trial.plan(wanted).await.unwrap();
        let report = trial.engine().apply(&target, &ready, &ask).await.unwrap();
        assert!(report.is_success(), "{mood:?}: {report:#?}");
        let resources = wanted["resources"].as_array().unwrap().iter();
        let mut ids: Vec<String> = resources.map(|resource| id(&resource["attributes"])).collect();
        ids.sort();
        let live: Vec<String> = trial.world().into_keys().collect();
        let recorded = trial.lab.state().prior().keys().into_iter().map(ToString::to_string).collect();
        assert_eq!((&live, &recorded), (&ids, &ids), "{mood:?}");
    }
}

/// What the report says is what the world shows, and what is there is remembered.
fn check(
    trial: &Trial,
    ready: &Ready,
    report: &kusion::Report,
    before: &BTreeMap<String, String>,
    mood: &str,
) {
    let (world, state) = (trial.world(), trial.lab.state());
    let remembered: Vec<String> = state.prior().keys().into_iter().map(ToString::to_string).collect();
    for id in world.keys() {
        assert!(remembered.contains(id), "{mood}: {id} is an orphan");
    }
    for step in &ready.plan().steps {
        let key = step.key.to_string();
        let ended_well = report.steps.get(&key).is_some_and(StepEnd::is_success);
        match step.action {
            Action::Delete if ended_well => assert!(!world.contains_key(&key), "{mood}: {key} is not gone"),
            Action::Delete => {}
            Action::Replace if ended_well => assert_ne!(world.get(&key), before.get(&key), "{mood}: {key}"),
            Action::Replace => {}
            _ => assert_eq!(world.get(&key), before.get(&key), "{mood}: {key} was made anew"),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn no_list_makes_anybody_forget_what_is_there() {
    let cases = [Lie::OldList, Lie::SwappedUids]
        .into_iter()
        .flat_map(|lie| [spec(&[]), changed(), stack("1")].map(|wanted| (lie, wanted)));
    for (lie, wanted) in cases {
        let trial = Trial::new().await;
        let (before, target, ask) = (trial.world(), trial.lab.target(), trial.lab.ask("li"));
        trial.liar.set(Some(Mood { lie, about: About::Reads, after: 0, times: usize::MAX }));
        let ready = trial.plan(&wanted).await.unwrap();
        let report = trial.engine().apply(&target, &ready, &ask).await.unwrap();
        assert!(*trial.liar.told.lock().unwrap() > 0);
        trial.liar.set(None);
        let (world, state) = (trial.world(), trial.lab.state());
        let remembered: Vec<String> = state.prior().keys().into_iter().map(ToString::to_string).collect();
        for (id, uid) in &world {
            assert!(remembered.contains(id), "{lie:?}: {id} is an orphan: {report:#?}");
            assert!(
                before.get(id).is_none_or(|old| old == uid) || id.contains("Job"),
                "{lie:?}: {id} was made anew"
            );
        }
        let gone = ready.plan().steps.iter().filter(|step| step.action == Action::Delete);
        for key in gone.map(|step| step.key.to_string()) {
            let well = report.steps.get(&key).is_some_and(StepEnd::is_success);
            assert!(!well || !world.contains_key(&key), "{lie:?}: {key} is said to be gone");
        }
        let ready = trial.plan(&wanted).await.unwrap();
        assert!(trial.engine().apply(&target, &ready, &ask).await.unwrap().is_success());
    }
}

#[tokio::test(start_paused = true)]
async fn half_a_definition_is_a_failed_read() {
    let trial = Trial::new().await;
    for lie in [Lie::Half, Lie::LoginPage, Lie::ErrorJson, Lie::Empty, Lie::Plain404] {
        trial.liar.set(Some(Mood { lie, about: About::Reads, after: 0, times: usize::MAX }));
        let Err(PlanFailure::Remote(error)) = trial.plan(&spec(&[definition()])).await else {
            panic!("{lie:?} was believed")
        };
        assert_eq!(error.kind, ErrorKind::Unreadable, "{lie:?}: {error}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_without_its_spec_is_never_replaced() {
    let trial = Trial::new().await;
    for wanted in [stack("1"), changed()] {
        let truth = actions(&trial.plan(&wanted).await.unwrap());
        trial.liar.set(Some(Mood { lie: Lie::NoSpec, about: About::Reads, after: 0, times: usize::MAX }));
        let lied = trial.plan(&wanted).await;
        trial.liar.set(None);
        let Ok(lied) = lied else { continue };
        let destroys = |action: &Action| matches!(action, Action::Replace | Action::Delete);
        for (id, action) in actions(&lied).iter().filter(|(_, action)| destroys(action)) {
            assert_eq!(truth.get(id), Some(action), "{id}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn one_uid_for_many_objects_is_a_failed_read() {
    let trial = Trial::new().await;
    for wanted in [stack("1"), changed(), spec(&[])] {
        trial.liar.set(Some(Mood { lie: Lie::OneUid, about: About::Reads, after: 1, times: usize::MAX }));
        let Err(PlanFailure::Remote(error)) = trial.plan(&wanted).await else { panic!("it was believed") };
        assert_eq!(error.kind, ErrorKind::Unreadable, "{error}");
    }
}
