//! Schemas on disk, by the contents of the executable: a large provider needs seconds to say what it knows.
//!
//! An entry is the provider's own answer, so reading it costs what reading the answer costs and less than asking. The
//! digest of an executable (hundreds of megabytes for a large one) is itself remembered by what the file system says about
//! it. Entries are written beside and renamed; one that cannot be read counts as absent.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use bytes::Bytes;
use prost::Message as _;

use crate::wire;

/// A folder of schemas.
#[derive(Clone, Debug)]
pub struct SchemaCache {
    folder: PathBuf,
}

impl SchemaCache {
    /// Uses a folder, which need not exist yet.
    #[must_use]
    pub fn new(folder: PathBuf) -> Self {
        SchemaCache { folder }
    }

    pub(crate) fn get(&self, program: &Path) -> Option<wire::Schemas> {
        let mut body = Bytes::from(fs::read(self.entry(&self.digest(program)?)).ok()?);
        // The last bytes say that all of it is there.
        let sum = body.split_off(body.len().checked_sub(32)?);
        if *blake3::hash(&body).as_bytes() != *sum {
            return None;
        }
        wire::Schemas::decode(body).ok()
    }

    pub(crate) fn put(&self, program: &Path, schemas: &wire::Schemas) {
        let Some(digest) = self.digest(program) else { return };
        let mut bytes = schemas.encode_to_vec();
        let sum = blake3::hash(&bytes);
        bytes.extend_from_slice(sum.as_bytes());
        write(&self.entry(&digest), &bytes);
    }

    fn entry(&self, digest: &str) -> PathBuf {
        self.folder.join(format!("{digest}.schema"))
    }

    /// The digest of an executable, remembered as long as the file is the same to the file system.
    fn digest(&self, program: &Path) -> Option<String> {
        let seen = self.folder.join(format!("{}.seen", identity(program)?));
        if let Ok(known) = fs::read_to_string(&seen)
            && known.len() == 64
            && known.bytes().all(|byte| byte.is_ascii_hexdigit())
        {
            return Some(known);
        }
        let mut hasher = blake3::Hasher::new();
        let mut file = fs::File::open(program).ok()?;
        let mut buffer = vec![0; 1 << 20];
        loop {
            match file.read(&mut buffer).ok()? {
                0 => break,
                n => hasher.update(&buffer[..n]),
            };
        }
        let digest = hasher.finalize().to_hex().to_string();
        write(&seen, digest.as_bytes());
        Some(digest)
    }
}

/// What the file system says about a file.
fn identity(program: &Path) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let real = fs::canonicalize(program).ok()?;
    let meta = fs::metadata(&real).ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    let changed = (meta.ctime(), meta.ctime_nsec());
    let text =
        format!("{} {} {} {modified} {changed:?} {}", meta.dev(), meta.ino(), meta.len(), real.display());
    Some(blake3::hash(text.as_bytes()).to_hex()[..32].to_owned())
}

/// Complete or absent. A cache that cannot be written costs time only.
fn write(path: &Path, bytes: &[u8]) {
    let Some(folder) = path.parent() else { return };
    let written = || -> std::io::Result<()> {
        fs::create_dir_all(folder)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        std::io::Write::write_all(&mut file, bytes)?;
        file.persist(path).map_err(|error| error.error)?;
        Ok(())
    };
    let _ = written();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_for_the_same_contents_and_damaged_ones_do_not() {
        let dir = tempfile::tempdir().unwrap();
        let cache = SchemaCache::new(dir.path().join("cache"));
        let program = dir.path().join("provider");
        fs::write(&program, "one").unwrap();
        let schemas = wire::Schemas { provider: Some(vec![1, 2].into()), ..wire::Schemas::default() };
        assert_eq!(cache.get(&program), None);
        cache.put(&program, &schemas);
        assert_eq!(cache.get(&program), Some(schemas.clone()));
        let copy = dir.path().join("copy");
        fs::write(&copy, "one").unwrap();
        assert_eq!(cache.get(&copy), Some(schemas), "another file with the same contents");
        fs::write(&program, "other").unwrap();
        assert_eq!(cache.get(&program), None, "another program in its place");
        let entry = cache.entry(&cache.digest(&copy).unwrap());
        fs::write(&entry, [0; 40]).unwrap();
        assert_eq!(cache.get(&copy), None, "damaged");
    }
}
