//! A failure as a user sees it: what went wrong, then `cause`, `where`, `next`, and the exit code that goes with it.

use std::fmt::Write as _;

use crate::style::Style;

/// Exit codes of the command; scripts branch on them.
pub(crate) mod exit {
    /// Usage or configuration error.
    pub(crate) const USAGE: u8 = 1;
    /// Changes pending.
    pub(crate) const PENDING: u8 = 2;
    /// Locked, or a conflict.
    pub(crate) const CONFLICT: u8 = 4;
    /// The platform failed.
    pub(crate) const REMOTE: u8 = 5;
    /// Applied, but failed or not healthy in time.
    pub(crate) const UNHEALTHY: u8 = 6;
    /// Partly applied.
    pub(crate) const PARTIAL: u8 = 7;
    /// A bug of ours.
    pub(crate) const BUG: u8 = 70;
    /// Interrupted.
    pub(crate) const INTERRUPTED: u8 = 130;
}

/// What ends a command early. An empty `what` has been told already.
#[derive(Debug, Clone, Default)]
pub(crate) struct Failure {
    pub(crate) code: u8,
    pub(crate) what: String,
    pub(crate) cause: Option<String>,
    pub(crate) place: Option<String>,
    pub(crate) next: Option<String>,
}

impl Failure {
    pub(crate) fn new(code: u8, what: impl Into<String>) -> Self {
        Failure { code, what: what.into(), ..Failure::default() }
    }

    /// A wrong call or configuration.
    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(exit::USAGE, what)
    }

    /// Everything has been said; only the code is left.
    pub(crate) fn told(code: u8) -> Self {
        Self::new(code, "")
    }

    #[must_use]
    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    #[must_use]
    pub(crate) fn place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    #[must_use]
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// The same as one line of JSON, for who asked for JSON.
    pub(crate) fn to_json(&self) -> String {
        if self.what.is_empty() {
            return String::new();
        }
        let value = serde_json::json!({
            "schema": "kusion.io/error/v1", "code": self.code, "error": self.what,
            "cause": self.cause, "where": self.place, "next": self.next,
        });
        format!("{value}\n")
    }

    /// The text for stderr.
    pub(crate) fn render(&self, style: &Style) -> String {
        if self.what.is_empty() {
            return String::new();
        }
        let mut out = format!("{} {}\n", style.red("error:"), self.what);
        for (word, text) in [("cause", &self.cause), ("where", &self.place), ("next", &self.next)] {
            if let Some(text) = text {
                let text = text.trim_end().replace('\n', "\n           ");
                let _ = writeln!(out, "    {:<5}  {text}", word);
            }
        }
        out
    }
}
