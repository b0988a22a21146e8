//! Files of a module: written whole, and on the disk when it is said so.

use std::path::Path;

use crate::Trouble;

/// Replaces a file.
///
/// # Errors
/// The disk's own words.
pub fn replace(path: &Path, text: &[u8]) -> Result<(), Trouble> {
    rim::replace(path, text).map_err(|e| told(path, &e))
}

/// Replaces a file that only its owner may read.
pub(crate) fn replace_private(path: &Path, text: &[u8]) -> Result<(), Trouble> {
    rim::replace_private(path, text).map_err(|e| told(path, &e))
}

fn told(path: &Path, error: &std::io::Error) -> Trouble {
    Trouble::new(format!("cannot write {}: {error}", path.display()))
}
