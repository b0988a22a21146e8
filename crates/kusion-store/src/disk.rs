//! The few things the store asks of a disk, so that a test can kill it between any two.

use std::io;
use std::path::Path;

/// Held while a write happens; dropping it lets the next writer in.
pub trait Guard {}

/// A disk. Every write is durable when it returns.
pub trait Disk: Send + Sync {
    /// Reads a whole file; `None` if it does not exist.
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>>;

    /// Returns the length of a file; 0 if it does not exist.
    fn len(&self, path: &Path) -> io::Result<u64>;

    /// Appends bytes and waits until they are on the medium. May be torn by a crash.
    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Puts new contents in place of the old, all or nothing, also in a crash.
    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()>;

    /// Cuts a file.
    fn truncate(&self, path: &Path, len: u64) -> io::Result<()>;

    /// Makes a folder and its parents.
    fn create_dir(&self, path: &Path) -> io::Result<()>;

    /// Lists the names in a folder in order; empty if it does not exist.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;

    /// Waits for the exclusive right to write beside this file. Held for instants only.
    fn guard(&self, path: &Path) -> io::Result<Box<dyn Guard>>;
}
