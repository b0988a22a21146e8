//! The Plan: what will be done, as an immutable artefact that can be stored, shown, hashed and carried out.
//!
//! The hash covers everything in it: Spec, prior serial, live versions of what changes, conflict rules, engine version,
//! and the steps themselves. A plan read from a file is refused if its hash does not fit.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

use crate::digest::write_canonical;
use crate::{
    Attr, Blob, ConflictRule, Deposed, FieldChange, FieldPath, Kept, ReferenceUse, ReleaseNo, ResourceKey,
    ResourceRecord, ResourceType, sha256_hex,
};

/// The version of the stored form.
pub const PLAN_SCHEMA: &str = "kusion.io/plan/v1";

/// What is done with a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Action {
    Create,
    Update,
    Replace,
    Delete,
    Import,
    /// Ours no more, and left in place.
    Release,
    /// Only looked at (a data source), when what it needs is known.
    Read,
    NoOp,
}

impl Action {
    /// Returns whether the resource leaves the stack.
    #[must_use]
    pub fn is_leaving(self) -> bool {
        matches!(self, Action::Delete | Action::Release)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Action::Create => "create",
            Action::Update => "update",
            Action::Replace => "replace",
            Action::Delete => "delete",
            Action::Import => "import",
            Action::Release => "release",
            Action::Read => "read",
            Action::NoOp => "no-op",
        })
    }
}

/// Why it is done.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    New,
    Changed,
    /// Only the world moved.
    Drift,
    DeletedOutside,
    /// Fields that cannot change in place.
    Immutable(Vec<FieldPath>),
    NotInConfiguration,
    /// The whole stack is destroyed, whatever its configuration says.
    Destroyed,
    /// It is recorded, wanted no more, and not there: only the record goes.
    AlreadyGone,
    /// It exists and no state knows it.
    ExistsUnmanaged,
    /// What we made is gone, and another object has its name.
    MadeAnew,
    /// It exists, this stack made it, and the state does not know it (any more).
    Ours,
    /// It belongs to another stack: it is left alone, and a plan that wants to change it is refused.
    OwnedBy(String),
    /// It belonged to another stack, and the user takes it.
    TakenOver(String),
    /// Somebody else made it.
    Imported,
    /// Something that stays in place needs it.
    NeededBy(ResourceKey),
    /// An interrupted release had begun with it.
    Resumed(ReleaseNo),
    /// An object that it has replaced is still there.
    LeftBehind,
    /// Its create failed half-way: what is there is not whole.
    Tainted,
    /// What it is looked up by is known only after other changes.
    ReadLater,
    /// Its platform cannot say yet what would become of it: why.
    PutOff(String),
    Unchanged,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::New => f.write_str("new"),
            Reason::Changed => f.write_str("the configuration changed"),
            Reason::Drift => f.write_str("drift"),
            Reason::DeletedOutside => f.write_str("deleted outside"),
            Reason::Immutable(paths) => {
                let names: Vec<String> = paths.iter().map(ToString::to_string).collect();
                write!(f, "{} {} immutable", names.join(", "), if names.len() == 1 { "is" } else { "are" })
            }
            Reason::NotInConfiguration => f.write_str("no longer in the configuration"),
            Reason::Destroyed => f.write_str("the stack is destroyed"),
            Reason::AlreadyGone => f.write_str("already gone"),
            Reason::ExistsUnmanaged => f.write_str("exists already"),
            Reason::MadeAnew => f.write_str("made anew by somebody else"),
            Reason::Ours => f.write_str("exists already, made by this stack"),
            Reason::OwnedBy(owner) => write!(f, "belongs to {owner}"),
            Reason::TakenOver(owner) => write!(f, "taken over from {owner}"),
            Reason::Imported => f.write_str("imported"),
            Reason::NeededBy(key) => write!(f, "needed by {key}"),
            Reason::Resumed(release) => write!(f, "begun by release {release}, which was interrupted"),
            Reason::LeftBehind => f.write_str("what it has replaced is still there"),
            Reason::Tainted => f.write_str("its create failed half-way"),
            Reason::ReadLater => f.write_str("known only after other changes"),
            Reason::PutOff(why) => f.write_str(why),
            Reason::Unchanged => f.write_str("unchanged"),
        }
    }
}

/// What a step waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Wait {
    /// The call for the other resource has returned.
    Applied,
    /// The other resource is healthy.
    Ready,
    /// What goes of the other resource is gone: all of it, or the objects that were replaced.
    Gone,
}

