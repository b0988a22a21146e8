//! Bodies of the built-in functions, string methods and system modules.
//!
//! A function is a row: name and body ([`Body`]). Bodies are pure but for what they ask of the [`Host`] (calls of lambdas,
//! options, log, files, clock, randomness). Argument types were judged by the checker where it could; a body judges again,
//! because a value of type any passes the checker.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod host;

pub use host::{Args, Body, Error, FileAnswer, FileOp, Host};
