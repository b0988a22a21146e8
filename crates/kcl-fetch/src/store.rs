//! The store: contents of packages by their sums, shared by all modules and processes of a user.
//!
//! A content is written beside the others and moved to its place in one step, so a reader sees all of it or nothing. Whoever takes it
//! proves it first (`kcl_seal`): a copy that somebody changed, or a disk, counts as absent and is replaced when it is fetched again.
//! The lock of a source keeps two processes from fetching the same thing twice; it ends with its process.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use data_encoding::HEXLOWER;
use kcl_mod::{Content, folder_name, sum};
use kcl_seal::{Broken, Seals};
use kcl_sign::Proof;
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

    /// Returns the folder of a content that is kept and whole.
    pub fn find(&self, sum: &str) -> Option<PathBuf> {
        let folder = self.place(sum).filter(|folder| folder.join("kcl.mod").is_file())?;
        self.prove(&folder, sum).is_ok().then_some(folder)
    }

    /// Returns where a content is kept if it is; none if the sum is not one of ours.
    pub fn place(&self, sum: &str) -> Option<PathBuf> {
        Some(self.root.join("store").join(folder_name(sum)?))
    }

    /// Proves that a folder, here or elsewhere, holds what a sum says.
    ///
    /// # Errors
    /// What cannot be read or is different.
    pub fn prove(&self, folder: &Path, sum: &str) -> Result<(), Trouble> {
        Seals::of(Some(&self.root)).prove(folder, sum).map_err(|broken| told(folder, sum, broken))
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
        let kept = write_folder(&folder, content).or_else(|trouble| match self.find(&sum) {
            // Another process was faster: the same content stands there.
            Some(_) => Ok(()),
            None => Err(trouble.next("the folder of packages can be moved with KCL_PKG_PATH")),
        });
        kept.map(|()| (sum, folder))
    }

    /// Returns whether the signer of a content was looked at under a policy.
    pub(crate) fn was_signed(&self, sum: &str, print: &str, who: &str) -> bool {
        let note = kcl_mod::signed_note(print, who);
        self.signed(sum).is_some_and(|(_, text)| text.lines().any(|line| line == note))
    }

    /// Notes who signed a content, as it was found under a policy, and what proves it.
    pub(crate) fn note_signed(
        &self,
        sum: &str,
        print: &str,
        who: &str,
        proof: &Proof,
    ) -> Result<(), Trouble> {
        let Some((path, text)) = self.signed(sum) else { return Ok(()) };
        if self.was_signed(sum, print, who) {
            return Ok(());
        }
        if let Some(folder) = path.parent() {
            let told = |e| Trouble::new(format!("cannot make {}: {e}", folder.display()));
            std::fs::create_dir_all(folder).map_err(told)?;
        }
        // First what proves it: whoever sees the note finds this.
        if let Some(file) = kcl_mod::proof_file(sum) {
            crate::replace(&self.root.join(file), proof.write().as_bytes())?;
        }
        crate::replace(&path, format!("{text}{}\n", kcl_mod::signed_note(print, who)).as_bytes())
    }

    /// Returns the proof that the content of a sum was signed, if there is one.
    pub fn proof(&self, sum: &str) -> Option<String> {
        std::fs::read_to_string(self.root.join(kcl_mod::proof_file(sum)?)).ok()
    }

    fn signed(&self, sum: &str) -> Option<(PathBuf, String)> {
        let path = self.root.join(kcl_mod::signed_file(sum)?);
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        Some((path, text))
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

/// Compares the files of a folder with a sum, whatever a seal says.
///
/// # Errors
/// What cannot be read or is different.
pub fn compare(folder: &Path, wanted: &str) -> Result<(), Trouble> {
    kcl_seal::compare(folder, wanted).map_err(|broken| told(folder, wanted, broken))
}

fn told(folder: &Path, wanted: &str, broken: Broken) -> Trouble {
    match broken {
        Broken::Unreadable(what) => Trouble::new(what),
        Broken::Changed { found } => Trouble::new(format!(
            "{} was changed: its sum is {found}, the lock says {wanted}",
            folder.display()
        )),
    }
    .next("`kcl mod update` fetches it again, `kcl mod vendor` copies it anew")
}

/// Makes a folder hold exactly a content: it is written beside and takes the place in one step.
///
/// # Errors
/// A disk that does not take it.
pub fn write_folder(folder: &Path, content: &Content) -> Result<(), Trouble> {
    // Threads of one process may write the same content.
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let beside = |word: &str| {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        folder.with_file_name(format!(".{word}-{name}-{}-{number}", std::process::id()))
    };
    let (new, old) = (beside("new"), beside("old"));
    let write = || {
        write_tree(&new, content)?;
        if folder.exists() {
            std::fs::rename(folder, &old)?;
        }
        std::fs::rename(&new, folder).inspect_err(|_| {
            // What was there is better than nothing.
            let _ = std::fs::rename(&old, folder);
        })
    };
    let written = write().map_err(|e: std::io::Error| {
        let _ = std::fs::remove_dir_all(&new);
        Trouble::new(format!("cannot write {}: {e}", folder.display()))
    });
    if folder.exists() {
        let _ = std::fs::remove_dir_all(&old);
    }
    written
}

/// Everything has reached the disk when this returns. Nothing is waited for before everything is written: then one wait is for many.
fn write_tree(folder: &Path, content: &Content) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut folders = BTreeSet::from([folder.to_path_buf()]);
    for (path, bytes) in content.files() {
        let file = folder.join(path);
        if let Some(parent) = file.parent() {
            std::fs::create_dir_all(parent)?;
            folders.extend(parent.ancestors().take_while(|above| *above != folder).map(Path::to_path_buf));
        }
        std::fs::write(file, bytes)?;
    }
    let files = content.files().map(|(path, _)| folder.join(path));
    files.chain(folders).try_for_each(|path| File::open(path)?.sync_all())
}
