//! Tokens, places and the wording of errors.

use crate::node::YamlError;

/// A place in the text, counted from 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    StreamEnd,
    Directive,
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(String),
    Anchor(String),
    /// The tag in full; a local one keeps its `!`.
    Tag(String),
    /// Text, and whether it was plain.
    Scalar(String, bool),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: Mark,
    pub(super) end: Mark,
}

impl std::fmt::Display for Mark {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {} column {}", self.line + 1, self.column + 1)
    }
}

/// Words an error: the place of the very first character is not told, nor a context in the same place.
pub(super) fn failure(problem: &str, at: Mark, context: Option<(&str, Mark)>) -> YamlError {
    let told = |mark: Mark| mark.line != 0 || mark.column != 0;
    let mut message = problem.to_owned();
    if told(at) {
        message.push_str(&format!(" at {at}"));
    }
    if let Some((context, mark)) = context {
        message.push_str(&format!(", {context}"));
        if told(mark) && (mark.line, mark.column) != (at.line, at.column) {
            message.push_str(&format!(" at {mark}"));
        }
    }
    YamlError { line: at.line as u32 + 1, col: at.column as u32 + 1, message, behind_document: false }
}
