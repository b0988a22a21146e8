//! The duties of a host of Terraform providers, as functions on values.
//!
//! A provider tells the schema of its resources ([`Schema`]). Its host makes the configuration object ([`configure`]), says
//! what it believes will be ([`proposed_new`]), judges what the provider answers ([`check_plan`], [`check_applied`]) and
//! decides what the answer means ([`replace_paths`], [`action`]). State files of other tools are read and written by
//! [`state`].
//!
//! Invariants: every answer is the one that tofu gives on the same values; problems carry a place and never a value, so
//! that nothing sensitive can stand in a message.
//! Deliberately not here: processes, protocols, files, the engine's own tree.
//!
//! Start reading with [`Schema`], then [`Loose`], then [`proposed_new`].
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod check_applied;
mod check_plan;
mod compare;
mod config;
mod decide;
mod empty;
mod ignore;
mod loose;
mod problem;
mod proposed;
mod recover;
mod schema;
mod sensitive;
pub mod state;
mod validate;

pub use check_applied::check_applied;
pub use check_plan::check_plan;
pub use config::{configure, deprecated};
pub use decide::{Action, Because, Facts, action, replace_paths};
pub use empty::{empty_value, fill_blocks};
pub use ignore::{Ignore, ignore_changes};
pub use loose::Loose;
pub use problem::Problem;
pub use proposed::{proposed_new, proposed_read};
pub use recover::{Hiding, KEPT, Recovered, Wishes, recover};
pub use schema::{
    Attribute, AttributeKind, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TypeText,
};
pub use sensitive::{sensitive_paths, write_only_paths};
