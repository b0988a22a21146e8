//! A made-up platform goes the whole road: nothing on it knows which platforms there are.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{BoxFuture, ready};
use kusion::model::{
    Attr, ClusterIdentity, Head, Observed, Platform, Proposal, Proposed, ResourceKey, ResourceRecord,
    ResourceType, Scope, Spec,
};
use kusion::{
    Access, Candidate, Consent, DryRun, Ending, Engine, Errand, HealthAsk, Look, Node, PlanFailure, Purpose,
    Ready, Road, Site, SiteAsk, SiteHealth,
};
use kusion_apply::{Doubt, Health, HealthOutcome, HealthTarget, NoHealth};
use kusion_health::Verdict;
use kusion_runtime::{
    Applied, DeleteAsk, Deleted, IdentifyAsk, ObserveAsk, ProposeAsk, Runtime, RuntimeError, Witness,
    WriteAsk,
};
use serde_json::{Value, json};

use crate::lab::Lab;

/// A world of plain values, and what it is known by.
#[derive(Clone, Default)]
struct Toys {
    uid: String,
    things: Arc<Mutex<BTreeMap<ResourceKey, Attr>>>,
    head: Arc<Mutex<Option<Head>>>,
    closed: Arc<Mutex<u32>>,
    given_back: Arc<Mutex<u32>>,
    /// Another type of toys, which live in no cluster.
    loose: bool,
}

fn toy(loose: bool) -> ResourceType {
    ResourceType(if loose { "LooseToy" } else { "Toy" }.into())
}

fn now<'a, T: Send + 'a>(value: T) -> BoxFuture<'a, T> {
    Box::pin(ready(value))
}

impl Access for Toys {
    fn open(&self, _ask: &SiteAsk<'_>) -> Arc<dyn Site> {
        Arc::new(self.clone())
    }

    fn cluster(&self) -> Option<(&str, ClusterIdentity)> {
        (!self.loose)
            .then_some(("", ClusterIdentity { context: "toys".into(), ..ClusterIdentity::default() }))
    }
}

struct ToyPlatform {
    loose: bool,
}

impl Platform for ToyPlatform {
    fn kind(&self) -> ResourceType {
        toy(self.loose)
    }

    fn lives_in_cluster(&self) -> bool {
        !self.loose
    }
}

impl Site for Toys {
    fn platform(&self) -> Arc<dyn Platform> {
        Arc::new(ToyPlatform { loose: self.loose })
    }

    fn runtime(&self) -> Arc<dyn Runtime> {
        Arc::new(self.clone())
    }

    fn identity(&self) -> BoxFuture<'_, Result<Option<ClusterIdentity>, RuntimeError>> {
        if self.loose {
            return now(Ok(None));
        }
        let uid = Some(self.uid.clone());
        now(Ok(Some(ClusterIdentity { uid, context: "toys".into(), ..ClusterIdentity::default() })))
    }

    fn health(&self, _ask: &HealthAsk<'_>) -> Arc<dyn SiteHealth> {
        Arc::new(Calm)
    }

    fn look<'a>(
        &'a self,
        _records: &'a [&'a ResourceRecord],
    ) -> BoxFuture<'a, Result<Box<dyn Look>, RuntimeError>> {
        now(Ok(Box::new(self.clone()) as Box<dyn Look>))
    }

    fn witness(
        &self,
        _scope: &Scope,
        _key: &ResourceKey,
        _record: Option<&ResourceRecord>,
    ) -> Option<Candidate> {
        Some(Candidate { witness: Arc::new(self.clone()), named: true })
    }

    fn give_back(&self) -> BoxFuture<'_, Vec<String>> {
        *self.given_back.lock().unwrap() += 1;
        now(Vec::new())
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        *self.closed.lock().unwrap() += 1;
        now(())
    }
}

impl Look for Toys {
    fn verdict(&self, record: &ResourceRecord) -> Verdict {
        match self.things.lock().unwrap().contains_key(&record.key) {
            true => Verdict::healthy("There", "it is there"),
            false => Verdict::failed("Gone", "it is gone"),
        }
    }
}

struct Calm;

impl Health for Calm {
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        assert!([toy(true), toy(false)].contains(&target.kind));
        NoHealth.wait(target)
    }

    fn doubts<'a>(&'a self, _targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        now(Vec::new())
    }
}

impl SiteHealth for Calm {
    fn below(&self, _key: &ResourceKey, _now: kusion::model::Timestamp) -> Vec<Node> {
        Vec::new()
    }
}

impl Witness for Toys {
    fn place(&self) -> String {
        "the lid of the box".into()
    }

    fn recall(&self) -> BoxFuture<'_, Result<Option<Head>, RuntimeError>> {
        now(Ok(self.head.lock().unwrap().clone()))
    }

    fn remember<'a>(&'a self, head: &'a Head) -> BoxFuture<'a, Result<bool, RuntimeError>> {
        *self.head.lock().unwrap() = Some(head.clone());
        now(Ok(true))
    }

    fn forget(&self) -> BoxFuture<'_, Result<(), RuntimeError>> {
        *self.head.lock().unwrap() = None;
        now(Ok(()))
    }
}

fn seen(value: &Attr) -> Observed {
    Observed { attributes: value.clone().into(), ..Observed::default() }
}

