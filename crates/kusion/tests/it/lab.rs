//! A world, a disk, and an engine that can be killed at any request.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kusion::model::{DigestKey, OwnerRules, ResourceId, ResourceKey, Scope, Spec, Timestamp};
use kusion::{
    ApplyAsk, ApplyError, CancelToken, Cluster, DryRun, Engine, Happening, Options, Profile, Ready,
    ReleaseDraft, Report, Store, Target,
};
use kusion_apply::{Clock, Event};
use kusion_store::{Liveness, Owner, SimMedium, State, wait};
use sandbox_server::Host;
use sandbox_world::faults::Faults;
use sandbox_world::{Time, World};
use serde_json::Value;

pub(crate) use crate::wire::Kill;
use crate::wire::{Wire, objects_of};

/// Tokio's clock, which tests pause.
struct TestClock(tokio::time::Instant);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp::from_millis(1_767_225_600_000 + u64::try_from(self.0.elapsed().as_millis()).unwrap())
    }

    fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}

#[derive(Clone)]
pub(crate) struct Lab {
    pub(crate) host: Host,
    pub(crate) medium: SimMedium,
    pub(crate) wire: Wire,
    clock: Arc<TestClock>,
    pub(crate) options: Options,
    pub(crate) cancel: CancelToken,
    pub(crate) owners: OwnerRules,
    /// The stack that works on the world; its state is its own.
    pub(crate) stack: &'static str,
    /// Verdicts told while waiting.
    pub(crate) told: Arc<Mutex<Vec<String>>>,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
}

