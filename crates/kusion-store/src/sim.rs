//! A medium in memory on which everything can happen: a crash at every step, answers that are lost, answers that take long.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::future::BoxFuture;
use kusion_model::Scope;

use crate::backend::{Answer, Backend, Kept, LeaseSlot, Records, Replacement, Written};
use crate::{Fence, Head, Lease, Plug, StoreError};

/// A simulated medium; clones share it. Records are numbered things, as in an object store.
#[derive(Clone, Default)]
pub struct SimMedium {
    plug: Plug,
    stacks: Arc<Mutex<BTreeMap<Scope, Stack>>>,
    pause: Arc<Mutex<Option<Pause>>>,
}

type Pause = Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What is kept of one stack.
#[derive(Clone, Debug, Default)]
pub struct Stack {
    pub records: Option<Vec<Vec<u8>>>,
    /// A piece of a record that was being written.
    pub piece: Option<Vec<u8>>,
    pub head: Option<Vec<u8>>,
    /// With its number.
    pub lease: Option<(u64, Vec<u8>)>,
    pub kept: BTreeMap<String, Vec<u8>>,
}

impl SimMedium {
    /// What can happen to it.
    #[must_use]
    pub fn plug(&self) -> &Plug {
        &self.plug
    }

    /// Waits before every write, as a medium far away does; `None`: no more.
    pub fn set_pause(&self, pause: Option<Pause>) {
        *self.pause.lock().unwrap_or_else(PoisonError::into_inner) = pause;
    }

    /// Returns all bytes on the medium, for a search for what must not be there.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        let of = |stack: &Stack| {
            let parts = stack.records.iter().flatten().chain(&stack.piece).chain(&stack.head);
            let parts = parts.chain(stack.lease.iter().map(|(_, bytes)| bytes)).chain(stack.kept.values());
            parts.flatten().copied().collect::<Vec<u8>>()
        };
        self.lock().values().flat_map(of).collect()
    }

    /// Changes what is kept of a stack behind the store's back.
    pub fn tamper(&self, scope: &Scope, change: impl FnOnce(&mut Stack)) {
        change(self.lock().entry(scope.clone()).or_default());
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Scope, Stack>> {
        self.stacks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One write: a pause, the work, and an answer that may get lost.
    fn write<'a, T: Send + 'a>(
        &'a self,
        scope: &'a Scope,
        work: impl FnOnce(&Plug, &mut Stack) -> Result<T, StoreError> + Send + 'a,
    ) -> Answer<'a, T> {
        Box::pin(async move {
            let pause = self.pause.lock().unwrap_or_else(PoisonError::into_inner).clone();
            if let Some(pause) = pause {
                pause().await;
            }
            let done = work(&self.plug, self.lock().entry(scope.clone()).or_default())?;
            if self.plug.loses_answer() {
                return Err(StoreError::Unanswered { place: self.place(scope), tries: 1 });
            }
            Ok(done)
        })
    }
}

impl Stack {
    fn check(&self, fence: &Fence, at: u64, head: &Head) -> Result<(), StoreError> {
        let lease = self.lease.as_ref().and_then(|(_, bytes)| serde_json::from_slice::<Lease>(bytes).ok());
        Lease::check(lease.as_ref(), fence)?;
        let end = self.end();
        if end == at { Ok(()) } else { Err(StoreError::Stale { expected: head.serial.saturating_sub(1) }) }
    }

    fn end(&self) -> u64 {
        self.records.as_ref().map_or(0, Vec::len) as u64 + u64::from(self.piece.is_some())
    }

    fn append(&mut self, plug: &Plug, records: &[String], head: &Head) -> std::io::Result<()> {
        for record in records {
            let half = &record.as_bytes()[..record.len() / 2];
            plug.step()?;
            self.piece = Some(half.to_vec());
            plug.room(record.len())?;
            plug.step()?;
            self.piece = None;
            self.records.get_or_insert_default().push(record.as_bytes().to_vec());
            plug.step()?;
        }
        self.head = Some(serde_json::to_vec(head).unwrap_or_default());
        plug.step()
    }

    fn read(&self, from: u64) -> Written {
        let head = match &self.head {
            None => Kept::Absent,
            Some(bytes) => serde_json::from_slice(bytes).map_or(Kept::Garbled, Kept::Head),
        };
        let log = self.records.as_ref().map(|all| {
            let mut records = Records { end: self.end(), ..Records::default() };
            for (at, bytes) in
                all.iter().chain(&self.piece).enumerate().skip(usize::try_from(from).unwrap_or(0))
            {
                let start = records.bytes.len();
                records.bytes.extend_from_slice(bytes);
                records.bounds.push(start..records.bytes.len());
                records.ends.push(at as u64 + 1);
            }
            records.unfinished = self.piece.is_some();
            records
        });
        Written { log, head, leased: self.lease.is_some() }
    }
}

