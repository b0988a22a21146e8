//! A failure as a person reads it: what went wrong, then `cause`, `where`, `next`, and the exit code that goes with it.

use crate::Exit;

/// What ends an operation early.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failure {
    pub exit: Exit,
    /// Empty if everything has been said and only the code is left.
    pub what: String,
    pub cause: Option<String>,
    pub place: Option<String>,
    pub next: Option<String>,
}

impl Failure {
    /// A failure with nothing but its first line.
    #[must_use]
    pub fn new(exit: Exit, what: impl Into<String>) -> Self {
        Failure { exit, what: what.into(), ..Failure::default() }
    }

    /// A wrong call or configuration.
    #[must_use]
    pub fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Everything has been said; only the code is left.
    #[must_use]
    pub fn told(exit: Exit) -> Self {
        Self::new(exit, "")
    }

    #[must_use]
    pub fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    #[must_use]
    pub fn place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}