impl Lab {
    /// Inside a Tokio runtime whose clock is paused.
    pub(crate) fn new() -> Lab {
        let world = World::with_defaults(7, Time::parse("2026-01-01T00:00:00Z").unwrap());
        let host = Host::start(world, None);
        let wire = Wire::new(&host);
        let clock = Arc::new(TestClock(tokio::time::Instant::now()));
        Lab {
            host,
            medium: SimMedium::default(),
            wire,
            clock,
            options: Options::default(),
            cancel: CancelToken::default(),
            owners: OwnerRules::default(),
            stack: "dev",
            told: Arc::default(),
            events: Arc::default(),
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(crate) fn kill(&self, kill: Kill) {
        *self.wire.kill.lock().unwrap() = kill;
        self.wire.writes.store(0, Ordering::SeqCst);
    }

    /// From now on the world goes wrong by this script; empty: no more.
    pub(crate) fn faults(&self, script: &str) {
        let faults = Faults::parse(script).unwrap();
        self.host.with(|world| world.set_faults(faults));
    }

    pub(crate) fn target(&self) -> Target {
        let stores = Store::new(Arc::new(self.medium.clone()));
        let scope = Scope { project: "lab".into(), stack: self.stack.into(), workspace: "default".into() };
        let store = stores.stack(&scope);
        let key: DigestKey = wait(store.digest_key()).unwrap();
        Target {
            scope,
            store,
            stores,
            key,
            rules: Vec::new(),
            owners: self.owners.clone(),
            outputs: Vec::new(),
            secret_stores: Default::default(),
            project_dir: Default::default(),
            folder: None,
            called: Default::default(),
        }
    }

    pub(crate) fn state(&self) -> State {
        wait(self.target().store.read()).unwrap()
    }

    pub(crate) fn engine(&self) -> Engine {
        self.engine_on(kube::Client::new(self.wire.clone(), "default"))
    }

    pub(crate) fn engine_on(&self, client: kube::Client) -> Engine {
        self.engine_of(Cluster::new(client, "sandbox", Profile::sandbox()))
    }

    pub(crate) fn engine_of(&self, cluster: Cluster) -> Engine {
        Engine::new().with(cluster).with_clock(Arc::clone(&self.clock) as Arc<dyn Clock>)
    }

    /// Plans a Spec from a value. A world that goes wrong for too long is asked again, as a person would.
    pub(crate) async fn plan(&self, spec: &Value) -> Ready {
        let target = self.target();
        self.plan_spec(&Spec::from_value(spec.clone(), &kusion::platforms(), &target.key).unwrap()).await
    }

    pub(crate) async fn plan_spec(&self, spec: &Spec) -> Ready {
        let (target, engine) = (self.target(), self.engine());
        for _ in 0..5 {
            if let Ok(ready) = engine.plan(&target, spec.clone(), DryRun::Updates).await {
                return ready;
            }
        }
        engine.plan(&target, spec.clone(), DryRun::Updates).await.unwrap()
    }

    pub(crate) fn ask(&self, user: &str) -> ApplyAsk {
        let mut ask = ApplyAsk::new(ReleaseDraft::default());
        ask.owner =
            Owner { user: user.into(), host: "h".into(), pid: 1, started: 0, command: "kusion apply".into() };
        // Whoever held the lock before is dead: that is what most of these tests are about.
        ask.alive = |_| Liveness::Dead;
        ask.options = self.options;
        ask.cancel = self.cancel.clone();
        let (told, events) = (Arc::clone(&self.told), Arc::clone(&self.events));
        ask.observer = Arc::new(move |happening| match happening {
            Happening::Verdict { key, verdict } => {
                told.lock().unwrap().push(format!("{key} {}", verdict.full_message()));
            }
            Happening::Event(event) => events.lock().unwrap().push(event.clone()),
            _ => {}
        });
        ask
    }

    /// Carries a plan out; `None` when it was killed.
    pub(crate) async fn execute(&self, ready: &Ready, ask: &ApplyAsk) -> Option<Result<Report, ApplyError>> {
        let (target, engine) = (self.target(), self.engine());
        tokio::select! {
            biased;
            () = self.wire.killed.notified() => None,
            result = engine.apply(&target, ready, ask) => Some(result),
        }
    }

    /// Carries a plan out; if the state moved while it waited for the lock, a plan of the state as it is then.
    pub(crate) async fn execute_late(&self, ready: &Ready, ask: &ApplyAsk) -> Result<Report, ApplyError> {
        let (target, engine) = (self.target(), self.engine());
        let failed = |source| ApplyError::Store { source, report: None };
        let session = engine.lock(&target, &ready.state, ask).await.map_err(failed)?;
        let again = engine.plan_again(&session, &target, ready, DryRun::Updates).await.unwrap();
        engine.apply_in(session, &target, again.as_ref().unwrap_or(ready), ask).await
    }

    /// Plans and applies; `None` when it was killed.
    pub(crate) async fn try_apply(&self, spec: &Value) -> Option<Result<Report, ApplyError>> {
        let ready = self.plan(spec).await;
        self.execute(&ready, &self.ask("li")).await
    }

    pub(crate) async fn apply(&self, spec: &Value) -> Report {
        self.try_apply(spec).await.expect("nobody kills it").unwrap()
    }

    /// Nothing is left to do, the world has what is wanted and no more, the state says the same.
    pub(crate) async fn assert_converged(&self, spec: &Value, context: &str) {
        let ready = self.plan(spec).await;
        assert!(ready.plan().is_empty(), "{context}: {:#?}", ready.plan().tally());
        let state = self.state();
        assert_eq!(state.open, None, "{context}");
        assert!(state.intents.is_empty(), "{context}: open ends");
        let recorded: Vec<String> = state.prior().keys().into_iter().map(|key| key.to_string()).collect();
        let wanted = spec["resources"].as_array().unwrap().iter();
        let mut expected: Vec<String> = wanted.map(|r| r["id"].as_str().unwrap().to_owned()).collect();
        expected.sort();
        assert_eq!(recorded, expected, "{context}: records");
        let live: Vec<String> = self.objects().into_keys().collect();
        assert_eq!(live, expected, "{context}: orphans");
    }

    /// The objects that applications make, by id.
    pub(crate) fn objects(&self) -> BTreeMap<String, Value> {
        objects_of(&self.host)
    }

    /// The names of the live ConfigMaps.
    pub(crate) fn maps(&self) -> Vec<String> {
        let ids = self.objects().into_keys();
        ids.filter_map(|id| id.strip_prefix("v1:ConfigMap:lab:").map(str::to_owned)).collect()
    }

    /// The writes since the last call, as `PATCH name`.
    pub(crate) fn writes(&self) -> Vec<String> {
        let log = std::mem::take(&mut *self.wire.log.lock().unwrap());
        log.iter()
            .filter(|line| !line.contains("/kusion-state."))
            .map(|line| format!("{} {}", line.split(' ').next().unwrap(), line.rsplit('/').next().unwrap()))
            .collect()
    }
}

pub(crate) fn key(map: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "lab", map]))
}
