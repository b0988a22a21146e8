//! The store of all stacks, and of one.

use std::path::PathBuf;
use std::sync::Arc;

use kusion_model::{DigestKey, Records, ReleaseNo, Scope, Timestamp};

use crate::entry::Entry;
use crate::fold::{Read, Source};
use crate::lease::Lease;
use crate::log::{self, Log};
use crate::{Disk, Holder, Liveness, Owner, Session, State, StoreError};

/// The state of all stacks under one folder.
#[derive(Clone)]
pub struct Store {
    disk: Arc<dyn Disk>,
    root: PathBuf,
}

/// The state of one stack in one workspace.
#[derive(Clone)]
pub struct StackStore {
    pub(crate) disk: Arc<dyn Disk>,
    pub(crate) dir: PathBuf,
    pub(crate) scope: Scope,
}

impl Store {
    /// Opens the store under `$KUSION_HOME`; nothing is read or written yet.
    pub fn new(disk: Arc<dyn Disk>, home: impl Into<PathBuf>) -> Self {
        Store { disk, root: home.into().join("state") }
    }

    /// Opens the store under a folder of this machine's disk.
    pub fn local(home: impl Into<PathBuf>) -> Self {
        Store::new(Arc::new(crate::LocalDisk), home)
    }

    /// Returns the state of one stack.
    #[must_use]
    pub fn stack(&self, scope: &Scope) -> StackStore {
        let dir = self.root.join(safe(&scope.project)).join(safe(&scope.stack)).join(safe(&scope.workspace));
        StackStore { disk: Arc::clone(&self.disk), dir, scope: scope.clone() }
    }

    /// Lists the stacks that have a state, in order.
    pub fn list(&self) -> Result<Vec<Scope>, StoreError> {
        let names = |dir: &PathBuf| self.disk.list(dir).map_err(StoreError::io("list", dir));
        let mut found = Vec::new();
        for project in names(&self.root)? {
            for stack in names(&self.root.join(&project))? {
                for workspace in names(&self.root.join(&project).join(&stack))? {
                    let (project, stack) = (project.clone(), stack.clone());
                    found.push(Scope { project, stack, workspace });
                }
            }
        }
        Ok(found)
    }
}

/// Makes a name usable as a folder: names are checked where they are read, this only keeps a bug from climbing out.
fn safe(name: &str) -> String {
    let keep = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let cleaned: String = name.chars().map(|c| if keep(c) { c } else { '_' }).collect();
    if cleaned.starts_with('.') || cleaned.is_empty() { format!("_{cleaned}") } else { cleaned }
}

impl StackStore {
    pub(crate) fn log_path(&self) -> PathBuf {
        self.dir.join("log")
    }

    pub(crate) fn lease_path(&self) -> PathBuf {
        self.dir.join("lease")
    }

    pub(crate) fn guard_path(&self) -> PathBuf {
        self.dir.join("guard")
    }

    /// Returns the folder of this state.
    #[must_use]
    pub fn dir(&self) -> &std::path::Path {
        &self.dir
    }

    /// Reads the state without a lock; a stack that was never applied has an empty one.
    pub fn read(&self) -> Result<State, StoreError> {
        let log = log::read(&*self.disk, &self.log_path())?;
        Ok(log.map_or_else(
            || State::new(String::new(), self.scope.clone()),
            |Log { state, format, len, n_releases }| {
                let read = (!state.torn_tail).then_some(Read { format, len, n_releases });
                State { read: Source(read), ..state }
            },
        ))
    }

    /// Returns the records as they were at the end of a release.
    pub fn state_at(&self, no: ReleaseNo) -> Result<Records, StoreError> {
        let missing = |first, last| StoreError::NoRelease { no, first, last };
        let (mut first, mut last) = (None, None);
        let mut state = State::new(String::new(), self.scope.clone());
        for entry in log::entries(&*self.disk, &self.log_path())? {
            match &entry {
                Entry::Base { releases, .. } => first = releases.last().map(|release| release.no),
                Entry::Begin { release, .. } => first = first.or(Some(release.no)),
                _ => {}
            }
            last = match &entry {
                Entry::Base { releases, .. } => releases.last().map(|release| release.no),
                Entry::Begin { release, .. } => Some(release.no),
                _ => last,
            };
            if last.is_none_or(|last| last <= no) {
                state.fold(entry);
            }
        }
        let known = state.releases.contains_key(&no) && first.is_some_and(|first| first <= no);
        if known { Ok(state.records) } else { Err(missing(first, last)) }
    }

