//! The store of all stacks, and of one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::{join, try_join};
use kusion_model::{Records, ReleaseNo, Scope, Timestamp};

use crate::backend::{LeaseSlot, Look, Written};
use crate::entry::{Entry, FORMAT, Way};
use crate::session::{KEEP_RELEASES, TRIES};
use crate::{
    Backend, Damage, Fence, Holder, Keys, Lease, Liveness, LocalFolder, Lock, Owner, Session, State,
    StoreError, Watch, log, vault,
};

/// The state of all stacks on one medium.
#[derive(Clone)]
pub struct Store {
    backend: Arc<dyn Backend>,
    lock: Arc<Lock>,
    open_keys: OpenKeys,
    keep_releases: usize,
}

/// The keys that were opened before: opening them anew may cost a person's passphrase a second of work.
type OpenKeys = Arc<Mutex<Vec<Keys>>>;

/// The state of one stack in one workspace.
#[derive(Clone)]
pub struct StackStore {
    pub(crate) backend: Arc<dyn Backend>,
    pub(crate) scope: Scope,
    /// What locks its keys.
    pub(crate) lock: Arc<Lock>,
    pub(crate) open_keys: OpenKeys,
    /// How many releases can be rebuilt.
    pub(crate) keep_releases: usize,
}

/// Who wants the lock, and how the holder of an old one is judged.
pub struct Claim<'a> {
    pub owner: Owner,
    /// For people.
    pub now: Timestamp,
    /// A clock that never goes back, for the watch.
    pub elapsed: Duration,
    /// Whether the owner of a lease still runs.
    pub alive: &'a (dyn Fn(&Owner) -> Liveness + Sync),
}

impl Store {
    /// The store on a medium; nothing is read or written yet.
    #[must_use]
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Store { backend, lock: Arc::default(), open_keys: Arc::default(), keep_releases: KEEP_RELEASES }
    }

    /// Keeps so many releases that can be returned to, at least; the history lines of older ones stay.
    #[must_use]
    pub fn with_retention(mut self, releases: usize) -> Self {
        self.keep_releases = releases.max(1);
        self
    }

    /// Locks the keys of all stacks by something else than a key file beside each log.
    #[must_use]
    pub fn with_lock(mut self, lock: Lock) -> Self {
        self.lock = Arc::new(lock);
        self
    }

    /// The store under a folder of this machine.
    pub fn local(home: impl Into<PathBuf>) -> Self {
        Store::new(Arc::new(LocalFolder::new(home)))
    }

    /// Returns the state of one stack.
    #[must_use]
    pub fn stack(&self, scope: &Scope) -> StackStore {
        let (backend, lock) = (Arc::clone(&self.backend), Arc::clone(&self.lock));
        let (open_keys, keep_releases) = (Arc::clone(&self.open_keys), self.keep_releases);
        StackStore { backend, scope: scope.clone(), lock, open_keys, keep_releases }
    }

    /// Lists the stacks that have a state, in order.
    pub async fn list(&self) -> Result<Vec<Scope>, StoreError> {
        self.backend.list().await
    }
}

impl StackStore {
    /// Where the state is, for people.
    #[must_use]
    pub fn place(&self) -> PathBuf {
        self.backend.place(&self.scope)
    }

