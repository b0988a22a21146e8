//! Run-time errors. Exactly one is ever reported: the first.

use base_diag::{Code, Diagnostic, Place};

/// What evaluation returns.
pub(crate) type Eval<T> = Result<T, Box<Fault>>;

/// A run-time error with its places, ready to become a diagnostic.
#[derive(Clone, Debug)]
pub struct Fault {
    /// Primary place and message first.
    pub labels: Vec<(Place, String)>,
    /// Our stable name of the error.
    pub id: &'static str,
    /// True if the program was stopped by a budget; such a fault cannot be caught.
    pub fatal: bool,
}

impl Fault {
    /// Returns the text that `runtime.catch` sees: the last message (of a failed check: the check's own).
    pub fn message(&self) -> &str {
        self.labels.last().map_or("", |(_, m)| m)
    }

    /// Turns it into a diagnostic.
    pub fn into_diagnostic(self) -> Diagnostic {
        let mut labels = self.labels.into_iter();
        let (place, message) = labels.next().unwrap_or((Place::None, String::new()));
        let first = Diagnostic::error(Code::EVALUATION, self.id, place, message);
        labels.fold(first, |diag, (place, message)| diag.with_label(place, message))
    }
}
