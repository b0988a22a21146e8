//! What can be wrong with a stack's files, with cause, place and the next step.

use base_diag::{Diagnostic, SourceMap};

/// A stack that gives no Spec.
#[derive(Debug)]
pub enum GenerateError {
    /// A folder, file or name that does not fit.
    Files(Box<FileProblem>),
    /// The program has mistakes; render them with `base_diag`.
    Program { diagnostics: Vec<Diagnostic>, sources: Box<SourceMap> },
}

/// One thing wrong with files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileProblem {
    pub what: String,
    pub cause: Option<String>,
    /// The file, with a line where one is known.
    pub place: Option<String>,
    pub next: Option<String>,
}

impl FileProblem {
    pub(crate) fn new(what: impl Into<String>) -> Self {
        FileProblem { what: what.into(), ..FileProblem::default() }
    }

    pub(crate) fn cause(mut self, cause: impl Into<String>) -> Self {
        self.cause = Some(cause.into());
        self
    }

    pub(crate) fn place(mut self, place: impl Into<String>) -> Self {
        self.place = Some(place.into());
        self
    }

    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl From<FileProblem> for GenerateError {
    fn from(problem: FileProblem) -> Self {
        GenerateError::Files(Box::new(problem))
    }
}

impl std::fmt::Display for GenerateError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            GenerateError::Files(problem) => f.write_str(&problem.what),
            GenerateError::Program { diagnostics, .. } => {
                write!(f, "{}", diagnostics.first().map_or("the program is wrong", |first| first.message()))
            }
        }
    }
}

impl std::error::Error for GenerateError {}

impl std::fmt::Display for FileProblem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for FileProblem {}
