//! KCL text to tree.
//!
//! One hand-written, error-resilient event parser feeds two sinks: the arena tree of [`ast`] for checking and running
//! (no trivia), and the lossless tree for tools (every byte recoverable). Parsing never fails: it returns a tree with
//! holes and a list of diagnostics.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod ast;
pub mod program;
