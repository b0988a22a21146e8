//! Putting a Plan together from facts.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{
    Action, Attr, ConflictRule, Desired, FieldChange, FieldPath, Mover, Note, Observed, OwnerRules,
    Ownership, PLAN_SCHEMA, Plan, PlanDraft, PlanError, Platforms, Prior, Proposal, Proposed, Reason,
    ReferenceUse, ResourceKey, ResourceRecord, ResourceType, Scope, Segment, Step,
};

use crate::action::{Recorded, Whose, decide_owned, decide_unwanted, decide_wanted};
use crate::order::{Old, Order, order};
use crate::{Prepared, three_way};

/// Everything a plan follows from.
pub struct PlanInput<'a> {
    pub scope: Scope,
    /// The version of the engine, for the hash.
    pub engine: &'a str,
    /// The digest of the Spec (`Spec::digest`).
    pub spec_digest: String,
    pub prepared: &'a Prepared<'a>,
    /// In the order of the Spec, from [`Filling::finish`](crate::Filling::finish).
    pub desired: &'a [Desired<'a>],
    /// One record for each object, from [`unite`](crate::unite).
    pub prior: &'a Prior,
    /// Other ids under which the state has an object, by the one that counts.
    pub aliases: &'a BTreeMap<ResourceKey, Vec<ResourceKey>>,
    pub live: &'a BTreeMap<ResourceKey, Observed>,
    /// The runtime's word; where it says nothing about a live object, attributes are compared as they stand.
    pub proposals: &'a BTreeMap<ResourceKey, Proposal>,
    pub rules: &'a [ConflictRule],
    pub owners: &'a OwnerRules,
    /// They know which live fields are nobody's business: those are not shown and not stored.
    pub platforms: &'a Platforms,
    /// The stack is destroyed: that is why nothing is wanted.
    pub destroy: bool,
}

/// Makes the plan.
///
/// # Errors
/// Two steps that touch one object: the state was not [united](crate::unite).
pub fn plan(input: &PlanInput<'_>) -> Result<Plan, PlanError> {
    let wanted: Vec<Step> = input.desired.iter().map(|desired| wanted_step(input, desired)).collect();
    let unwanted: Vec<ResourceKey> = input
        .prior
        .keys()
        .into_iter()
        .filter(|key| !input.prepared.index.contains_key(key))
        .cloned()
        .collect();
    let old = |at: usize| match wanted.get(at).filter(|step| step.has_old()) {
        None => Old::None,
        Some(step) if step.old_goes_first() => Old::First,
        Some(_) => Old::Last,
    };
    let sequence = order(input.prepared, &unwanted, &old, input.prior);
    let mut nodes = wanted;
    nodes.extend(unwanted.iter().map(|key| unwanted_step(input, key)));
    keep_needed(&mut nodes);
    PlanDraft {
        schema: PLAN_SCHEMA.to_owned(),
        engine: input.engine.to_owned(),
        scope: input.scope.clone(),
        lineage: input.prior.lineage.clone(),
        serial: input.prior.serial,
        spec_digest: input.spec_digest.clone(),
        rules: input.rules.to_vec(),
        steps: in_order(nodes, &sequence),
        hash: String::new(),
    }
    .sealed()
}

/// Makes the plan of taking objects over as they are: only records change.
///
/// # Errors
/// Two records of one object.
pub fn plan_take_over(
    scope: &Scope,
    engine: &str,
    prior: &Prior,
    records: &[ResourceRecord],
) -> Result<Plan, PlanError> {
    let step = |record: &ResourceRecord| {
        let (key, kind, extensions) = (record.key.clone(), record.kind.clone(), &record.extensions);
        let attributes = record.attributes.clone();
        let desired = Desired { key, kind, attributes, unknown: Vec::new(), extensions };
        Step {
            desired: Some(desired.attributes.clone()),
            depends_on: record.depends_on.clone(),
            live_uid: record.uid.clone(),
            ..blank(&record.key, &desired, Action::Import, Reason::ExistsUnmanaged)
        }
    };
    PlanDraft {
        schema: PLAN_SCHEMA.to_owned(),
        engine: engine.to_owned(),
        scope: scope.clone(),
        lineage: prior.lineage.clone(),
        serial: prior.serial,
        spec_digest: String::new(),
        rules: Vec::new(),
        steps: records.iter().map(step).collect(),
        hash: String::new(),
    }
    .sealed()
}

