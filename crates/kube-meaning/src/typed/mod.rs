//! Operations on values that know their schema: check, collect paths, merge, compare, remove.
//!
//! These are the primitives of server-side apply. All of them walk a value beside its type; where the type is unknown the
//! value itself decides (maps are granular, lists atomic). Recursion is bounded by [`MAX_DEPTH`], which the check enforces first.

mod atom;
mod check;
mod collect;
mod compare;
mod merge;
mod remove;

pub(crate) use atom::{Atom, MapView, atom, item_elem};
pub(crate) use check::{Duplicates, check};
pub(crate) use collect::{collect, with_named_fields};
pub(crate) use compare::{Comparison, compare, compare_at, same_value};
pub(crate) use merge::merge_into;
pub(crate) use remove::remove_items;

/// Deepest nesting that is accepted in any value.
pub(crate) const MAX_DEPTH: usize = 128;

#[cfg(test)]
mod tests;
