//! What a controller asks for. The world carries it out through [`crate::write`], as an API client's request would be.

use serde_json::Value;

use crate::store::{ObjectKey, ResourceKey};
use crate::time::Time;
use crate::write::Removal;

/// One wish of a controller. `manager` in [`Outcome`] says who has it.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// POST; `metadata.generateName` is completed.
    Create { object: Value },
    /// Merge patch of the main resource, or of a sub-resource (`status`).
    Patch { resource: ResourceKey, key: ObjectKey, subresource: &'static str, patch: Value },
    /// Replaces the whole `status`.
    Status { resource: ResourceKey, key: ObjectKey, status: Value },
    /// DELETE.
    Delete { resource: ResourceKey, key: ObjectKey, removal: Removal },
    /// An Event about an object: a repeated one raises its count.
    Note { about: Value, warning: bool, reason: &'static str, message: String, component: &'static str },
}

/// What a controller makes of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    pub changes: Vec<Change>,
    /// Look at the object again then, even if nothing happens to it.
    pub again_at: Option<Time>,
}
