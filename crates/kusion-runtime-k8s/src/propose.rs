//! What would applying do? Decided here where it can be, asked of the server (dry run) where something changes.

mod judged;
mod made;
mod moved;
mod replaced;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::PoisonError;

use futures::future::BoxFuture;
use futures::stream::StreamExt;
use kube_meaning::decide::{Change, Decision, FieldChange as MeaningChange, Question, Replace, Side, decide};
use kube_meaning::fieldset::FieldSet;
use kube_meaning::id::KubeId;
use kube_meaning::managed::{Managed, Operation};
use kube_meaning::ssa::{self, Applier, Target};
use kusion_model::{
    Attr, ConflictPolicy, FieldChange, FieldPath, Mover, Note, Observed, Proposal, Proposed, Timestamp,
    Unknowns,
};
use kusion_plan::three_way;
use kusion_runtime::{DryRun, ErrorKind, ProposeAsk, RuntimeError};
use serde_json::Value;

use self::judged::Judged;
use crate::apply::not_plain;
use crate::conflict::{Clash, policy};
use crate::kinds::{Asked, Kind};
use crate::owner::is_mark;
use crate::path::{from_elems, locate, named, remove};
use crate::redact::Sealer;
use crate::runtime::{FIELD_MANAGER, KubeRuntime, object_of, parse, unknown_kind};

/// How many dry runs go at once; the server is the bound, not we.
const DRY_RUNS: usize = 8;

/// The question to the server that is left after the local decision.
struct DryRunOf {
    name: String,
    object: Value,
    force: bool,
    /// Nothing of it is known only later.
    whole: bool,
}

impl DryRunOf {
    fn of(id: &KubeId, object: Value, force: bool) -> Self {
        DryRunOf { name: id.name.clone(), object, force, whole: true }
    }
}

/// What comes into being with the plan: asking the server about things in it would only say that it is missing. It is
/// remembered from wave to wave, because a namespace may be in an earlier one than what lives in it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Coming {
    pub(crate) namespaces: BTreeSet<String>,
    kinds: BTreeSet<(String, String)>,
}

