//! The road without a command line: consent refused, a lock that another holds, a plan that moves before the lock, a lost state.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion::model::{Action, Phase, Plan, PlanDraft, Reason, ReleaseNo, Spec};
use kusion::{
    Aim, Answer, Ask, Consent, DryRun, Ending, Engine, Errand, Exit, FailurePolicy, Happening, Purpose,
    Question, Road, RoadError, SavedPlan, want,
};
use kusion_store::{Liveness, StoreError};
use serde_json::{Value, json};

use crate::lab::Lab;
use crate::objects::{job, namespace, others, spec, ten};

/// Somebody who answers, and sees to it that something happens while being asked.
struct Person {
    answers: Mutex<Vec<Answer>>,
    /// What was asked: the aim, and how many changes.
    asked: Mutex<Vec<(Aim, usize)>>,
    meanwhile: Mutex<Option<BoxFuture<'static, ()>>>,
}

impl Person {
    fn who_says(answers: &[Answer]) -> Self {
        let answers = Mutex::new(answers.iter().rev().copied().collect());
        Person { answers, asked: Mutex::default(), meanwhile: Mutex::default() }
    }
}

impl Ask for Person {
    fn ask<'q>(&'q self, question: Question<'q>) -> BoxFuture<'q, Answer> {
        let n = question.plan.steps.iter().filter(|step| step.is_change()).count();
        self.asked.lock().unwrap().push((question.aim, n));
        let meanwhile = self.meanwhile.lock().unwrap().take();
        Box::pin(async move {
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            self.answers.lock().unwrap().pop().expect("asked too often")
        })
    }
}

/// The names of what is told, in order.
#[derive(Clone, Default)]
struct Told(Arc<Mutex<Vec<String>>>);

impl Told {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut *self.0.lock().unwrap())
    }

    fn hear(&self, happening: &Happening<'_>) {
        let word = match happening {
            Happening::Note(_) | Happening::Warning(_) | Happening::Event(_) => return,
            Happening::Verdict { .. } => return,
            Happening::Asking => "asking".to_owned(),
            Happening::Planned { again, .. } => if *again { "planned again" } else { "planned" }.to_owned(),
            Happening::Unchanged(_) => "unchanged".to_owned(),
            Happening::Locking => "locking".to_owned(),
            Happening::Waiting(holder) => format!("waiting for {}", holder.owner.user),
            Happening::Began { .. } => "began".to_owned(),
            Happening::Ended { report, .. } => format!("ended {}", report.phase),
            Happening::GoingBack(to) => format!("going back to {:?}", to.map(|release| release.no.0)),
        };
        self.0.lock().unwrap().push(word);
    }
}

fn errand(lab: &Lab, user: &str, consent: Consent, told: &Told) -> Errand {
    let mut ask = lab.ask(user);
    ask.alive = |_| Liveness::Alive;
    let told = told.clone();
    ask.observer = Arc::new(move |happening| told.hear(&happening));
    Errand { consent, policy: false, same_project: false, ask }
}

fn wanted(lab: &Lab, spec: &Value) -> Purpose {
    Purpose::Apply(Spec::from_value(spec.clone(), &kusion::platforms(), &lab.target().key).unwrap())
}

async fn go(lab: &Lab, engine: &Engine, purpose: Purpose, errand: &Errand) -> Result<Ending, RoadError> {
    let target = lab.target();
    let wanted = want(&target, purpose).await?;
    Road { engine, target: &target }.go(wanted, errand).await
}

fn saved(plan: &Plan) -> Consent {
    Consent::Saved(Arc::new(SavedPlan {
        plan: plan.clone(),
        clusters: BTreeMap::new(),
        by: None,
        at: Default::default(),
    }))
}

#[tokio::test(start_paused = true)]
async fn the_stages_are_told_in_order_and_the_second_time_there_is_nothing_to_do() {
    let (lab, told) = (Lab::new(), Told::default());
    let errand = errand(&lab, "li", Consent::Given, &told);
    let ending = go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &errand).await.unwrap();
    assert_eq!(ending.exit(), Exit::Done);
    assert_eq!(told.take(), ["asking", "planned", "locking", "began", "ended succeeded"]);
    let ending = go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &errand).await.unwrap();
    let Ending::Rest(rest, _) = ending else { panic!("nothing was to be done") };
    assert!(rest.unwell.is_empty());
    assert_eq!(told.take(), ["asking", "planned"]);
    assert_eq!(lab.state().latest().unwrap().no, ReleaseNo(1), "no release without a reason");
}

