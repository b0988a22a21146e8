//! What is recorded: resources of a usual size, and releases that make them.

use std::collections::BTreeMap;

use kusion_model::{
    Action, PLAN_SCHEMA, Phase, Plan, PlanDraft, Reason, ReleaseNo, ResourceId, ResourceKey, ResourceRecord,
    ResourceType, Scope, Step, Tally, Timestamp,
};
use kusion_store::{Outcome, Owner, ReleaseEnd, Session, StoreError, wait};
use serde_json::json;

/// How many outcomes a keeper commits at once when the walk is quick.
const GROUP: usize = 500;

pub(super) fn scope(stack: &str) -> Scope {
    Scope { project: "bench".into(), stack: stack.into(), workspace: "default".into() }
}

pub(super) fn now() -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000)
}

pub(super) fn owner() -> Owner {
    Owner { user: "bench".into(), host: "bench".into(), pid: 1, started: 0, command: "bench".into() }
}

fn record(number: usize, release: ReleaseNo) -> Outcome {
    let name = format!("settings-{number}");
    Outcome::Recorded(Box::new(ResourceRecord {
        key: ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "bench", &name])),
        kind: ResourceType::kubernetes(),
        attributes: json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "bench"},
            "data": {"mode": "production", "number": number.to_string(), "text": "x".repeat(200)},
        })
        .into(),
        depends_on: Vec::new(),
        references: Vec::new(),
        extensions: serde_json::Map::new(),
        uid: Some(format!("00000000-0000-0000-0000-{number:012}")),
        release,
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }))
}

/// What the plan says about a resource that is to be made.
pub(super) fn step(number: usize) -> Step {
    let Outcome::Recorded(record) = record(number, ReleaseNo(0)) else { unreachable!("it is recorded") };
    Step {
        key: record.key,
        kind: record.kind,
        action: Action::Create,
        reason: Reason::New,
        drift: false,
        changes: Vec::new(),
        warnings: Vec::new(),
        lost: None,
        desired: Some(record.attributes),
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        old_after: Vec::new(),
        depends_on: Vec::new(),
        references: Vec::new(),
        extensions: serde_json::Map::new(),
        planned: None,
        blob: None,
        kept: None,
        create_first: false,
        once: false,
        deposed: Vec::new(),
        rerecord: None,
        aliases: Vec::new(),
    }
}

/// A plan that makes some resources.
pub(super) fn plan(session: &Session, numbers: std::ops::Range<usize>) -> Result<Plan, String> {
    let state = session.state();
    let draft = PlanDraft {
        schema: PLAN_SCHEMA.into(),
        engine: "bench".into(),
        scope: state.scope.clone(),
        lineage: state.lineage.clone(),
        serial: state.serial,
        spec_digest: String::new(),
        rules: Vec::new(),
        steps: numbers.map(step).collect(),
        hash: String::new(),
    };
    draft.sealed().map_err(|error| error.to_string())
}

/// A release that records some resources in groups, with nothing between the groups.
pub(super) fn release(session: &mut Session, numbers: std::ops::Range<usize>) -> Result<(), String> {
    let told = |error: StoreError| error.to_string();
    let plan = plan(session, numbers.clone())?;
    let no = wait(session.begin(&plan, Default::default(), now())).map_err(told)?;
    let all: Vec<usize> = numbers.collect();
    let outcomes = |group: &[usize]| group.iter().map(|number| record(*number, no)).collect();
    // The last group goes with the end, as the keeper has it.
    let (groups, last) = all.split_at(all.len().saturating_sub(1) / GROUP * GROUP);
    for group in groups.chunks(GROUP) {
        wait(session.record(no, outcomes(group))).map_err(told)?;
    }
    let end = ReleaseEnd {
        phase: Phase::Succeeded,
        ended: now(),
        tally: Tally { create: all.len(), ..Tally::default() },
        message: None,
        outputs: BTreeMap::new(),
    };
    wait(session.end(no, outcomes(last), end)).map_err(told)
}
