//! A package as one tar file: written so that the same files give the same bytes, read with limits and without trust.

use std::collections::BTreeMap;
use std::io::Read;

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The files of a package: paths with `/`, relative, plain; in the order of paths.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Content {
    files: BTreeMap<String, Vec<u8>>,
}

/// What an archive may hold.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of all files together.
    pub bytes: u64,
    /// Number of files.
    pub files: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { bytes: 512 << 20, files: 100_000 }
    }
}

impl Content {
    /// Takes files by their paths.
    ///
    /// # Errors
    /// A path that leads out of the package or stands twice.
    pub fn new(files: impl IntoIterator<Item = (String, Vec<u8>)>) -> Result<Content, String> {
        let mut content = Content::default();
        for (path, bytes) in files {
            content.add(&path, bytes)?;
        }
        Ok(content)
    }

    fn add(&mut self, path: &str, bytes: Vec<u8>) -> Result<(), String> {
        let path = plain_path(path)?;
        if self.files.contains_key(&path) {
            return Err(format!("the file `{path}` is in it twice"));
        }
        self.files.insert(path, bytes);
        Ok(())
    }

    /// Returns paths and bytes in the order of paths.
    pub fn files(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.files.iter().map(|(path, bytes)| (path.as_str(), bytes.as_slice()))
    }

    /// Returns the bytes of a file.
    pub fn get(&self, path: &str) -> Option<&[u8]> {
        self.files.get(path).map(Vec::as_slice)
    }

    /// Returns the number of files.
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Returns true if there is no file.
    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Returns the files below a folder, with paths from there.
    #[must_use]
    pub fn below(&self, folder: &str) -> Content {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let inside = self
            .files
            .iter()
            .filter_map(|(path, bytes)| Some((path.strip_prefix(&prefix)?.to_owned(), bytes.clone())));
        Content { files: inside.collect() }
    }

    /// Keeps what a manifest's `include` and `exclude` leave: patterns of paths; no `include` means everything. The manifest stays.
    ///
    /// # Errors
    /// A pattern that is none.
    pub fn keep(&mut self, include: &[String], exclude: &[String]) -> Result<(), String> {
        let (include, exclude) = (globs(include)?, globs(exclude)?);
        self.files.retain(|path, _| {
            path == "kcl.mod" || (include.is_empty() || include.is_match(path)) && !exclude.is_match(path)
        });
        Ok(())
    }
}

fn globs(patterns: &[String]) -> Result<GlobSet, String> {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        let glob =
            Glob::new(pattern).map_err(|e| format!("`{pattern}` is not a pattern of paths: {}", e.kind()))?;
        set.add(glob);
    }
    set.build().map_err(|e| e.to_string())
}

/// Returns a relative path without `.`; everything that could leave the folder is refused.
fn plain_path(path: &str) -> Result<String, String> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" if parts.is_empty() => return Err(format!("the path `{path}` is absolute")),
            "" | "." => {}
            ".." => return Err(format!("the path `{path}` leads out of the package")),
            part if part.contains(['\\', '\0', ':']) => {
                return Err(format!(
                    "the path `{}` has a letter that paths must not have",
                    path.escape_default()
                ));
            }
            part => parts.push(part),
        }
    }
    if parts.is_empty() { Err("a file has no name".to_owned()) } else { Ok(parts.join("/")) }
}

/// Writes a package as a tar file: sorted, without times and owners.
///
/// # Errors
/// A path that is longer than tar files can tell.
pub fn pack(content: &Content) -> Result<Vec<u8>, String> {
    let mut tar = tar::Builder::new(Vec::new());
    for (path, bytes) in content.files() {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(0);
        tar.append_data(&mut header, path, bytes).map_err(|e| format!("{path}: {e}"))?;
    }
    tar.into_inner().map_err(|e| e.to_string())
}

/// Reads the layer of a registry: a tar file, zipped or not, with the limits for packages of others.
///
/// # Errors
/// As [`unpack`] does.
pub fn unpack_layer(layer: &[u8]) -> Result<Content, String> {
    let unpacked = match layer {
        [0x1f, 0x8b, ..] => unpack(flate2::read::GzDecoder::new(layer), Limits::default(), Links::Refuse),
        _ => unpack(layer, Limits::default(), Links::Refuse),
    };
    Ok(unpacked?.0)
}

