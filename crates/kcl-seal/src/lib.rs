//! Whether a folder still is the package that was summed.
//!
//! To hash every file of every package would cost more than most runs. A seal says what the files of a folder looked like (size, times,
//! inode) when their sum was right; as long as they look so, it is. Whoever changes a file changes its time of change, which no
//! program can set. Seals are notes of one machine: without one the files are read and summed.
#![cfg_attr(test, allow(clippy::unwrap_used))]

use std::fmt::Write;
use std::fs::Metadata;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base_file::How;
use data_encoding::HEXLOWER;
use kcl_mod::{Content, sum};
use sha2::{Digest, Sha256};

/// A file that was changed less than this ago may be changed once more without a trace: clocks of file systems tick slowly.
const SETTLED: Duration = Duration::from_millis(100);

/// Why a folder is not proved to be a package.
#[derive(Debug)]
pub enum Broken {
    /// It cannot be read.
    Unreadable(String),
    /// It holds something else.
    Changed {
        /// The sum of what it holds.
        found: String,
    },
}

/// The seals of a machine.
#[derive(Clone, Debug)]
pub struct Seals {
    folder: Option<PathBuf>,
}

impl Seals {
    /// Returns the seals that are kept in a folder of packages; without one nothing is remembered.
    pub fn of(packages: Option<&Path>) -> Seals {
        Seals { folder: packages.map(|packages| packages.join("seals")) }
    }

    /// Proves that a folder holds what a sum says, by its seal or by its files.
    ///
    /// # Errors
    /// What cannot be read or is different.
    pub fn prove(&self, folder: &Path, wanted: &str) -> Result<(), Broken> {
        let unreadable = |e: io::Error| Broken::Unreadable(format!("cannot read {}: {e}", folder.display()));
        let before = Look::at(folder).map_err(unreadable)?;
        let place = self.place(folder);
        let text = format!("{wanted}\n{}\n", before.print);
        if place.as_ref().is_some_and(|place| std::fs::read_to_string(place).is_ok_and(|old| old == text)) {
            return Ok(());
        }
        compare(folder, wanted)?;
        let after = Look::at(folder).map_err(unreadable)?;
        if let Some(place) = place.filter(|_| before.is_settled() && before.print == after.print) {
            // A seal that cannot be written costs time, nothing else.
            let _ = place.parent().map(std::fs::create_dir_all);
            let _ = base_file::replace(&place, text.as_bytes(), How::Plain);
        }
        Ok(())
    }

    fn place(&self, folder: &Path) -> Option<PathBuf> {
        let name = HEXLOWER.encode(&Sha256::digest(folder.as_os_str().as_encoded_bytes())[..16]);
        Some(self.folder.as_ref()?.join(name))
    }
}

/// Compares the files of a folder with a sum.
///
/// # Errors
/// What cannot be read or is different.
pub fn compare(folder: &Path, wanted: &str) -> Result<(), Broken> {
    let found = sum(&read(folder).map_err(Broken::Unreadable)?);
    if found == wanted { Ok(()) } else { Err(Broken::Changed { found }) }
}

/// Reads every file of a folder.
///
/// # Errors
/// A sentence about what cannot be read or is no file.
pub fn read(folder: &Path) -> Result<Content, String> {
    let mut files = Vec::new();
    let mut each = |path: String, file: &Path, _: &Metadata| -> io::Result<()> {
        files.push((path, std::fs::read(file)?));
        Ok(())
    };
    walk(folder, "", &mut each).map_err(|e| format!("cannot read {}: {e}", folder.display()))?;
    Content::new(files)
}

/// What the files of a folder look like from outside.
struct Look {
    print: String,
    changed: SystemTime,
}

impl Look {
    fn at(folder: &Path) -> io::Result<Look> {
        let mut rows = Vec::new();
        let mut changed = UNIX_EPOCH;
        let mut each = |path: String, _: &Path, meta: &Metadata| -> io::Result<()> {
            let (seconds, parts) = (meta.ctime(), meta.ctime_nsec());
            let at = Duration::new(u64::try_from(seconds).unwrap_or(0), u32::try_from(parts).unwrap_or(0));
            changed = changed.max(UNIX_EPOCH + at);
            let mut row = path;
            let _ = write!(
                row,
                "\0{} {} {}.{} {seconds}.{parts}",
                meta.ino(),
                meta.len(),
                meta.mtime(),
                meta.mtime_nsec()
            );
            rows.push(row);
            Ok(())
        };
        walk(folder, "", &mut each)?;
        rows.sort_unstable();
        Ok(Look { print: HEXLOWER.encode(&Sha256::digest(rows.join("\n"))), changed })
    }

