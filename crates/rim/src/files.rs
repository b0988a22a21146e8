//! Files that appear whole, and locks that end with their process.

use std::fs::File;
use std::io;
use std::path::Path;

use base_file::How;

/// Replaces a file; it has reached the disk when this returns. Permissions of an old file stay.
///
/// # Errors
/// The disk's own words.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    base_file::replace(path, bytes, How::Durable)
}

/// The same for a file that only its owner may read, whatever stood there before.
///
/// # Errors
/// The disk's own words.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    base_file::replace(path, bytes, How::Private)
}

/// Waits for a file that stands for a thing, and holds it until the result is dropped or the process ends. A child that is given the
/// file holds it, too.
///
/// # Errors
/// A disk on which nothing can be locked.
pub fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = File::options().create(true).truncate(false).read(true).write(true).open(path)?;
    file.lock()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_file_is_private_whatever_stood_there() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "old").unwrap();
        replace_private(&path, b"new").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"new");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_cannot_be_written_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("taken");
        std::fs::create_dir_all(path.join("x")).unwrap();
        assert!(replace(&path, b"new").is_err());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
