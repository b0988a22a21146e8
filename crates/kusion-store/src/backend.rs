//! What a medium must promise to keep the log of a stack.
//!
//! Nothing here is about files: a folder, an object store with create-if-absent, a database or a cluster can promise it. A
//! position is a number that a medium gives out and nobody else looks into: bytes in a folder, a count of objects elsewhere.

use std::path::PathBuf;
use std::sync::Arc;

use futures::future::BoxFuture;
use kusion_model::Scope;

use crate::{Fence, Head, Lease, StoreError};

/// An answer that may take its time.
pub type Answer<'a, T> = BoxFuture<'a, Result<T, StoreError>>;

/// What somebody sees who looks while he takes the lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    pub written: Written,
    /// Nobody who held the lease before can write behind it any more ([`Backend::hold`]).
    pub held: bool,
}

/// A position behind everything: whoever reads from there reads the head alone. No log is as long as that.
pub const HEAD_ONLY: u64 = 1 << 40;

/// A medium that keeps logs, one for each stack.
///
/// A write that is answered is durable. One that fails has not happened; only [`StoreError::Unanswered`] leaves it open.
pub trait Backend: Send + Sync {
    /// Where the state of a stack is, for people.
    fn place(&self, scope: &Scope) -> PathBuf;

    /// The stacks that have a state, in order.
    fn list(&self) -> Answer<'_, Vec<Scope>>;

    /// What is written from a position on (0: all of it). Needs no lock. The head is read before the records, so that they
    /// reach at least as far as it says.
    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written>;

    /// All that is written, the head and the records asked for at once: a head that is ahead of them may be a record that was
    /// written meanwhile. Whoever finds damage in it reads again.
    fn glance<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Written> {
        self.read(scope, 0)
    }

    /// Makes the log with its first record, unless there is a log.
    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()>;

    /// Adds records if the log still ends at a position and the lease is still ours, then moves the head. Returns the new end.
    /// A crash in the middle leaves the log as it was, the first of them or a piece of one behind it, or all of them with the
    /// head unmoved.
    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64>;

    /// Moves the head, then puts other records in place of all, under the same conditions, all or nothing. Returns the new end.
    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64>;

    /// Puts the head of a log that has none yet, if the lease is still ours. False if the medium does not do that by itself.
    fn first_head<'a>(&'a self, _scope: &'a Scope, _fence: &'a Fence, _head: &'a Head) -> Answer<'a, bool> {
        Box::pin(async { Ok(false) })
    }

    /// Puts together what would cost the next reader many requests, if the log still ends at a position. Changes nothing that
    /// anybody can read.
    fn gather<'a>(&'a self, _scope: &'a Scope, _at: u64) -> Answer<'a, ()> {
        Box::pin(async { Ok(()) })
    }

    /// Every copy of the log that the medium has, each as a log of its own: a repair saves what any of them has.
    fn copies<'a>(&'a self, _scope: &'a Scope) -> Answer<'a, Vec<Records>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    /// What was read did not open: from now on it is not read from a copy that was made for convenience. False if it was not.
    fn distrust(&self, _scope: &Scope) -> bool {
        false
    }

    /// The lease as this process has put it last, if it knows. Another may count by now: `swap_lease` says so.
    fn own_lease(&self, _scope: &Scope, _fence: &Fence) -> Option<LeaseSlot> {
        None
    }

    /// The lease as it stands; `None` if nobody has ever held it.
    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>>;

    /// Puts a lease in place of the one that was read (`None`: there was none). False if another was quicker.
    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool>;

