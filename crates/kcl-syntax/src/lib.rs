//! KCL text to tree.
//!
//! One hand-written, error-resilient parser writes the arena tree of [`ast`] for checking and running (no trivia) and
//! tells a sink the shape of the text, from which the lossless tree for tools is made (every byte recoverable).
//! Parsing never fails: it returns a tree with holes and a list of diagnostics.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod alike;
pub mod ast;
mod cascade;
mod found;
pub mod lexer;
pub mod lossless;
pub mod lower;
pub mod mistake;
mod numbers;
mod parse;
mod parser;
pub mod program;
pub mod sink;
pub mod source;
mod strings;
pub mod token;
mod words;

pub use alike::alike;
pub use lossless::SyntaxTree;
pub use parse::{
    PackageParser, add_file, parse_both, parse_expr, parse_file, parse_lossless, parse_type_text,
};
pub use parser::{MAX_DEPTH, MAX_HEIGHT};
pub use strings::docstring;
pub use words::{foreign, misspelt_keyword};
