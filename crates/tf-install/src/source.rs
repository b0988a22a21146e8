//! Where packages come from, and what a place says about one.

use std::path::PathBuf;

use crate::openpgp::KeyId;

/// Where a package is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Location {
    /// Unpacked, on this machine.
    Folder(PathBuf),
    /// Packed, on this machine.
    Archive(PathBuf),
    /// Packed, behind HTTPS.
    Url(String),
}

/// A package that can be had.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Package {
    pub(crate) location: Location,
    /// Who says so: a host or a folder.
    pub(crate) place: String,
    /// The SHA-256 that the archive must have, in hexadecimal digits.
    pub(crate) sum: Option<String>,
    /// The bytes that the archive must have.
    pub(crate) size: Option<u64>,
    /// Lists of hashes; the package must have one of each list.
    pub(crate) promised: Vec<Vec<String>>,
    /// Hashes of all platforms that somebody has signed, and the key.
    pub(crate) signed: Vec<String>,
    pub(crate) key: Option<KeyId>,
}

impl Package {
    pub(crate) fn at(location: Location, place: String) -> Package {
        Package {
            location,
            place,
            sum: None,
            size: None,
            promised: Vec::new(),
            signed: Vec::new(),
            key: None,
        }
    }
}