    /// Returns who holds the lock, if anybody does.
    pub fn holder(
        &self,
        now: Timestamp,
        alive: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<Option<Holder>, StoreError> {
        Ok(self.lease()?.and_then(|lease| lease.holder(now, alive)))
    }

    /// Takes the lock, or says who has it. `alive` tells whether the owner of an old lease still runs.
    pub fn acquire(
        &self,
        owner: Owner,
        now: Timestamp,
        alive: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<Session, StoreError> {
        self.acquire_knowing(None, owner, now, alive)
    }

    /// The same for who has read the state before: if nobody has written since, it is not read again.
    pub fn acquire_knowing(
        &self,
        known: Option<&State>,
        owner: Owner,
        now: Timestamp,
        alive: &dyn Fn(&Owner) -> Liveness,
    ) -> Result<Session, StoreError> {
        self.disk.create_dir(&self.dir).map_err(StoreError::io("make the folder", &self.dir))?;
        let _guard = self.guard()?;
        let lease = self.lease()?;
        if let Some(holder) = lease.as_ref().and_then(|lease| lease.holder(now, alive)) {
            return Err(StoreError::Locked { holder: Box::new(holder) });
        }
        let held = lease.as_ref().map_or(0, |lease| lease.token);
        let log = match known.map(|state| self.still_true(state, held)).transpose()?.flatten() {
            Some(log) => log,
            None => self.open_log(now)?,
        };
        let token = lease.map_or(0, |lease| lease.token).max(log.state.token) + 1;
        self.write_lease(&Lease { token, owner: Some(owner.clone()), since: now, heartbeat: now })?;
        Ok(Session::new(self.clone(), log, owner, token, now))
    }

    /// Takes the lock away from whoever has it; the former holder can write no more.
    pub fn break_lock(&self, now: Timestamp) -> Result<Option<Owner>, StoreError> {
        let _guard = self.guard()?;
        let Some(lease) = self.lease()? else { return Ok(None) };
        self.write_lease(&Lease { token: lease.token + 1, owner: None, since: now, heartbeat: now })?;
        Ok(lease.owner)
    }

    /// Returns the key of secret digests, made at first use.
    pub fn digest_key(&self) -> Result<DigestKey, StoreError> {
        let path = self.dir.join("key");
        self.disk.create_dir(&self.dir).map_err(StoreError::io("make the folder", &self.dir))?;
        let _guard = self.guard()?;
        let stored = self.disk.read(&path).map_err(StoreError::io("read", &path))?;
        if let Some(key) = stored.and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
            return Ok(DigestKey(key));
        }
        let mut key = [0; 32];
        key[..16].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        key[16..].copy_from_slice(uuid::Uuid::new_v4().as_bytes());
        self.disk.replace(&path, &key).map_err(StoreError::io("write", &path))?;
        Ok(DigestKey(key))
    }

    pub(crate) fn guard(&self) -> Result<Box<dyn crate::Guard>, StoreError> {
        let path = self.guard_path();
        self.disk.guard(&path).map_err(StoreError::io("lock", &path))
    }

    pub(crate) fn lease(&self) -> Result<Option<Lease>, StoreError> {
        let path = self.lease_path();
        let bytes = self.disk.read(&path).map_err(StoreError::io("read", &path))?;
        let damaged = |_| StoreError::Damaged { path, line: 1, what: "it is no lease".to_owned() };
        bytes.map(|bytes| serde_json::from_slice(&bytes)).transpose().map_err(damaged)
    }

    pub(crate) fn write_lease(&self, lease: &Lease) -> Result<(), StoreError> {
        let path = self.lease_path();
        let json = serde_json::to_vec(lease).unwrap_or_default();
        self.disk.replace(&path, &json).map_err(StoreError::io("write", &path))
    }

    /// Opens the log for writing: makes it if there is none, cuts a torn tail.
    fn open_log(&self, now: Timestamp) -> Result<Log, StoreError> {
        let path = self.log_path();
        if let Some(log) = log::read(&*self.disk, &path)? {
            return self.mend(log);
        }
        let lineage = uuid::Uuid::new_v4().to_string();
        let state = State::new(lineage.clone(), self.scope.clone());
        let format = crate::entry::FORMAT;
        let header = Entry::Header { format, lineage, scope: self.scope.clone(), created: now };
        let line = log::line(&header);
        self.disk.replace(&path, line.as_bytes()).map_err(StoreError::io("write", &path))?;
        Ok(Log { state, format, len: line.len() as u64, n_releases: 0 })
    }

    /// A state that was read before, if the log is as long as it was then and nobody has held the lock since its last writer.
    fn still_true(&self, state: &State, held: u64) -> Result<Option<Log>, StoreError> {
        let path = self.log_path();
        let Source(Some(Read { format, len, n_releases })) = state.read else { return Ok(None) };
        let same = format == crate::entry::FORMAT
            && held <= state.token
            && self.disk.len(&path).map_err(StoreError::io("read", &path))? == len;
        Ok(same.then(|| Log { state: state.clone(), format, len, n_releases }))
    }

    /// Cuts a torn tail and brings an older format forward, so that what is appended fits what stands before it.
    fn mend(&self, mut log: Log) -> Result<Log, StoreError> {
        let path = self.log_path();
        if log.state.torn_tail {
            self.disk.truncate(&path, log.len).map_err(StoreError::io("cut", &path))?;
        }
        if log.format < crate::entry::FORMAT {
            let text: String = log::entries(&*self.disk, &path)?.iter().map(log::line).collect();
            self.disk.replace(&path, text.as_bytes()).map_err(StoreError::io("write", &path))?;
            (log.format, log.len) = (crate::entry::FORMAT, text.len() as u64);
        }
        Ok(log)
    }
}
