//! Files that only their owner may read: they are made so, never made first and closed after.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// Puts a text in the place of a file, all or nothing. Something that is no file (a pipe) is written to as it is.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if path.starts_with("/dev") || fs::metadata(path).is_ok_and(|meta| !meta.is_file()) {
        return OpenOptions::new().write(true).open(path)?.write_all(text.as_bytes());
    }
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let (mut file, beside) = new_beside(&real)?;
    let written = file.write_all(text.as_bytes()).and_then(|()| file.sync_all());
    written.and_then(|()| fs::rename(&beside, &real)).inspect_err(|_| {
        let _ = fs::remove_file(&beside);
    })
}

/// A new file of the mode 0600 beside another; the mode of an old one would stay what it was.
fn new_beside(path: &Path) -> io::Result<(fs::File, PathBuf)> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let mut attempt = 0;
    loop {
        let beside = path.with_file_name(format!(".{name}.{}-{attempt}.new", std::process::id()));
        match OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside) {
            Ok(file) => return Ok((file, beside)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && attempt < 100 => attempt += 1,
            Err(e) => return Err(e),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[test]
    fn a_file_is_private_also_where_an_open_one_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dev.plan");
        fs::write(&path, "old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        write(&path, "new").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "new");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(write(&folder.path().join("no/such"), "x").is_err());
    }
}
