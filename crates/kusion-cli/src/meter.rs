//! What the records of a run cost: the disk of this machine with a watch and a counter on it.
//!
//! In: every call of the store. Out: the same answer, and in the JSON report how long the disk took and how many bytes it got.
//! State must follow the change and not be felt; a figure in every report keeps that honest.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use kusion_store::{Disk, Guard, LocalDisk};
use serde_json::{Value, json};

/// The sums so far.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    micros: AtomicU64,
    bytes: AtomicU64,
    writes: AtomicU64,
}

impl Meter {
    /// The sums as they stand in a report.
    pub(crate) fn report(&self) -> Value {
        let [micros, bytes, writes] =
            [&self.micros, &self.bytes, &self.writes].map(|sum| sum.load(Ordering::Relaxed));
        json!({"milliseconds": micros as f64 / 1000.0, "bytesWritten": bytes, "writes": writes})
    }
}

/// The disk of this machine, measured.
pub(crate) struct MeteredDisk(pub(crate) Arc<Meter>);

impl MeteredDisk {
    fn timed<T>(&self, work: impl FnOnce(&LocalDisk) -> T) -> T {
        let start = Instant::now();
        let result = work(&LocalDisk);
        let micros = u64::try_from(start.elapsed().as_micros()).unwrap_or(u64::MAX);
        self.0.micros.fetch_add(micros, Ordering::Relaxed);
        result
    }

    fn written(&self, bytes: &[u8]) {
        self.0.bytes.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.0.writes.fetch_add(1, Ordering::Relaxed);
    }
}

impl Disk for MeteredDisk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        self.timed(|disk| disk.read(path))
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        self.timed(|disk| disk.len(path))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.written(bytes);
        self.timed(|disk| disk.append(path, bytes))
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.written(bytes);
        self.timed(|disk| disk.replace(path, bytes))
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        self.timed(|disk| disk.truncate(path, len))
    }

    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.timed(|disk| disk.create_dir(path))
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.timed(|disk| disk.list(path))
    }

    fn guard(&self, path: &Path) -> io::Result<Box<dyn Guard>> {
        self.timed(|disk| disk.guard(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_and_writes_are_counted_reads_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let disk = MeteredDisk(Arc::default());
        let file = folder.path().join("log");
        disk.replace(&file, b"abc").unwrap();
        disk.append(&file, b"de").unwrap();
        assert_eq!(disk.read(&file).unwrap().unwrap(), b"abcde");
        let report = disk.0.report();
        assert_eq!((&report["bytesWritten"], &report["writes"]), (&json!(5), &json!(2)));
        assert!(report["milliseconds"].as_f64().unwrap() > 0.0);
    }
}
