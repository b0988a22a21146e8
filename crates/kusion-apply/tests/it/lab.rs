//! The whole road in one place: state, observe, plan, apply, on a simulated disk, clock and platform.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use kusion_apply::sim::SimClock;
use kusion_apply::{
    ApplyError, ApplyInput, CancelToken, Clock, Event, Health, NoHealth, Options, Report, apply,
};
use kusion_model::{
    Desired, Observed, Plan, Prior, ResourceId, ResourceKey, ResourceType, Scope, Spec, Timestamp,
};
use kusion_plan::{PlanInput, fill_known, plan, prepare};
use kusion_runtime::{ObserveAsk, Runtime, Runtimes};
use kusion_store::{Liveness, Owner, ReleaseDraft, Session, SimDisk, StackStore, State, Store, StoreError};
use serde_json::{Value, json};

use crate::world::{KEY, World};

pub(crate) struct Lab {
    pub(crate) clock: SimClock,
    pub(crate) disk: SimDisk,
    pub(crate) world: World,
    pub(crate) options: Options,
    pub(crate) cancel: CancelToken,
    pub(crate) events: Arc<Mutex<Vec<Event>>>,
    pub(crate) health: Box<dyn Health>,
}

/// A plan and what belongs to it.
pub(crate) struct Ready {
    pub(crate) plan: Plan,
    pub(crate) desired: Vec<Desired>,
    pub(crate) live: BTreeMap<ResourceKey, Observed>,
    pub(crate) prior: Prior,
}

pub(crate) fn key(name: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::kubernetes("v1", "ConfigMap", Some("ns"), name))
}

pub(crate) fn config_map(name: &str, value: i32, depends_on: &[&str]) -> Value {
    let depends_on: Vec<String> = depends_on.iter().map(|on| key(on).to_string()).collect();
    json!({"id": key(name).to_string(), "type": "Kubernetes", "dependsOn": depends_on,
           "attributes": {"apiVersion": "v1", "kind": "ConfigMap",
                          "metadata": {"name": name, "namespace": "ns"}, "data": {"v": value}}})
}

/// Ten resources: two roots, a chain, a fan.
pub(crate) fn ten(value: i32) -> Value {
    let names: Vec<String> = (0..10).map(|n| format!("m{n}")).collect();
    let needs: [&[&str]; 10] =
        [&[], &["m0"], &["m1"], &["m2"], &["m0"], &["m0"], &["m4", "m5"], &[], &["m7"], &["m3", "m8"]];
    names.iter().zip(needs).map(|(name, needs)| config_map(name, value, needs)).collect()
}

impl Lab {
    pub(crate) fn new() -> Self {
        let clock = SimClock::new(Timestamp::from_millis(1_700_000_000_000));
        Lab {
            world: World::new(&clock),
            clock,
            disk: SimDisk::default(),
            options: Options::default(),
            cancel: CancelToken::default(),
            events: Arc::default(),
            health: Box::new(NoHealth),
        }
    }

    pub(crate) fn store(&self) -> StackStore {
        let scope = Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() };
        Store::new(Arc::new(self.disk.clone()), "/home").stack(&scope)
    }

    pub(crate) fn state(&self) -> State {
        self.store().read().unwrap()
    }

    pub(crate) fn open(&self, user: &str, liveness: Liveness) -> Result<Session, StoreError> {
        let owner = Owner { user: user.into(), host: "h".into(), pid: 1, started: 0, command: String::new() };
        self.store().acquire(owner, self.clock.now(), &|_| liveness)
    }

    pub(crate) fn plan(&self, spec: &Value, state: &State) -> Ready {
        let spec = Spec::from_value(spec.clone(), &KEY).unwrap();
        let prepared = prepare(&spec, &[]).unwrap();
        let prior = state.prior();
        let wanted = prepared.keys.iter().chain(prior.keys());
        let extensions = serde_json::Map::new();
        let asks: Vec<ObserveAsk> = wanted
            .map(|key| ObserveAsk {
                key: key.clone(),
                kind: ResourceType::kubernetes(),
                extensions: extensions.clone(),
            })
            .collect();
        let mut live = self.clock.run(self.world.observe(&asks)).unwrap().unwrap();
        let desired = fill_known(&prepared, &prior, &mut live, &|_, _| None, &KEY).unwrap();
        let plan = plan(&PlanInput {
            scope: state.scope.clone(),
            engine: "test",
            spec_digest: spec.digest(),
            prepared: &prepared,
            desired: &desired,
            prior: &prior,
            live: &live,
            proposals: &BTreeMap::new(),
            rules: &[],
            hidden: &[],
        });
        Ready { plan, desired, live, prior }
    }

    /// Executes a plan; `None` if the machine was killed on the way.
    pub(crate) fn execute(&self, ready: &Ready, session: &mut Session) -> Option<Result<Report, ApplyError>> {
        let mut runtimes = Runtimes::default();
        runtimes.insert(ResourceType::kubernetes(), "", Arc::new(self.world.clone()));
        let secrets = ready.desired.iter().map(|d| (d.key.clone(), d.secrets.clone())).collect();
        let events = Arc::clone(&self.events);
        let input = ApplyInput {
            plan: &ready.plan,
            secrets: &secrets,
            live: &ready.live,
            prior: &ready.prior.records,
            digest_key: &KEY,
            outputs: &[],
            runtimes: &runtimes,
            health: &*self.health,
            clock: &self.clock,
            cancel: &self.cancel,
            events: &move |event| events.lock().unwrap().push(event),
            options: self.options,
        };
        let run = apply(&input, session, ReleaseDraft::default());
        self.clock.run_unless(run, &|| self.world.is_killed())
    }

    /// The whole road once; a dead former holder is taken over.
    pub(crate) fn try_apply(&self, spec: &Value) -> Option<Result<Report, ApplyError>> {
        let store_error = |source| ApplyError::Store { source, report: None };
        let mut session = match self.open("li", Liveness::Dead) {
            Ok(session) => session,
            Err(error) => return Some(Err(store_error(error))),
        };
        let ready = self.plan(spec, session.state());
        let result = self.execute(&ready, &mut session)?;
        if let Err(error) = session.close(self.clock.now()) {
            return Some(result.and(Err(store_error(error))));
        }
        Some(result)
    }

    pub(crate) fn apply(&self, spec: &Value) -> Report {
        self.try_apply(spec).unwrap().unwrap()
    }

    /// Checks that world and state are exactly what the Spec says, and that nothing was made twice.
    pub(crate) fn assert_converged(&self, spec: &Value, context: &str) {
        let state = self.state();
        let ready = self.plan(spec, &state);
        assert!(ready.plan.is_empty(), "{context}: still to do: {:?}", ready.plan.steps);
        let wanted: Vec<ResourceKey> = ready.desired.iter().map(|desired| desired.key.clone()).collect();
        let mut sorted = wanted.clone();
        sorted.sort();
        let inner = self.world.lock();
        assert_eq!(inner.objects.keys().cloned().collect::<Vec<_>>(), sorted, "{context}: orphans");
        assert_eq!(state.records.keys().cloned().collect::<Vec<_>>(), sorted, "{context}: records");
        assert!(state.intents.is_empty() && state.open.is_none(), "{context}: open ends");
        for (key, n) in &inner.n_creates {
            assert_eq!(*n, 1, "{context}: {key} was created {n} times");
        }
    }
}
