//! What a runtime saw and what it thinks would change: facts for the planner, free of any platform.

use std::any::Any;
use std::fmt;
use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value};

use crate::{
    Action, Attr, Blob, FieldChange, FieldPath, Kept, Ownership, ReferenceUse, ResourceKey, ResourceType,
};

/// A live object in the form of its platform.
pub trait Native: Any + Send + Sync {
    /// Returns the tree, with what is secret sealed.
    fn tree(&self) -> Attr;
}

/// The attributes of a live object: in the form of its platform until somebody asks for the tree. Most objects do not change
/// and nobody refers to them, so nobody asks.
#[derive(Clone, Default)]
pub struct Live {
    native: Option<Arc<dyn Native>>,
    tree: OnceLock<Attr>,
}

impl Live {
    /// Wraps an object of a platform.
    #[must_use]
    pub fn new(native: Arc<dyn Native>) -> Self {
        Live { native: Some(native), tree: OnceLock::new() }
    }

    /// Returns the tree.
    #[must_use]
    pub fn tree(&self) -> &Attr {
        self.tree.get_or_init(|| self.native.as_ref().map(|native| native.tree()).unwrap_or_default())
    }

    /// Changes the tree; the object as its platform made it stays as it was.
    pub fn change_tree(&mut self, change: impl FnOnce(&mut Attr)) {
        let mut tree = self.tree().clone();
        change(&mut tree);
        self.tree = OnceLock::from(tree);
    }

    /// Returns the object as its platform made it.
    #[must_use]
    pub fn native<T: Native>(&self) -> Option<&T> {
        let native: &dyn Any = self.native.as_deref()?;
        native.downcast_ref()
    }
}

impl From<Attr> for Live {
    fn from(tree: Attr) -> Self {
        Live { native: None, tree: OnceLock::from(tree) }
    }
}

impl From<Value> for Live {
    fn from(plain: Value) -> Self {
        Live::from(Attr::from(plain))
    }
}

impl PartialEq for Live {
    fn eq(&self, other: &Self) -> bool {
        self.tree() == other.tree()
    }
}

impl fmt::Debug for Live {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.tree(), f)
    }
}

/// A live object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Observed {
    pub attributes: Live,
    /// Changes whenever the object does.
    pub version: Option<String>,
    /// Changes when the object is made anew under the same name.
    pub uid: Option<String>,
    /// Whose it is; nothing for an object that no stack has made or imported.
    pub owner: Option<Ownership>,
    /// It is being deleted, and these hold it, as the platform names them.
    pub terminating: Option<Vec<String>>,
    /// What the platform wants to have recorded.
    pub kept: Option<Kept>,
}

/// What shall exist, with every reference filled in that is known before the apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired<'a> {
    pub key: ResourceKey,
    pub kind: ResourceType,
    /// At the paths of `unknown` the reference is still there.
    pub attributes: Attr,
    pub unknown: Vec<ReferenceUse>,
    pub extensions: &'a Map<String, Value>,
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
    /// It has to be made anew, because of these fields; `lost` says what goes with the old one.
    Replace {
        because: Vec<FieldPath>,
        lost: Option<String>,
        /// The new one comes before the old one goes.
        create_first: bool,
    },
    /// It does not exist and would be made (a dry run accepted it).
    Create,
    /// It is only looked at, and cannot be yet.
    Read,
    /// Nothing can be said about it yet, for the reason in words: it is left alone, and so is what depends on it.
    PutOff(String),
}

/// The runtime's judgement of one wanted resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    pub what: Proposed,
    /// Fields that differ, also those left alone.
    pub changes: Vec<FieldChange>,
    pub warnings: Vec<String>,
    /// All attributes as they will be, where the platform can tell; others that refer to the resource read from it. What is
    /// not known yet is unknown here, also where the wanted attributes have a reference.
    pub planned: Option<Attr>,
    /// What the platform wants to get back when this is applied.
    pub blob: Option<Blob>,
    /// What is recorded before it is made or taken over: with it the object is found again if the release is cut off. Another
    /// one tomorrow would be another object.
    pub kept: Option<Kept>,
    /// Nobody can find out afterwards whether a create that was cut off has made something, and trying again would make another.
    pub once: bool,
}

impl Proposal {
    /// Returns the proposal that nothing changes.
    #[must_use]
    pub fn same() -> Self {
        Self::of(Proposed::Same)
    }

    /// Returns the proposal of an object that does not exist yet.
    #[must_use]
    pub fn create() -> Self {
        Self::of(Proposed::Create)
    }

    /// Returns a proposal without details.
    #[must_use]
    pub fn of(what: Proposed) -> Self {
        Proposal {
            what,
            changes: Vec::new(),
            warnings: Vec::new(),
            planned: None,
            blob: None,
            kept: None,
            once: false,
        }
    }

    /// Returns the action that this proposal stands for when the object is ours.
    #[must_use]
    pub fn action(&self) -> Action {
        match self.what {
            Proposed::Same | Proposed::PutOff(_) => Action::NoOp,
            Proposed::Update => Action::Update,
            Proposed::Replace { .. } => Action::Replace,
            Proposed::Create => Action::Create,
            Proposed::Read => Action::Read,
        }
    }
}