impl KubeRuntime {
    pub(crate) async fn propose_all(&self, asks: &[ProposeAsk<'_>]) -> Vec<Result<Proposal, RuntimeError>> {
        let coming = self.learn(asks);
        // Boxed before the stream: a closure inside it would have to be general over every lifetime.
        let mut questions: Vec<BoxFuture<'_, Result<Proposal, RuntimeError>>> =
            Vec::with_capacity(asks.len());
        for ask in asks {
            questions.push(Box::pin(self.propose_one(ask, &coming)));
        }
        futures::stream::iter(questions).buffered(DRY_RUNS).collect().await
    }

    fn learn(&self, asks: &[ProposeAsk<'_>]) -> Coming {
        let mut coming = self.coming.lock().unwrap_or_else(PoisonError::into_inner);
        for ask in asks {
            let Ok(id) = parse(&ask.desired.key) else { continue };
            match id.kind.as_str() {
                "Namespace" if ask.live.is_none() => {
                    coming.namespaces.insert(id.name);
                }
                "Namespace" => {
                    coming.namespaces.remove(&id.name);
                }
                "CustomResourceDefinition" => {
                    let new = self.kinds.learn(&exposed(&ask.desired.attributes).unwrap_or_default());
                    if ask.live.is_none() {
                        coming.kinds.extend(new);
                    }
                }
                _ => {}
            }
        }
        coming.clone()
    }

    async fn propose_one(&self, ask: &ProposeAsk<'_>, coming: &Coming) -> Result<Proposal, RuntimeError> {
        let id = parse(&ask.desired.key)?;
        let Some(kind) = self.kinds.get(&self.api, &id).await? else { return Err(unknown_kind(&id)) };
        let sealer = Sealer::new(&self.key, &ask.desired.attributes, ask.live);
        let cleaned = |mut error: RuntimeError| {
            error.message = sealer.clean(&error.message);
            error
        };
        if let Some(from) = self.moved_from(ask, &id, &kind)
            && let Some(proposal) =
                self.propose_move(ask, &id, &kind, &from, coming, &sealer).await.map_err(cleaned)?
        {
            return Ok(proposal);
        }
        if ask.live.is_none() && self.dry_run == DryRun::Updates && kind.namespaced {
            self.check_home(self.namespace_of(&id), coming).await?;
        }
        let judged = match ask.live {
            None => self.judge_new(ask, &id, &kind, coming),
            Some(live) => self.judge_live(ask, &id, &kind, live, &sealer),
        };
        let (proposal, question) = judged.map_err(cleaned)?;
        let proposal = match question {
            None => proposal,
            Some(question) => {
                let asked = kind.one(self.namespace_of(&id), &question.name);
                self.dry_run(&asked, &question, proposal, ask.live, &sealer).await.map_err(cleaned)?
            }
        };
        Ok(Proposal { kept: self.place(ask.live, &id, &kind), ..proposal })
    }

    fn judge_live(
        &self,
        ask: &ProposeAsk<'_>,
        id: &KubeId,
        kind: &Kind,
        live: &Observed,
        sealer: &Sealer<'_>,
    ) -> Result<(Proposal, Option<DryRunOf>), RuntimeError> {
        // Fields that are known only later are neither compared nor sent.
        let mut object = Cow::Owned(exposed(&ask.desired.attributes)?);
        let current = object_of(live);
        kind.settle(&mut object);
        self.mark_like(&mut object, &current);
        let mut object = object.into_owned();
        let Some(target) = kind.target() else {
            return Ok(judge_without_schema(ask, id, live, object));
        };
        let ask_of = |desired: &Value, prior: Option<&Value>| {
            decide(Question { target, live: &current, manager: FIELD_MANAGER, desired, prior })
        };
        // Only who moved a field depends on the record, so it is read only if something moved.
        let asked = |desired: &Value| match ask_of(desired, None) {
            Decision::NoChange => Decision::NoChange,
            decision => match recorded(ask, &current) {
                prior @ Some(_) => ask_of(desired, prior.as_ref()),
                None => decision,
            },
        };
        let mut left = Vec::new();
        let mut decision = asked(&object);
        if let Decision::Change(change) = &decision {
            let leave = self.to_leave(ask, &kind.kind, &object, change);
            for clash in &leave {
                let after = remove(&mut object, &clash.place);
                left.push(left_alone(clash, &current, after, sealer));
            }
            if !leave.is_empty() {
                decision = asked(&object);
            }
        }
        if let Decision::Change(Change { fields, .. }) | Decision::Replace(Replace { fields, .. }) =
            &mut decision
        {
            fields.retain(|field| !is_mark(&from_elems(&field.path)));
        }
        Judged { ask, id, kind, target, current: &current, object, left, sealer }.proposal(decision)
    }

    fn to_leave(&self, ask: &ProposeAsk<'_>, kind: &str, object: &Value, change: &Change) -> Vec<Clash> {
        let clashes = change.conflicts.iter().filter_map(|conflict| clash_of(object, conflict));
        clashes.filter(|c| policy(c, kind, ask.rules, was_foreign(ask)) == ConflictPolicy::Leave).collect()
    }

    async fn dry_run(
        &self,
        asked: &Asked<'_>,
        question: &DryRunOf,
        mut proposal: Proposal,
        live: Option<&Observed>,
        sealer: &Sealer<'_>,
    ) -> Result<Proposal, RuntimeError> {
        if matches!(proposal.what, Proposed::Replace { .. }) {
            return self.dry_replace(asked, question, proposal, live, sealer).await;
        }
        let answer = self.dry_apply(asked, &question.object, question.force).await;
        if let Ok(made) = &answer {
            proposal.warnings.extend(made.warnings.iter().map(|text| sealer.clean(text)));
        }
        let result = match answer {
            Ok(made) => made.object,
            Err(error) if error.kind == ErrorKind::Immutable && live.is_some() => {
                // The server knows an immutable field that we do not: a replacement all the same.
                let (because, lost) = (Vec::new(), None);
                proposal.warnings.push(sealer.clean(&error.message));
                proposal.what = Proposed::Replace { because, lost, create_first: false };
                return Ok(proposal);
            }
            Err(error) => return Err(error),
        };
        // Admission may have undone the difference: then there is none.
        let same = live.is_some_and(|live| {
            let object = object_of(live);
            !is_sensitive(&object) && looks_same(&object, &result)
        });
        if same && proposal.changes.iter().all(|change| change.note.is_none()) {
            return Ok(Proposal { warnings: proposal.warnings, ..Proposal::same() });
        }
        Ok(proposal)
    }
}

/// For aggregated APIs: compare as the values stand, and let the server say what really changes.
fn judge_without_schema(
    ask: &ProposeAsk<'_>,
    id: &KubeId,
    live: &Observed,
    object: Value,
) -> (Proposal, Option<DryRunOf>) {
    let prior = ask.prior.map(|record| &record.attributes);
    let mut changes = three_way(prior, &ask.desired.attributes, live.attributes.tree());
    changes.retain(|change| !ask.desired.is_unknown(&change.path));
    if changes.is_empty() {
        return (Proposal::same(), None);
    }
    let proposal = Proposal { changes, ..Proposal::of(Proposed::Update) };
    (proposal, Some(DryRunOf::of(id, object, false)))
}

/// Whether another tool made the object: it still owns fields that were equal when we imported it.
fn was_foreign(ask: &ProposeAsk<'_>) -> bool {
    ask.prior.is_none_or(|record| record.imported)
}

/// An import that was killed after it had applied the object may not have taken the former tool out of its owners.
fn interrupted_import(ask: &ProposeAsk<'_>) -> bool {
    ask.prior.is_some_and(|intent| intent.imported && intent.uid.is_none())
}

/// How changed fields are put before a user.
struct Shown<'a> {
    live: &'a Value,
    /// No release of ours has made the object: what differs is our wish.
    import: bool,
    sealer: &'a Sealer<'a>,
}

impl Shown<'_> {
    fn change(&self, field: MeaningChange) -> FieldChange {
        let path = from_elems(&field.path);
        let origin = match field.side {
            _ if self.import => Mover::Ours,
            Side::Ours => Mover::Ours,
            Side::Theirs => Mover::Theirs,
            Side::Both => Mover::Both,
        };
        let seal = |value: Option<Value>| value.map(|value| self.sealer.seal(&path, value));
        let mut change = FieldChange::new(path.clone(), seal(field.live), seal(field.desired), origin);
        let other = field.owners.iter().find(|owner| owner.manager != FIELD_MANAGER);
        change.manager = other.map(|owner| owner.manager.to_string());
        change.at = change.manager.as_ref().and_then(|manager| written_at(self.live, manager));
        change
    }
}