#[tokio::test(start_paused = true)]
async fn without_consent_nothing_is_locked_written_or_recorded() {
    for answer in [Answer::No, Answer::Silence, Answer::Nobody] {
        let (lab, told) = (Lab::new(), Told::default());
        let person = Arc::new(Person::who_says(&[answer]));
        let asker: Arc<dyn Ask> = Arc::clone(&person) as Arc<dyn Ask>;
        let errand = errand(&lab, "li", Consent::Asked(asker), &told);
        let refused = go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &errand).await.err().unwrap();
        assert!(matches!(refused, RoadError::NoConsent { aim: Aim::Apply, answer: told } if told == answer));
        assert_eq!(
            *person.asked.lock().unwrap(),
            [(Aim::Apply, ten("1")["resources"].as_array().unwrap().len())]
        );
        assert_eq!(told.take(), ["asking", "planned"], "the lock was never asked for");
        assert_eq!(lab.writes(), [""; 0]);
        assert!(lab.state().releases.is_empty());
        let failure = refused.told(&lab.target(), "");
        assert_eq!(failure.exit, Exit::Usage);
        assert!(format!("{failure:?}").contains("nothing was changed"), "{failure:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_lock_of_another_ends_the_road_or_is_waited_for_until_a_cancel() {
    let (lab, told) = (Lab::new(), Told::default());
    let (target, engine) = (lab.target(), lab.engine());
    let mut wang = lab.ask("wang");
    wang.alive = |_| Liveness::Alive;
    let session = engine.lock(&target, &lab.state(), &wang).await.unwrap();
    let mut li = errand(&lab, "li", Consent::Given, &told);
    let locked = go(&lab, &engine, wanted(&lab, &ten("1")), &li).await.err().unwrap();
    assert!(
        matches!(&locked, RoadError::Store(StoreError::Locked { holder }) if holder.owner.user == "wang")
    );
    assert_eq!(locked.told(&target, "").exit, Exit::Conflict);
    told.take();
    li.ask.lock_timeout = Duration::from_secs(3600);
    let cancel = li.ask.cancel.clone();
    let later = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        cancel.cancel();
        std::future::pending::<()>().await;
    };
    let stopped = tokio::select! {
        ended = go(&lab, &engine, wanted(&lab, &ten("1")), &li) => ended,
        () = later => unreachable!(),
    };
    let stopped = stopped.err().unwrap();
    assert!(matches!(stopped, RoadError::Interrupted), "{stopped:?}");
    assert_eq!(stopped.told(&target, "").exit, Exit::Interrupted);
    assert_eq!(told.take(), ["asking", "planned", "locking", "waiting for wang"]);
    assert_eq!(lab.writes(), [""; 0]);
    session.close(lab.now()).await.unwrap();
}

/// Another release while somebody thinks about a plan.
async fn moves_while_asked(answers: &[Answer]) -> (Arc<Lab>, Arc<Person>, Vec<String>, Result<Exit, String>) {
    let (lab, told) = (Arc::new(Lab::new()), Told::default());
    let person = Arc::new(Person::who_says(answers));
    let other = Arc::clone(&lab);
    let meanwhile = async move { assert!(other.apply(&others()).await.is_success()) };
    *person.meanwhile.lock().unwrap() = Some(Box::pin(meanwhile));
    let asker: Arc<dyn Ask> = Arc::clone(&person) as Arc<dyn Ask>;
    let errand = errand(&lab, "li", Consent::Asked(asker), &told);
    let ended = go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &errand).await;
    let ended = ended.map(|ending| ending.exit()).map_err(|error| format!("{error:?}"));
    (lab, person, told.take(), ended)
}

#[tokio::test(start_paused = true)]
async fn a_plan_that_moved_before_the_lock_is_shown_and_asked_again() {
    let (lab, person, told, ended) = moves_while_asked(&[Answer::Yes, Answer::Yes]).await;
    assert_eq!(ended, Ok(Exit::Done));
    let asked = person.asked.lock().unwrap().clone();
    assert_eq!(asked.len(), 2);
    assert_ne!(asked[0], asked[1], "the second plan also deletes what the other made");
    let stages = ["asking", "planned", "locking", "planned again", "locking", "began", "ended succeeded"];
    assert_eq!(told, stages);
    lab.assert_converged(&ten("1"), "what was consented to").await;
}

#[tokio::test(start_paused = true)]
async fn a_no_to_the_second_plan_leaves_everything_to_the_other() {
    let (lab, _, told, ended) = moves_while_asked(&[Answer::Yes, Answer::No]).await;
    assert!(ended.unwrap_err().contains("NoConsent"));
    assert_eq!(told.last().unwrap(), "planned again");
    lab.assert_converged(&others(), "the other").await;
    assert_eq!(lab.state().releases.len(), 1);
    assert!(lab.apply(&ten("1")).await.is_success(), "the lock was given back");
}

