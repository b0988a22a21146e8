//! From one medium to another, without a moment at which the state could be lost or written in two places.
//!
//! ```text
//!            here                         there
//!   1        s entries, counts            s entries, `arriving`: does not count
//!   2        `leaving`: counts no more    the same                                  <- the instant of the change
//!   3        points there                 `arrived`: counts
//! ```
//! Killed between any two writes the state counts in one place or in none, never in two; doing it again goes on from there.
//! What is there is sealed anew with keys of its own, so no key leaves the medium that it was made on.

use kusion_model::Timestamp;

use crate::backend::{Kept, LeaseSlot, Replacement, Written};
use crate::entry::{Entry, Way};
use crate::session::TRIES;
use crate::{Claim, Damage, Fence, Head, Keys, Session, StackStore, State, StoreError, Watch, chain, log};

/// Names the last entry, the history and the source of a state that comes, from before the first thing of it is written.
const ARRIVING: &str = "arriving";
/// Says that one has come: from then on a log that is gone was removed.
const ARRIVED: &str = "arrived";

/// What two places are called.
#[derive(Clone, Debug)]
pub struct Places {
    pub from: String,
    pub to: String,
}

/// What came of a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Migrated {
    /// It counts there now.
    Done { entries: usize, serial: u64 },
    /// It counted there before.
    Before,
}

/// What stands where a state should go.
enum Site {
    /// Nothing, or a copy that counts for nothing and ends at a position.
    Free { at: u64 },
    /// This very state, which counts.
    Taken,
}

/// A log under our lease.
struct Held<'a> {
    store: &'a StackStore,
    fence: Fence,
}

impl StackStore {
    /// Brings this state to another medium and closes it here. After a crash, call it again.
    ///
    /// # Errors
    /// A lock that somebody holds, another state at the place where it should go, or a medium that cannot be written. What
    /// counted before counts then, or nothing does until it is called again.
    pub async fn migrate(
        &self,
        there: &StackStore,
        claim: &Claim<'_>,
        places: &Places,
    ) -> Result<Migrated, StoreError> {
        let held = self.free_lease(claim, &mut Watch::default()).await?;
        let state = self.read_anyway().await?;
        if state.read.0.is_none() {
            return Err(StoreError::NoState { place: self.place() });
        }
        match &state.way {
            Some(Way::Arriving(from)) => {
                return Err(StoreError::OnItsWay { place: self.place(), from: from.clone() });
            }
            Some(Way::Leaving(to)) if *to != places.to => {
                return Err(StoreError::Moved { place: self.place(), to: to.clone() });
            }
            _ => {}
        }
        let far = there.free_lease(claim, &mut Watch::default()).await?;
        let site = there.site(&state).await?;
        match (site, &state.way) {
            (Site::Taken, Some(_)) => {
                there.mark(ARRIVED, ARRIVED).await?;
                Ok(Migrated::Before)
            }
            (Site::Taken, None) => Err(StoreError::Occupied { place: there.place() }),
            (Site::Free { .. }, _) => self.carry(there, (held, far), state, claim, places).await,
        }
    }

    /// Takes both leases, carries, and gives them back.
    async fn carry(
        &self,
        there: &StackStore,
        leases: (Option<LeaseSlot>, Option<LeaseSlot>),
        state: State,
        claim: &Claim<'_>,
        places: &Places,
    ) -> Result<Migrated, StoreError> {
        let here = Held { store: self, fence: self.take_lease(leases.0, state.token, claim).await? };
        let far = async {
            // A lease without a log tells of a log that was removed, unless this says that one is to come.
            let mark = format!("{} {} {}", state.serial + 1, state.lineage, places.from);
            there.mark(ARRIVING, &mark).await?;
            there.take_lease(leases.1, state.token, claim).await
        };
        let far = match far.await {
            Ok(fence) => Held { store: there, fence },
            Err(error) => {
                self.give_back(&here.fence, claim.now).await;
                return Err(error);
            }
        };
        let carried = carry_under(&here, &far, state, claim.now, places).await;
        self.give_back(&here.fence, claim.now).await;
        there.give_back(&far.fence, claim.now).await;
        carried
    }