    /// What reads a log of this stack that lies at a place.
    pub(crate) fn reader<'a>(&'a self, keys: Option<&'a Keys>, place: &'a Path) -> log::Reader<'a> {
        log::Reader { scope: &self.scope, place, keys }
    }

    pub(crate) fn damaged(&self, damage: Damage) -> StoreError {
        StoreError::Damaged { place: self.place(), damage }
    }

    /// Reads the state without a lock; a stack that was never applied has an empty one.
    ///
    /// # Errors
    /// A state that is damaged: what it tells is not what was written, and nothing may be planned on it. One that has moved
    /// elsewhere, or has not arrived yet.
    pub async fn read(&self) -> Result<State, StoreError> {
        self.counts(self.read_anyway().await?)
    }

    /// A state that counts here; where it went or comes from otherwise.
    pub(crate) fn counts(&self, state: State) -> Result<State, StoreError> {
        let place = self.place();
        match &state.way {
            Some(Way::Leaving(to)) => Err(StoreError::Moved { place, to: to.clone() }),
            Some(Way::Arriving(from)) => Err(StoreError::OnItsWay { place, from: from.clone() }),
            Some(Way::Arrived) | None => Ok(state),
        }
    }

    /// Reads the state, whether it counts here or not.
    pub(crate) async fn read_anyway(&self) -> Result<State, StoreError> {
        // The key file, which most logs need, is asked for at the same time.
        let (glance, early) = join(self.backend.glance(&self.scope), self.early_key()).await;
        let glance = glance?;
        self.try_key(&glance, early);
        let told = match self.state_in(&glance).await {
            Err(error @ StoreError::Damaged { .. }) => error,
            opened => return opened,
        };
        // Somebody may have written between head and records: what is the same in order is damaged.
        let written = self.backend.read(&self.scope, 0).await?;
        let told = match written == glance {
            true => Err(told),
            false => self.state_in(&written).await,
        };
        match told {
            Err(StoreError::Damaged { .. }) if self.backend.distrust(&self.scope) => {
                self.state_in(&self.backend.read(&self.scope, 0).await?).await
            }
            told => told,
        }
    }

    async fn state_in(&self, written: &Written) -> Result<State, StoreError> {
        let keys = self.keys_of(written).await?;
        match log::open(written, &self.reader(keys.as_ref(), &self.place())) {
            Ok(state) => Ok(state.unwrap_or_else(|| State::new(String::new(), self.scope.clone()))),
            Err(StoreError::Damaged { place, damage }) => match self.arriving(written, &damage).await? {
                Some(from) => Err(StoreError::OnItsWay { place, from }),
                None => Err(StoreError::Damaged { place, damage }),
            },
            Err(error) => Err(error),
        }
    }

    /// Returns the records as they were at the end of a release, with the values of their secrets as far as they are kept.
    pub async fn state_at(&self, no: ReleaseNo) -> Result<Records, StoreError> {
        let missing = |first, last| StoreError::NoRelease { no, first, last };
        let (mut first, mut last) = (None, None);
        let mut state = State::new(String::new(), self.scope.clone());
        let (entries, keys) = self.entries().await?;
        for entry in entries {
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
        if !known {
            return Err(missing(first, last));
        }
        if let Some(keys) = keys {
            vault::fill(&mut state.records, &state.vault, &keys, &self.scope);
        }
        Ok(state.records)
    }

    async fn entries(&self) -> Result<(Vec<Entry>, Option<Keys>), StoreError> {
        // Opened once before, so that a copy that does not open is passed by.
        self.read().await?;
        let written = self.backend.read(&self.scope, 0).await?;
        let (keys, place) = (self.keys_of(&written).await?, self.place());
        let reader = self.reader(keys.as_ref(), &place);
        log::open(&written, &reader)?.map(|state| self.counts(state)).transpose()?;
        let found = written.log.map(|records| log::entries(&records, &reader)).transpose()?;
        Ok((found.map(|(_, entries)| entries).unwrap_or_default(), keys))
    }

    /// Returns who holds the lock, if anybody does.
    pub async fn holder(
        &self,
        alive: &(dyn Fn(&Owner) -> Liveness + Sync),
    ) -> Result<Option<Holder>, StoreError> {
        Ok(self.lease().await?.1.and_then(|lease| lease.holder(alive)))
    }

    /// Takes the lock, or says who has it; a holder that may be dead elsewhere is not waited for.
    pub async fn acquire(
        &self,
        owner: Owner,
        now: Timestamp,
        alive: &(dyn Fn(&Owner) -> Liveness + Sync),
    ) -> Result<Session, StoreError> {
        let claim = Claim { owner, now, elapsed: Duration::ZERO, alive };
        self.claim(&claim, None, &mut Watch::default()).await
    }

    /// The same for who waits (with a watch on the holder) and has read the state before: if nobody has written since, it is
    /// not read again.
    pub async fn claim(
        &self,
        claim: &Claim<'_>,
        known: Option<&State>,
        watch: &mut Watch,
    ) -> Result<Session, StoreError> {
        // Read before anything is written: a damaged folder is left as it is.
        let (held, state) = match known {
            Some(state) if state.read.0.is_some() => (self.free_lease(claim, watch).await?, state.clone()),
            _ => {
                // Who finds it held does not wait for the state.
                try_join(self.free_lease(claim, watch), self.read()).await?
            }
        };
        if state.read.0.is_none() {
            self.create(claim.now).await?;
        }
        let from = state.read.0.as_ref().map(|read| read.end);
        let (fence, look) = self.take_and_look(held, state.token, claim, from).await?;
        let opened = self.open_for(&fence, state, look).await;
        if opened.is_err() {
            self.give_back(&fence, claim.now).await;
        }
        let (state, keys) = opened?;
        Ok(Session::new(self.clone(), state, keys, fence))
    }

    /// The lease if it can be taken: never held, given back, or of a holder that is dead or silent.
    pub(crate) async fn free_lease(
        &self,
        claim: &Claim<'_>,
        watch: &mut Watch,
    ) -> Result<Option<LeaseSlot>, StoreError> {
        let (slot, lease) = self.lease().await?;
        if let Some(lease) = &lease
            && let Some(holder) = lease.holder(claim.alive)
        {
            let owner = &holder.owner;
            // A process that certainly runs on this machine keeps its lease even if it was stopped for a while.
            let silent = watch.is_silent(lease, claim.elapsed) && (claim.alive)(owner) == Liveness::Unknown;
            if !silent {
                return Err(StoreError::Locked { holder: Box::new(holder) });
            }
        }
        Ok(slot)
    }

    /// Takes the lease in place of one that was read. From then on nobody else can write.
    pub(crate) async fn take_lease(
        &self,
        held: Option<LeaseSlot>,
        written: u64,
        claim: &Claim<'_>,
    ) -> Result<Fence, StoreError> {
        Ok(self.take_and_look(held, written, claim, None).await?.0)
    }

    /// The same for who wants to know what stands behind a position from then on.
    async fn take_and_look(
        &self,
        held: Option<LeaseSlot>,
        written: u64,
        claim: &Claim<'_>,
        from: Option<u64>,
    ) -> Result<(Fence, Option<Result<Look, StoreError>>), StoreError> {
        let before = held.as_ref().and_then(|slot| slot.lease.as_ref()).map_or(0, |lease| lease.token);
        let lease = Lease {
            token: before.max(written) + 1,
            session: uuid::Uuid::new_v4().to_string(),
            beat: 0,
            owner: Some(claim.owner.clone()),
            since: claim.now,
            heartbeat: claim.now,
        };
        let version = held.as_ref().map(|slot| slot.version.as_str());
        for _ in 0..TRIES {
            let swapped = match from {
                Some(from) => {
                    let swapped = self.backend.swap_and_look(&self.scope, version, &lease, from).await;
                    swapped.map(|look| look.map(Some))
                }
                None => {
                    let swapped = self.backend.swap_lease(&self.scope, version, &lease).await;
                    swapped.map(|won| won.then_some(None))
                }
            };
            match swapped {
                Ok(Some(look)) => return Ok((lease.fence(), look)),
                Ok(None) | Err(StoreError::Unanswered { .. }) => {}
                Err(error) => return Err(error),
            }
            match self.lease().await? {
                (_, Some(now)) if now.session == lease.session => return Ok((lease.fence(), None)),
                // Not taken, by nobody: the request is lost.
                (now, _) if now.as_ref().map(|slot| slot.version.as_str()) == version => {}
                (_, Some(now)) => return Err(lost_race(&now, &lease)),
                (_, None) => {}
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    pub(crate) async fn give_back(&self, fence: &Fence, now: Timestamp) {
        if let Ok((Some(slot), Some(lease))) = self.lease().await
            && lease.fence() == *fence
        {
            let free = Lease { owner: None, heartbeat: now, ..lease };
            // The error that led here is the one to tell; a lease that stays is taken over from a dead process.
            let _ = self.backend.swap_lease(&self.scope, Some(&slot.version), &free).await;
        }
    }

    /// Takes the lock away from whoever has it; the former holder can write no more. Also clears a lock that cannot be read.
    pub async fn break_lock(&self, now: Timestamp) -> Result<Option<Owner>, StoreError> {
        let Some(LeaseSlot { version, lease }) = self.backend.lease(&self.scope).await? else {
            return Ok(None);
        };
        let written = self.read().await.map_or(0, |state| state.token);
        let token = lease.as_ref().map_or(0, |lease| lease.token).max(written) + 1;
        let session = uuid::Uuid::new_v4().to_string();
        let free = Lease { token, session, beat: 0, owner: None, since: now, heartbeat: now };
        if !self.backend.swap_lease(&self.scope, Some(&version), &free).await? {
            return Err(StoreError::Stale { expected: written });
        }
        self.shut_out(&free.fence()).await?;
        Ok(lease.and_then(|lease| lease.owner))
    }

    /// Sees to it that no former holder can write, wherever the log ends.
    async fn shut_out(&self, fence: &Fence) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            let Some(log) = self.backend.read(&self.scope, 0).await?.log else { return Ok(()) };
            if self.backend.hold(&self.scope, fence, log.end).await?.is_some() {
                return Ok(());
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    async fn lease(&self) -> Result<(Option<LeaseSlot>, Option<Lease>), StoreError> {
        match self.backend.lease(&self.scope).await? {
            Some(LeaseSlot { lease: None, .. }) => Err(StoreError::LeaseGarbled { place: self.place() }),
            Some(slot) => {
                let lease = slot.lease.clone();
                Ok((Some(slot), lease))
            }
            None => Ok((None, None)),
        }
    }

    /// Makes the log; it exists before anybody holds its lease, so a lease without a log tells that the log was removed.
    async fn create(&self, now: Timestamp) -> Result<(), StoreError> {
        let lineage = uuid::Uuid::new_v4().to_string();
        let header = header(lineage.clone(), &self.scope, now);
        let record = self.first_keys().await?.first(&self.scope, &lineage, &header)?;
        for _ in 0..TRIES {
            match self.backend.create(&self.scope, &record).await {
                // Whether it was made by this try or the one before does not matter.
                Err(StoreError::Unanswered { .. }) => {}
                done => return done,
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }
}

/// The first entry of a log.
pub(crate) fn header(lineage: String, scope: &Scope, created: Timestamp) -> Entry {
    Entry::Header { format: FORMAT, lineage, scope: scope.clone(), created }
}

/// Another was quicker.
fn lost_race(winner: &Lease, ours: &Lease) -> StoreError {
    match winner.holder(&|_| Liveness::Unknown) {
        Some(holder) => StoreError::Locked { holder: Box::new(holder) },
        None => StoreError::Fenced { ours: ours.token, theirs: winner.token },
    }
}
