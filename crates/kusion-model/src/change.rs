//! A change of one field: what, who moved, and which line asks for it.

use serde::{Deserialize, Serialize};

use crate::{Attr, FieldPath, SourceRef, Timestamp};

/// Who moved the field since the last release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Mover {
    /// The configuration changed.
    Ours,
    /// The world changed: drift.
    Theirs,
    /// Both did.
    Both,
}

/// What else is to be said about a field.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// Another manager owns it and the rules leave it to that manager; it is not sent.
    LeftAlone,
    /// Another manager owned it; the rules take it over.
    TakenOver,
    /// Another manager owns it and the rules refuse.
    Conflict,
    /// The field cannot be changed in place.
    Immutable,
    /// The value is known after another resource was applied; the text names the reference.
    KnownAfterApply(String),
}

/// One field that differs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FieldChange {
    pub path: FieldPath,
    /// The live value; absent if the field is not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Attr>,
    /// The wanted value; absent if the field goes away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Attr>,
    pub origin: Mover,
    /// The other manager of the field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub manager: Option<String>,
    /// When that manager wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<Note>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<SourceRef>,
}

impl FieldChange {
    /// Builds a change with nothing but its values.
    #[must_use]
    pub fn new(path: FieldPath, before: Option<Attr>, after: Option<Attr>, origin: Mover) -> Self {
        FieldChange { path, before, after, origin, manager: None, at: None, note: None, source: None }
    }

    /// Returns whether the world moved this field.
    #[must_use]
    pub fn is_drift(&self) -> bool {
        self.origin != Mover::Ours && self.note != Some(Note::LeftAlone)
    }

    /// Returns whether the field will be written.
    #[must_use]
    pub fn is_effective(&self) -> bool {
        self.note != Some(Note::LeftAlone)
    }

    /// Returns whether the values are secrets, to be shown as `(secret changed)`.
    #[must_use]
    pub fn is_secret(&self) -> bool {
        [&self.before, &self.after].into_iter().flatten().any(Attr::is_secret)
    }
}
