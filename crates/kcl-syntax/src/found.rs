//! A mistake in a text with its place: what the parser writes down, before echoes are dropped and words are made.

use base_diag::{Diagnostic, FileId, Place, Span};

use crate::mistake::Mistake;

/// A mistake and where it is (file offsets).
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Found {
    pub(crate) mistake: Mistake,
    pub(crate) span: Span,
    /// What to try, where the text around it tells more than the mistake itself.
    pub(crate) hint: Option<Hint>,
    /// The bracket that was left open, with its character.
    pub(crate) opener: Option<(Span, char)>,
}

/// What the text around a mistake tells.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Hint {
    /// `type = 1`: a word of the language where a name was meant.
    KeywordAsName(&'static str),
    /// A word that another language has.
    Foreign(&'static str),
    /// A word of the language with a slip in it.
    Misspelt(&'static str),
}

impl Hint {
    fn words(&self) -> String {
        match self {
            Hint::KeywordAsName(word) => {
                format!("`{word}` is a word of the language; as a name it is written `${word}`")
            }
            Hint::Foreign(help) => (*help).to_owned(),
            Hint::Misspelt(meant) => format!("did you mean `{meant}`?"),
        }
    }
}

impl Found {
    /// A mistake of which nothing else is known.
    pub(crate) fn new(mistake: Mistake, span: Span) -> Self {
        Found { mistake, span, hint: None, opener: None }
    }

    /// Puts it into words.
    pub(crate) fn into_diagnostic(self, file: FileId) -> Diagnostic {
        let mut diagnostic = Diagnostic::of(&self.mistake, Place::Span(file, self.span));
        if let Some(hint) = &self.hint {
            diagnostic.help = Some(hint.words());
        }
        if let Some((opener, bracket)) = self.opener {
            let message = format!("this `{bracket}` is not closed");
            diagnostic = diagnostic.with_label(Place::Span(file, opener), message);
            diagnostic.help.get_or_insert_with(|| "close the bracket".to_owned());
        }
        diagnostic
    }
}

/// Drops a mistake that is the same at the same place as one before it.
pub(crate) fn dedup(found: Vec<Found>) -> Vec<Found> {
    let mut out: Vec<Found> = Vec::with_capacity(found.len());
    for one in found {
        let same = |other: &Found| other.span == one.span && other.mistake == one.mistake;
        if !out.iter().rev().take(8).any(same) {
            out.push(one);
        }
    }
    out
}
