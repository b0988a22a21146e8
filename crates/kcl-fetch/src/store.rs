//! The store: contents of packages by their sums, shared by all modules and processes of a user.
//!
//! A content is written beside the others and moved to its place in one step, so a reader sees all of it or nothing; it never changes
//! afterwards. The lock of a source only keeps two processes from fetching the same thing twice; it ends with its process.

use std::fs::File;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use kcl_mod::{Content, folder_name, sum};
use sha2::{Digest, Sha256};

use crate::Trouble;

/// A folder of packages.
#[derive(Clone, Debug)]
pub struct Store {
    root: PathBuf,
}

impl Store {
    /// Opens a store; nothing is made before something is kept.
    pub fn new(root: impl Into<PathBuf>) -> Store {
        Store { root: root.into() }
    }

    /// Returns its folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the folder of a content that is kept.
    pub fn find(&self, sum: &str) -> Option<PathBuf> {
        let folder = self.root.join("store").join(folder_name(sum)?);
        folder.join("kcl.mod").is_file().then_some(folder)
    }

    /// Keeps a content and returns its sum and folder.
    ///
    /// # Errors
    /// A disk that does not take it.
    pub fn keep(&self, content: &Content) -> Result<(String, PathBuf), Trouble> {
        let sum = sum(content);
        if let Some(folder) = self.find(&sum) {
            return Ok((sum, folder));
        }
        let name = folder_name(&sum).unwrap_or_default();
        let folder = self.root.join("store").join(&name);
        let temporary = self.root.join("store").join(format!(".new-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&temporary);
        let written = write_tree(&temporary, content).and_then(|()| {
            match std::fs::rename(&temporary, &folder) {
                // Another process was faster: the same content stands there.
                Err(_) if folder.join("kcl.mod").is_file() => std::fs::remove_dir_all(&temporary),
                other => other,
            }
        });
        written.map_err(|e| {
            let _ = std::fs::remove_dir_all(&temporary);
            Trouble::new(format!("cannot keep a package in {}: {e}", folder.display()))
                .next("the folder of packages can be moved with KCL_PKG_PATH")
        })?;
        Ok((sum, folder))
    }

    /// Holds the lock of a source until the result is dropped.
    ///
    /// # Errors
    /// A disk on which nothing can be locked.
    pub fn lock(&self, source: &str) -> Result<File, Trouble> {
        let path = self.root.join("locks").join(HEXLOWER.encode(&Sha256::digest(source)[..16]));
        rim::lock(&path).map_err(|e| Trouble::new(format!("cannot lock {}: {e}", path.display())))
    }

    /// Returns the folder of the copy of a Git repository.
    pub(crate) fn git_folder(&self, url: &str) -> PathBuf {
        self.root.join("git").join(HEXLOWER.encode(&Sha256::digest(url)[..16]))
    }
}

/// Compares a folder with a sum.
///
/// # Errors
/// What cannot be read or is different.
pub fn compare(folder: &Path, wanted: &str) -> Result<(), Trouble> {
    let mut files = Vec::new();
    read_all(folder, "", &mut files)
        .map_err(|e| Trouble::new(format!("cannot read {}: {e}", folder.display())))?;
    let found = sum(&Content::new(files)?);
    if found == wanted {
        return Ok(());
    }
    Err(Trouble::new(format!("{} was changed: its sum is {found}, the lock says {wanted}", folder.display()))
        .next("delete that folder, then `kcl mod update` fetches it again"))
}

/// Reads every file of a folder.
pub(crate) fn read_folder(folder: &Path) -> Result<Content, Trouble> {
    let mut files = Vec::new();
    let read = read_all(folder, "", &mut files);
    read.map_err(|e| Trouble::new(format!("cannot read {}: {e}", folder.display())))?;
    Ok(Content::new(files)?)
}

fn read_all(folder: &Path, prefix: &str, files: &mut Vec<(String, Vec<u8>)>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read_all(&entry.path(), &format!("{path}/"), files)?;
        } else {
            files.push((path, std::fs::read(entry.path())?));
        }
    }
    Ok(())
}

/// Makes a folder hold exactly a content: it is written beside and takes the place in one step.
///
/// # Errors
/// A disk that does not take it.
pub fn write_folder(folder: &Path, content: &Content) -> Result<(), Trouble> {
    let beside = |word: &str| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder.with_file_name(format!(".{word}-{name}-{}", std::process::id()))
    };
    let (new, old) = (beside("new"), beside("old"));
    let write = || {
        write_tree(&new, content)?;
        if folder.exists() {
            std::fs::rename(folder, &old)?;
        }
        std::fs::rename(&new, folder)?;
        if old.exists() { std::fs::remove_dir_all(&old) } else { Ok(()) }
    };
    write().map_err(|e: std::io::Error| {
        let _ = std::fs::remove_dir_all(&new);
        Trouble::new(format!("cannot write {}: {e}", folder.display()))
    })
}

fn write_tree(folder: &Path, content: &Content) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    for (path, bytes) in content.files() {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(file, bytes)?;
    }
    Ok(())
}
