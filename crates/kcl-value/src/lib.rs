//! What a KCL program computes with.
//!
//! A [`Value`] is immutable and cheap to clone: lists, dicts and instances are reference counted and copied on write, so
//! "every assignment stores a deep copy" costs nothing. A dict entry remembers *how it was written* ([`Op`], list index),
//! because a later merge obeys that; and, when tracking is on, where it came from ([`OriginId`]).
//!
//! Not here: merging (it may have to run a schema again, so it lives in the evaluator) and built-in functions.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod compare;
mod dict;
mod function;
mod instance;
mod key_index;
mod number;
mod output;
mod text;
mod value;
mod weight;

pub use compare::{equal, order};
pub use dict::{Dict, Entry, NO_INDEX, Op, OriginId};
pub use function::{Function, SchemaRef};
pub use instance::{Instance, Position, Precision};
pub use key_index::KeyIndex;
pub use number::{Unit, float_text};
pub use output::{OutputOptions, is_emitted, write_value};
pub use text::{quoted_text, to_text, write_text};
pub use value::{List, Str, Value};
pub use weight::{Pairs, added_weight, weight};
