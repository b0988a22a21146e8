//! Where source text comes from.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// Source files. Paths are lexically normalised before they get here.
pub trait Files: Sync {
    /// Reads a text file.
    ///
    /// # Errors
    /// A sentence about why it cannot be read.
    fn read(&self, path: &Path) -> Result<Arc<str>, String>;
    /// Returns true for a file.
    fn is_file(&self, path: &Path) -> bool;
    /// Returns true for a directory.
    fn is_dir(&self, path: &Path) -> bool;
    /// Returns the names in a directory, in any order.
    fn list(&self, path: &Path) -> Vec<String>;
    /// Returns the names in a directory that end in `.k` and are files, in byte order.
    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        let mut names = self.list(path);
        names.retain(|name| name.ends_with(".k") && self.is_file(&path.join(name)));
        names.sort_unstable();
        Arc::new(names)
    }
    /// Reads the files of a package, an answer for each: those of one folder may cost less together.
    fn read_all(&self, paths: &[PathBuf]) -> Vec<Result<Arc<str>, String>> {
        paths.iter().map(|path| self.read(path)).collect()
    }
    /// Proves that a folder holds the package of a sum; `packages` is where `kcl mod` keeps them, and the seals of folders. Files that
    /// somebody gives by hand are believed.
    ///
    /// # Errors
    /// A sentence about what cannot be read or is different.
    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        let _ = (folder, sum, packages);
        Ok(())
    }
}

impl<T: Files + ?Sized> Files for &T {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        (**self).read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        (**self).is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        (**self).is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        (**self).list(path)
    }

    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        (**self).sources(path)
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<Result<Arc<str>, String>> {
        (**self).read_all(paths)
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        (**self).prove(folder, sum, packages)
    }
}

/// Files that exist only in memory.
#[derive(Clone, Debug, Default)]
pub struct MemoryFiles {
    files: BTreeMap<PathBuf, Arc<str>>,
}

impl MemoryFiles {
    /// Adds a file.
    pub fn add(&mut self, path: impl AsRef<Path>, text: impl Into<Arc<str>>) {
        self.files.insert(normalise(path.as_ref()), text.into());
    }
}

impl Files for MemoryFiles {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.files.get(path).cloned().ok_or_else(|| format!("no such file: {}", path.display()))
    }

    fn is_file(&self, path: &Path) -> bool {
        self.files.contains_key(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.files.keys().any(|f| f != path && f.starts_with(path))
    }

    fn list(&self, path: &Path) -> Vec<String> {
        let mut names: Vec<String> = self
            .files
            .keys()
            .filter_map(|f| f.strip_prefix(path).ok()?.components().next())
            .filter_map(|c| c.as_os_str().to_str().map(str::to_owned))
            .collect();
        names.dedup();
        names
    }
}

/// Removes `.` and `..` without asking the disk.
pub(crate) fn normalise(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir if out.file_name().is_some() => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
