//! Tests written in KCL.
//!
//! A package is loaded and checked once ([`Suite`]); each of its cases then runs as a program of its own, so no case sees what
//! another did. Results are data; [`report`] has their texts. Files, clock and threads are the caller's.
//!
//! ```
//! let compiler = kcl::Compiler::new(kcl::MemoryFiles::default());
//! let code = kcl::Request::source("a_test.k", "test_sum = lambda {\n    assert 1 + 1 == 2\n}\n");
//! let suite = kcl_test::Suite::new(&compiler, &code).expect("it compiles");
//! let result = suite.run(&suite.cases[0], &kcl::NoOutside);
//! assert!(result.is_ok());
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cases;
mod chance;
pub mod coverage;
mod pattern;
mod property;
pub mod report;
pub mod snapshots;
mod suite;

pub use cases::{Case, Kind, is_test_file};
pub use property::Trial;
pub use suite::{Failure, Ran, Suite, WrongPackage, request};