/// A step that has to end before this one starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    pub on: ResourceKey,
    pub wait: Wait,
}

/// What happens to one resource.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", remote = "Self")]
pub struct Step {
    pub key: ResourceKey,
    #[serde(rename = "type")]
    pub kind: ResourceType,
    pub action: Action,
    pub reason: Reason,
    /// Some change has its cause in the world.
    #[serde(default, skip_serializing_if = "is_false")]
    pub drift: bool,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// What a replace or delete destroys.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
    /// The wanted attributes; references that are not known yet are still in it. Absent for delete and no-op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Attr>,
    /// The references in `desired` that are filled in during the apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<ReferenceUse>,
    /// The live attributes before; only of what changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Attr>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_uid: Option<String>,
    /// Steps of this plan that come first (transitively reduced).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Edge>,
    /// Steps that come before an old object goes beside what is made: that which is replaced, or was left behind.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub old_after: Vec<Edge>,
    /// All dependencies, as the record will keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceKey>,
    /// All fields that are filled in from other resources of the stack, as the record will keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceUse>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// All attributes as they will be, where the platform can tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub planned: Option<Attr>,
    /// What the platform gets back when this is applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<Blob>,
    /// What is recorded before it is made or taken over, so that it is found again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// A replacement whose new object comes before the old one goes.
    #[serde(default, skip_serializing_if = "is_false")]
    pub create_first: bool,
    /// Making it twice makes two: that it is being made is written down before.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
    /// Objects that an earlier replacement has left behind; they go with this step, like the one that it replaces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deposed: Vec<Deposed>,
    /// A no-op whose record has to be brought up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerecord: Option<ResourceRecord>,
    /// Other ids under which the state has this very object: its record is carried over from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<ResourceKey>,
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Step::serialize(self, serializer)
    }
}

/// In the stored form a reference is a text; the list beside it says which texts are references.
impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut step = Step::deserialize(deserializer)?;
        for use_ in &step.unknown {
            let place = step.desired.as_mut().and_then(|desired| use_.at.get_mut(desired));
            if let Some(place) = place.filter(|place| place.as_str() == Some(use_.template.source())) {
                *place = Attr::Reference(Arc::new(use_.template.clone()));
            }
        }
        Ok(step)
    }
}

impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({})", self.action, self.key, self.reason)
    }
}

impl Step {
    /// Returns whether the world will be written to, or the record changed.
    #[must_use]
    pub fn is_change(&self) -> bool {
        self.action != Action::NoOp
    }

    /// Returns whether an object goes away beside what the step makes.
    #[must_use]
    pub fn has_old(&self) -> bool {
        self.action == Action::Replace
            || (self.is_change() && !self.action.is_leaving() && !self.deposed.is_empty())
    }

    /// Returns whether the old object has to be gone before the new one is made.
    #[must_use]
    pub fn old_goes_first(&self) -> bool {
        self.action == Action::Replace && !self.create_first
    }

    /// Returns why nothing is done yet about something that is wanted.
    #[must_use]
    pub fn put_off(&self) -> Option<&str> {
        match &self.reason {
            Reason::PutOff(why) => Some(why),
            _ => None,
        }
    }

    /// Returns whether the step adopts an object that somebody else made.
    #[must_use]
    pub fn adopts(&self) -> bool {
        self.action == Action::Import && self.reason != Reason::Ours
    }

    /// Returns the other stack that the object belongs to, if that forbids the step.
    #[must_use]
    pub fn refused_for(&self) -> Option<&str> {
        match &self.reason {
            Reason::OwnedBy(owner) if self.action != Action::Release => Some(owner),
            _ => None,
        }
    }
}

/// What a plan is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Scope {
    pub project: String,
    pub stack: String,
    pub workspace: String,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.project, self.stack)
    }
}

/// Counts by action.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub create: usize,
    pub update: usize,
    pub replace: usize,
    pub delete: usize,
    pub import: usize,
    /// Left in place, and ours no more.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub release: usize,
    /// Looked at on the way.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub read: usize,
    pub unchanged: usize,
    /// How many of the above have their cause in the world.
    pub drift: usize,
}

impl Tally {
    /// Counts one step.
    pub fn count(&mut self, step: &Step) {
        *match step.action {
            Action::Create => &mut self.create,
            Action::Update => &mut self.update,
            Action::Replace => &mut self.replace,
            Action::Delete => &mut self.delete,
            Action::Import => &mut self.import,
            Action::Release => &mut self.release,
            Action::Read => &mut self.read,
            Action::NoOp => &mut self.unchanged,
        } += 1;
        self.drift += usize::from(step.drift);
    }
}

