//! The JSON form of values, as states and plans hold it, and JSON itself with exact numbers.
//!
//! Numbers stay the digits that they are in the text; a tree that would round them is never between.

mod text;
mod value;

pub use text::{Json, push_string};
pub use value::{decode, encode, from_tree, to_tree};