/// Something to write, though no field changes beside what is left to others.
fn update(left: Vec<FieldChange>) -> Proposal {
    Proposal { what: Proposed::Update, ..unchanged(left) }
}

/// Nothing to do, beside what is left to others.
fn unchanged(left: Vec<FieldChange>) -> Proposal {
    Proposal { changes: left, ..Proposal::same() }
}

fn replace_with(replace: Replace, kind: &Kind, shown: &Shown<'_>) -> Proposal {
    let because: Vec<FieldPath> = replace.reasons.iter().map(|cause| reason_path(&cause.field)).collect();
    let mut changes: Vec<FieldChange> = replace.fields.into_iter().map(|f| shown.change(f)).collect();
    for change in &mut changes {
        if because.iter().any(|path| path.covers(&change.path)) {
            change.note = Some(Note::Immutable);
        }
    }
    let what = Proposed::Replace { because, lost: lost(&kind.kind).map(str::to_owned), create_first: false };
    Proposal { changes, ..Proposal::of(what) }
}

/// The object with its secrets in place and without what is not known yet.
fn exposed(attributes: &Attr) -> Result<Value, RuntimeError> {
    attributes.expose(Unknowns::LeaveOut).map_err(not_plain)
}

/// The attributes of the last release. A record has digests where the object has values: then ownership alone tells who moved.
fn recorded(ask: &ProposeAsk<'_>, current: &Value) -> Option<Value> {
    let record = ask.prior?;
    if is_sensitive(current) || ask.desired.attributes.has_secret() {
        return None;
    }
    exposed(&record.attributes).ok()
}

/// Whether the server's object is a Secret.
fn is_sensitive(object: &Value) -> bool {
    object.get("kind").and_then(Value::as_str) == Some("Secret")
        && object.get("apiVersion").and_then(Value::as_str) == Some("v1")
}

