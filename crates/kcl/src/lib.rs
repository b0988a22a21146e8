//! KCL as a library: load → check → evaluate → manifest, over plain data.
//!
//! A [`Request`] says what to run; a [`Compiler`] runs it and keeps parsed and checked packages, so that a thousand programs over
//! one model library pay for it once, on all cores. A [`RunResult`] knows what it read ([`Reads`]). The outside world is one trait wide: [`Files`] for source text,
//! [`Outside`] for what a running program may touch. Nothing is global.
//!
//! ```
//! let request = kcl::Request::source("main.k", "a = 1\nb = a + 1\n");
//! let outcome = kcl::run(&request);
//! assert_eq!(outcome.yaml, "a: 1\nb: 2");
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod arguments;
mod checked;
mod compiler;
mod data;
mod dependencies;
mod disk;
mod echoes;
mod embedded;
mod entries;
mod files;
mod formats;
mod imported;
mod imports;
mod index;
mod load;
mod manifest;
mod mistake;
mod packages;
mod prepared;
mod read_only;
mod reads;
mod rename;
mod request;
mod run;
mod settings;
mod snapshot;
pub mod sources;
mod why;

pub use arguments::argument;
pub use checked::Checked;
pub use compiler::Compiler;
pub use data::Data;
pub use disk::{Disk, DiskOutside, package_folder};
pub use embedded::{EMBEDDED_KONFIG, Overlay, embedded_konfig};
pub use entries::entry_files;
pub use files::{Files, MemoryFiles};
pub use imported::{imports, imports_module};
pub use index::{Analysis, Defined, Definition, Index, Reference, Typed};
pub use kcl_check::Edition;
pub use kcl_eval::{Cancel, Coverage, NoOutside, Origin, OriginKind, Origins, Outside};
pub use kcl_std::{FileAnswer, FileOp, Reason};
pub use load::Loaded;
pub use manifest::{About, Manifest, Profile};
pub use packages::Packages;
pub use prepared::{Call, Prepared};
pub use read_only::ReadOnly;
pub use reads::Reads;
pub use rename::{Obstacle, Renamed, Why as WhyNot, rename, renamed_text};
pub use request::{Entry, Formats, Limits, Request, Statements};
pub use run::{RunResult, deep, run};
pub use settings::{SECTIONS, SETTINGS, Settings, SettingsError, UnknownKey};
pub use why::{Why, WhyAt, WhyStep};
