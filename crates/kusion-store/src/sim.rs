//! A disk in memory that can be killed between, and in the middle of, any two writes.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::{Disk, Guard};

/// A simulated disk; clones share the medium.
#[derive(Clone, Default)]
pub struct SimDisk {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Default)]
struct Inner {
    files: BTreeMap<PathBuf, Vec<u8>>,
    /// How many write steps may still happen before the plug is pulled.
    steps_left: Option<u64>,
    dead: bool,
    full: bool,
    n_steps: u64,
    n_bytes: u64,
}

struct NoGuard;

impl Guard for NoGuard {}

impl SimDisk {
    /// Pulls the plug after `steps` more write steps; an append takes three, so that it can be torn.
    pub fn kill_after(&self, steps: u64) {
        self.lock().steps_left = Some(steps);
    }

    /// Gives power back; what was written stays.
    pub fn revive(&self) {
        let mut inner = self.lock();
        inner.steps_left = None;
        inner.dead = false;
    }

    /// Makes every further write fail for lack of space, appends in the middle.
    pub fn set_full(&self, full: bool) {
        self.lock().full = full;
    }

    /// Returns whether the plug was pulled.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Returns how many write steps have happened.
    #[must_use]
    pub fn n_steps(&self) -> u64 {
        self.lock().n_steps
    }

    /// Returns how many bytes have been written.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.lock().n_bytes
    }

    /// Returns all bytes on the medium, for a search for what must not be there.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        self.lock().files.values().flatten().copied().collect()
    }

    /// Changes a file behind the store's back.
    pub fn tamper(&self, path: &Path, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.lock().files.entry(path.to_owned()).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn step(&mut self) -> io::Result<()> {
        if self.dead || self.steps_left == Some(0) {
            self.dead = true;
            return Err(io::Error::other("the simulated machine was killed"));
        }
        self.steps_left = self.steps_left.map(|left| left - 1);
        self.n_steps += 1;
        Ok(())
    }

    fn full(&self) -> io::Result<()> {
        if self.full { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }
}

impl Disk for SimDisk {
    fn read(&self, path: &Path) -> io::Result<Option<Vec<u8>>> {
        Ok(self.lock().files.get(path).cloned())
    }

    fn len(&self, path: &Path) -> io::Result<u64> {
        Ok(self.lock().files.get(path).map_or(0, |bytes| bytes.len() as u64))
    }

    fn append(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        let (first, second) = bytes.split_at(bytes.len() / 2);
        inner.step()?;
        inner.files.entry(path.to_owned()).or_default().extend_from_slice(first);
        inner.full()?;
        inner.step()?;
        inner.files.entry(path.to_owned()).or_default().extend_from_slice(second);
        inner.n_bytes += bytes.len() as u64;
        inner.step()
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        let mut inner = self.lock();
        inner.full()?;
        inner.step()?;
        inner.files.insert(path.to_owned(), bytes.to_vec());
        inner.n_bytes += bytes.len() as u64;
        inner.step()
    }

    fn truncate(&self, path: &Path, len: u64) -> io::Result<()> {
        let mut inner = self.lock();
        inner.step()?;
        if let Some(file) = inner.files.get_mut(path) {
            file.truncate(usize::try_from(len).unwrap_or(usize::MAX));
        }
        inner.step()
    }

    fn create_dir(&self, _path: &Path) -> io::Result<()> {
        if self.lock().dead { Err(io::Error::other("the simulated machine was killed")) } else { Ok(()) }
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let inner = self.lock();
        let under = inner.files.keys().filter_map(|file| file.strip_prefix(path).ok()?.components().next());
        let mut names: Vec<String> = under.map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        names.dedup();
        Ok(names)
    }

    fn guard(&self, _path: &Path) -> io::Result<Box<dyn Guard>> {
        Ok(Box::new(NoGuard))
    }
}
