//! A stack store on each medium, and plans made by hand.

use std::sync::Arc;

use kusion_model::{
    Action, PLAN_SCHEMA, Phase, Plan, PlanDraft, Reason, ReleaseNo, ResourceId, ResourceKey, ResourceRecord,
    ResourceType, Scope, Step, Tally, Timestamp,
};
use kusion_store::{
    Backend, Liveness, LocalFolder, ObjectLog, Objects as _, Outcome, Owner, Plug, ReleaseEnd, Session,
    SimMedium, SimObjects, StackStore, State, Store, StoreError, wait,
};
use serde_json::{Map, json};

pub(crate) fn scope() -> Scope {
    Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() }
}

pub(crate) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000 + seconds * 1_000)
}

pub(crate) fn owner(user: &str) -> Owner {
    Owner { user: user.into(), host: "host".into(), pid: 1, started: 0, command: "kusion apply dev".into() }
}

/// A medium under test.
pub(crate) struct Medium {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) plug: Plug,
    sim: Option<SimMedium>,
    pub(crate) objects: Option<SimObjects>,
    home: Option<tempfile::TempDir>,
    /// Puts something else in the place of the lease, where nothing above can.
    garble: Option<Box<dyn Fn() + Send + Sync>>,
}

impl Medium {
    pub(crate) fn sim() -> Medium {
        let sim = SimMedium::default();
        let (backend, plug) = (Arc::new(sim.clone()), sim.plug().clone());
        Medium { backend, plug, sim: Some(sim), objects: None, home: None, garble: None }
    }

    pub(crate) fn objects() -> Medium {
        let (objects, plug) = (SimObjects::default(), Plug::default());
        let backend = Arc::new(ObjectLog::with_plug(objects.clone(), plug.clone()));
        Medium { backend, plug, sim: None, objects: Some(objects), home: None, garble: None }
    }

    pub(crate) fn local() -> Medium {
        let (home, plug) = (tempfile::tempdir().unwrap(), Plug::default());
        let backend = Arc::new(LocalFolder::with_plug(home.path(), plug.clone()));
        Medium { backend, plug, sim: None, objects: None, home: Some(home), garble: None }
    }

    /// A medium that is opened elsewhere.
    pub(crate) fn on(
        backend: Arc<dyn Backend>,
        plug: Plug,
        garble: impl Fn() + Send + Sync + 'static,
    ) -> Medium {
        Medium { backend, plug, sim: None, objects: None, home: None, garble: Some(Box::new(garble)) }
    }

    pub(crate) fn store(&self) -> StackStore {
        Store::new(Arc::clone(&self.backend)).stack(&scope())
    }

    /// Takes the lock; whoever had it is dead.
    pub(crate) fn open(&self) -> Result<Session, StoreError> {
        self.acquire("li", Liveness::Dead)
    }

    pub(crate) fn acquire(&self, user: &str, others: Liveness) -> Result<Session, StoreError> {
        wait(self.store().acquire(owner(user), at(0), &|_| others))
    }

    pub(crate) fn read(&self) -> State {
        wait(self.store().read()).unwrap()
    }

    /// Makes what stands where the lease should be none.
    pub(crate) fn garble_lease(&self) {
        if let Some(sim) = &self.sim {
            sim.tamper(&scope(), |stack| stack.lease = Some((9, b"garbage".to_vec())));
        }
        if let Some(objects) = &self.objects {
            let leases = wait(objects.list("state/shop/dev/default/lease/")).unwrap();
            objects.tamper(leases.last().unwrap(), b"garbage");
        }
        if let Some(garble) = &self.garble {
            garble();
        }
        if self.home.is_some() {
            std::fs::write(self.store().place().join("lease"), "garbage").unwrap();
        }
    }
}

pub(crate) fn key(name: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "ns", name]))
}

pub(crate) fn step(name: &str, action: Action) -> Step {
    Step {
        key: key(name),
        kind: ResourceType::kubernetes(),
        action,
        reason: Reason::New,
        drift: false,
        changes: Vec::new(),
        warnings: Vec::new(),
        lost: None,
        desired: (action != Action::Delete).then(|| json!({"data": {"name": name}}).into()),
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        old_after: Vec::new(),
        depends_on: Vec::new(),
        extensions: Map::new(),
        planned: None,
        blob: None,
        kept: None,
        create_first: false,
        once: false,
        references: Vec::new(),
        deposed: Vec::new(),
        rerecord: None,
        aliases: Vec::new(),
    }
}

pub(crate) fn plan(state: &State, steps: Vec<Step>) -> Plan {
    PlanDraft {
        schema: PLAN_SCHEMA.into(),
        engine: "test".into(),
        scope: scope(),
        lineage: state.lineage.clone(),
        serial: state.serial,
        spec_digest: String::new(),
        rules: Vec::new(),
        steps,
        hash: String::new(),
    }
    .sealed()
    .unwrap()
}

pub(crate) fn recorded(name: &str, release: ReleaseNo) -> Outcome {
    Outcome::Recorded(Box::new(ResourceRecord {
        key: key(name),
        kind: ResourceType::kubernetes(),
        attributes: json!({"data": {"name": name, "by": release.0}}).into(),
        depends_on: Vec::new(),
        extensions: Map::new(),
        references: Vec::new(),
        uid: Some(format!("uid-{name}")),
        release,
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }))
}

pub(crate) fn end(phase: Phase) -> ReleaseEnd {
    ReleaseEnd { phase, ended: at(9), tally: Tally::default(), message: None, outputs: Default::default() }
}

/// Runs a whole release that creates (or updates) the named resources.
pub(crate) fn release(session: &mut Session, names: &[&str]) -> Result<ReleaseNo, StoreError> {
    let steps = names.iter().map(|name| step(name, Action::Create)).collect();
    let plan = plan(session.state(), steps);
    let no = wait(session.begin(&plan, Default::default(), at(1)))?;
    for name in names {
        wait(session.record(no, vec![recorded(name, no)]))?;
    }
    wait(session.end(no, Vec::new(), end(Phase::Succeeded)))?;
    Ok(no)
}
