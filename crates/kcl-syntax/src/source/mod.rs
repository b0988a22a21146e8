//! Paths into source, and what they reach: one resolver for `-O`, `kcl edit` and whoever else asks "where is this set?".
//!
//! A path is text that becomes a [`SourcePath`]. [`setters`] and [`sites`] say which top-level statements of a file a
//! variable's name reaches, [`reach`] goes on from the value of such a statement through literal braces and lists. The
//! result names nodes of the tree; whoever asked decides whether to change the tree (`-O`) or the bytes under it (`kcl
//! edit`). Nothing is evaluated: what a path reaches is what a reader sees on the page. See docs/design/0010-source-paths.md.

mod path;
mod reach;
mod sites;

pub use path::{PathError, SourcePath, Step};
pub use reach::{Reached, entries, literal_braces, reach, value_at};
pub use sites::{Site, setters, sites};

pub(crate) use reach::entries_with;
pub(crate) use sites::first_declaration;
