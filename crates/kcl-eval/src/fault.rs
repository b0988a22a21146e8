//! Run-time errors. Exactly one is ever reported: the first. How people are told is in `telling.rs`.

use base_diag::{Code, Diagnostic, Place, Span};
use kcl_syntax::program::Program;
use kcl_value::{Position, Str};

/// What evaluation returns.
pub(crate) type Eval<T> = Result<T, Box<Fault>>;

/// A run-time error with its places, ready to become a diagnostic.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Primary place and message first.
    pub labels: Vec<(Place, String)>,
    /// Our stable name of the error.
    pub id: &'static str,
    /// True if the program was stopped by a budget or by its caller; such a fault cannot be caught.
    pub fatal: bool,
    /// What a person wants to know besides; made into words only if nobody caught the fault.
    pub facts: Option<Box<Facts>>,
}

/// What stands behind a fault.
#[derive(Clone, Debug)]
pub enum Facts {
    /// A rule that does not hold.
    BrokenCheck {
        /// The schema whose instance breaks it.
        schema: Str,
        /// Where the instance was written.
        position: Position,
        /// The package and the range of the condition.
        rule: (u32, Span),
        /// What the check says when it does not hold, empty if it says nothing.
        said: String,
        /// The names in the condition with their values.
        values: Vec<(Str, String)>,
    },
    /// An attribute without a value.
    Missing {
        /// The schema.
        schema: Str,
        /// The attribute.
        name: Str,
    },
    /// Two values that do not merge.
    Conflict {
        /// The key, empty at the top.
        key: Str,
        /// The text of the value that was there.
        old: String,
        /// The text of the value that came.
        new: String,
    },
}

impl Fault {
    /// Returns the text that `runtime.catch` sees: the last message (of a failed check: the check's own).
    pub fn message(&self) -> &str {
        self.labels.last().map_or("", |(_, m)| m)
    }

    /// Adds what stands behind it.
    #[must_use]
    pub(crate) fn with(mut self: Box<Self>, facts: Facts) -> Box<Self> {
        self.facts = Some(Box::new(facts));
        self
    }

    /// Turns it into a diagnostic of the program that failed.
    pub fn into_diagnostic(self, program: &Program) -> Diagnostic {
        let facts = self.facts.clone();
        let diagnostic = self.bare();
        match facts {
            Some(facts) => crate::telling::tell(diagnostic, &facts, program),
            None => crate::telling::plainly(diagnostic),
        }
    }

    fn bare(self) -> Diagnostic {
        let mut labels = self.labels.into_iter();
        let (place, message) = labels.next().unwrap_or((Place::None, String::new()));
        let first = Diagnostic::error(Code::EVALUATION, self.id, place, message);
        labels.fold(first, |diag, (place, message)| diag.with_label(place, message))
    }
}
