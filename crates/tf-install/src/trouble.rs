//! Why a provider could not be had.

use std::fmt;

/// What kind of failure it is, for programs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// The question is wrong: no such address, version or platform can be.
    Usage,
    /// A configuration or lock file cannot be read.
    Configuration,
    /// No place knows the provider.
    Unknown,
    /// No version fits.
    Version,
    /// There is no package for the platform.
    Platform,
    /// A host asks for credentials, or refuses them.
    Credentials,
    /// A host cannot be reached, or asking is not allowed.
    Unreachable,
    /// A host does not answer in time.
    Stalled,
    /// A download ended early.
    Truncated,
    /// An answer leads somewhere it must not.
    Redirect,
    /// An answer is not what the protocol says.
    Answer,
    /// Bytes are not those that were promised.
    Checksum,
    /// A list of sums is not signed as it must be.
    Signature,
    /// What came is not what the lock file says.
    Locked,
    /// An archive cannot be unpacked safely.
    Archive,
    /// A package that is kept was changed.
    Altered,
    /// The disk does not do it.
    Disk,
}

/// A sentence about what went wrong, and one about what to do next.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// What kind of failure it is.
    pub kind: Kind,
    /// What went wrong, with the place.
    pub what: String,
    /// What to do next.
    pub next: Option<String>,
}

impl Trouble {
    pub(crate) fn new(kind: Kind, what: impl Into<String>) -> Trouble {
        Trouble { kind, what: what.into(), next: None }
    }

    pub(crate) fn next(mut self, next: impl Into<String>) -> Trouble {
        self.next = Some(next.into());
        self
    }

    /// The disk's own words about a path.
    pub(crate) fn disk(doing: &str, path: &std::path::Path, error: &std::io::Error) -> Trouble {
        Trouble::new(Kind::Disk, format!("cannot {doing} {}: {error}", path.display()))
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for Trouble {}
