//! KCL text in its canonical form.
//!
//! Text in, text and diagnostics out; nothing here reads or writes files. The formatter walks the lossless tree and
//! decides only what stands *between* two tokens: nothing, a blank, a line end, an empty line. Tokens keep their order
//! and their text, with three exceptions: commas that line ends replace, the quotes of literal types, and line ends
//! inside long strings (CRLF becomes LF, which means the same). So a program cannot change its meaning, and comments
//! cannot move or vanish. Rules of style: `docs/fmt.md`.
//!
//! `layout` finds out which brackets go over several lines, `spacing` says where a blank stands, `printer` writes
//! lines and comments, `blocks`, `brackets` and `region` walk the tree.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod blocks;
mod brackets;
mod comments;
pub mod diff;
mod layout;
mod printer;
mod region;
mod spacing;

use base_diag::{Diagnostic, FileId};
use kcl_syntax::ast::Tree;
use kcl_syntax::parse_both;

pub use comments::comments;

/// The result of formatting one text.
#[derive(Clone, Debug)]
pub struct Formatted {
    /// The canonical text; with errors, the text as it came.
    pub text: String,
    /// Why the text was left alone. Places are in the given file.
    pub errors: Vec<Diagnostic>,
}

/// Formats a text. A text with syntax errors comes back as it is, with its errors.
pub fn format(text: &str, file: FileId) -> Formatted {
    let mut tree = Tree::default();
    let syntax = parse_both(&mut tree, text, file);
    drop(tree);
    if !syntax.errors.is_empty() {
        return Formatted { text: text.to_owned(), errors: syntax.errors };
    }
    Formatted { text: printer::print(&syntax), errors: Vec::new() }
}
