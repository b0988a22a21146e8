//! YAML text to nodes: tokens ([`scanner`]), then grammar ([`composer`]), then the meaning of plain words ([`resolve`]).
//!
//! Strictness and messages follow the parser that the reference uses. Every recursion is bounded by [`Limits::depth`],
//! and every node, copies made for aliases included, is paid for out of [`Limits::nodes`].

mod composer;
mod escape;
mod names;
mod resolve;
mod scalars;
mod scanner;
mod token;

use crate::node::{Limits, Node, YamlError};

/// Reads a stream of documents. A text without any document gives an empty list.
pub fn parse_documents(text: &str, limits: &Limits) -> Result<Vec<Node>, YamlError> {
    let text = text.strip_prefix('\u{FEFF}').unwrap_or(text);
    composer::Composer::new(text, limits)?.documents()
}
