//! Diagnostics before they know file ids.
//!
//! A package is checked once per process, but the ids of its files differ from program to program. So a mistake is
//! recorded with the identity of its package and a range in it, and becomes a [`base_diag::Diagnostic`] per program.

use std::borrow::Cow;
use std::sync::Arc;

use base_diag::{Code, Diagnostic, Fix, Label, Mistake as _, Place, Severity, Span, Telling};
use kcl_syntax::ast::Str;
use kcl_syntax::program::Program;

use crate::mistake::Mistake;
use crate::package::{Home, PackageTypes};
use crate::ty::Loc;

/// A mistake in some package.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct RawDiag {
    pub(crate) code: Code,
    pub(crate) id: &'static str,
    pub(crate) labels: Vec<(Loc, String)>,
    pub(crate) note: Option<String>,
    telling: Option<RawTelling>,
    help: Option<String>,
    fix: Option<(Loc, Str)>,
}

/// Better words, before they know file ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct RawTelling {
    title: String,
    /// What is said beside the carets.
    here: String,
    /// What the carets mark, where that is closer than the primary place.
    mark: Option<Loc>,
    /// What is said at the related places, in their order.
    related: Vec<String>,
}

impl RawDiag {
    /// Makes the diagnostic that a mistake is, at its primary place.
    pub(crate) fn of(mistake: &Mistake, pkg: Home, span: Span) -> Self {
        let telling =
            mistake.title().map(|title| RawTelling { title: title.into_owned(), ..RawTelling::default() });
        RawDiag {
            code: mistake.code(),
            id: mistake.id(),
            labels: vec![(Loc { pkg, span }, mistake.sentence().into_owned())],
            note: None,
            telling,
            help: mistake.help().map(Cow::into_owned),
            fix: None,
        }
    }

    pub(crate) fn label(mut self, loc: Loc, message: impl Into<String>) -> Self {
        self.labels.push((loc, message.into()));
        self
    }

    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = Some(note.into());
        self
    }

    /// Adds what is said beside the carets.
    pub(crate) fn said_here(mut self, text: impl Into<String>) -> Self {
        if let Some(telling) = &mut self.telling {
            telling.here = text.into();
        }
        self
    }

    /// Adds what is said at the label that was added last.
    pub(crate) fn related(mut self, text: impl Into<String>) -> Self {
        if let Some(telling) = &mut self.telling {
            telling.related.push(text.into());
        }
        self
    }

    /// Lets the carets mark something closer.
    pub(crate) fn mark(mut self, loc: Loc) -> Self {
        if let Some(telling) = &mut self.telling {
            telling.mark = Some(loc);
        }
        self
    }

    /// Adds the text that mends it.
    pub(crate) fn fix(mut self, loc: Loc, text: &Str) -> Self {
        self.fix = Some((loc, text.clone()));
        self
    }

    /// Gives the labels their files in the program whose packages were checked.
    pub(crate) fn place_in(&self, checked: &Checked<'_>, severity: Severity) -> Diagnostic {
        let labels = self
            .labels
            .iter()
            .map(|(loc, message)| Label { place: checked.place_of(*loc), message: message.clone() });
        Diagnostic {
            severity,
            code: self.code,
            id: self.id,
            labels: labels.collect(),
            notes: self.note.iter().cloned().collect(),
            telling: self.telling.as_ref().map(|telling| self.telling_in(checked, telling)),
            help: self.help.clone(),
            fix: self
                .fix
                .as_ref()
                .map(|(loc, text)| Fix { place: checked.place_of(*loc), text: text.to_string() }),
        }
    }

    fn telling_in(&self, checked: &Checked<'_>, telling: &RawTelling) -> Telling {
        let said = std::iter::once(&telling.here).chain(&telling.related);
        let mut said = said.cloned().map(Some).chain(std::iter::repeat(None));
        let mut labels: Vec<Label> = Vec::with_capacity(self.labels.len());
        for (loc, message) in &self.labels {
            let message = said.next().flatten().unwrap_or_else(|| message.clone());
            labels.push(Label { place: checked.place_of(*loc), message });
        }
        let mark = telling.mark.map(|loc| checked.place_of(loc));
        if let (Some(mark), Some(first)) = (mark, labels.first_mut())
            && checked.line_of(mark) == checked.line_of(first.place)
        {
            first.place = mark;
        }
        Telling { title: telling.title.clone(), labels }
    }
}

/// A program with its checked packages, by id: an identity becomes a place.
pub(crate) struct Checked<'a> {
    pub(crate) program: &'a Program,
    pub(crate) packages: &'a [Arc<PackageTypes>],
}

impl Checked<'_> {
    fn place_of(&self, loc: Loc) -> Place {
        let at = self.packages.iter().position(|types| types.home == loc.pkg);
        at.and_then(|at| self.program.packages.get(at)).map_or(Place::None, |package| package.place(loc.span))
    }

    fn line_of(&self, place: Place) -> Option<u32> {
        match place {
            Place::Span(file, span) => Some(self.program.sources.position(file, span.start).line),
            _ => None,
        }
    }
}
