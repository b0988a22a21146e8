//! Files are written whole or not at all.

use std::path::Path;

use crate::Trouble;

/// Replaces a file: the new text stands beside it first and takes its place in one step.
///
/// # Errors
/// The disk's own words.
pub fn replace(path: &Path, text: &[u8]) -> Result<(), Trouble> {
    rim::replace(path, text).map_err(|e| Trouble::new(format!("cannot write {}: {e}", path.display())))
}
