//! Which files the words of a call mean, and how one is read and replaced.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{Mode, OFlags};

/// What stands behind the words of a call.
#[derive(Debug, Default)]
pub struct Found {
    /// Files in order, each once.
    pub files: Vec<PathBuf>,
    /// Folders whose entries were looked at.
    pub looked: Vec<PathBuf>,
    /// Links that were not followed.
    pub notes: Vec<String>,
    /// Paths that cannot be read, with the reason.
    pub errors: Vec<(String, String)>,
}

/// Finds the files of `FILE`, `FOLDER` (its own `.k` files) and `FOLDER/...` (also those of the folders in it).
pub fn find(words: &[String]) -> Found {
    let mut found = Found::default();
    for word in words {
        let (path, deep) = match word.strip_suffix("...") {
            Some("") => (".", true),
            Some(folder) if folder.ends_with(['/', '\\']) => (folder, true),
            _ => (word.as_str(), false),
        };
        found.word(Path::new(path), deep);
    }
    found.files.sort();
    found.files.dedup();
    found
}

impl Found {
    /// Takes the files by their folders: those of one folder are a package.
    pub fn folders(&mut self) -> BTreeMap<PathBuf, Vec<PathBuf>> {
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        for file in std::mem::take(&mut self.files) {
            folders.entry(file.parent().unwrap_or(Path::new("")).to_path_buf()).or_default().push(file);
        }
        folders
    }

    fn word(&mut self, path: &Path, deep: bool) {
        match fs::metadata(path) {
            Ok(meta) if meta.is_dir() => match fs::canonicalize(path) {
                Ok(tree) => self.folder(path, &tree, deep),
                Err(error) => self.error(path, &error),
            },
            Ok(_) if deep => {
                let message = "is no folder: `...` stands after a folder".to_owned();
                self.errors.push((path.display().to_string(), message));
            }
            // Who reads a pipe waits for its writer, and nothing can be put in its place.
            Ok(meta) if !meta.is_file() => {
                self.errors
                    .push((path.display().to_string(), "is a pipe or a device, not a file".to_owned()));
            }
            // A file that is named is meant, whatever its name and even if it is a link.
            Ok(_) => self
                .files
                .push(fs::canonicalize(path).ok().filter(|_| path.is_symlink()).unwrap_or(path.into())),
            Err(error) => self.error(path, &error),
        }
    }

    fn folder(&mut self, folder: &Path, tree: &Path, deep: bool) {
        let entries = match fs::read_dir(folder).and_then(Iterator::collect::<Result<Vec<_>, _>>) {
            Ok(entries) => entries,
            Err(error) => return self.error(folder, &error),
        };
        self.looked.push(folder.to_path_buf());
        let mut paths: Vec<(PathBuf, io::Result<fs::FileType>)> =
            entries.into_iter().map(|entry| (entry.path(), entry.file_type())).collect();
        paths.sort_by(|a, b| a.0.cmp(&b.0));
        for (path, kind) in paths {
            // `./a.k` is shown as `a.k`.
            let path = path.strip_prefix(".").map(Path::to_path_buf).unwrap_or(path);
            let source = path.extension().is_some_and(|e| e == "k");
            match kind {
                Ok(kind) if kind.is_symlink() => self.link(&path, tree, source, deep),
                Ok(kind) if kind.is_dir() && deep => self.folder(&path, tree, deep),
                Ok(kind) if kind.is_file() && source => self.files.push(path),
                Ok(_) => {}
                Err(error) => self.error(&path, &error),
            }
        }
    }

    /// What a link leads to inside the tree is found without it; what is outside is not touched.
    fn link(&mut self, path: &Path, tree: &Path, source: bool, deep: bool) {
        let Ok(target) = fs::canonicalize(path) else { return };
        let wanted = if target.is_dir() { deep } else { source };
        if wanted && !target.starts_with(tree) {
            self.notes.push(format!(
                "{} leads out of the folder, to {}: left out",
                path.display(),
                target.display()
            ));
        }
    }

    fn error(&mut self, path: &Path, error: &io::Error) {
        let message = match error.kind() {
            io::ErrorKind::NotFound => "does not exist".to_owned(),
            _ => format!("cannot be read: {error}"),
        };
        self.errors.push((path.display().to_string(), message));
    }
}

/// A larger file is refused: its trees would need gigabytes.
pub const MAX_BYTES: u64 = 64 << 20;

/// The sentence about it.
pub fn too_large() -> String {
    format!("is larger than {} MiB: split it", MAX_BYTES >> 20)
}

/// Most sources are smaller: they are read without asking for their size.
const SMALL: u64 = 8 << 10;

/// A larger buffer is not kept.
const KEPT: usize = 256 << 10;

thread_local! {
    /// Where the bytes of a text stand while they are read: a buffer for each file leaves holes between the texts.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Reads a file of at most [`MAX_BYTES`].
///
/// # Errors
/// A sentence that goes on after the path.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    read_into(&mut bytes, File::open(path))?;
    Ok(bytes)
}

/// Reads the text of a file, for many owners.
pub(crate) fn read_shared(path: &Path) -> Result<Arc<str>, String> {
    text_in(File::open(path))
}

/// A folder that is open: a file in it is found without the way to the folder.
pub(crate) struct Folder<'p> {
    path: &'p [u8],
    open: OwnedFd,
}