/// What stays in place must not lose what it needs: a namespace goes with everything in it.
fn keep_needed(nodes: &mut [Step]) {
    let mut stay: Vec<ResourceKey> =
        nodes.iter().filter(|step| step.action == Action::Release).map(|step| step.key.clone()).collect();
    while let Some(key) = stay.pop() {
        let needed = nodes.iter().find(|step| step.key == key).map(|step| step.depends_on.clone());
        for on in needed.unwrap_or_default() {
            let goes =
                |step: &&mut Step| step.key == on && step.action == Action::Delete && step.before.is_some();
            if let Some(step) = nodes.iter_mut().find(goes) {
                (step.action, step.reason) = (Action::Release, Reason::NeededBy(key.clone()));
                stay.push(on);
            }
        }
    }
}

/// Returns the steps that want an object of another stack, with its owner; such a plan must not be applied.
#[must_use]
pub fn strangers(plan: &Plan) -> Vec<(&Step, &str)> {
    plan.steps.iter().filter_map(|step| Some((step, step.refused_for()?))).collect()
}

/// Returns the fields that another manager owns and that the rules refuse to touch; such a plan must not be applied.
#[must_use]
pub fn conflicts(plan: &Plan) -> Vec<(&Step, &FieldChange)> {
    let all = plan.steps.iter().flat_map(|step| step.changes.iter().map(move |change| (step, change)));
    all.filter(|(_, change)| change.note == Some(Note::Conflict)).collect()
}

fn in_order(mut nodes: Vec<Step>, order: &Order) -> Vec<Step> {
    let keys: Vec<ResourceKey> = nodes.iter().map(|step| step.key.clone()).collect();
    let edges = order.edges(&keys, &|at| nodes[at].is_change(), &|at| nodes[at].has_old());
    for (step, edges) in nodes.iter_mut().zip(edges) {
        (step.after, step.old_after) = (edges.after, edges.old_after);
    }
    let mut slots: Vec<Option<Step>> = nodes.into_iter().map(Some).collect();
    order.sequence.iter().filter_map(|&node| slots[node].take()).collect()
}

