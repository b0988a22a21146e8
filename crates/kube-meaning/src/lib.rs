#![cfg_attr(test, allow(clippy::unwrap_used))]
//! What a Kubernetes object means.

mod builtin;
mod default_hooks;
pub mod defaults;
pub mod elem;
pub mod fieldset;
mod hpa;
pub mod managed;
pub mod normalise;
pub mod quantity;
mod reset;
pub mod schema;
pub mod ssa;
pub mod status;
pub mod time;
mod typed;
mod version;

pub use builtin::builtin;
