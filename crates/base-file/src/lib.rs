//! Files are written whole or not at all: the new content stands beside the file first and takes its name in one step, so a reader
//! never sees half of it, and a full disk leaves the old one.
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod turn;

use std::fs::{self, File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub use turn::Turn;

/// How a file is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// As fast as it goes: what can be made again after a power cut.
    Plain,
    /// It has reached the disk when the call returns.
    Durable,
    /// As [`How::Durable`], for its owner only, whatever stood there before.
    Private,
}

/// Why a file was not written.
#[derive(Debug)]
pub struct Trouble {
    /// The file.
    pub path: PathBuf,
    /// The reason.
    pub error: io::Error,
}

impl std::fmt::Display for Trouble {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} cannot be written: {}", self.path.display(), self.error)
    }
}

impl std::error::Error for Trouble {}

/// Writes a file. One that is there keeps its permissions and, as far as we may say so, its owner; a link is followed; what is no file (a pipe, a terminal) is written to.
///
/// # Errors
/// The file is read-only or a folder, or the disk does not take it; the old content is still there.
pub fn replace(path: &Path, bytes: &[u8], how: How) -> io::Result<()> {
    match Beside::new(path, bytes, how)? {
        Some(beside) => beside.take_name(),
        None => Ok(()),
    }
}

/// Writes files, with the folders above them: all of them stand beside their places before the first takes its name.
///
/// # Errors
/// The first file that cannot be written; then nothing new is left behind.
pub fn write_all<T: AsRef<[u8]>>(files: &[(PathBuf, T)], how: How) -> Result<(), Trouble> {
    let mut made: Vec<PathBuf> = Vec::new();
    let result = write_beside(files, how, &mut made).and_then(|ready| {
        ready.into_iter().try_for_each(|(path, beside)| {
            beside.take_name().map_err(|error| Trouble { path: path.to_path_buf(), error })
        })
    });
    if result.is_err() {
        // What cannot be removed is left: the first error says more.
        made.iter().rev().for_each(|folder| drop(fs::remove_dir(folder)));
    }
    result
}

fn write_beside<'p, T: AsRef<[u8]>>(
    files: &'p [(PathBuf, T)],
    how: How,
    made: &mut Vec<PathBuf>,
) -> Result<Vec<(&'p Path, Beside)>, Trouble> {
    let mut ready = Vec::new();
    for (path, bytes) in files {
        let trouble = |error: io::Error| Trouble { path: path.clone(), error };
        if let Some(folder) = path.parent() {
            make_folder(folder, made).map_err(trouble)?;
        }
        let beside = Beside::new(path, bytes.as_ref(), how).map_err(trouble)?;
        ready.extend(beside.map(|beside| (path.as_path(), beside)));
    }
    Ok(ready)
}

/// Makes a folder and those above it, and remembers which were missing.
fn make_folder(folder: &Path, made: &mut Vec<PathBuf>) -> io::Result<()> {
    if folder.as_os_str().is_empty() || folder.is_dir() {
        return Ok(());
    }
    if let Some(above) = folder.parent() {
        make_folder(above, made)?;
    }
    match fs::create_dir(folder) {
        Ok(()) => made.push(folder.to_path_buf()),
        // Another thread was faster.
        Err(_) if folder.is_dir() => {}
        Err(error) => return Err(error),
    }
    Ok(())
}

/// A content that waits beside its place; it is removed again if it never takes the name.
struct Beside {
    waits: PathBuf,
    place: PathBuf,
}

impl Beside {
    /// Writes the content; nothing waits if the place is no file.
    fn new(path: &Path, bytes: &[u8], how: How) -> io::Result<Option<Beside>> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        // Behind these names may stand a file that somebody else writes to as well: it is not ours to replace.
        match path.to_str() {
            Some("/dev/stdout") => return pour(io::stdout().lock(), bytes),
            Some("/dev/stderr") => return pour(io::stderr().lock(), bytes),
            _ => {}
        }
        let old = match fs::metadata(path) {
            Ok(old) if old.is_dir() => return Err(io::Error::other("it is a folder")),
            Ok(old) if !old.is_file() => {
                return File::options().write(true).open(path)?.write_all(bytes).map(|()| None);
            }
            Ok(old) if old.permissions().readonly() => {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "it is read-only"));
            }
            Ok(old) => Some(old),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        let place = if path.is_symlink() { fs::canonicalize(path)? } else { path.to_path_buf() };
        let name = place.file_name().ok_or_else(|| io::Error::other("it has no name"))?.to_string_lossy();
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let waits = place.with_file_name(format!(".{name}.{}-{number}.tmp", std::process::id()));
        let mut file = create(&waits, how)?;
        let beside = Beside { waits, place };
        fill(&mut file, bytes, old, how)?;
        Ok(Some(beside))
    }

    fn take_name(self) -> io::Result<()> {
        fs::rename(&self.waits, &self.place)
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        // After a rename there is nothing under this name.
        let _ = fs::remove_file(&self.waits);
    }
}