/// Reads a tar file. `links` says what happens to links: refused, or left out and named in the second result.
///
/// # Errors
/// What is no tar file, is too large, or holds anything but folders and plain files inside.
pub fn unpack(reader: impl Read, limits: Limits, links: Links) -> Result<(Content, Vec<String>), String> {
    let mut content = Content::default();
    let mut left_out = Vec::new();
    let mut room = limits.bytes;
    let mut archive = tar::Archive::new(reader);
    for entry in archive.entries().map_err(damaged)? {
        let entry = entry.map_err(damaged)?;
        let kind = entry.header().entry_type();
        let path = String::from_utf8(entry.path_bytes().into_owned())
            .map_err(|_| "a path is not UTF-8 text".to_owned())?;
        match kind {
            tar::EntryType::Directory | tar::EntryType::XGlobalHeader => continue,
            tar::EntryType::Regular | tar::EntryType::Continuous => {}
            tar::EntryType::Symlink | tar::EntryType::Link if links == Links::LeaveOut => {
                left_out.push(path);
                continue;
            }
            tar::EntryType::Symlink | tar::EntryType::Link => return Err(format!("`{path}` is a link")),
            _ => return Err(format!("`{path}` is neither a file nor a folder")),
        }
        if content.len() >= limits.files {
            return Err(format!("it has more than {} files", limits.files));
        }
        let mut bytes = Vec::new();
        let read = entry.take(room + 1).read_to_end(&mut bytes).map_err(damaged)? as u64;
        room = room
            .checked_sub(read)
            .ok_or_else(|| format!("it unpacks to more than {} bytes", limits.bytes))?;
        content.add(&path, bytes)?;
    }
    Ok((content, left_out))
}

/// What to do with links in an archive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Links {
    /// A link is an error: whoever packs a package can do without.
    Refuse,
    /// Repositories have links; they are no part of a package.
    LeaveOut,
}

fn damaged(error: std::io::Error) -> String {
    format!("the archive is damaged: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tar_of(kind: tar::EntryType, path: &str, size: u64) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_gnu_mut().unwrap().name[..path.len()].copy_from_slice(path.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        let mut bytes = header.as_bytes().to_vec();
        bytes.extend(vec![b'x'; size as usize]);
        bytes.extend(vec![0; 512 - (size as usize % 512) + 1024]);
        bytes
    }

    fn refused(bytes: &[u8]) -> String {
        unpack(bytes, Limits { bytes: 1000, files: 10 }, Links::Refuse).unwrap_err()
    }

    #[test]
    fn what_is_packed_comes_back_and_the_bytes_are_stable() {
        let long = format!("{}/x.k", "deep".repeat(40));
        let files = [("kcl.mod", "a"), ("sub/b.k", "b"), (long.as_str(), "c")];
        let content = Content::new(files.map(|(p, t)| (p.to_owned(), t.as_bytes().to_vec()))).unwrap();
        let bytes = pack(&content).unwrap();
        assert_eq!(bytes, pack(&content.clone()).unwrap());
        assert_eq!(unpack(bytes.as_slice(), Limits::default(), Links::Refuse).unwrap().0, content);
    }

    #[test]
    fn nothing_leaves_the_folder() {
        for (path, says) in
            [("../x", "leads out"), ("/etc/x", "absolute"), ("a/../../x", "leads out"), ("c:x", "letter")]
        {
            assert!(refused(&tar_of(tar::EntryType::Regular, path, 1)).contains(says), "{path}");
        }
        assert!(refused(&tar_of(tar::EntryType::Symlink, "a", 0)).contains("link"));
        assert!(refused(&tar_of(tar::EntryType::Link, "a", 0)).contains("link"));
        assert!(refused(&tar_of(tar::EntryType::Block, "a", 0)).contains("neither"));
        assert!(refused(&tar_of(tar::EntryType::Fifo, "a", 0)).contains("neither"));
    }

    #[test]
    fn bombs_and_damage_are_told() {
        assert!(refused(&tar_of(tar::EntryType::Regular, "a", 2000)).contains("more than 1000 bytes"));
        assert!(refused(&tar_of(tar::EntryType::Regular, "a", 600)[..700]).contains("damaged"));
        assert!(refused(&[7; 4096]).contains("damaged"));
        let (_, left_out) =
            unpack(tar_of(tar::EntryType::Symlink, "a", 0).as_slice(), Limits::default(), Links::LeaveOut)
                .unwrap();
        assert_eq!(left_out, ["a"]);
    }

    #[test]
    fn include_and_exclude_are_patterns() {
        let mut content =
            Content::new(["kcl.mod", "src/a.k", "docs/b.md", "src/t_test.k"].map(|p| (p.to_owned(), vec![])))
                .unwrap();
        content.keep(&["src/**".to_owned()], &["**/*_test.k".to_owned()]).unwrap();
        assert_eq!(content.files().map(|(p, _)| p).collect::<Vec<_>>(), ["kcl.mod", "src/a.k"]);
    }
}
