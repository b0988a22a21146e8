//! What can go wrong with a platform, and whether it is worth trying again.

use std::time::Duration;

use kusion_model::ResourceKey;

/// The kinds of failure that the engine tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// No connection: nothing was sent.
    Unreachable,
    /// The server's certificate is not trusted: nothing was sent.
    Untrusted,
    /// No answer in time: the write may have happened.
    Timeout,
    /// The connection broke in the middle: the write may have happened.
    Broken,
    /// An answer that is none of the platform: cut short, a login page, another object. Nothing is known; a write may have happened.
    Unreadable,
    TooManyRequests,
    /// 5xx.
    Server,
    /// A concurrent write; trying again may work.
    Conflict,
    /// Another manager owns a field; trying again will not help.
    Owned,
    NotFound,
    /// The platform does not know this kind of object.
    UnknownKind,
    Unauthorized,
    Forbidden,
    /// Refused by schema, admission or quota.
    Invalid,
    /// A field that cannot change.
    Immutable,
    /// A release records digests only; the value is not here.
    UnknownSecret,
    /// The namespace or another parent is missing or going away.
    ParentMissing,
    /// A bug on our side or an answer nobody understands.
    Unexpected,
}

/// Who was asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Party {
    #[default]
    Cluster,
    /// A Terraform provider.
    Provider,
    /// Nobody: it was found wrong before anybody was asked.
    Nobody,
}

/// A failed request. The message never holds attribute values of secrets.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct RuntimeError {
    pub kind: ErrorKind,
    pub message: String,
    /// When the platform says to come back.
    pub retry_after: Option<Duration>,
    pub by: Party,
    /// The resource that it is about, where the message does not begin with it.
    pub about: Option<ResourceKey>,
}

impl RuntimeError {
    /// Builds an error.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        RuntimeError { kind, message: message.into(), retry_after: None, by: Party::Cluster, about: None }
    }

    /// The same, of a provider, unless nobody was asked.
    #[must_use]
    pub fn of_provider(self) -> Self {
        let by = if self.by == Party::Nobody { Party::Nobody } else { Party::Provider };
        RuntimeError { by, ..self }
    }

    /// The same, found before anybody was asked.
    #[must_use]
    pub fn of_nobody(self) -> Self {
        RuntimeError { by: Party::Nobody, ..self }
    }

    /// The same, with the resource that it is about.
    #[must_use]
    pub fn about(self, key: &ResourceKey) -> Self {
        RuntimeError { about: Some(key.clone()), ..self }
    }

    /// Returns whether the same request may succeed later.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        use ErrorKind::{
            Broken, Conflict, Forbidden, Immutable, Invalid, NotFound, Owned, ParentMissing, Server, Timeout,
            TooManyRequests, Unauthorized, Unexpected, UnknownKind, UnknownSecret, Unreachable, Unreadable,
            Untrusted,
        };
        match self.kind {
            Unreachable | Timeout | Broken | Unreadable | TooManyRequests | Server | Conflict => true,
            Owned | NotFound | UnknownKind | Unauthorized | Forbidden | Invalid | Immutable
            | UnknownSecret | ParentMissing | Untrusted | Unexpected => self.retry_after.is_some(),
        }
    }

    /// Returns whether the write may have happened although it failed.
    #[must_use]
    pub fn is_uncertain(&self) -> bool {
        matches!(
            self.kind,
            ErrorKind::Timeout
                | ErrorKind::Broken
                | ErrorKind::Unreadable
                | ErrorKind::Server
                | ErrorKind::Unexpected
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transient_is_what_time_can_heal() {
        let transient = |kind| RuntimeError::new(kind, "x").is_transient();
        for kind in [ErrorKind::TooManyRequests, ErrorKind::Server, ErrorKind::Conflict, ErrorKind::Timeout] {
            assert!(transient(kind), "{kind:?}");
        }
        for kind in [ErrorKind::Owned, ErrorKind::Forbidden, ErrorKind::Invalid, ErrorKind::UnknownKind] {
            assert!(!transient(kind), "{kind:?}");
        }
    }

    #[test]
    fn an_unreachable_platform_has_done_nothing() {
        assert!(!RuntimeError::new(ErrorKind::Unreachable, "x").is_uncertain());
        assert!(RuntimeError::new(ErrorKind::Timeout, "x").is_uncertain());
    }
}