/// Whether the fields that we own would be others than now.
fn owns_anew(target: Target<'_>, live: &Value, desired: &Value) -> bool {
    let before = Managed::of(live);
    let by = Applier { manager: FIELD_MANAGER, force: false, now: "" };
    match ssa::apply(target, live, before.clone(), desired, by) {
        Ok(applied) => ours(&applied.managed) != ours(&before),
        Err(_) => true,
    }
}

fn ours(managed: &Managed) -> Option<&FieldSet> {
    let entry = managed.entries.iter().find(|entry| {
        entry.manager.name == FIELD_MANAGER
            && entry.manager.operation == Operation::Apply
            && entry.manager.subresource.is_empty()
    });
    entry.map(|entry| &entry.fields)
}

fn clash_of(object: &Value, conflict: &ssa::Conflict) -> Option<Clash> {
    let text: String = conflict.path.iter().map(ToString::to_string).collect();
    let place = locate(object, &text)?;
    Some(Clash {
        manager: conflict.manager.name.to_string(),
        by_scale: conflict.manager.subresource == "scale",
        path: named(object, &place),
        place,
    })
}

fn left_alone(clash: &Clash, live: &Value, after: Option<Value>, sealer: &Sealer<'_>) -> FieldChange {
    let seal = |value: Option<Value>| value.map(|value| sealer.seal(&clash.path, value));
    let before = seal(clash.path.get(live).cloned());
    let mut change = FieldChange::new(clash.path.clone(), before, seal(after), Mover::Theirs);
    change.note = Some(Note::LeftAlone);
    change.manager = Some(clash.manager.clone());
    change.at = written_at(live, &clash.manager);
    change
}

fn note_conflicts(
    changes: &mut Vec<FieldChange>,
    clashes: &[Clash],
    rule: &dyn Fn(&Clash) -> ConflictPolicy,
) {
    for clash in clashes {
        let note = if rule(clash) == ConflictPolicy::TakeOver { Note::TakenOver } else { Note::Conflict };
        let related =
            |change: &&mut FieldChange| change.path.covers(&clash.path) || clash.path.covers(&change.path);
        match changes.iter_mut().find(related) {
            Some(change) => {
                change.note = Some(note);
                change.manager = Some(clash.manager.clone());
            }
            None => {
                let mut change = FieldChange::new(clash.path.clone(), None, None, Mover::Both);
                change.note = Some(note);
                change.manager = Some(clash.manager.clone());
                changes.push(change);
            }
        }
    }
}

/// When a manager last wrote the object.
fn written_at(live: &Value, manager: &str) -> Option<Timestamp> {
    let managed = Managed::of(live);
    let times = managed
        .entries
        .iter()
        .filter(|entry| entry.manager.name == manager)
        .filter_map(|e| e.time.as_deref());
    times.filter_map(Timestamp::parse).max()
}

fn looks_same(live: &Value, result: &Value) -> bool {
    let strip = |object: &Value| {
        let mut object = object.clone();
        if let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            for field in ["managedFields", "resourceVersion", "generation"] {
                meta.shift_remove(field);
            }
        }
        object
    };
    strip(live) == strip(result) && Managed::of(live).same_ownership(&Managed::of(result))
}

/// The server names fields with dots; where it says nothing usable, the whole spec is meant.
fn reason_path(field: &str) -> FieldPath {
    FieldPath::parse(field).unwrap_or_else(|_| FieldPath::keys(["spec"]))
}

/// What a replacement destroys.
fn lost(kind: &str) -> Option<&'static str> {
    match kind {
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" => {
            Some("its pods are deleted and made anew")
        }
        "Job" => Some("job history and its pods are lost"),
        "Pod" => Some("the pod is deleted and made anew"),
        "PersistentVolumeClaim" => Some("the data of the volume may be lost"),
        "PersistentVolume" => Some("the volume is released; its data depends on the reclaim policy"),
        "Service" => Some("its cluster address and connections are lost"),
        "Namespace" => Some("everything in the namespace is deleted"),
        "CustomResourceDefinition" => Some("every object of the kind is deleted"),
        "Secret" | "ConfigMap" => Some("pods that mount it see it vanish for a moment"),
        "RoleBinding" | "ClusterRoleBinding" => Some("its permissions are gone for a moment"),
        _ => None,
    }
}
