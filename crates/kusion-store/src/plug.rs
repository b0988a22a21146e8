//! Pulling the plug: a medium under test asks before each of its steps whether there is still power.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What can happen to a medium; clones share it. Without being told otherwise, nothing happens.
#[derive(Clone, Debug, Default)]
pub struct Plug {
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug, Default)]
struct Inner {
    /// How many steps may still happen before the plug is pulled.
    steps_left: Option<u64>,
    dead: bool,
    full: bool,
    /// Every n-th write happens and is not answered.
    lost_every: Option<u64>,
    n_writes: u64,
    n_steps: u64,
    n_bytes: u64,
}

impl Plug {
    /// Pulls the plug after so many more steps; an append takes several, so that it can be torn.
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

    /// Loses the answer of every n-th write from now on; the write happens.
    pub fn lose_answers(&self, every: Option<u64>) {
        self.lock().lost_every = every;
    }

    /// Returns whether the plug was pulled.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.lock().dead
    }

    /// Returns how many steps have happened.
    #[must_use]
    pub fn n_steps(&self) -> u64 {
        self.lock().n_steps
    }

    /// Returns how many bytes have been written.
    #[must_use]
    pub fn n_bytes(&self) -> u64 {
        self.lock().n_bytes
    }

    pub(crate) fn step(&self) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.dead || inner.steps_left == Some(0) {
            inner.dead = true;
            return Err(io::Error::other("the simulated machine was killed"));
        }
        inner.steps_left = inner.steps_left.map(|left| left - 1);
        inner.n_steps += 1;
        Ok(())
    }

    pub(crate) fn room(&self, bytes: usize) -> io::Result<()> {
        let mut inner = self.lock();
        if inner.full {
            return Err(io::ErrorKind::StorageFull.into());
        }
        inner.n_bytes += bytes as u64;
        Ok(())
    }

    /// Whether the answer of the write that has just been done is lost.
    pub(crate) fn loses_answer(&self) -> bool {
        let mut inner = self.lock();
        inner.n_writes += 1;
        inner.lost_every.is_some_and(|every| inner.n_writes.is_multiple_of(every))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
