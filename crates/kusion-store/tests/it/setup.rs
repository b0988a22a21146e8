//! A stack store on a simulated disk, and plans made by hand.

use std::sync::Arc;

use kusion_model::{
    Action, PLAN_SCHEMA, Phase, Plan, Reason, ReleaseNo, ResourceId, ResourceKey, ResourceRecord,
    ResourceType, Scope, Step, Tally, Timestamp,
};
use kusion_store::{
    Liveness, Outcome, Owner, ReleaseEnd, Session, SimDisk, StackStore, State, Store, StoreError,
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

pub(crate) fn store(disk: &SimDisk) -> StackStore {
    Store::new(Arc::new(disk.clone()), "/home").stack(&scope())
}

pub(crate) fn open(disk: &SimDisk) -> Result<Session, StoreError> {
    store(disk).acquire(owner("li"), at(0), &|_| Liveness::Dead)
}

pub(crate) fn key(name: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::kubernetes("v1", "ConfigMap", Some("ns"), name))
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
        desired: (action != Action::Delete).then(|| json!({"data": {"name": name}})),
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        depends_on: Vec::new(),
        extensions: Map::new(),
        rerecord: None,
    }
}

pub(crate) fn plan(state: &State, steps: Vec<Step>) -> Plan {
    Plan {
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
}

pub(crate) fn recorded(name: &str, release: ReleaseNo) -> Outcome {
    Outcome::Recorded(Box::new(ResourceRecord {
        key: key(name),
        kind: ResourceType::kubernetes(),
        attributes: json!({"data": {"name": name, "by": release.0}}),
        depends_on: Vec::new(),
        extensions: Map::new(),
        uid: Some(format!("uid-{name}")),
        release,
        imported: false,
    }))
}

pub(crate) fn end(phase: Phase) -> ReleaseEnd {
    ReleaseEnd { phase, ended: at(9), tally: Tally::default(), message: None, outputs: Default::default() }
}

/// Runs a whole release that creates (or updates) the named resources.
pub(crate) fn release(session: &mut Session, names: &[&str]) -> Result<ReleaseNo, StoreError> {
    let steps = names.iter().map(|name| step(name, Action::Create)).collect();
    let plan = plan(session.state(), steps);
    let no = session.begin(&plan, Default::default(), at(1))?;
    for name in names {
        session.record(no, vec![recorded(name, no)])?;
    }
    session.end(no, end(Phase::Succeeded))?;
    Ok(no)
}
