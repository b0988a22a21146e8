//! What a provider says about a configuration or an object.

use std::fmt;

use tf_value::{Path, Step};

use crate::wire;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Warning,
    Error,
}

/// One message of a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub summary: String,
    pub detail: String,
    pub path: Option<Path>,
}

impl Diagnostic {
    /// Returns whether what was asked for did not happen, or not wholly.
    #[must_use]
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = self.path.as_ref().filter(|path| !path.is_empty()) {
            write!(f, "{path}: ")?;
        }
        f.write_str(self.summary.trim())?;
        let detail = self.detail.trim();
        if detail.is_empty() || detail == self.summary.trim() { Ok(()) } else { write!(f, ": {detail}") }
    }
}

/// Returns the errors among diagnostics as one text; `None` if there are none.
#[must_use]
pub fn errors(said: &[Diagnostic]) -> Option<String> {
    let texts: Vec<String> = said.iter().filter(|one| one.is_error()).map(ToString::to_string).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

pub(crate) fn read(said: Vec<wire::Diagnostic>) -> Vec<Diagnostic> {
    let one = |one: wire::Diagnostic| Diagnostic {
        // Zero and what comes after warnings are taken for the worst.
        severity: if one.severity == 2 { Severity::Warning } else { Severity::Error },
        summary: one.summary,
        detail: one.detail,
        path: one.attribute.map(|path| read_path(&path)),
    };
    said.into_iter().map(one).collect()
}

pub(crate) fn read_path(path: &wire::AttributePath) -> Path {
    let steps = path.steps.iter().filter_map(|step| {
        Some(match step.kind.as_ref()? {
            wire::step::Kind::Attribute(name) => Step::Attribute(name.as_str().into()),
            wire::step::Kind::Key(key) => Step::Key(key.as_str().into()),
            wire::step::Kind::Index(index) => Step::Index(u64::try_from(*index).ok()?),
        })
    });
    steps.collect()
}
