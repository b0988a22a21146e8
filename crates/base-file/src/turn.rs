//! Changes to one file by several programs at once: each is made to what the others have left.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// How often a change is made again because of programs that do not wait.
const MAX_TRIES: u32 = 100;

/// The right to change files: whoever else takes turns waits. It ends when it is dropped, or with the process, and leaves nothing
/// on the disk: the folders of the files are what is locked.
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("a.k");
/// # std::fs::write(&path, "a = 1\n")?;
/// let mut turn = base_file::Turn::default();
/// loop {
///     let before = std::fs::read(&path)?;
///     let after = [before.as_slice(), b"b = 2\n"].concat();
///     if turn.is_ours(&[(&path, &before)])? {
///         base_file::replace(&path, &after, base_file::How::Plain)?;
///         break;
///     }
/// }
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug, Default)]
pub struct Turn {
    folders: BTreeMap<Identity, PathBuf>,
    locks: Vec<File>,
    tries: u32,
}

impl Turn {
    /// Waits for the turn, and says whether the files still have these contents: if so, they can be written now. If not, the change is
    /// to be made again from what is there, and this is asked again; the turn is kept meanwhile.
    ///
    /// # Errors
    /// A folder that cannot be opened, or a program that changes the files all the time and does not wait.
    pub fn is_ours(&mut self, files: &[(&Path, &[u8])]) -> io::Result<bool> {
        self.tries += 1;
        if self.tries > MAX_TRIES {
            return Err(io::Error::other("somebody else changes it all the time"));
        }
        let folders = files.iter().map(|(path, _)| folder(path));
        self.wait(folders.map(|folder| Ok((identity(&folder)?, folder))).collect::<io::Result<_>>()?)?;
        // A file that is gone is not what it was: reading it again will tell.
        Ok(files.iter().all(|(path, before)| fs::read(path).is_ok_and(|now| now == *before)))
    }

    /// Locks folders. All of them at once and in order, whoever asks: so nobody waits for somebody who waits for them.
    fn wait(&mut self, folders: BTreeMap<Identity, PathBuf>) -> io::Result<()> {
        if folders.keys().all(|folder| self.folders.contains_key(folder)) {
            return Ok(());
        }
        self.locks.clear();
        self.folders.extend(folders);
        for folder in self.folders.values() {
            self.locks.extend(lock(folder)?);
        }
        Ok(())
    }
}

/// What a folder is, whatever it is called: under two names it would wait for itself.
type Identity = (u64, u64);

#[cfg(unix)]
fn identity(folder: &Path) -> io::Result<Identity> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(folder).map(|meta| (meta.dev(), meta.ino()))
}

/// Nothing is locked here.
#[cfg(not(unix))]
fn identity(_: &Path) -> io::Result<Identity> {
    Ok((0, 0))
}

/// The folder in which a file is replaced; a link is followed, as the one who writes does.
fn folder(path: &Path) -> PathBuf {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    match real.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// Locks a folder itself; nothing where that cannot be done: then the contents alone tell whether somebody came in between.
#[cfg(unix)]
fn lock(folder: &Path) -> io::Result<Option<File>> {
    let opened = match File::open(folder) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        opened => opened?,
    };
    loop {
        match opened.lock() {
            Ok(()) => return Ok(Some(opened)),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return Ok(None),
        }
    }
}

#[cfg(not(unix))]
fn lock(_: &Path) -> io::Result<Option<File>> {
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{How, replace};

    fn add(path: &Path, line: &str) {
        let mut turn = Turn::default();
        loop {
            let before = fs::read(path).unwrap();
            std::thread::yield_now();
            if turn.is_ours(&[(path, &before)]).unwrap() {
                return replace(path, &[&before, line.as_bytes()].concat(), How::Plain).unwrap();
            }
        }
    }

    #[test]
    fn nobody_loses_what_others_have_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.k");
        fs::write(&path, "").unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let path = &path;
                scope.spawn(move || (0..50).for_each(|n| add(path, &format!("{thread} {n}\n"))));
            }
        });
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 400);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    #[cfg(unix)]
    fn a_folder_with_two_names_is_locked_once() {
        let lab = tempfile::tempdir().unwrap();
        let (folder, link) = (lab.path().join("folder"), lab.path().join("link"));
        fs::create_dir(&folder).unwrap();
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        fs::write(folder.join("a.k"), "a").unwrap();
        // Nothing can follow a file that is not there: its folder keeps the name that was given.
        let (there, gone) = (folder.join("a.k"), link.join("gone.k"));
        let mut turn = Turn::default();
        assert!(!turn.is_ours(&[(&there, b"a".as_slice()), (&gone, b"".as_slice())]).unwrap());
        assert_eq!(turn.locks.len(), 1);
    }

    #[test]
    fn who_never_waits_ends_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.k");
        fs::write(&path, "new").unwrap();
        let mut turn = Turn::default();
        let told = (0..200).find_map(|_| turn.is_ours(&[(&path, b"old".as_slice())]).err()).unwrap();
        assert_eq!(told.to_string(), "somebody else changes it all the time");
    }
}