impl<'p> Folder<'p> {
    /// Opens the folder of a file, if it has one.
    pub(crate) fn of(file: &'p Path) -> Option<Folder<'p>> {
        let path = file.parent().filter(|path| !path.as_os_str().is_empty())?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let open = rustix::io::retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty())).ok()?;
        Some(Folder { path: path.as_os_str().as_bytes(), open })
    }

    /// As [`read_shared`].
    pub(crate) fn read_shared(&self, path: &Path) -> Result<Arc<str>, String> {
        text_in(match self.name_of(path) {
            Some(name) => {
                let flags = OFlags::RDONLY | OFlags::CLOEXEC;
                let open = || rustix::fs::openat(&self.open, name, flags, Mode::empty());
                rustix::io::retry_on_intr(open).map(File::from).map_err(io::Error::from)
            }
            None => File::open(path),
        })
    }

    /// The name of a file that stands in this folder itself.
    fn name_of<'f>(&self, path: &'f Path) -> Option<&'f OsStr> {
        let name = path.as_os_str().as_bytes().strip_prefix(self.path)?.strip_prefix(b"/")?;
        (!name.contains(&b'/')).then(|| OsStr::from_bytes(name))
    }
}

fn text_in(file: io::Result<File>) -> Result<Arc<str>, String> {
    let mut bytes = BUFFER.take();
    bytes.clear();
    let read = read_into(&mut bytes, file);
    let text = read.and_then(|()| match std::str::from_utf8(&bytes) {
        Ok(text) => Ok(text.into()),
        Err(_) => text_of(bytes.clone()).map(Into::into),
    });
    if bytes.capacity() <= KEPT {
        BUFFER.set(bytes);
    }
    text
}

fn read_into(bytes: &mut Vec<u8>, file: io::Result<File>) -> Result<(), String> {
    let problem = |error: io::Error| format!("cannot be read: {error}");
    let file = file.map_err(problem)?;
    bytes.reserve_exact(SMALL as usize);
    (&file).take(SMALL).read_to_end(bytes).map_err(problem)?;
    if bytes.len() as u64 == SMALL {
        let size = file.metadata().map_err(problem)?.len().min(MAX_BYTES);
        bytes.reserve_exact(size.saturating_sub(SMALL) as usize);
        file.take(MAX_BYTES + 1 - SMALL).read_to_end(bytes).map_err(problem)?;
    }
    if bytes.len() as u64 > MAX_BYTES { Err(too_large()) } else { Ok(()) }
}

/// Reads the text of a file.
///
/// # Errors
/// A sentence that begins with the path.
pub fn text(path: &Path) -> Result<String, String> {
    read(path).and_then(text_of).map_err(|why| format!("{} {why}", path.display()))
}

/// Reads the texts of files, each with its path.
///
/// # Errors
/// A sentence that begins with the path of the first file that cannot be read.
pub fn texts(paths: &[PathBuf]) -> Result<Vec<(String, String)>, String> {
    paths.iter().map(|path| Ok((path.display().to_string(), text(path)?))).collect()
}

/// Replaces a file that is there, whole.
///
/// # Errors
/// Why it cannot be written; the old text is still there.
pub fn replace(path: &Path, text: &str) -> Result<(), String> {
    let problem = |error: io::Error| format!("cannot be written: {error}");
    fs::metadata(path).map_err(problem)?;
    base_file::replace(path, text.as_bytes(), base_file::How::Plain).map_err(problem)
}

/// Returns the text of a file that is UTF-8.
///
/// # Errors
/// A sentence that goes on after the path.
pub fn text_of(bytes: Vec<u8>) -> Result<String, String> {
    String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..good].iter().filter(|byte| **byte == b'\n').count() + 1;
        format!("is not UTF-8 text: the first wrong byte is number {}, on line {line}", good + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_by_its_folder_as_by_its_path() {
        let folder = std::env::temp_dir().join(format!("kcl-folder-{}", std::process::id()));
        fs::create_dir_all(folder.join("sub")).unwrap();
        fs::write(folder.join("a.k"), "a = 1\n").unwrap();
        fs::write(folder.join("sub/b.k"), "b = 2\n").unwrap();
        std::os::unix::fs::symlink("sub/b.k", folder.join("link.k")).unwrap();
        let first = folder.join("a.k");
        let open = Folder::of(&first).unwrap();
        for name in ["a.k", "link.k", "sub/b.k", "sub", "none.k", "none/a.k"] {
            let path = folder.join(name);
            assert_eq!(open.read_shared(&path), read_shared(&path), "{name}");
        }
        let beside = folder.with_extension("x");
        fs::write(&beside, "c = 3\n").unwrap();
        assert_eq!(open.read_shared(&beside).as_deref(), Ok("c = 3\n"));
        assert!(Folder::of(Path::new("a.k")).is_none() && Folder::of(Path::new("/none/a.k")).is_none());
        fs::remove_file(&beside).unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn files_of_every_size_are_read_whole() {
        let folder = std::env::temp_dir().join(format!("kcl-sources-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("a.k");
        let small = SMALL as usize;
        for size in [0, 1, small - 1, small, small + 1, 5 * small, KEPT + 1, 3] {
            let text: String = (0..size).map(|at| char::from(b'a' + (at % 26) as u8)).collect();
            fs::write(&path, &text).unwrap();
            assert_eq!(read(&path).unwrap(), text.as_bytes());
            assert_eq!(&*read_shared(&path).unwrap(), text);
        }
        fs::write(&path, b"a\n\xff").unwrap();
        assert!(read_shared(&path).unwrap_err().contains("the first wrong byte is number 3, on line 2"));
        assert!(read_shared(&folder).unwrap_err().starts_with("cannot be read: "));
        fs::remove_dir_all(&folder).unwrap();
    }
}
