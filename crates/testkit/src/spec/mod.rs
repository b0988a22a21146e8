//! Specs: Markdown files whose fenced blocks are programs and what they must give.
//!
//! In: the text of `spec/**/*.md`. Out: [`Case`]s with the heading path as name, checked against any [`crate::Runner`].
//! The format is described in `spec/README.md`; [`parse`] is its exact definition.

mod check;
mod parse;
mod rewrite;
mod walk;

pub use check::check;
pub use parse::{Case, Expect, ExpectedError, parse};
pub use rewrite::rewrite;
pub use walk::{SpecFile, load, run_as_tests};