fn wanted_step(input: &PlanInput<'_>, desired: &Desired<'_>) -> Step {
    let key = &desired.key;
    let observed = input.live.get(key);
    let leaving = observed.and_then(|o| o.terminating.as_ref());
    let live = observed.filter(|o| o.terminating.is_none());
    let record = input.prior.of(key, observed);
    let made_anew = record.is_none() && input.prior.get(key).is_some();
    let recorded = match (input.prior.records.get(key), input.prior.intents.get(key)) {
        _ if made_anew => Recorded::No,
        (Some(_), _) => Recorded::Yes,
        (None, Some(intent)) => Recorded::Intended(intent.release),
        (None, None) => Recorded::No,
    };
    let proposal = match live {
        Some(live) => Some(judge(input, desired, record, live)),
        None => looked_at(input, key),
    };
    let (action, reason) = match (live, &proposal) {
        (Some(live), _) => decide_owned(decide_wanted(recorded, proposal.as_ref()), whose(input, key, live)),
        // What is only looked at is never made, recorded or not.
        (None, Some(_)) => decide_wanted(Recorded::Yes, proposal.as_ref()),
        (None, None) => decide_wanted(recorded, None),
    };
    let depends_on = dependencies(input.prepared, key);
    let mut step = blank(key, desired, action, reason);
    step.depends_on = depends_on;
    step.references = references(input.prepared, key);
    step.aliases = aliases(input, key);
    if let Some(held_by) = leaving {
        step.warnings.push(waits_for(held_by));
        step.live_uid = observed.and_then(|o| o.uid.clone());
    }
    if let Some(proposal) = proposal {
        step.drift = proposal.changes.iter().any(FieldChange::is_drift) && recorded == Recorded::Yes;
        step.warnings.extend(proposal.warnings);
        step.changes = proposal.changes;
        if let Proposed::Replace { lost, create_first, .. } = proposal.what {
            step.lost = lost;
            step.create_first = create_first;
        }
        step.planned = proposal.planned;
        step.blob = proposal.blob;
        step.kept = proposal.kept;
        step.once = proposal.once && action == Action::Replace;
    } else if let Some(proposal) = input.proposals.get(key) {
        step.planned = proposal.planned.clone();
        step.blob = proposal.blob.clone();
        step.kept = proposal.kept.clone();
        step.once = proposal.once;
        step.warnings.extend(proposal.warnings.iter().cloned());
    }
    if step.action == Action::Create && input.prior.tried.contains(key) {
        step.warnings.push(may_exist(key));
    }
    clean_up(&mut step, record);
    if recorded == Recorded::No && action == Action::Replace {
        step.warnings.push("it exists already and no release of this stack made it".to_owned());
    }
    name_sources(input.prepared, &mut step);
    finish_wanted(input, step, desired, record, live)
}

/// A create that was cut off: nobody knows whether it has made something.
fn may_exist(key: &ResourceKey) -> String {
    format!(
        "a release was cut off while it made this: it may exist already, and would exist twice. Look for it; \
         if it is there, take it over: kusion import STACK {key} ID"
    )
}

/// The proposal about something that is only looked at, or put off: there is nothing live that could be changed.
fn looked_at(input: &PlanInput<'_>, key: &ResourceKey) -> Option<Proposal> {
    let proposal = input.proposals.get(key)?;
    matches!(proposal.what, Proposed::Same | Proposed::Read | Proposed::PutOff(_)).then(|| proposal.clone())
}

/// An object that was replaced and is still there makes its resource change, however equal it is.
fn clean_up(step: &mut Step, record: Option<&ResourceRecord>) {
    let Some(record) = record.filter(|record| !record.deposed.is_empty()) else { return };
    step.deposed = record.deposed.clone();
    if step.action == Action::NoOp && step.put_off().is_none() {
        (step.action, step.reason) = (Action::Update, Reason::LeftBehind);
    }
}

/// Keeps in the step what the executor needs, and no more: a no-op carries nothing unless its record is stale.
fn finish_wanted(
    input: &PlanInput<'_>,
    mut step: Step,
    desired: &Desired<'_>,
    record: Option<&ResourceRecord>,
    live: Option<&Observed>,
) -> Step {
    if step.action == Action::NoOp {
        step.extensions.clear();
        (step.planned, step.blob, step.kept) = (None, None, None);
        let record = record.filter(|_| step.put_off().is_none());
        step.rerecord = record.and_then(|record| stale(record, desired, &step, live));
        step.depends_on.clear();
        step.references.clear();
        return step;
    }
    step.desired = Some(desired.attributes.clone());
    step.unknown = desired.unknown.clone();
    if let Some(live) = live {
        step.before = Some(shown(input, &step.kind, live));
        step.live_version = live.version.clone();
        step.live_uid = live.uid.clone();
    }
    step
}

