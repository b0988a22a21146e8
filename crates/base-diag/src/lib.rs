//! The ground of everything that talks about text: files, ranges, lines, and the one diagnostic type.
//!
//! A [`Diagnostic`] is data. Whoever finds a mistake declares it as a row of a table ([`mistakes!`]): a kind with facts, the
//! reference's sentence and the words for people; nobody formats text before the rim, and nobody reads it back.
//! [`Diagnostic::code`] is upstream's code (people search for it), [`Diagnostic::id`] is ours, kebab-case, stable forever.
//!
//! Invariant: a diagnostic's first label is its primary place; its line is what is compared with the reference.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod diagnostic;
mod files;
mod mistake;
mod nearest;
mod render;

pub use diagnostic::{Code, Diagnostic, Fix, Label, Place, Severity, Telling};
pub use files::{FileId, LineIndex, Position, SourceFile, SourceMap, Span};
pub use mistake::{Mistake, Words};
pub use nearest::nearest;
pub use render::{Color, render_full, render_short, to_json};
