//! The rim that crates share which fetch things: files are written whole or not at all ([`replace`]), processes wait for
//! each other ([`lock`]), and there is one kind of HTTP client ([`agent`]).
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod files;
mod web;

pub use files::{lock, replace, replace_private};
pub use web::{Net, agent};