impl Backend for SimMedium {
    fn place(&self, scope: &Scope) -> PathBuf {
        Path::new("/simulated").join(scope.to_string())
    }

    fn list(&self) -> Answer<'_, Vec<Scope>> {
        Box::pin(async { Ok(self.lock().keys().cloned().collect()) })
    }

    fn read<'a>(&'a self, scope: &'a Scope, from: u64) -> Answer<'a, Written> {
        Box::pin(
            async move { Ok(self.lock().get(scope).map_or_else(Written::default, |stack| stack.read(from))) },
        )
    }

    fn create<'a>(&'a self, scope: &'a Scope, first: &'a str) -> Answer<'a, ()> {
        let place = self.place(scope);
        self.write(scope, move |plug, stack| {
            if stack.records.is_none() {
                plug.room(first.len()).and_then(|()| plug.step()).map_err(StoreError::io("write", &place))?;
                stack.records = Some(vec![first.as_bytes().to_vec()]);
            }
            plug.step().map_err(StoreError::io("write", &place))
        })
    }

    fn append_if<'a>(
        &'a self,
        scope: &'a Scope,
        fence: &'a Fence,
        at: u64,
        records: &'a [String],
        head: &'a Head,
    ) -> Answer<'a, u64> {
        let place = self.place(scope);
        self.write(scope, move |plug, stack| {
            stack.check(fence, at, head)?;
            if let Err(error) = stack.append(plug, records, head) {
                // A medium that still has power cleans up what it could not finish.
                if !plug.is_dead() {
                    stack.piece = None;
                    let before = usize::try_from(at).unwrap_or(usize::MAX);
                    stack.records.get_or_insert_default().truncate(before);
                }
                return Err(StoreError::io("write", &place)(error));
            }
            Ok(stack.end())
        })
    }

    fn replace_if<'a>(&'a self, scope: &'a Scope, fence: &'a Fence, by: Replacement<'a>) -> Answer<'a, u64> {
        let place = self.place(scope);
        self.write(scope, move |plug, stack| {
            stack.check(fence, by.at, by.head)?;
            let mut write = || {
                plug.room(by.records.iter().map(String::len).sum())?;
                plug.step()?;
                if let (Some(name), Some(records)) = (by.keep_as, &stack.records) {
                    stack.kept.entry(name.to_owned()).or_insert_with(|| records.concat());
                }
                plug.step()?;
                stack.head = Some(serde_json::to_vec(by.head).unwrap_or_default());
                plug.step()?;
                stack.piece = None;
                stack.records = Some(by.records.iter().map(|record| record.as_bytes().to_vec()).collect());
                plug.step()
            };
            write().map_err(StoreError::io("write", &place))?;
            Ok(stack.end())
        })
    }

    fn lease<'a>(&'a self, scope: &'a Scope) -> Answer<'a, Option<LeaseSlot>> {
        Box::pin(async move {
            let stacks = self.lock();
            let lease = stacks.get(scope).and_then(|stack| stack.lease.as_ref());
            Ok(lease.map(|(number, bytes)| LeaseSlot {
                version: number.to_string(),
                lease: serde_json::from_slice(bytes).ok(),
            }))
        })
    }

    fn swap_lease<'a>(
        &'a self,
        scope: &'a Scope,
        read: Option<&'a str>,
        lease: &'a Lease,
    ) -> Answer<'a, bool> {
        let place = self.place(scope);
        self.write(scope, move |plug, stack| {
            let number = stack.lease.as_ref().map(|(number, _)| *number);
            if number.map(|number| number.to_string()).as_deref() != read {
                return Ok(false);
            }
            let bytes = serde_json::to_vec(lease).unwrap_or_default();
            let told = StoreError::io("write", &place);
            plug.room(bytes.len()).and_then(|()| plug.step()).map_err(told)?;
            stack.lease = Some((number.unwrap_or(0) + 1, bytes));
            plug.step().map_err(StoreError::io("write", &place))?;
            Ok(true)
        })
    }

    fn kept<'a>(&'a self, scope: &'a Scope, name: &'a str) -> Answer<'a, Option<Vec<u8>>> {
        Box::pin(async move { Ok(self.lock().get(scope).and_then(|stack| stack.kept.get(name)).cloned()) })
    }

    fn keep<'a>(&'a self, scope: &'a Scope, name: &'a str, bytes: &'a [u8]) -> Answer<'a, ()> {
        let place = self.place(scope);
        self.write(scope, move |plug, stack| {
            plug.step().map_err(StoreError::io("write", &place))?;
            stack.kept.entry(name.to_owned()).or_insert_with(|| bytes.to_vec());
            Ok(())
        })
    }
}
