//! What a runtime saw and what it thinks would change: facts for the planner, free of any platform.

use std::borrow::Cow;

use serde_json::Value;

use crate::{Action, FieldChange, FieldPath, Ownership, ReferenceUse, ResourceKey, ResourceType, SecretBag};

/// A live object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    /// All attributes, sealed.
    pub attributes: Value,
    /// The values behind the seals.
    pub secrets: SecretBag,
    /// Changes whenever the object does.
    pub version: Option<String>,
    /// Changes when the object is made anew under the same name.
    pub uid: Option<String>,
    /// Whose it is; nothing for an object that no stack has made or imported.
    pub owner: Option<Ownership>,
    /// It is being deleted, and these finalizers hold it.
    pub terminating: Option<Vec<String>>,
}

/// What shall exist, with every reference filled in that is known before the apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired<'a> {
    pub key: ResourceKey,
    pub kind: ResourceType,
    /// Sealed; at the paths of `unknown` the text of the reference is still there. Those of the Spec, unless something was
    /// filled in.
    pub attributes: Cow<'a, Value>,
    pub secrets: SecretBag,
    pub unknown: Vec<ReferenceUse>,
    pub extensions: &'a serde_json::Map<String, Value>,
}

impl Desired<'_> {
    /// Returns whether a field waits for another resource.
    #[must_use]
    pub fn is_unknown(&self, path: &FieldPath) -> bool {
        self.unknown.iter().any(|use_| use_.at == *path)
    }
}

/// What applying would do to a live object.
#[derive(Clone, Debug, PartialEq)]
pub enum Proposed {
    /// Nothing.
    Same,
    Update,
    /// It has to be deleted and made anew, because of these fields; `lost` says what goes with it.
    Replace {
        because: Vec<FieldPath>,
        lost: Option<String>,
    },
    /// It does not exist and would be made (a dry run accepted it).
    Create,
}

/// The runtime's judgement of one wanted resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub what: Proposed,
    /// Fields that differ, also those left alone, sealed.
    pub changes: Vec<FieldChange>,
    pub warnings: Vec<String>,
}

impl Proposal {
    /// Returns the proposal that nothing changes.
    #[must_use]
    pub fn same() -> Self {
        Proposal { what: Proposed::Same, changes: Vec::new(), warnings: Vec::new() }
    }

    /// Returns the proposal of an object that does not exist yet.
    #[must_use]
    pub fn create() -> Self {
        Proposal { what: Proposed::Create, changes: Vec::new(), warnings: Vec::new() }
    }

    /// Returns the action that this proposal stands for when the object is ours.
    #[must_use]
    pub fn action(&self) -> Action {
        match self.what {
            Proposed::Same => Action::NoOp,
            Proposed::Update => Action::Update,
            Proposed::Replace { .. } => Action::Replace,
            Proposed::Create => Action::Create,
        }
    }
}