/// What will be done, in the order in which it is made or goes, as a draft: [`PlanDraft::sealed`] turns it into a [`Plan`]. When the
/// old object of a step goes is said by its edges only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PlanDraft {
    pub schema: String,
    pub engine: String,
    pub scope: Scope,
    pub lineage: String,
    pub serial: u64,
    pub spec_digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ConflictRule>,
    pub steps: Vec<Step>,
    /// SHA-256 over all of the above; the seal sets it.
    pub hash: String,
}

/// What will be done. It is sealed: it can be read and not changed, so that its hash says what is carried out.
///
/// ```compile_fail
/// fn edit(plan: &mut kusion_model::Plan) {
///     plan.steps.clear();
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan(PlanDraft);

impl std::ops::Deref for Plan {
    type Target = PlanDraft;

    fn deref(&self) -> &PlanDraft {
        &self.0
    }
}

/// A stored plan that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    #[error("the plan is not readable: {0}")]
    Unreadable(String),
    #[error("the plan has schema `{0}`, this engine reads `{PLAN_SCHEMA}`")]
    Schema(String),
    #[error("the plan was changed after it was made: its hash does not fit")]
    Hash,
    #[error("`{first}` and `{second}` are one object, and one plan must not touch it twice")]
    Twice { first: ResourceKey, second: ResourceKey },
}

impl PlanDraft {
    /// Puts the hash on a finished plan.
    ///
    /// # Errors
    /// Two steps that touch one object.
    pub fn sealed(mut self) -> Result<Plan, PlanError> {
        self.check_once()?;
        self.hash = self.compute_hash();
        Ok(Plan(self))
    }

    /// Every object is touched by one step at most, and every id belongs to one step.
    fn check_once(&self) -> Result<(), PlanError> {
        let mut ids: BTreeMap<&ResourceKey, &ResourceKey> = BTreeMap::new();
        let mut objects: BTreeMap<(&str, &str), &ResourceKey> = BTreeMap::new();
        for step in &self.steps {
            let twice =
                |first: &ResourceKey| PlanError::Twice { first: first.clone(), second: step.key.clone() };
            for id in std::iter::once(&step.key).chain(&step.aliases) {
                if let Some(first) = ids.insert(id, &step.key) {
                    return Err(twice(first));
                }
            }
            let uid = step.live_uid.as_deref().filter(|uid| !uid.is_empty());
            if let Some(first) = uid.and_then(|uid| objects.insert((&step.key.cluster, uid), &step.key)) {
                return Err(twice(first));
            }
        }
        Ok(())
    }

    fn compute_hash(&self) -> String {
        let PlanDraft { schema, engine, scope, lineage, serial, spec_digest, rules, steps, hash: _ } = self;
        let mut text = Vec::new();
        let mut add = |part: Result<Value, serde_json::Error>| {
            write_canonical(&part.unwrap_or_default(), &mut text);
            text.push(b'\n');
        };
        add(serde_json::to_value((schema, engine, scope, lineage, serial, spec_digest, rules)));
        // One at a time: a document of the whole plan would be the largest thing in memory.
        steps.iter().for_each(|step| add(serde_json::to_value(step)));
        sha256_hex(&text)
    }

    /// Counts the steps by action.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.steps.iter().for_each(|step| tally.count(step));
        tally
    }
}

impl Plan {
    /// Returns the six characters that people see.
    #[must_use]
    pub fn short_hash(&self) -> &str {
        self.hash.get(..6).unwrap_or(&self.hash)
    }

    /// Returns whether nothing is to be done.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        !self.steps.iter().any(Step::is_change)
    }

    /// Returns the step of a resource.
    #[must_use]
    pub fn step(&self, key: &ResourceKey) -> Option<&Step> {
        self.steps.iter().find(|step| step.key == *key)
    }

    /// Returns the stored form.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Reads the stored form and checks its hash.
    pub fn from_json(text: &str) -> Result<Plan, PlanError> {
        let value: Value = serde_json::from_str(text).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        match value.get("schema").and_then(Value::as_str) {
            Some(PLAN_SCHEMA) => {}
            other => return Err(PlanError::Schema(other.unwrap_or("(none)").to_owned())),
        }
        let plan: PlanDraft =
            serde_json::from_value(value).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        if plan.compute_hash() != plan.hash {
            return Err(PlanError::Hash);
        }
        plan.check_once()?;
        Ok(Plan(plan))
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
pub(crate) mod tests;