impl Runtime for Toys {
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>> {
        now(Ok(asks.iter().map(|ask| ask.key.to_string()).collect()))
    }

    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        let things = self.things.lock().unwrap();
        let found = asks.iter().filter_map(|ask| Some((ask.key.clone(), seen(things.get(&ask.key)?))));
        now(Ok(found.collect()))
    }

    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        let of = |ask: &ProposeAsk<'_>| match ask.live {
            None => Proposal::create(),
            Some(live) if *live.attributes.tree() == ask.desired.attributes => Proposal::same(),
            Some(_) => Proposal::of(Proposed::Update),
        };
        now(asks.iter().map(|ask| Ok(of(ask))).collect())
    }

    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        self.things.lock().unwrap().insert(ask.key.clone(), ask.attributes.clone());
        now(Ok(Applied { observed: seen(ask.attributes), warnings: Vec::new(), trouble: None }))
    }

    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        self.things.lock().unwrap().remove(ask.key);
        now(Ok(Deleted::Gone))
    }

    fn release<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>> {
        now(Ok(()))
    }

    fn wait_gone<'a>(
        &'a self,
        _ask: DeleteAsk<'a>,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        now(Ok(Deleted::Gone))
    }
}

fn wanted() -> Value {
    json!({"resources": [
        {"id": "box", "type": "Toy", "attributes": {"size": 3}},
        {"id": "ball", "type": "Toy", "attributes": {"in": "$kusion_path.box.size"}},
    ]})
}

async fn plan(engine: &Engine, lab: &Lab, spec: &Value) -> Result<Ready, PlanFailure> {
    let target = lab.target();
    let spec = Spec::from_value(spec.clone(), &kusion::platforms(), &target.key).unwrap();
    engine.plan(&target, spec, DryRun::All).await
}

#[tokio::test(start_paused = true)]
async fn a_platform_that_nobody_has_heard_of_goes_the_whole_road() {
    let lab = Lab::new();
    let toys = Toys { uid: "one".into(), ..Toys::default() };
    let engine = Engine::new().with(toys.clone());
    let ready = plan(&engine, &lab, &wanted()).await.unwrap();
    assert_eq!(ready.plan().tally().create, 2);
    let report = engine.apply(&lab.target(), &ready, &lab.ask("li")).await.unwrap();
    assert!(report.is_success(), "{report:#?}");
    assert_eq!(*toys.closed.lock().unwrap(), 1, "what was started is ended");
    let values: Vec<Value> = toys.things.lock().unwrap().values().map(Attr::to_shown).collect();
    assert_eq!(values, [json!({"in": 3}), json!({"size": 3})]);
    assert!(plan(&engine, &lab, &wanted()).await.unwrap().plan().is_empty());
    let state = lab.state();
    assert_eq!(toys.head.lock().unwrap().as_ref().map(|head| head.serial), Some(state.serial), "its witness");

    let records: Vec<&ResourceRecord> = state.records.values().collect();
    let looks = engine.sites(&lab.target(), DryRun::All).look(&records).await.unwrap();
    assert!(records.iter().all(|record| looks.at(record).unwrap().0.verdict.is_good()));

    let elsewhere = Engine::new().with(Toys { uid: "two".into(), ..Toys::default() });
    let refused = plan(&elsewhere, &lab, &wanted()).await;
    assert!(matches!(refused, Err(PlanFailure::OtherCluster(_))), "another box of toys");

    let nothing = plan(&engine, &lab, &json!({"resources": []})).await.unwrap();
    assert!(engine.apply(&lab.target(), &nothing, &lab.ask("li")).await.unwrap().is_success());
    assert!(toys.things.lock().unwrap().is_empty() && toys.head.lock().unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn two_platforms_stand_side_by_side_and_each_has_its_own_place() {
    let lab = Lab::new();
    let toys = Toys { uid: "one".into(), ..Toys::default() };
    let loose = Toys { loose: true, ..Toys::default() };
    let spec = json!({"resources": [
        {"id": "box", "type": "Toy", "attributes": {"size": 3}},
        {"id": "ball", "type": "LooseToy", "attributes": {"in": "$kusion_path.box.size"}},
    ]});
    let engine = Engine::new().with(toys.clone()).with(loose.clone());
    let target = lab.target();
    let wanted = Spec::from_value(spec.clone(), &kusion::platforms(), &target.key).unwrap();
    let wanted = kusion::want(&target, Purpose::Apply(wanted)).await.unwrap();
    let errand = Errand { consent: Consent::Given, policy: false, same_project: true, ask: lab.ask("li") };
    let ending = Road { engine: &engine, target: &target }.go(wanted, &errand).await.unwrap();
    assert!(matches!(ending, Ending::Released(..)));
    assert_eq!(toys.things.lock().unwrap().len() + loose.things.lock().unwrap().len(), 2);
    for platform in [&toys, &loose] {
        assert!(*platform.given_back.lock().unwrap() > 0, "what was opened for the road only is closed");
    }

    // Only what lives in a cluster is left behind when the stack moves to another one.
    let elsewhere = Toys { uid: "two".into(), ..Toys::default() };
    let elsewhere = Engine::new().with(elsewhere).with(loose).with_move(true);
    let moved = plan(&elsewhere, &lab, &spec).await.unwrap();
    let left: Vec<String> = moved.recognised.left.iter().map(ToString::to_string).collect();
    assert_eq!(left, ["box"]);
    assert_eq!(moved.plan().tally().create, 1);

    let nobody = Engine::new().with(toys);
    assert!(matches!(plan(&nobody, &lab, &spec).await, Err(PlanFailure::NoRuntime(_))));
}