    /// Looks at what stands here, for a state of a history that wants to come.
    async fn site(&self, coming: &State) -> Result<Site, StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        let occupied = || StoreError::Occupied { place: self.place() };
        let Some(found) = &written.log else {
            return match &written.head {
                // What a crash has left of an earlier try, or nothing at all.
                Kept::Head(head) if head.lineage != coming.lineage => Err(occupied()),
                _ => Ok(Site::Free { at: 0 }),
            };
        };
        let state = self.opened(&written).await?;
        match state {
            Some(state) if state.lineage == coming.lineage => Ok(match state.way {
                Some(Way::Leaving(_) | Way::Arriving(_)) => Site::Free { at: found.end },
                Some(Way::Arrived) | None => Site::Taken,
            }),
            _ => Err(occupied()),
        }
    }

    /// Keeps a mark; where the answer is lost, looks whether it is there.
    async fn mark(&self, name: &str, text: &str) -> Result<(), StoreError> {
        for _ in 0..TRIES {
            self.put(name, text.as_bytes()).await?;
            if self.backend.kept(&self.scope, name).await?.is_some() {
                return Ok(());
            }
        }
        Err(StoreError::Unanswered { place: self.place(), tries: TRIES })
    }

    /// Where the state comes from that is not whole here because whoever brings it was interrupted.
    pub(crate) async fn arriving(
        &self,
        written: &Written,
        damage: &Damage,
    ) -> Result<Option<String>, StoreError> {
        match damage {
            // A state that has arrived is one that was here.
            Damage::Removed { .. } if self.backend.kept(&self.scope, ARRIVED).await?.is_some() => Ok(None),
            Damage::Removed { .. } => {
                let mark = self.backend.kept(&self.scope, ARRIVING).await?.unwrap_or_default();
                let mark = String::from_utf8_lossy(&mark).into_owned();
                let mut words = mark.splitn(3, ' ');
                let told =
                    (words.next().and_then(|last| last.parse::<u64>().ok()), words.next(), words.next());
                let (Some(last), Some(lineage), Some(from)) = told else { return Ok(None) };
                // Another state stood here, or what was written since it came: that is no more on its way.
                let coming = match &written.head {
                    Kept::Head(head) => head.lineage == lineage && head.serial <= last,
                    Kept::Absent | Kept::Garbled => true,
                };
                Ok(coming.then(|| from.to_owned()))
            }
            Damage::NoHead => Ok(match self.opened(written).await {
                Ok(Some(State { way: Some(Way::Arriving(from)), .. })) => Some(from),
                _ => None,
            }),
            _ => Ok(None),
        }
    }

    /// The state in what was read; a crash may have come before its head was written.
    async fn opened(&self, written: &Written) -> Result<Option<State>, StoreError> {
        let (keys, place) = (self.keys_of(written).await?, self.place());
        let reader = self.reader(keys.as_ref(), &place);
        match log::open(written, &reader) {
            Err(StoreError::Damaged { damage: Damage::NoHead | Damage::Behind { .. }, .. }) => {
                log::open_without_head(written, &reader)
            }
            opened => opened,
        }
    }
}

/// The steps, with both leases in hand.
async fn carry_under(
    here: &Held<'_>,
    there: &Held<'_>,
    state: State,
    now: Timestamp,
    places: &Places,
) -> Result<Migrated, StoreError> {
    let left = matches!(state.way, Some(Way::Leaving(_)));
    let (state, keys) =
        if left { here.as_it_lies().await? } else { here.store.open_for(&here.fence, state, None).await? };
    let written = here.store.backend.read(&here.store.scope, 0).await?;
    let Some(found) = &written.log else {
        return Err(here.store.damaged(Damage::Removed { head: None }));
    };
    let place = here.store.place();
    let (mut records, mut entries) = log::entries(found, &here.store.reader(Some(&keys), &place))?;
    if left {
        // The entry that closed this place is not part of what goes.
        records.pop();
        entries.pop();
    }
    let n_entries = entries.len();
    let last = records.last().map(|record| chain::hash_of(record)).unwrap_or_default();
    let serial = entries.last().map_or(0, Entry::serial) + 1;
    let entry =
        Entry::Moved { serial, token: there.fence.token, at: now, way: Way::Arriving(places.from.clone()) };
    records.push(chain::write(&last, &log::json(&entry)));
    entries.push(entry);
    there.receive(&state, &keys, (&records, &entries), now).await?;
    if !left {
        let mut session = Session::new(here.store.clone(), state, keys, here.fence.clone());
        let (token, way) = (here.fence.token, Way::Leaving(places.to.clone()));
        session.write(vec![Entry::Moved { serial, token, at: now, way }]).await?;
    }
    let (arriving, keys) = there.as_it_lies().await?;
    let serial = arriving.serial + 1;
    let mut session = Session::new(there.store.clone(), arriving, keys, there.fence.clone());
    let token = there.fence.token;
    session.write(vec![Entry::Moved { serial, token, at: now, way: Way::Arrived }]).await?;
    there.store.mark(ARRIVED, ARRIVED).await?;
    Ok(Migrated::Done { entries: n_entries, serial })
}

impl Held<'_> {
    /// The state under our lease, whether it counts or not.
    async fn as_it_lies(&self) -> Result<(State, Keys), StoreError> {
        let state = self.store.read_anyway().await?;
        let keys = state.read.0.as_ref().and_then(|read| read.keys.clone());
        let keys = keys.ok_or_else(|| self.store.damaged(Damage::NoHeader))?;
        Ok((state, keys))
    }

    /// Puts a copy here that does not count yet, in place of whatever does not count.
    async fn receive(
        &self,
        coming: &State,
        old: &Keys,
        log: (&[String], &[Entry]),
        now: Timestamp,
    ) -> Result<(), StoreError> {
        let Site::Free { at } = self.store.site(coming).await? else {
            return Err(StoreError::Occupied { place: self.store.place() });
        };
        let store = self.store;
        let keys = store.next_keys(old.digest_key(), old.ring().number, &store.lock).await?;
        let (records, entries) = log;
        let hash = records.last().map(|record| chain::hash_of(record)).unwrap_or_default();
        let serial = entries.last().map_or(0, Entry::serial);
        let head = Head {
            lineage: coming.lineage.clone(),
            serial,
            hash,
            release: coming.last_release(),
            seal: Some(keys.mark()),
        };
        let records = keys.seal_log(&store.scope, &coming.lineage, records, entries)?;
        let copy = format!("log.moved-{}", now.millis);
        let keep_as = if at == 0 { None } else { Some(copy.as_str()) };
        store.replace(&self.fence, Replacement { at, records: &records, head: &head, keep_as }).await?;
        Ok(())
    }
}
