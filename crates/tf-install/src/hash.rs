//! What packages hash to: `zh:` of an archive's bytes, `h1:` of the files in it.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use data_encoding::{BASE64, HEXLOWER};
use sha2::{Digest, Sha256};

/// Files of one package.
pub(crate) const MAX_FILES: usize = 100_000;
/// Folders inside folders.
const MAX_DEPTH: usize = 64;

/// The `zh:` hash of an archive, from its SHA-256.
pub(crate) fn zh(sha256: &[u8]) -> String {
    format!("zh:{}", HEXLOWER.encode(sha256))
}

/// The SHA-256 of a stream.
pub(crate) fn sha256(reader: &mut dyn Read) -> io::Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 << 10];
    loop {
        match reader.read(&mut buffer)? {
            0 => return Ok(hasher.finalize().into()),
            n => hasher.update(&buffer[..n]),
        }
    }
}

/// The `h1:` hash of files, from their paths (with `/`) and SHA-256 sums.
pub fn h1(files: impl IntoIterator<Item = (String, [u8; 32])>) -> String {
    let mut files: Vec<_> = files.into_iter().collect();
    files.sort();
    let mut hasher = Sha256::new();
    for (path, sum) in files {
        hasher.update(format!("{}  {path}\n", HEXLOWER.encode(&sum)));
    }
    format!("h1:{}", BASE64.encode(&hasher.finalize()))
}

/// The `h1:` hash of an unpacked package.
///
/// # Errors
/// A folder that cannot be read.
pub fn h1_folder(folder: &Path) -> io::Result<String> {
    let sums =
        files_below(folder)?.into_iter().map(|(name, path)| Ok((name, sha256(&mut File::open(path)?)?)));
    Ok(h1(sums.collect::<io::Result<Vec<_>>>()?))
}

/// Every file below a folder: its path from there with `/`, and its place. Links to files count as files.
pub(crate) fn files_below(folder: &Path) -> io::Result<Vec<(String, PathBuf)>> {
    let mut files = Vec::new();
    walk(folder, "", 0, &mut files)?;
    Ok(files)
}

fn walk(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    let too = |what: &str| io::Error::other(format!("{}: {what}", folder.display()));
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().into_string().map_err(|_| too("a name is not UTF-8 text"))?;
        if name.contains('\n') {
            return Err(too("a name has two lines"));
        }
        let name = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if depth == MAX_DEPTH {
                return Err(too("folders stand too deep inside each other"));
            }
            walk(&entry.path(), &format!("{name}/"), depth + 1, files)?;
        } else if files.len() == MAX_FILES {
            return Err(too("too many files for a package"));
        } else {
            files.push((name, entry.path()));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_vectors_of_the_format_agree() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        assert_eq!(h1_folder(folder.path()).unwrap(), "h1:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=");
        write("terraform-provider-x_v1.0.0", "hello\n");
        assert_eq!(h1_folder(folder.path()).unwrap(), "h1:TH2UijXm21NIPW4/f5wiuw73s8o6ut6DIWdH/wElwqY=");
        write("LICENSE", "license\n");
        write("docs/a.md", "");
        assert_eq!(h1_folder(folder.path()).unwrap(), "h1:dvyuX5+VDA8p+5K6TEQOkPrFAyuH9I8PpRTruOgetao=");
        assert_eq!(
            zh(&sha256(&mut &b""[..]).unwrap()),
            "zh:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
    }
}