    fn is_settled(&self) -> bool {
        SystemTime::now().duration_since(self.changed).is_ok_and(|age| age > SETTLED)
    }
}

type Each<'e> = dyn FnMut(String, &Path, &Metadata) -> io::Result<()> + 'e;

/// A package has files and folders; a link could show another file tomorrow.
fn walk(folder: &Path, prefix: &str, each: &mut Each<'_>) -> io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
        let meta = entry.metadata()?;
        if meta.is_dir() {
            walk(&entry.path(), &format!("{path}/"), each)?;
        } else if meta.is_file() {
            each(path, &entry.path(), &meta)?;
        } else {
            return Err(io::Error::other(format!("`{path}` is neither a file nor a folder")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn package() -> (tempfile::TempDir, PathBuf, String, Seals) {
        let lab = tempfile::tempdir().unwrap();
        let folder = lab.path().join("lib");
        std::fs::create_dir_all(folder.join("sub")).unwrap();
        std::fs::write(folder.join("kcl.mod"), "[package]\n").unwrap();
        std::fs::write(folder.join("sub/a.k"), "a = 1\n").unwrap();
        let sum = sum(&read(&folder).unwrap());
        let seals = Seals::of(Some(lab.path()));
        (lab, folder, sum, seals)
    }

    /// Returns whether there is a seal once the files have settled.
    fn sealed(lab: &Path, folder: &Path, sum: &str, seals: &Seals) -> bool {
        std::thread::sleep(SETTLED + Duration::from_millis(50));
        seals.prove(folder, sum).unwrap();
        lab.join("seals").is_dir()
    }

    #[test]
    fn what_is_sealed_is_not_read_again() {
        let (lab, folder, sum, seals) = package();
        let young = Look { print: String::new(), changed: SystemTime::now() + Duration::from_secs(3_600) };
        assert!(!young.is_settled(), "files that are this young may change without a trace");
        assert!(sealed(lab.path(), &folder, &sum, &seals));
        // A seal is believed: one that is about another sum proves that sum.
        let place = seals.place(&folder).unwrap();
        let other = format!("h1:{}=", "A".repeat(43));
        let text = std::fs::read_to_string(&place).unwrap().replace(&sum, &other);
        std::fs::write(&place, text).unwrap();
        seals.prove(&folder, &other).unwrap();
        std::fs::remove_file(&place).unwrap();
        assert!(matches!(seals.prove(&folder, &other), Err(Broken::Changed { .. })));
    }

    #[test]
    fn every_change_breaks_the_seal() {
        let (lab, folder, sum, seals) = package();
        let file = folder.join("sub/a.k");
        let times = || std::fs::metadata(&file).unwrap().modified().unwrap();
        assert!(sealed(lab.path(), &folder, &sum, &seals));
        // The same size, and the time of the last write set back.
        let old = times();
        std::fs::write(&file, "a = 2\n").unwrap();
        std::fs::File::options().write(true).open(&file).unwrap().set_modified(old).unwrap();
        assert_eq!(times(), old);
        assert!(matches!(seals.prove(&folder, &sum), Err(Broken::Changed { .. })));
        std::fs::write(&file, "a = 1\n").unwrap();
        assert!(sealed(lab.path(), &folder, &sum, &seals));
        std::fs::write(folder.join("sub/b.k"), "").unwrap();
        assert!(matches!(seals.prove(&folder, &sum), Err(Broken::Changed { .. })));
        std::fs::remove_file(folder.join("sub/b.k")).unwrap();
        seals.prove(&folder, &sum).unwrap();
        std::fs::remove_file(&file).unwrap();
        std::os::unix::fs::symlink("/etc/hostname", &file).unwrap();
        assert!(matches!(seals.prove(&folder, &sum), Err(Broken::Unreadable(_))));
    }

    #[test]
    fn without_a_place_for_seals_files_are_summed() {
        let (_lab, folder, sum, _) = package();
        Seals::of(None).prove(&folder, &sum).unwrap();
        assert!(Seals::of(None).prove(&folder.join("sub"), &sum).is_err());
        assert!(Seals::of(Some(Path::new("/proc/none"))).prove(&folder, &sum).is_ok());
    }
}
