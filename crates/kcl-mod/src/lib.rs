//! Packages as data: what `kcl.mod` and `kcl.mod.lock` say, how versions compare and one of each is chosen, what a package's
//! content weighs in a sum, and how its archive is written and read.
//!
//! In: texts and bytes. Out: plain data, or a sentence about what is wrong. Nothing here knows a disk or a network: `kcl-fetch` does.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod archive;
mod edit;
mod lock;
mod policy;
mod requirement;
mod select;
mod sum;
mod text;
mod version;

pub use archive::{Content, Limits, Links, pack, unpack, unpack_layer};
pub use edit::{add, new_manifest, remove};
pub use lock::{Lock, Locked, LockedSource};
pub use policy::{Identity, Policy, mirrored, mirrors, proof_file, signed_file, signed_note, vendored_proof};
pub use requirement::{Package, Pin, Requirement, Source, all_requirements, package, requirements};
pub use select::{Choice, Clash, Graph, Node, Passed};
pub use sum::{folder_name, sum};
pub use text::read_table;
pub use version::{compare, greatest};
