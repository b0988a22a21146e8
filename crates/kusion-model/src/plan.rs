//! The Plan: what will be done, as an immutable artefact that can be stored, shown, hashed and carried out.
//!
//! The hash covers everything in it: Spec, prior serial, live versions of what changes, conflict rules, engine version,
//! and the steps themselves. A plan read from a file is refused if its hash does not fit.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::write_canonical;
use crate::{
    ConflictRule, FieldChange, FieldPath, ReferenceUse, ReleaseNo, ResourceKey, ResourceRecord, ResourceType,
    sha256_hex,
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
    /// Ours no more: its record goes, it stays.
    Release,
    NoOp,
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
    /// An interrupted release had begun with it.
    Resumed(ReleaseNo),
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
            Reason::Resumed(release) => write!(f, "begun by release {release}, which was interrupted"),
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
}

/// A step that has to end before this one starts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Edge {
    pub on: ResourceKey,
    pub wait: Wait,
}

/// What happens to one resource.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
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
    /// The wanted attributes, sealed; references that are not known yet are still in it. Absent for delete and no-op.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub desired: Option<Value>,
    /// The references in `desired` that are filled in during the apply.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unknown: Vec<ReferenceUse>,
    /// The live attributes before, sealed; only of what changes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_version: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_uid: Option<String>,
    /// Steps of this plan that come first (transitively reduced).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<Edge>,
    /// All dependencies, as the record will keep them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceKey>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// A no-op whose record has to be brought up to date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rerecord: Option<ResourceRecord>,
}

fn is_zero(value: &usize) -> bool {
    *value == 0
}

fn is_false(value: &bool) -> bool {
    !value
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
            Action::NoOp => &mut self.unchanged,
        } += 1;
        self.drift += usize::from(step.drift);
    }
}

/// What will be done, in an order that respects every edge.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    pub schema: String,
    pub engine: String,
    pub scope: Scope,
    pub lineage: String,
    pub serial: u64,
    pub spec_digest: String,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<ConflictRule>,
    pub steps: Vec<Step>,
    /// SHA-256 over all of the above.
    pub hash: String,
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
}

impl Plan {
    /// Puts the hash on a finished plan.
    #[must_use]
    pub fn sealed(mut self) -> Self {
        self.hash = self.compute_hash();
        self
    }

    fn compute_hash(&self) -> String {
        let Plan { schema, engine, scope, lineage, serial, spec_digest, rules, steps, hash: _ } = self;
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

    /// Counts the steps by action.
    #[must_use]
    pub fn tally(&self) -> Tally {
        let mut tally = Tally::default();
        self.steps.iter().for_each(|step| tally.count(step));
        tally
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
        let plan: Plan = serde_json::from_value(value).map_err(|e| PlanError::Unreadable(e.to_string()))?;
        if plan.compute_hash() != plan.hash {
            return Err(PlanError::Hash);
        }
        Ok(plan)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::ResourceId;

    pub(crate) fn step(id: &str, action: Action) -> Step {
        Step {
            key: ResourceKey::new(ResourceId::parse(id).unwrap()),
            kind: ResourceType::kubernetes(),
            action,
            reason: Reason::New,
            drift: false,
            changes: Vec::new(),
            warnings: Vec::new(),
            lost: None,
            desired: Some(serde_json::json!({"kind": "Namespace"})),
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

    pub(crate) fn plan(steps: Vec<Step>) -> Plan {
        Plan {
            schema: PLAN_SCHEMA.to_owned(),
            engine: "0.1.0".to_owned(),
            scope: Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() },
            lineage: "l".to_owned(),
            serial: 3,
            spec_digest: "d".to_owned(),
            rules: Vec::new(),
            steps,
            hash: String::new(),
        }
        .sealed()
    }

    #[test]
    fn stored_plan_reads_back_and_a_touched_one_is_refused() {
        let plan = plan(vec![step("v1:Namespace:shop", Action::Create)]);
        let text = plan.to_json();
        assert_eq!(Plan::from_json(&text), Ok(plan));
        assert_eq!(Plan::from_json(&text.replace("create", "delete")), Err(PlanError::Hash));
        let other = text.replace("plan/v1", "plan/v9");
        assert!(matches!(Plan::from_json(&other), Err(PlanError::Schema(_))));
        assert!(matches!(Plan::from_json("{"), Err(PlanError::Unreadable(_))));
    }

    #[test]
    fn hash_depends_on_serial_versions_and_engine() {
        let base = plan(vec![step("v1:Namespace:shop", Action::Update)]);
        let mut serial = base.clone();
        serial.serial += 1;
        let mut version = base.clone();
        version.steps[0].live_version = Some("42".to_owned());
        let mut engine = base.clone();
        engine.engine = "0.2.0".to_owned();
        for other in [serial, version, engine] {
            assert_ne!(other.sealed().hash, base.hash);
        }
        assert_eq!(base.clone().sealed().hash, base.hash);
    }
}
