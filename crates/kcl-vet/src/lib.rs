//! Data against schemas: `value = Schema {…data…}`, evaluated together with the code.
//!
//! Data becomes the *tree* of that statement, not its text: every node of the tree has the range of the data that it
//! stands for, so checker and evaluator report mistakes in the data file by themselves, and nothing is printed to be
//! parsed again. `read` turns a text into documents, a [`Vet`] knows the code, and [`Vet::check`] judges one document.
//!
//! ```
//! let compiler = kcl::Compiler::new(kcl::MemoryFiles::default());
//! let code = kcl::Request::source("user.k", "schema User:\n    age: int\n");
//! let vet = kcl_vet::Vet::new(&compiler, code, &kcl_vet::Wish::default()).expect("the code has a schema");
//! let data = kcl_vet::Source::new("tom.json", "{\"age\": \"x\"}".into(), kcl_vet::Format::Json).expect("it is JSON");
//! let verdict = vet.check(&data, &data.documents[0], &kcl::NoOutside);
//! assert_eq!(verdict.diagnostics[0].message(), "expected int, got str(x)");
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod choice;
mod data;
mod kinds;
mod merge;
mod statement;
mod tables;
mod vet;

pub use data::{Document, Format, Source, Unreadable};
pub use vet::{Verdict, Vet, Wish, WrongCode};
