//! Rules about KCL programs: what compiles but is probably not meant, with fixes.
//!
//! In: a checked package with its index ([`Input`]) and a [`Config`]. Out: [`Finding`]s in order of place. Nothing is read, written
//! or run here. Every rule is a file in `rules/` and a row in [`RULES`]; documentation, `kcl explain`, configuration and completions
//! are made from the rows, and the examples in them run as tests.
//!
//! A fix is *safe* if the program means the same after it, whatever its input; otherwise it is *unsafe* and applied only on demand.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod config;
mod context;
mod docs;
mod finding;
mod fixes;
mod rule;
mod rules;
mod run;
mod suppress;

pub use config::{Config, Setting};
pub use context::Input;
pub use docs::{book, page};
pub use finding::{Edit, Finding, Fix};
pub use fixes::{Applied, apply};
pub use rule::{FixKind, Level, Rule};
pub use rules::{RULES, find};
pub use run::lint;