fn pour(mut stream: impl Write, bytes: &[u8]) -> io::Result<Option<Beside>> {
    stream.write_all(bytes)?;
    stream.flush().map(|()| None)
}

fn create(path: &Path, how: How) -> io::Result<File> {
    let mut options = File::options();
    options.create_new(true).write(true);
    #[cfg(unix)]
    if how == How::Private {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    options.open(path)
}

fn fill(file: &mut File, bytes: &[u8], old: Option<Metadata>, how: How) -> io::Result<()> {
    file.write_all(bytes)?;
    if let Some(old) = old.filter(|_| how != How::Private) {
        keep_owner(file, &old)?;
        // After the owner: a new one may lose some of them.
        file.set_permissions(old.permissions())?;
    }
    match how {
        How::Plain => Ok(()),
        How::Durable | How::Private => file.sync_all(),
    }
}

/// Gives the new file to whom the old one belongs; who may not do that keeps the group at least, or what can be kept.
#[cfg(unix)]
fn keep_owner(file: &File, old: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};
    let own = file.metadata()?;
    if (own.uid(), own.gid()) != (old.uid(), old.gid()) {
        let kept = fchown(file, Some(old.uid()), Some(old.gid()));
        // What the system refuses is not ours to demand: the content counts.
        let _ = kept.or_else(|_| fchown(file, None, Some(old.gid())));
    }
    Ok(())
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::Permissions;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_made_and_replaced_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.k");
        for (text, how) in [("a = 1\n", How::Plain), ("a = 2\n", How::Durable)] {
            replace(&path, text.as_bytes(), how).unwrap();
            assert_eq!(fs::read_to_string(&path).unwrap(), text);
        }
        assert_eq!(names(folder.path()), ["a.k"]);
    }

    #[test]
    fn all_files_are_written_or_none_and_no_folder_stays() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("taken")).unwrap();
        let file = |name: &str| (folder.path().join(name), "text".to_owned());
        let trouble = write_all(&[file("new/deep/a"), file("taken")], How::Plain).unwrap_err();
        assert!(trouble.to_string().ends_with("taken cannot be written: it is a folder"), "{trouble}");
        assert_eq!(names(folder.path()), ["taken"]);
        write_all(&[file("new/deep/a"), file("b")], How::Plain).unwrap();
        assert_eq!(names(folder.path()), ["b", "new", "taken"]);
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay_links_are_followed_and_secrets_are_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("real"), folder.path().join("link"));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        replace(&path, b"1", How::Private).unwrap();
        assert_eq!(mode(&path), 0o600);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        replace(&link, b"2", How::Plain).unwrap();
        assert!(link.is_symlink());
        assert_eq!((fs::read(&path).unwrap(), mode(&path)), (b"2".to_vec(), 0o640));
        fs::set_permissions(&path, Permissions::from_mode(0o440)).unwrap();
        assert_eq!(replace(&path, b"3", How::Plain).unwrap_err().to_string(), "it is read-only");
        replace(Path::new("/dev/null"), b"4", How::Plain).unwrap();
    }

    #[cfg(unix)]
    #[test]
    fn a_file_stays_with_its_owner() {
        use std::os::unix::fs::{MetadataExt, chown};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.k");
        fs::write(&path, "1").unwrap();
        // Only the superuser gives files away; for others the file is theirs before and after.
        let _ = chown(&path, Some(65534), Some(65534));
        let owner =
            |path: &Path| fs::metadata(path).map(|meta| (meta.uid(), meta.gid(), meta.mode())).unwrap();
        let before = owner(&path);
        replace(&path, b"2", How::Plain).unwrap();
        assert_eq!(owner(&path), before);
    }
}
