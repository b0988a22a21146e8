//! The duties of a host, row by row.
#![allow(clippy::unwrap_used)]

mod applied;
mod configuration;
mod decisions;
mod kit;
mod plans;
mod proposals;
mod schemas;
mod states;