/// The record as it should be, if it is not.
fn stale(
    record: &ResourceRecord,
    desired: &Desired<'_>,
    step: &Step,
    live: Option<&Observed>,
) -> Option<ResourceRecord> {
    let depends_on = &step.depends_on;
    let uid = live.and_then(|live| live.uid.as_ref()).or(record.uid.as_ref());
    let kept = live.and_then(|live| live.kept.as_ref()).or(record.kept.as_ref());
    let same = step.aliases.is_empty()
        && record.attributes == desired.attributes
        && record.kept.as_ref() == kept
        && record.depends_on == *depends_on
        && record.extensions == *desired.extensions
        && record.uid.as_ref() == uid;
    (!same).then(|| ResourceRecord {
        attributes: desired.attributes.clone(),
        depends_on: depends_on.clone(),
        references: step.references.clone(),
        extensions: desired.extensions.clone(),
        uid: uid.cloned(),
        kept: kept.cloned(),
        ..record.clone()
    })
}

/// The runtime's proposal, or the structural comparison, completed by fields that are known only later.
fn judge(
    input: &PlanInput<'_>,
    desired: &Desired<'_>,
    record: Option<&ResourceRecord>,
    live: &Observed,
) -> Proposal {
    let mut proposal = input.proposals.get(&desired.key).cloned().unwrap_or_else(|| {
        let prior = record.map(|record| &record.attributes);
        let changes: Vec<_> = three_way(prior, &desired.attributes, live.attributes.tree())
            .into_iter()
            .filter(|change| !desired.is_unknown(&change.path))
            .collect();
        let what = if changes.is_empty() { Proposed::Same } else { Proposed::Update };
        Proposal { changes, ..Proposal::of(what) }
    });
    if matches!(proposal.what, Proposed::PutOff(_)) {
        return proposal;
    }
    for use_ in &desired.unknown {
        if has_spoken(&proposal, &use_.at) {
            continue;
        }
        let before = use_.at.get(live.attributes.tree()).cloned();
        let mut change = FieldChange::new(use_.at.clone(), before, None, Mover::Ours);
        let names: Vec<String> = use_.template.references().map(ToString::to_string).collect();
        change.note = Some(Note::KnownAfterApply(names.join(", ")));
        proposal.changes.push(change);
        if proposal.what == Proposed::Same {
            proposal.what = Proposed::Update;
        }
    }
    proposal
}

/// A platform that plans every attribute may have said what becomes of a field that waits for another resource.
fn has_spoken(proposal: &Proposal, at: &FieldPath) -> bool {
    let Some(planned) = &proposal.planned else { return false };
    let is_open = matches!(at.get(planned), None | Some(Attr::Unknown | Attr::Reference(_)));
    !is_open || proposal.changes.iter().any(|change| change.path.covers(at))
}

fn unwanted_step(input: &PlanInput<'_>, key: &ResourceKey) -> Step {
    let live = input.live.get(key);
    let record = input.prior.get(key);
    let imported = record.is_some_and(|record| record.imported);
    let owned = live.map(|live| whose(input, key, live));
    let (action, reason) = match decide_unwanted(owned, imported, input.owners.imported) {
        (action, Reason::NotInConfiguration) if input.destroy => (action, Reason::Destroyed),
        decided => decided,
    };
    let leaving = live.and_then(|live| live.terminating.as_deref()).map(waits_for);
    let tried = (live.is_none() && input.prior.tried.contains(key)).then(|| {
        "a release was cut off while it made this: if it exists, nothing knows of it any more after this; look for it"
            .to_owned()
    });
    Step {
        key: key.clone(),
        kind: record.map(|record| record.kind.clone()).unwrap_or_default(),
        action,
        reason,
        drift: false,
        changes: Vec::new(),
        warnings: leaving.into_iter().chain(tried).collect(),
        lost: None,
        desired: None,
        unknown: Vec::new(),
        before: live
            .map(|live| shown(input, &record.map(|record| record.kind.clone()).unwrap_or_default(), live)),
        live_version: live.and_then(|live| live.version.clone()),
        live_uid: live.and_then(|live| live.uid.clone()),
        after: Vec::new(),
        old_after: Vec::new(),
        depends_on: record.map(|record| record.depends_on.clone()).unwrap_or_default(),
        references: Vec::new(),
        extensions: record.map(|record| record.extensions.clone()).unwrap_or_default(),
        planned: None,
        blob: None,
        kept: None,
        create_first: false,
        once: false,
        deposed: record.map(|record| record.deposed.clone()).unwrap_or_default(),
        rerecord: None,
        aliases: aliases(input, key),
    }
}

