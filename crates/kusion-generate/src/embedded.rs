//! The models of `konfig/` inside the binary, laid over the real files at a path of their own.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use kcl::{Files, MemoryFiles};

/// Where the embedded models appear; nothing real is there.
pub const EMBEDDED_KONFIG: &str = "/kusion-embedded/konfig";

/// Name and text of each embedded file, relative to the package.
const KONFIG: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/konfig.rs"));

/// Returns the embedded model files, for writing a copy.
pub fn embedded_konfig() -> impl Iterator<Item = (&'static str, &'static str)> {
    KONFIG.iter().copied()
}

/// Real files with the embedded models beside them.
pub struct Overlay<'a> {
    below: &'a dyn Files,
    embedded: MemoryFiles,
    root: PathBuf,
}

impl<'a> Overlay<'a> {
    /// Lays the embedded models over `below`.
    #[must_use]
    pub fn new(below: &'a dyn Files) -> Self {
        let root = PathBuf::from(EMBEDDED_KONFIG);
        let mut embedded = MemoryFiles::default();
        for (name, text) in KONFIG {
            embedded.add(root.join(name), *text);
        }
        Overlay { below, embedded, root }
    }

    fn of(&self, path: &Path) -> &dyn Files {
        if path.starts_with(&self.root) { &self.embedded } else { self.below }
    }
}

impl Files for Overlay<'_> {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        self.of(path).read(path)
    }

    fn is_file(&self, path: &Path) -> bool {
        self.of(path).is_file(path)
    }

    fn is_dir(&self, path: &Path) -> bool {
        self.of(path).is_dir(path)
    }

    fn list(&self, path: &Path) -> Vec<String> {
        self.of(path).list(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_there_and_other_paths_go_below() {
        let below = MemoryFiles::default();
        let overlay = Overlay::new(&below);
        assert!(overlay.is_file(&Path::new(EMBEDDED_KONFIG).join("render.k")));
        assert!(overlay.is_dir(&Path::new(EMBEDDED_KONFIG).join("models")));
        assert!(!overlay.is_file(Path::new("/render.k")));
        assert!(embedded_konfig().all(|(name, text)| !text.is_empty() && !name.starts_with("appops")));
    }
}
