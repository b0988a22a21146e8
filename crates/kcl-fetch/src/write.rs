//! Files are written whole or not at all.

use std::io::Write;
use std::path::Path;

use crate::Trouble;

/// Replaces a file: the new text stands beside it first and takes its place in one step.
///
/// # Errors
/// The disk's own words.
pub fn replace(path: &Path, text: &[u8]) -> Result<(), Trouble> {
    let told = |e: std::io::Error| Trouble::new(format!("cannot write {}: {e}", path.display()));
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let write = || {
        let mut file = std::fs::File::create(&temporary)?;
        file.write_all(text)?;
        if let Ok(meta) = std::fs::metadata(path) {
            file.set_permissions(meta.permissions())?;
        }
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    write().map_err(|e| {
        let _ = std::fs::remove_file(&temporary);
        told(e)
    })
}
