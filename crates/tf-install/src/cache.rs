//! The folder of packages that all processes of a user share; its layout is that of `plugin_cache_dir`.
//!
//! A package is unpacked beside its place and moved there in one step, under the lock of its place. Beside it stands what
//! it hashed to, with size and times of each file: a package is hashed again only when one of them changed.

use std::fs::File;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::address::Address;
use crate::hash::{files_below, h1_folder};
use crate::mirror::folder_of;
use crate::platform::Platform;
use crate::trouble::{Kind, Trouble};
use crate::version::Version;

/// Longest note about a package.
const MAX_RECORD: u64 = 64 << 20;

/// The folder.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    root: PathBuf,
}

/// What is known about a package.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(crate) struct Record {
    pub(crate) h1: String,
    /// Hashes of all platforms that the publisher has signed, and the hash of the archive that was unpacked.
    pub(crate) signed: Vec<String>,
    pub(crate) zh: Option<String>,
    pub(crate) key: Option<String>,
    files: Vec<Seen>,
}

/// A file as it was when it was hashed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
struct Seen {
    path: String,
    size: u64,
    inode: u64,
    /// Seconds and nanoseconds of the last change of content, then of anything.
    times: [i64; 4],
}

/// The place of one package.
pub(crate) struct Slot {
    pub(crate) folder: PathBuf,
    record: PathBuf,
    /// Held until the slot is dropped; none where nobody can write, so nobody changes anything.
    lock: Option<File>,
}

impl Cache {
    pub(crate) fn new(root: impl Into<PathBuf>) -> Cache {
        Cache { root: root.into() }
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The folder of a package, if something stands there.
    pub(crate) fn find(&self, address: &Address, version: &Version, platform: &Platform) -> Option<PathBuf> {
        let folder = folder_of(&self.root, address).join(version.to_string()).join(platform.to_string());
        folder.is_dir().then_some(folder)
    }

    /// Waits for the place of a package. What a process left there that ended early is removed.
    pub(crate) fn slot(
        &self,
        address: &Address,
        version: &Version,
        platform: &Platform,
    ) -> Result<Slot, Trouble> {
        let around = folder_of(&self.root, address).join(version.to_string());
        let path = around.join(format!("{platform}.lock"));
        let lock = lock(&path, &around.join(platform.to_string()))?;
        let left = format!(".new-{platform}");
        for entry in std::fs::read_dir(&around).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&left) {
                remove(&entry.path());
            }
        }
        Ok(Slot {
            folder: around.join(platform.to_string()),
            record: around.join(format!("{platform}.hashes.json")),
            lock,
        })
    }

    /// The same for a folder that lies elsewhere and is not ours to change.
    pub(crate) fn slot_of(&self, folder: &Path) -> Result<Slot, Trouble> {
        let name = HEXLOWER.encode(&Sha256::digest(folder.as_os_str().as_encoded_bytes())[..16]);
        let around = self.root.join(".elsewhere");
        let path = around.join(format!("{name}.lock"));
        let lock = lock(&path, folder)?;
        Ok(Slot { folder: folder.to_owned(), record: around.join(format!("{name}.json")), lock })
    }
}

/// Waits for a lock. A package that is there can be used from a folder that cannot be written.
fn lock(path: &Path, package: &Path) -> Result<Option<File>, Trouble> {
    use std::io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
    match rim::lock(path) {
        Ok(lock) => Ok(Some(lock)),
        Err(e) if matches!(e.kind(), PermissionDenied | ReadOnlyFilesystem) && package.is_dir() => Ok(None),
        Err(e) => Err(Trouble::disk("lock", path, &e)),
    }
}

/// Something that is removed unless it has become a package.
pub(crate) struct Temporary(pub(crate) PathBuf);

impl Drop for Temporary {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

fn remove(path: &Path) {
    // What cannot be removed is removed by the next process that comes here.
    let _ = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
}

impl Slot {
    /// A place beside the package, for what will become it.
    pub(crate) fn temporary(&self, suffix: &str) -> Temporary {
        let name = self.folder.file_name().unwrap_or_default().to_string_lossy();
        Temporary(self.folder.with_file_name(format!(".new-{name}{suffix}")))
    }

