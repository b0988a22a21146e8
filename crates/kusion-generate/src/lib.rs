//! From a stack's files to a Spec.
//!
//! In: a folder (or `project/stack`), its `project.yaml`, `stack.yaml`, `kcl.yaml` and KCL files. Out: a
//! [`Spec`](kusion_model::Spec) whose fields know the line that wrote them. The models of `konfig/` are embedded, so that a
//! stack needs nothing but itself. Invariants: same files, same bytes; a program may read its source tree, nothing else;
//! a mistake in the files is a diagnostic with a place, never a panic.
//!
//! Start reading with [`locate`], then [`Generator`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod collect;
mod crds;
mod digests;
mod documents;
mod error;
mod generate;
mod locate;
mod meta;
mod program;
#[cfg(test)]
mod tests;

pub use documents::{DocumentError, read_documents};
pub use error::{FileProblem, GenerateError};
pub use generate::{Generated, Generator, read_spec};
pub use locate::{StackFolder, locate, stacks_below};
pub use meta::read_workspace;
pub use program::Inputs;
