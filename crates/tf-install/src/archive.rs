//! Archives become folders: with limits, and without a way out of the folder.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use sha2::{Digest, Sha256};
use zip::ZipArchive;
use zip::result::ZipError;

use crate::hash::{self, MAX_FILES};
use crate::trouble::{Kind, Trouble};

/// What an archive may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all files together.
    pub bytes: u64,
    /// How much larger than the archive its files may be in all, once they are larger than [`Limits::small`].
    pub ratio: u64,
    /// Bytes that are fine at any ratio.
    pub small: u64,
    /// Number of entries.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 4 << 30, ratio: 100, small: 64 << 20, files: MAX_FILES }
    }
}

/// Unpacks an archive into a new folder and returns the `h1:` hash of the files.
pub(crate) fn unpack(archive: &Path, to: &Path, limits: Limits) -> Result<String, Trouble> {
    let shown = archive.display().to_string();
    let wrong = |what: String| {
        Trouble::new(Kind::Archive, format!("{shown} cannot be unpacked: {what}"))
            .next("is it whole? Fetch that archive again, then run the same command again")
    };
    let file = File::open(archive).map_err(|e| Trouble::disk("read", archive, &e))?;
    let packed = file.metadata().map_err(|e| Trouble::disk("read", archive, &e))?.len();
    let mut zip = ZipArchive::new(io::BufReader::new(file)).map_err(|e| wrong(told(&e)))?;
    if zip.len() > limits.files {
        return Err(wrong(format!("it has more than {} files", limits.files)));
    }
    // Names that stand twice, entries that overlap, two lists that differ.
    zip.validate_header_consistency().map_err(|e| wrong(told(&e)))?;
    let most = limits.bytes.min(limits.small.max(packed.saturating_mul(limits.ratio)));
    std::fs::create_dir_all(to).map_err(|e| Trouble::disk("make", to, &e))?;
    let mut unpacking = Unpacking { to, left: most, sums: Vec::new() };
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|e| wrong(told(&e)))?;
        let name = plain_name(entry.name_raw()).map_err(wrong)?;
        let mode = entry.unix_mode().unwrap_or(0);
        // The kind of file is in the upper bits: a folder, a file, or nothing said.
        if entry.is_symlink() || !matches!(mode >> 12, 0 | 0o4 | 0o10) {
            return Err(wrong(format!("`{name}` is a link or a device")));
        }
        if entry.encrypted() {
            return Err(wrong(format!("`{name}` is encrypted")));
        }
        if name.ends_with('/') || entry.is_dir() {
            let folder = to.join(name.trim_end_matches('/'));
            std::fs::create_dir_all(&folder).map_err(|e| Trouble::disk("make", &folder, &e))?;
        } else {
            unpacking.file(&name, &mut entry, mode & 0o111 != 0).map_err(|e| match e {
                Failed::TooLarge => wrong(format!(
                    "its files are larger than {most} bytes, which no package of {packed} bytes needs"
                )),
                Failed::Damaged(e) => wrong(format!("`{name}` is damaged: {e}")),
                Failed::Disk(e) => Trouble::disk("write", &to.join(&name), &e),
            })?;
        }
    }
    Ok(hash::h1(unpacking.sums))
}

/// The `h1:` hash of an archive's files, as the tools take it of an archive: entries of folders count.
pub(crate) fn h1(archive: &Path) -> Result<String, Trouble> {
    let wrong = |what: String| Trouble::new(Kind::Archive, format!("{}: {what}", archive.display()));
    let file = File::open(archive).map_err(|e| Trouble::disk("read", archive, &e))?;
    let mut zip = ZipArchive::new(io::BufReader::new(file)).map_err(|e| wrong(told(&e)))?;
    let mut sums = Vec::new();
    for index in 0..zip.len() {
        let mut entry = zip.by_index(index).map_err(|e| wrong(told(&e)))?;
        let name = plain_name(entry.name_raw()).map_err(wrong)?;
        let sum = hash::sha256(&mut entry).map_err(|e| wrong(e.to_string()))?;
        sums.push((name, sum));
    }
    Ok(hash::h1(sums))
}

fn told(error: &ZipError) -> String {
    match error {
        ZipError::InvalidArchive(what) if what.contains("duplicate") => {
            "a name stands in it twice".to_owned()
        }
        other => other.to_string(),
    }
}

struct Unpacking<'a> {
    to: &'a Path,
    left: u64,
    sums: Vec<(String, [u8; 32])>,
}

enum Failed {
    TooLarge,
    Damaged(io::Error),
    Disk(io::Error),
}

impl Unpacking<'_> {
    fn file(&mut self, name: &str, entry: &mut dyn Read, executable: bool) -> Result<(), Failed> {
        let path = self.to.join(name);
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(Failed::Disk)?;
        }
        // Nothing may stand there: not even a link that an earlier entry could have made.
        let mut file = File::options().create_new(true).write(true).open(&path).map_err(Failed::Disk)?;
        let mut hasher = Sha256::new();
        let mut buffer = vec![0; 64 << 10];
        loop {
            let n = entry.read(&mut buffer).map_err(Failed::Damaged)?;
            if n == 0 {
                break;
            }
            self.left = self.left.checked_sub(n as u64).ok_or(Failed::TooLarge)?;
            hasher.update(&buffer[..n]);
            file.write_all(&buffer[..n]).map_err(Failed::Disk)?;
        }
        #[cfg(unix)]
        if executable || name.starts_with("terraform-provider-") {
            let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
            file.set_permissions(mode).map_err(Failed::Disk)?;
        }
        file.sync_all().map_err(Failed::Disk)?;
        self.sums.push((name.to_owned(), hasher.finalize().into()));
        Ok(())
    }
}

/// A relative path without `.` and `..`; a folder's ends with `/`.
fn plain_name(raw: &[u8]) -> Result<String, String> {
    let name = std::str::from_utf8(raw).map_err(|_| "a name is not UTF-8 text".to_owned())?;
    let shown = name.escape_debug();
    if name.starts_with('/') {
        return Err(format!("the path `{shown}` is absolute"));
    }
    if name.contains(['\\', ':']) || name.contains(char::is_control) {
        return Err(format!("the path `{shown}` has a letter that paths must not have"));
    }
    let parts: Vec<&str> = name.strip_suffix('/').unwrap_or(name).split('/').collect();
    if parts.contains(&"..") {
        return Err(format!("the path `{shown}` contains `..`"));
    }
    if parts.iter().any(|part| part.is_empty() || *part == ".") {
        return Err(format!("the path `{shown}` is not plain"));
    }
    Ok(name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_out() {
        assert_eq!(plain_name(b"docs/a.md").unwrap(), "docs/a.md");
        assert_eq!(plain_name(b"docs/").unwrap(), "docs/");
        for wrong in
            ["", "/", "/etc/passwd", "..", "../x", "a/../../x", "a//b", "./a", "a\\..\\b", "C:x", "a\nb"]
        {
            assert!(plain_name(wrong.as_bytes()).is_err(), "{wrong}");
        }
        assert!(plain_name(b"\xff").is_err());
    }
}
