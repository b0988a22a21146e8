//! Files that are written whole or not at all, several together.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes files beside their names first; only when all of them are there, they take their names.
pub(crate) fn write_all(files: &[(PathBuf, String)]) -> Result<(), String> {
    let mut ready: Vec<(PathBuf, &Path)> = Vec::new();
    let mut made: Vec<PathBuf> = Vec::new();
    let result = files.iter().try_for_each(|(path, text)| {
        let problem = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_folder(folder, &mut made).map_err(problem)?;
        if path.is_dir() {
            return Err(format!("{} cannot be written: it is a folder", path.display()));
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let beside = folder.join(format!(".{name}.{}.tmp", std::process::id()));
        ready.push((beside.clone(), path));
        let mut file = File::create_new(&beside).map_err(problem)?;
        file.write_all(text.as_bytes()).map_err(problem)
    });
    let result = result.and_then(|()| {
        ready.iter().try_for_each(|(beside, path)| {
            fs::rename(beside, path).map_err(|error| format!("{} cannot be written: {error}", path.display()))
        })
    });
    if result.is_err() {
        // What cannot be removed is left: the first error says more.
        ready.iter().for_each(|(beside, _)| drop(fs::remove_file(beside)));
        made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
    result
}

/// Makes a folder and those above it, and remembers which were missing.
fn make_folder(folder: &Path, made: &mut Vec<PathBuf>) -> std::io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folder(above, made)?;
    }
    fs::create_dir(folder)?;
    made.push(folder.to_path_buf());
    Ok(())
}