    /// What stands here, hashed again where anything changed; none if nothing is known about it.
    pub(crate) fn known(&self) -> Result<Option<Record>, Trouble> {
        let Some(mut record) = self.read() else { return Ok(None) };
        let told = |e: std::io::Error| Trouble::disk("read", &self.folder, &e);
        let seen = seen(&self.folder).map_err(told)?;
        if seen == record.files {
            return Ok(Some(record));
        }
        let h1 = h1_folder(&self.folder).map_err(told)?;
        if h1 != record.h1 {
            return Err(Trouble::new(
                Kind::Altered,
                format!(
                    "{} was changed after it was verified: it is {h1} now and was {}",
                    self.folder.display(),
                    record.h1
                ),
            )
            .next("remove that folder; it is fetched again"));
        }
        record.files = seen;
        self.write(&record)?;
        Ok(Some(record))
    }

    /// Hashes what stands here and remembers it.
    pub(crate) fn learn(
        &self,
        zh: Option<String>,
        signed: Vec<String>,
        key: Option<String>,
    ) -> Result<Record, Trouble> {
        let told = |e: std::io::Error| Trouble::disk("read", &self.folder, &e);
        let h1 = h1_folder(&self.folder).map_err(told)?;
        let record = Record { h1, signed, zh, key, files: seen(&self.folder).map_err(told)? };
        self.write(&record)?;
        Ok(record)
    }

    /// Makes an unpacked folder the package.
    pub(crate) fn keep(&self, unpacked: Temporary, mut record: Record) -> Result<Record, Trouble> {
        std::fs::rename(&unpacked.0, &self.folder).map_err(|e| Trouble::disk("make", &self.folder, &e))?;
        record.files = seen(&self.folder).map_err(|e| Trouble::disk("read", &self.folder, &e))?;
        self.write(&record)?;
        Ok(record)
    }

    /// Forgets what is known; the folder stays.
    pub(crate) fn forget(&self) {
        remove(&self.record);
    }

    fn read(&self) -> Option<Record> {
        if std::fs::metadata(&self.record).ok()?.len() > MAX_RECORD || !self.folder.is_dir() {
            return None;
        }
        // A note that cannot be read is no note: the package is hashed or fetched again.
        serde_json::from_slice(&std::fs::read(&self.record).ok()?).ok()
    }

    fn write(&self, record: &Record) -> Result<(), Trouble> {
        // Without it everything is hashed again the next time.
        if self.lock.is_none() {
            return Ok(());
        }
        let text = serde_json::to_vec(record).map_err(|e| Trouble::new(Kind::Disk, e.to_string()))?;
        rim::replace(&self.record, &text).map_err(|e| Trouble::disk("write", &self.record, &e))
    }
}

impl Record {
    /// What is known about a package that is not in its place yet.
    pub(crate) fn fresh(h1: String, zh: Option<String>, signed: Vec<String>, key: Option<String>) -> Record {
        Record { h1, signed, zh, key, files: Vec::new() }
    }

    /// Whether it has one of some hashes.
    pub(crate) fn has_any<'h>(&self, hashes: impl IntoIterator<Item = &'h String>) -> bool {
        hashes.into_iter().any(|hash| *hash == self.h1 || Some(hash) == self.zh.as_ref())
    }

    /// What belongs into a lock file.
    pub(crate) fn hashes(&self) -> impl Iterator<Item = String> {
        std::iter::once(self.h1.clone()).chain(self.signed.iter().cloned())
    }
}

/// The files of a folder, as they are now.
fn seen(folder: &Path) -> std::io::Result<Vec<Seen>> {
    use std::os::unix::fs::MetadataExt;
    let mut all = Vec::new();
    for (path, place) in files_below(folder)? {
        let meta = std::fs::metadata(place)?;
        let times = [meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec()];
        all.push(Seen { path, size: meta.len(), inode: meta.ino(), times });
    }
    all.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_used_from_where_nobody_can_write() {
        let there = tempfile::tempdir().unwrap();
        // Nobody makes folders there, whoever they are.
        let path = Path::new("/sys/kusion/linux.lock");
        assert!(lock(path, there.path()).unwrap().is_none());
        assert_eq!(lock(path, &there.path().join("nothing")).unwrap_err().kind, Kind::Disk);
    }
}
