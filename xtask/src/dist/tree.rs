//! Files that are installed, as data; and archives of them whose bytes depend on nothing else.

use std::collections::BTreeMap;
use std::io::Write;

use flate2::{Compression, GzBuilder};

/// One file.
#[derive(Clone)]
pub(super) struct File {
    pub(super) bytes: Vec<u8>,
    pub(super) mode: u32,
}

/// Files by path, without a slash at the front.
#[derive(Clone, Default)]
pub(super) struct Tree(pub(super) BTreeMap<String, File>);

impl Tree {
    /// Adds a text or another file that is read.
    pub(super) fn add(&mut self, path: &str, bytes: impl Into<Vec<u8>>) {
        self.0.insert(path.to_owned(), File { bytes: bytes.into(), mode: 0o644 });
    }

    /// Adds a program.
    pub(super) fn add_program(&mut self, path: &str, bytes: Vec<u8>) {
        self.0.insert(path.to_owned(), File { bytes, mode: 0o755 });
    }

    /// How many bytes there are.
    pub(super) fn size(&self) -> usize {
        self.0.values().map(|file| file.bytes.len()).sum()
    }

    /// All files below a folder.
    pub(super) fn below(self, folder: &str) -> Tree {
        Tree(self.0.into_iter().map(|(path, file)| (format!("{folder}/{path}"), file)).collect())
    }

    /// The folders of all files, outer ones first.
    fn folders(&self) -> Vec<&str> {
        let mut folders: Vec<&str> =
            self.0.keys().flat_map(|path| path.match_indices('/').map(|(at, _)| &path[..at])).collect();
        folders.sort_unstable();
        folders.dedup();
        folders
    }

    /// Writes a tar file: in order of paths, owned by root, all of one time.
    pub(super) fn tar(&self, time: u64, prefix: &str) -> Result<Vec<u8>, String> {
        let mut tar = tar::Builder::new(Vec::new());
        let header = |kind: tar::EntryType, mode: u32, size: usize| {
            let mut header = tar::Header::new_gnu();
            header.set_entry_type(kind);
            header.set_mode(mode);
            header.set_size(size as u64);
            header.set_mtime(time);
            header.set_uid(0);
            header.set_gid(0);
            // The names of root are part of the format; a failure would be a name that is too long.
            let _ = header.set_username("root").and_then(|()| header.set_groupname("root"));
            header
        };
        let told = |e: std::io::Error| format!("tar: {e}");
        for folder in self.folders() {
            let mut header = header(tar::EntryType::Directory, 0o755, 0);
            tar.append_data(&mut header, format!("{prefix}{folder}/"), std::io::empty()).map_err(told)?;
        }
        for (path, file) in &self.0 {
            let mut header = header(tar::EntryType::Regular, file.mode, file.bytes.len());
            tar.append_data(&mut header, format!("{prefix}{path}"), file.bytes.as_slice()).map_err(told)?;
        }
        tar.into_inner().map_err(told)
    }
}

/// Compresses bytes; neither a name nor a time gets in.
pub(super) fn gzip(bytes: &[u8], level: u32) -> Result<Vec<u8>, String> {
    let mut gzip = GzBuilder::new().mtime(0).operating_system(255).write(Vec::new(), Compression::new(level));
    gzip.write_all(bytes).and_then(|()| gzip.finish()).map_err(|e| format!("gzip: {e}"))
}
