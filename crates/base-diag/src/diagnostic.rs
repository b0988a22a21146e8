//! The diagnostic: what is wrong, where, why, and what to do next.

use crate::{FileId, Span};

/// How bad it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Severity {
    /// The run stops.
    Error,
    /// The run goes on.
    Warning,
}

/// Upstream's code and kind name, e.g. `E2G22` and `TypeError`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Code {
    /// `E1001`, `E2G22`, …
    pub code: &'static str,
    /// `InvalidSyntax`, `TypeError`, …
    pub kind: &'static str,
}

macro_rules! codes {
    ($($name:ident = $code:literal $kind:literal;)*) => {
        impl Code {
            $(#[doc = $kind] pub const $name: Code = Code { code: $code, kind: $kind };)*
        }
    };
}

codes! {
    SYNTAX = "E1001" "InvalidSyntax";
    IMMUTABLE = "E1001" "ImmutableError";
    PARAMETER = "E1001" "IllegalParameterError";
    INDEX_SIGNATURE = "E1001" "IndexSignatureError";
    NAME = "E1001" "NameError";
    RECURSIVE_LOAD = "E1001" "RecursiveLoad";
    MODULE = "E2F04" "CannotFindModule";
    TYPE = "E2G22" "TypeError";
    COMPILE = "E2L23" "CompileError";
    UNIQUE_KEY = "E2L28" "UniqueKeyError";
    ATTRIBUTE = "E2A31" "IllegalAttributeError";
    INHERIT = "E2D34" "IllegalInheritError";
    EVALUATION = "E3M38" "EvaluationError";
    WARNING = "W1001" "CompilerWarning";
    DEPRECATED = "W1001" "Deprecated";
}

/// Where a label points: a byte span, or a whole line (run-time errors know only the line).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Place {
    /// A range of bytes.
    Span(FileId, Span),
    /// A line, from 1.
    Line(FileId, u32),
    /// Nowhere in a source text (arguments, settings).
    None,
}

/// A place with what is to be said there.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Label {
    /// The place.
    pub place: Place,
    /// What is said there; the first label's text is the diagnostic's message.
    pub message: String,
}

/// How people are told, where the reference's sentence (the message of the first label) is hard to read.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Telling {
    /// What is wrong, in one line; names of the program stand in back quotes.
    pub title: String,
    /// What is shown instead of the diagnostic's own places, if anything: the first stands on the line of the primary place.
    pub labels: Vec<Label>,
}

/// A change of the text that mends the mistake.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fix {
    /// What is replaced.
    pub place: Place,
    /// What stands there then.
    pub text: String,
}

/// One mistake in the user's files.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// Error or warning.
    pub severity: Severity,
    /// Upstream's code and kind.
    pub code: Code,
    /// Our stable kebab-case name.
    pub id: &'static str,
    /// The primary place and message first, related places after it. The messages are the reference's own.
    pub labels: Vec<Label>,
    /// Better words, for people.
    pub telling: Option<Telling>,
    /// Plain remarks.
    pub notes: Vec<String>,
    /// What to try ("did you mean …").
    pub help: Option<String>,
    /// A change that mends it.
    pub fix: Option<Fix>,
}

impl Diagnostic {
    /// Makes an error with its primary label.
    pub fn error(code: Code, id: &'static str, place: Place, message: impl Into<String>) -> Self {
        let label = Label { place, message: message.into() };
        Diagnostic {
            severity: Severity::Error,
            code,
            id,
            labels: vec![label],
            telling: None,
            notes: Vec::new(),
            help: None,
            fix: None,
        }
    }

    /// Adds a related place.
    #[must_use]
    pub fn with_label(mut self, place: Place, message: impl Into<String>) -> Self {
        self.labels.push(Label { place, message: message.into() });
        self
    }

    /// Adds a note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds what to try next.
    #[must_use]
    pub fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds better words.
    #[must_use]
    pub fn with_telling(mut self, telling: Telling) -> Self {
        self.telling = Some(telling);
        self
    }

    /// Returns what is wrong, in the words for people.
    pub fn title(&self) -> &str {
        self.telling.as_ref().map_or(self.message(), |t| &t.title)
    }

    /// Returns the primary message.
    pub fn message(&self) -> &str {
        self.labels.first().map_or("", |l| &l.message)
    }

    /// Returns the place that people are shown first, in every format: it stands on the line of the primary place.
    pub fn shown_place(&self) -> Place {
        let told = self.telling.as_ref().and_then(|telling| telling.labels.first());
        told.map_or(self.place(), |label| label.place)
    }

    /// Returns the primary place.
    pub fn place(&self) -> Place {
        self.labels.first().map_or(Place::None, |l| l.place)
    }
}
