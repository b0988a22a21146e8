//! Diagnostics before they know file ids.
//!
//! A package is checked once per process, but the ids of its files differ from program to program. So a mistake is
//! recorded with the path of its package and a range in it, and becomes a [`base_diag::Diagnostic`] per program.

use base_diag::{Code, Diagnostic, Place, Severity, Span};
use kcl_syntax::ast::Str;
use kcl_syntax::program::Program;

use crate::ty::Loc;

/// A mistake in some package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RawDiag {
    pub(crate) code: Code,
    pub(crate) id: &'static str,
    pub(crate) labels: Vec<(Loc, String)>,
    pub(crate) note: Option<String>,
}

impl RawDiag {
    pub(crate) fn new(
        code: Code,
        id: &'static str,
        pkg: &Str,
        span: Span,
        message: impl Into<String>,
    ) -> Self {
        RawDiag { code, id, labels: vec![(Loc { pkg: pkg.clone(), span }, message.into())], note: None }
    }

    pub(crate) fn label(mut self, loc: Loc, message: impl Into<String>) -> Self {
        self.labels.push((loc, message.into()));
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Gives the labels their files in this program.
    pub(crate) fn place_in(&self, program: &Program, severity: Severity) -> Diagnostic {
        let labels = self.labels.iter().map(|(loc, message)| base_diag::Label {
            place: place_of(program, loc),
            message: message.clone(),
        });
        Diagnostic {
            severity,
            code: self.code,
            id: self.id,
            labels: labels.collect(),
            notes: self.note.iter().cloned().collect(),
            help: None,
        }
    }
}

fn place_of(program: &Program, loc: &Loc) -> Place {
    match program.packages.iter().find(|p| p.path == loc.pkg) {
        Some(package) => package.place(loc.span),
        None => Place::None,
    }
}
