#![cfg_attr(test, allow(clippy::unwrap_used))]
//! What a Kubernetes object means.

mod builtin;
pub mod crd;
pub mod decode;
mod default_hooks;
pub mod defaults;
pub mod elem;
pub mod fieldset;
mod hpa;
pub mod immutable;
pub mod managed;
pub mod names;
pub mod normalise;
pub mod patch;
pub mod quantity;
mod reset;
pub mod schema;
pub mod selectors;
pub mod service;
pub mod ssa;
pub mod status;
pub mod strategy;
pub mod time;
mod typed;
pub mod validate;
mod version;
pub mod write;

pub use builtin::builtin;
