//! The patch formats of the API: JSON patch, JSON merge patch, strategic merge patch.
//!
//! In: the live object as it is served and a patch document. Out: the patched object, before defaulting, or the server's
//! refusal. Invariants: bad input never panics, depth and number of operations are bounded, the live object is not touched.

mod json;
mod merge;
mod strategic;

use serde_json::Value;

pub use json::json_patch;
pub use merge::merge_patch;
pub use strategic::strategic_patch;

use crate::status::Refusal;
use crate::typed::MAX_DEPTH;

/// The server's answer to a patch that cannot be applied: no causes, a generic text.
pub(crate) fn rejected() -> Refusal {
    Refusal::new(422, "Invalid", "the server rejected our request due to an error in our request")
}

/// Whether a document is nested too deeply to be walked.
pub(crate) fn too_deep(value: &Value) -> bool {
    fn deeper(value: &Value, left: usize) -> bool {
        let Some(left) = left.checked_sub(1) else { return true };
        match value {
            Value::Array(items) => items.iter().any(|v| deeper(v, left)),
            Value::Object(map) => map.values().any(|v| deeper(v, left)),
            _ => false,
        }
    }
    deeper(value, MAX_DEPTH)
}

#[cfg(test)]
mod tests;
