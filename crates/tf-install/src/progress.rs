//! What is going on, as data.

use crate::address::Address;
use crate::version::Version;

/// A step of an installation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Progress {
    /// A place is asked which versions it has.
    Asking {
        /// The provider.
        address: Address,
        /// A host or a folder.
        place: String,
    },
    /// A package is being brought.
    Fetching {
        /// The provider.
        address: Address,
        /// Its version.
        version: Version,
        /// A host or a folder.
        place: String,
    },
    /// So much of a download is there.
    Downloaded {
        /// Bytes so far.
        done: u64,
        /// Bytes in all, where the host says so.
        total: Option<u64>,
    },
    /// Sums are compared, and files unpacked.
    Unpacking {
        /// The provider.
        address: Address,
        /// Its version.
        version: Version,
    },
    /// Something that should be known but stops nothing.
    Warning(String),
}

/// Who is told.
pub type Watch<'a> = dyn Fn(&Progress) + 'a;