fn blank(key: &ResourceKey, desired: &Desired<'_>, action: Action, reason: Reason) -> Step {
    Step {
        key: key.clone(),
        kind: desired.kind.clone(),
        action,
        reason,
        drift: false,
        changes: Vec::new(),
        warnings: Vec::new(),
        lost: None,
        desired: None,
        unknown: Vec::new(),
        before: None,
        live_version: None,
        live_uid: None,
        after: Vec::new(),
        old_after: Vec::new(),
        depends_on: Vec::new(),
        references: Vec::new(),
        extensions: desired.extensions.clone(),
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

fn whose<'a>(input: &PlanInput<'a>, key: &ResourceKey, live: &'a Observed) -> Whose<'a> {
    let strange = input.prior.get(key).is_some() && input.prior.of(key, Some(live)).is_none();
    match &live.owner {
        None if strange => Whose::Strangers,
        None => Whose::Nobodys,
        Some(Ownership { owner, imported }) if *owner == input.scope.owner() => match strange {
            true => Whose::Strangers,
            false => Whose::Ours { imported: *imported },
        },
        Some(Ownership { owner, .. }) => Whose::Theirs { owner, may_take: input.owners.may_take(owner) },
    }
}

fn aliases(input: &PlanInput<'_>, key: &ResourceKey) -> Vec<ResourceKey> {
    input.aliases.get(key).cloned().unwrap_or_default()
}

/// The live attributes without what is nobody's business.
fn shown(input: &PlanInput<'_>, kind: &ResourceType, live: &Observed) -> Attr {
    let mut attributes = live.attributes.tree().clone();
    let hidden = input.platforms.get(kind).map(|platform| platform.hidden()).unwrap_or_default();
    for path in &hidden {
        if let Some((Segment::Key(last), parents)) = path.0.split_last()
            && let Some(map) = FieldPath(parents.to_vec()).get_mut(&mut attributes).and_then(Attr::as_map_mut)
        {
            map.shift_remove(last.as_str());
        }
    }
    attributes
}

fn waits_for(held_by: &[String]) -> String {
    if held_by.is_empty() {
        return "is being deleted; waits until it is gone".to_owned();
    }
    format!("is being deleted; waits for {}", held_by.join(", "))
}

fn dependencies(prepared: &Prepared<'_>, key: &ResourceKey) -> Vec<ResourceKey> {
    let Some(&at) = prepared.index.get(key) else { return Vec::new() };
    let keys: BTreeSet<ResourceKey> =
        prepared.graph.predecessors(at).map(|before| prepared.keys[before].clone()).collect();
    keys.into_iter().collect()
}

/// The fields of a resource that are filled in from others of the same stack.
fn references(prepared: &Prepared<'_>, key: &ResourceKey) -> Vec<ReferenceUse> {
    let Some(&at) = prepared.index.get(key) else { return Vec::new() };
    let own = |use_: &&ReferenceUse| {
        let mut all = use_.template.references().peekable();
        all.peek().is_some() && all.all(|reference| reference.stack.is_none())
    };
    prepared.uses[at].iter().filter(own).cloned().collect()
}

fn name_sources(prepared: &Prepared<'_>, step: &mut Step) {
    let Some(&at) = prepared.index.get(&step.key) else { return };
    let resource = prepared.resources[at];
    if resource.source.is_empty() {
        return;
    }
    for change in step.changes.iter_mut().filter(|change| change.source.is_none()) {
        change.source = resource.place_of(&change.path).cloned();
    }
}
