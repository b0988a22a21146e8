//! Files that appear whole, and locks that end with their process.

use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

/// Replaces a file: the new bytes stand beside it first and take its place in one step. Permissions of an old file stay.
///
/// # Errors
/// The disk's own words.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let old = std::fs::metadata(path).ok().map(|meta| meta.permissions());
    write(path, bytes, false, |file| old.map_or(Ok(()), |old| file.set_permissions(old)))
}

/// The same for a file that only its owner may read, whatever stood there before.
///
/// # Errors
/// The disk's own words.
pub fn replace_private(path: &Path, bytes: &[u8]) -> io::Result<()> {
    write(path, bytes, true, |_| Ok(()))
}

fn write(
    path: &Path,
    bytes: &[u8],
    private: bool,
    finish: impl FnOnce(&File) -> io::Result<()>,
) -> io::Result<()> {
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let steps = || {
        let mut options = File::options();
        options.create(true).truncate(true).write(true);
        #[cfg(unix)]
        if private {
            // A file that somebody else prepared would keep its own permissions.
            let _ = std::fs::remove_file(&temporary);
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.create_new(true);
        }
        let mut file = options.open(&temporary)?;
        file.write_all(bytes)?;
        finish(&file)?;
        file.sync_all()?;
        std::fs::rename(&temporary, path)
    };
    steps().inspect_err(|_| {
        let _ = std::fs::remove_file(&temporary);
    })
}

/// Waits for a file that stands for a thing, and holds it until the result is dropped or the process ends.
///
/// # Errors
/// A disk on which nothing can be locked.
pub fn lock(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
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