#[tokio::test(start_paused = true)]
async fn consent_that_was_given_goes_on_with_the_new_plan_and_a_saved_plan_does_not() {
    let (lab, told) = (Lab::new(), Told::default());
    let plan = lab.plan(&ten("1")).await;
    assert!(lab.apply(&others()).await.is_success());
    let exact = errand(&lab, "li", saved(plan.plan()), &told);
    let moved = go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &exact).await.err().unwrap();
    assert!(matches!(moved, RoadError::Moved(_)), "{moved:?}");
    assert_eq!(moved.told(&lab.target(), "").exit, Exit::Conflict);
    lab.assert_converged(&others(), "the saved plan changed nothing").await;
    let given = errand(&lab, "li", Consent::Given, &told);
    assert_eq!(go(&lab, &lab.engine(), wanted(&lab, &ten("1")), &given).await.unwrap().exit(), Exit::Done);
    lab.assert_converged(&ten("1"), "given").await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_state_ends_the_road_before_anything_is_planned() {
    let (lab, told) = (Lab::new(), Told::default());
    assert!(lab.apply(&ten("1")).await.is_success());
    lab.writes();
    let mut lost = lab;
    lost.medium = kusion_store::SimMedium::default();
    let errand = errand(&lost, "li", Consent::Given, &told);
    let refused = go(&lost, &lost.engine(), wanted(&lost, &others()), &errand).await.err().unwrap();
    let failure = refused.told(&lost.target(), "");
    assert_eq!(failure.exit, Exit::Usage, "{failure:?}");
    assert!(failure.next.as_deref().unwrap().contains("kusion state repair"), "{failure:?}");
    assert_eq!(told.take(), ["asking"]);
    assert_eq!(lost.writes(), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn a_destroyed_stack_says_so_in_the_plan_that_is_sealed() {
    let (lab, told) = (Lab::new(), Told::default());
    assert!(lab.apply(&ten("1")).await.is_success());
    let target = lab.target();
    let (engine, errand) = (lab.engine(), errand(&lab, "li", Consent::Given, &told));
    let road = Road { engine: &engine, target: &target };
    let destroy = want(&target, Purpose::Destroy).await.unwrap();
    let ready = road.plan(destroy, kusion::DryRun::All, &errand.ask).await.unwrap();
    let plan = ready.plan();
    assert!(plan.steps.iter().all(|step| step.reason == Reason::Destroyed));
    assert_eq!(Plan::from_json(&plan.to_json()).as_ref(), Ok(plan), "its hash fits what it says");
    let ending = go(&lab, &engine, Purpose::Destroy, &errand).await.unwrap();
    assert_eq!(ending.exit(), Exit::Done);
    assert!(lab.objects().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_rollback_finds_its_release_or_says_that_there_is_none() {
    let (lab, told) = (Lab::new(), Told::default());
    let errand = errand(&lab, "li", Consent::Given, &told);
    let none = go(&lab, &lab.engine(), Purpose::Rollback(None), &errand).await.err().unwrap();
    assert!(matches!(none, RoadError::NothingBefore));
    assert!(lab.apply(&ten("1")).await.is_success());
    assert!(lab.apply(&ten("2")).await.is_success());
    go(&lab, &lab.engine(), Purpose::Rollback(None), &errand).await.unwrap();
    assert_eq!(lab.state().latest().unwrap().rollback_to, Some(ReleaseNo(1)));
    lab.assert_converged(&ten("1"), "back").await;
}

#[tokio::test(start_paused = true)]
async fn the_failure_policy_goes_back_on_the_same_road() {
    let (lab, told) = (Lab::new(), Told::default());
    // A quota is the server's business: it refuses the write, not the plan.
    let mut bounded = ten("1");
    bounded["resources"].as_array_mut().unwrap().push(json!({
        "id": "v1:ResourceQuota:lab:none", "type": "Kubernetes",
        "attributes": {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none", "namespace": "lab"},
            "spec": {"hard": {"services": "1"}}},
    }));
    assert!(lab.apply(&bounded).await.is_success());
    let mut broken = bounded;
    broken["resources"].as_array_mut().unwrap().push(json!({
        "id": "v1:Service:lab:x", "type": "Kubernetes",
        "attributes": {"apiVersion": "v1", "kind": "Service", "metadata": {"name": "x", "namespace": "lab"},
            "spec": {"ports": [{"port": 80}]}},
    }));
    let mut errand = errand(&lab, "li", Consent::Given, &told);
    errand.ask.options.on_failure = FailurePolicy::Rollback;
    let ending = go(&lab, &lab.engine(), wanted(&lab, &broken), &errand).await.unwrap();
    assert_ne!(ending.exit(), Exit::Done, "the release that was asked for failed");
    let tail = told.take();
    assert!(tail.contains(&"going back to Some(1)".to_owned()), "{tail:?}");
    assert_eq!(tail.last().unwrap(), "ended succeeded");
    let phases: Vec<Phase> = lab.state().releases.values().map(|release| release.phase).collect();
    assert_eq!(phases, [Phase::Succeeded, Phase::Failed, Phase::Succeeded]);
}

#[tokio::test(start_paused = true)]
async fn a_saved_plan_is_carried_out_on_its_own_cluster_only() {
    let (here, there, told) = (Lab::new(), Lab::new(), Told::default());
    let ready = here.plan(&ten("1")).await;
    let saved = SavedPlan::of(&ready, Default::default(), Default::default());
    assert_eq!(SavedPlan::from_text(&saved.to_text()).unwrap(), saved);
    let kept = saved;
    let mut clusters = kept.clusters.clone();
    clusters.get_mut("").unwrap().uid = Some("another".to_owned());
    let elsewhere = SavedPlan { clusters, ..kept.clone() };
    let refused = errand(&there, "li", Consent::Saved(Arc::new(elsewhere)), &told);
    let refused = go(&there, &there.engine(), wanted(&there, &ten("1")), &refused).await.err().unwrap();
    assert!(matches!(refused, RoadError::PlannedElsewhere(_)), "{refused:?}");
    assert_eq!(refused.told(&there.target(), "").exit, Exit::Conflict);
    assert!(there.writes().is_empty() && there.state().releases.is_empty());
    let allowed = errand(&here, "li", Consent::Saved(Arc::new(kept)), &told);
    assert_eq!(
        go(&here, &here.engine(), wanted(&here, &ten("1")), &allowed).await.unwrap().exit(),
        Exit::Done
    );
}

#[tokio::test(start_paused = true)]
async fn a_missing_namespace_is_refused_alike_by_who_looks_first_and_by_who_does_not() {
    let lab = Lab::new();
    let spec = json!({"resources": [{"id": "v1:ConfigMap:nowhere:a", "type": "Kubernetes", "attributes":
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "nowhere"}}}]});
    let mut told = Vec::new();
    for dry_run in [DryRun::All, DryRun::Updates] {
        let spec = Spec::from_value(spec.clone(), &kusion::platforms(), &lab.target().key).unwrap();
        let refused = lab.engine().plan(&lab.target(), spec, dry_run).await.err().unwrap();
        told.push(format!("{:?}", kusion::plan_failed(refused, &lab.target(), "")));
    }
    assert_eq!(told[0], told[1]);
    assert!(told[0].contains("namespaces \\\"nowhere\\\" not found"), "{}", told[0]);
}

/// Plans of earlier builds do not say when old objects go.
#[tokio::test(start_paused = true)]
async fn a_saved_plan_without_an_order_for_old_objects_is_carried_out_in_todays_order() {
    let (lab, told) = (Lab::new(), Told::default());
    let jobs = |image: &str| {
        let mut jobs = spec(&[namespace(), job("base", image), job("top", image)]);
        jobs["resources"][2]["dependsOn"] = json!(["batch/v1:Job:lab:base"]);
        jobs
    };
    let first = errand(&lab, "li", Consent::Given, &told);
    go(&lab, &lab.engine(), wanted(&lab, &jobs("a:1")), &first).await.unwrap();
    let ready = lab.plan(&jobs("a:2")).await;
    let mut early = PlanDraft::clone(ready.plan());
    assert_eq!(early.steps.iter().filter(|step| step.action == Action::Replace).count(), 2);
    assert!(early.steps.iter().any(|step| !step.old_after.is_empty()), "there is an order to lose");
    early.steps.iter_mut().for_each(|step| step.old_after.clear());
    lab.writes();
    let later = errand(&lab, "li", saved(&early.sealed().unwrap()), &told);
    let ending = go(&lab, &lab.engine(), wanted(&lab, &jobs("a:2")), &later).await.unwrap();
    assert_eq!(ending.exit(), Exit::Done);
    let writes = lab.writes();
    let at = |word: &str, name: &str| {
        let of = |line: &String| line.starts_with(word) && line.contains(name);
        writes.iter().position(of).unwrap_or_else(|| panic!("{word} {name}: {writes:?}"))
    };
    assert!(at("DELETE", "top") < at("DELETE", "base"), "{writes:?}");
}
