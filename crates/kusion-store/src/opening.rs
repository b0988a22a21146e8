//! Opening a state for writing: what was read before if nobody has written since, or all of it anew, put right where that is
//! needed, with the place behind it held against former holders.

use crate::backend::{Look, Replacement};
use crate::entry::SEALED;
use crate::fold::{Source, Unsettled};
use crate::session::TRIES;
use crate::{Damage, Fence, Head, Keys, StackStore, State, StoreError, log, upgrade};

impl StackStore {
    /// The state under our lease, with a torn tail cut, an older format brought forward, everything sealed and the head in place.
    pub(crate) async fn open_for(
        &self,
        fence: &Fence,
        known: State,
        look: Option<Result<Look, StoreError>>,
    ) -> Result<(State, Keys), StoreError> {
        let mut known = known;
        if let Some((keys, end)) = self.unchanged(fence, &known, look).await? {
            settled(&mut known, end);
            return Ok((known, keys));
        }
        for _ in 0..TRIES {
            let (mut state, keys) = self.settle(fence).await?;
            let end = state.read.0.as_ref().map_or(0, |read| read.end);
            if let Some(end) = self.backend.hold(&self.scope, fence, end).await? {
                settled(&mut state, end);
                return Ok((state, keys));
            }
        }
        Err(StoreError::Stale { expected: known.serial })
    }

    /// The keys of a state that was read before, and where it ends now; `None` if somebody has written since.
    async fn unchanged(
        &self,
        fence: &Fence,
        known: &State,
        look: Option<Result<Look, StoreError>>,
    ) -> Result<Option<(Keys, u64)>, StoreError> {
        let Source(Some(read)) = &known.read else { return Ok(None) };
        let Some(keys) = read.keys.clone().filter(|_| read.unsettled == Unsettled::No) else {
            return Ok(None);
        };
        let Look { written, held } = match look {
            Some(look) => look?,
            None => Look { written: self.backend.read(&self.scope, read.end).await?, held: false },
        };
        let new = written.log.is_none_or(|log| !log.bounds.is_empty() || (!held && log.end != read.end));
        let same_head = written.head == known.head().map_or(crate::Kept::Absent, crate::Kept::Head);
        if new || !same_head || fence.token <= known.token {
            return Ok(None);
        }
        let end = match held {
            true => Some(read.end + 1),
            false => self.backend.hold(&self.scope, fence, read.end).await?,
        };
        Ok(end.map(|end| (keys, end)))
    }

    /// The state as it stands, put right where that is needed.
    async fn settle(&self, fence: &Fence) -> Result<(State, Keys), StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        let (sealed, place) = (self.keys_of(&written).await?, self.place());
        let reader = self.reader(sealed.as_ref(), &place);
        let state = log::open(&written, &reader)?.map(|state| self.counts(state)).transpose()?;
        let (Some(mut state), Some(found)) = (state, &written.log) else {
            return Err(self.damaged(Damage::Removed { head: None }));
        };
        let keys = match &sealed {
            Some(keys) => keys.clone(),
            None => self.first_keys().await?,
        };
        let Source(Some(read)) = &mut state.read else {
            return Err(self.damaged(Damage::Removed { head: None }));
        };
        if read.unsettled == Unsettled::No {
            return Ok((state, keys));
        }
        let new = read.unsettled == Unsettled::New;
        read.keys = Some(keys.clone());
        let Some(head) = state.head() else { return Err(self.damaged(Damage::NoHeader)) };
        // Before the first entry: a log that has entries and no head is damaged.
        if new && self.first_head(fence, &head).await? {
            settled(&mut state, found.end);
            return Ok((state, keys));
        }
        let (records, entries) = log::entries(found, &reader)?;
        let format = log::format(found, &reader)?;
        let records = keys.seal_log(&self.scope, &state.lineage, &records, &entries)?;
        let mut at = found.end;
        if format < SEALED {
            // A head that says `sealed` beside a log in clear would tell of a downgrade: first the log, then the head.
            let (copy, quiet) = (upgrade::copy_name(format), Head { seal: None, ..head.clone() });
            let by = Replacement { at, records: &records, head: &quiet, keep_as: Some(&copy) };
            at = self.replace(fence, by).await?;
        }
        let by = Replacement { at, records: &records, head: &head, keep_as: None };
        let end = self.replace(fence, by).await?;
        let mut state = State { torn_tail: false, ..state };
        settled(&mut state, end);
        Ok((state, keys))
    }

    /// Gives a new log its head; false if the medium does that only together with the log, or nobody knows whether it has.
    async fn first_head(&self, fence: &Fence, head: &Head) -> Result<bool, StoreError> {
        match self.backend.first_head(&self.scope, fence, head).await {
            Err(StoreError::Unanswered { .. }) => Ok(false),
            told => told,
        }
    }

    /// Replaces the log; where the answer is lost, looks whether it is there.
    pub(crate) async fn replace(&self, fence: &Fence, by: Replacement<'_>) -> Result<u64, StoreError> {
        for _ in 0..TRIES {
            match self.backend.replace_if(&self.scope, fence, by).await {
                Err(StoreError::Unanswered { .. }) => {}
                done => return done,
            }
            let now = self.backend.read(&self.scope, 0).await?.log.unwrap_or_default();
            if now.iter().eq(by.records.iter().map(String::as_bytes)) {
                return Ok(now.end);
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }
}

/// Notes that a log was put right, and where it ends now.
fn settled(state: &mut State, end: u64) {
    if let Source(Some(read)) = &mut state.read {
        (read.end, read.unsettled) = (end, Unsettled::No);
    }
}