    /// Swaps the lease, and looks what is written from a position on since then, head and records in any order. `None` if
    /// another was quicker; a look that fails does not undo the swap.
    fn swap_and_look<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
        from: u64,
    ) -> Answer<'a, Option<Result<Look, StoreError>>> {
        Box::pin(async move {
            match self.swap_lease(scope, read, lease).await? {
                true => {
                    let written = self.read(scope, from).await;
                    Ok(Some(written.map(|written| Look { written, held: false })))
                }
                false => Ok(None),
            }
        })
    }

    /// Sees to it that nobody who held the lease before us can write behind a position; where every write compares the lease
    /// there is nothing to do. Returns where the log ends then; `None` if somebody has written there.
    fn hold<'a>(&'a self, _scope: &'a Scope, _fence: &'a Fence, at: u64) -> Answer<'a, Option<u64>> {
        Box::pin(async move { Ok(Some(at)) })
    }

    /// A small private thing beside the log: the key.
    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>>;

    /// Keeps a small private thing unless there is one of that name.
    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()>;
}

impl<B: Backend + ?Sized> Backend for Arc<B> {
    fn place(&self, scope: &Scope) -> PathBuf {
        (**self).place(scope)
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        (**self).list()
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        (**self).read(scope, from)
    }

    fn glance<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Written> {
        (**self).glance(scope)
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        (**self).create(scope, first)
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64> {
        (**self).append_if(scope, fence, at, records, head)
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        (**self).replace_if(scope, fence, by)
    }

    fn first_head<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, head: &'a Head) -> Answer<'a, bool> {
        (**self).first_head(scope, fence, head)
    }

    fn gather<'a>(&'a self, scope: &'a Scope, at: u64) -> Answer<'a, ()> {
        (**self).gather(scope, at)
    }

    fn copies<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Vec<Records>> {
        (**self).copies(scope)
    }

    fn distrust(&self, scope: &Scope) -> bool {
        (**self).distrust(scope)
    }

    fn own_lease(&self, scope: &Scope, fence: &Fence) -> Option<LeaseSlot> {
        (**self).own_lease(scope, fence)
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        (**self).lease(scope)
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        (**self).swap_lease(scope, read, lease)
    }

    fn swap_and_look<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
        from: u64,
    ) -> Answer<'a, Option<Result<Look, StoreError>>> {
        (**self).swap_and_look(scope, read, lease, from)
    }

    fn hold<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, at: u64) -> Answer<'a, Option<u64>> {
        (**self).hold(scope, fence, at)
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        (**self).kept(scope, name)
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        (**self).keep(scope, name, bytes)
    }
}

/// What a medium has of a stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// The records, one behind the other; absent if there is no log.
    pub log: Option<Records>,
    pub head: Kept,
    /// Somebody has held the lease, whatever it says now.
    pub leased: bool,
}

/// Records as they are on the medium, good or not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records {
    /// All of their bytes.
    pub bytes: Vec<u8>,
    /// Where each of them is in `bytes`.
    pub bounds: Vec<std::ops::Range<usize>>,
    /// The position behind each.
    pub ends: Vec<u64>,
    /// The last record has no end: whoever wrote it was interrupted, or somebody cut it.
    pub unfinished: bool,
    /// The position behind everything, finished or not.
    pub end: u64,
    /// They lie in so many pieces, or in a place that was closed, that the next writer should put them together.
    pub scattered: bool,
}

impl Records {
    /// The bytes of each record.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> {
        self.bounds.iter().map(|bounds| &self.bytes[bounds.clone()])
    }
}

/// What stands where the head should be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Kept {
    #[default]
    Absent,
    /// Something that is no head.
    Garbled,
    Head(Head),
}

/// Other records for a log.
#[derive(Clone, Copy, Debug)]
pub struct Replacement<'a> {
    /// Where the log must end.
    pub at: u64,
    pub records: &'a [String],
    pub head: &'a Head,
    /// The name under which the old log is kept; one of that name stays as it is.
    pub keep_as: Option<&'a str>,
}

/// A lease with what [`Backend::swap_lease`] needs to know about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseSlot {
    /// Changes whenever the lease does.
    pub version: String,
    /// `None`: what stands there is no lease.
    pub lease: Option<Lease>,
}
