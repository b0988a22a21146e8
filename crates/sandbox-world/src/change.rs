//! What a controller asks for. The world carries it out through [`crate::write`], as an API client's request would be.

use ecow::EcoString;
use serde_json::Value;

use crate::kubelet::PodRun;
use crate::store::{ObjectKey, ResourceKey};
use crate::time::Time;
use crate::write::Removal;

/// One wish of a controller. The controller's row says who has it (the field manager).
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// POST; `metadata.generateName` is completed. `note` is told about the owner with the new name behind its message.
    Create { object: Value, note: Option<Note> },
    /// Merge patch of the main resource, or of a sub-resource (`status`).
    Patch { resource: ResourceKey, key: ObjectKey, subresource: &'static str, patch: Value },
    /// Replaces the whole `status`.
    Status { resource: ResourceKey, key: ObjectKey, status: Value },
    /// DELETE.
    Delete { resource: ResourceKey, key: ObjectKey, removal: Removal },
    /// An Event about an object: a repeated one raises its count.
    Note(Note),
    /// POST of a binding: the pod gets its node.
    Bind { key: ObjectKey, node: EcoString },
    /// The namespace's own finalizer is done.
    Finalize { namespace: EcoString },
    /// What the kubelet remembers of a pod; `None` forgets it.
    Remember { key: ObjectKey, run: Option<Box<PodRun>> },
}

/// What an Event says.
#[derive(Clone, Debug, PartialEq)]
pub struct Note {
    /// `involvedObject`.
    pub about: Value,
    pub warning: bool,
    pub reason: &'static str,
    pub message: String,
    pub component: &'static str,
    /// The node of a kubelet; empty for the others.
    pub host: EcoString,
}

/// What a controller makes of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reaction {
    /// Carried out in order; the first that is refused ends the list.
    pub changes: Vec<Change>,
    /// Look at the object again then, even if nothing happens to it.
    pub again_at: Option<Time>,
}

impl Reaction {
    /// Looks again at a moment, or earlier if something else asks for it.
    pub fn again(&mut self, at: Time) {
        self.again_at = Some(self.again_at.map_or(at, |known| known.min(at)));
    }
}
