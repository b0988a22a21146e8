//! Saving what can be saved of a damaged log: first told, then, on demand, done.

use kusion_model::Timestamp;

use crate::backend::{Kept, Records, Replacement, Written};
use crate::entry::Entry;
use crate::ring::Preamble;
use crate::seal::random_key;
use crate::store::header;
use crate::{Claim, Damage, Fault, Head, Keys, StackStore, State, StoreError, Watch, chain, log};

/// What is left of a state.
#[derive(Debug)]
pub struct Findings {
    /// `None`: nothing is wrong.
    pub damage: Option<Damage>,
    /// What the state will be.
    pub saved: State,
    /// The entries that are missing or unreadable, as ranges of serials.
    pub missing: Vec<(u64, u64)>,
    /// Every entry is there; only what stands beside the log is wrong, and the history stays as it is.
    pub whole: bool,
    /// The highest serial that anybody knows of, and the history it belongs to.
    furthest: Option<Head>,
    /// What opens the entries; nothing if the key is lost, or the log was never sealed.
    keys: Option<Keys>,
    /// How many rings were made for this stack.
    rings: u64,
    /// A copy of the log that is whole where the log is not.
    copy: Option<Records>,
}

impl Findings {
    /// Returns the history that the state belongs to, as far as that is known here; empty if it is not.
    #[must_use]
    pub fn lineage(&self) -> &str {
        match &self.furthest {
            Some(head) if self.saved.lineage.is_empty() => &head.lineage,
            _ => &self.saved.lineage,
        }
    }

    /// Returns whether everything is sealed with a key that was not given: it may be whole.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        let about_key =
            matches!(self.damage, Some(Damage::Key | Damage::NoKey { .. } | Damage::WrongKey { .. }));
        self.keys.is_none() && (self.rings > 0 || about_key)
    }
}

impl StackStore {
    /// Says what a repair would save; touches nothing. `witness` is what the cluster knows.
    pub async fn examine(&self, witness: Option<&Head>) -> Result<Findings, StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        self.find(&written, witness).await
    }

    /// Makes the state that [`StackStore::examine`] tells, under the lock. The damaged log is kept beside the new one. With
    /// `lost_key` a state that nobody can open any more is begun anew.
    ///
    /// # Errors
    /// A lock that somebody else holds, or a key that was not given: what is sealed with it is not given up by mistake.
    pub async fn repair(
        &self,
        claim: &Claim<'_>,
        witness: Option<&Head>,
        lost_key: bool,
    ) -> Result<Findings, StoreError> {
        let held = self.free_lease(claim, &mut Watch::default()).await?;
        let found = self.examine(witness).await?;
        if found.damage.is_none() {
            return Ok(found);
        }
        if found.is_locked() && !lost_key {
            return Err(StoreError::KeyNeeded { place: self.place(), given: self.lock.word() });
        }
        let leased = held.is_some();
        let fence = self.take_lease(held, found.saved.token, claim).await?;
        // Our own lease tells nothing about what was here before.
        let written = Written { leased, ..self.backend.read(&self.scope, 0).await? };
        let findings = self.find(&written, witness).await?;
        let repaired = match &findings.damage {
            None => Ok(0),
            Some(_) => {
                let (records, head) = self.rewritten(&written, &findings, fence.token, claim.now).await?;
                let at = written.log.as_ref().map_or(0, |log| log.end);
                let copy = format!("log.damaged-{}", claim.now.millis);
                let keep_as = written.log.as_ref().map(|_| copy.as_str());
                self.replace(&fence, Replacement { at, records: &records, head: &head, keep_as }).await
            }
        };
        self.give_back(&fence, claim.now).await;
        repaired.map(|_| findings)
    }

    async fn find(&self, written: &Written, witness: Option<&Head>) -> Result<Findings, StoreError> {
        let furthest = match (&written.head, witness) {
            (Kept::Head(head), Some(witness))
                if witness.serial < head.serial && witness.lineage == head.lineage =>
            {
                Some(head.clone())
            }
            (_, Some(witness)) => Some(witness.clone()),
            (Kept::Head(head), None) => Some(head.clone()),
            _ => None,
        };
        let place = self.place();
        let (opened, keys) = match self.keys_of(written).await {
            Ok(keys) => (log::open(written, &self.reader(keys.as_ref(), &place)), keys),
            Err(error) => (Err(error), None),
        };
        let (spare, rings) = match &opened {
            Err(StoreError::Damaged { .. }) => self.spare_keys().await?,
            _ => (None, 0),
        };
        let keys = keys.or(spare);
        let damage = match opened {
            Ok(state) => {
                let state = state.unwrap_or_else(|| State::new(String::new(), self.scope.clone()));
                let found = self.found_whole(written, state, witness, furthest).await?;
                return Ok(Findings { keys, rings, ..found });
            }
            Err(StoreError::Damaged { damage, .. }) => damage,
            Err(StoreError::Newer { .. }) if self.is_all_known(written, keys.as_ref()) => {
                Damage::Garbled { line: 1, what: Fault::Seal }
            }
            Err(error) => return Err(error),
        };
        if let Some(from) = self.arriving(written, &damage).await? {
            return Err(StoreError::OnItsWay { place, from });
        }
        let copies = self.backend.copies(&self.scope).await?;
        for copy in &copies {
            let written = Written { log: Some(copy.clone()), ..written.clone() };
            let Ok(keys) = self.keys_of(&written).await else { continue };
            let opened = log::open(&written, &self.reader(keys.as_ref(), &place));
            let agrees = |state: &State| witness.is_none_or(|witness| state.agrees_with(witness).is_ok());
            if let Some(saved) = opened.ok().flatten().filter(agrees) {
                let (damage, copy) = (Some(damage), Some(copy.clone()));
                let missing = Vec::new();
                return Ok(Findings { damage, saved, missing, whole: true, furthest, keys, rings, copy });
            }
        }
        let found = self.salvaged(written, &copies, damage, furthest, keys.as_ref());
        Ok(Findings { keys, rings, ..found })
    }

    /// A log that opens: what the cluster and the copies say about it.
    async fn found_whole(
        &self,
        written: &Written,
        state: State,
        witness: Option<&Head>,
        furthest: Option<Head>,
    ) -> Result<Findings, StoreError> {
        let mut damage = witness.and_then(|witness| state.agrees_with(witness).err());
        let (mut saved, mut last) = (state.clone(), state.serial);
        if matches!(damage, Some(Damage::Stranger { .. })) {
            // What another history tells is not what was here.
            (saved, last) = (State::new(String::new(), self.scope.clone()), 0);
        }
        let to = furthest.as_ref().map_or(last, |head| head.serial);
        let missing = if damage.is_some() && to > last { vec![(last + 1, to)] } else { Vec::new() };
        let mut whole = false;
        if let (None, Some(log)) = (&damage, &written.log) {
            let copies = self.backend.copies(&self.scope).await?;
            if copies.iter().any(|copy| !is_like(copy, log)) {
                (damage, whole) = (Some(Damage::Unequal), true);
            }
        }
        Ok(Findings { damage, saved, missing, whole, furthest, keys: None, rings: 0, copy: None })
    }

    /// Whether every record is one that this engine knows, whatever format the first line names.
    fn is_all_known(&self, written: &Written, keys: Option<&Keys>) -> bool {
        let place = self.place();
        written.log.as_ref().is_some_and(|log| {
            let known = log::salvage(log, &self.reader(keys, &place), &lineages(written, None));
            known.len() == log.bounds.len()
        })
    }

    /// Folds every entry that is intact, in order.
    fn salvaged(
        &self,
        written: &Written,
        copies: &[Records],
        damage: Damage,
        furthest: Option<Head>,
        keys: Option<&Keys>,
    ) -> Findings {
        let strange = matches!(damage, Damage::Foreign { .. } | Damage::OtherStack { .. });
        let (place, lineages) = (self.place(), lineages(written, furthest.as_ref()));
        let reader = self.reader(keys, &place);
        let logs = written.log.iter().chain(copies).filter(|_| !strange);
        let found: Vec<Entry> = logs.flat_map(|log| log::salvage(log, &reader, &lineages)).collect();
        let lineage = found.iter().find_map(|entry| match entry {
            Entry::Header { lineage, .. } => Some(lineage.clone()),
            _ => None,
        });
        let mut saved = State::new(lineage.unwrap_or_default(), self.scope.clone());
        let mut by_serial: Vec<(u64, Entry)> =
            found.into_iter().map(|entry| (entry.serial(), entry)).collect();
        // A base is everything up to its serial, so it comes before what follows it, and nothing else counts before it.
        let base = by_serial.iter().filter(|(_, entry)| matches!(entry, Entry::Base { .. }));
        let from = base.map(|(serial, _)| *serial).max().unwrap_or(0);
        let counts = |serial: u64, entry: &Entry| match entry {
            Entry::Header { .. } => true,
            Entry::Base { .. } => serial == from,
            // The last entry that a base stands for has its number.
            _ => serial > from,
        };
        by_serial.retain(|(serial, entry)| counts(*serial, entry));
        by_serial.sort_by_key(|(serial, entry)| (!matches!(entry, Entry::Base { .. }), *serial));
        by_serial.dedup_by_key(|(serial, _)| *serial);
        let (mut missing, mut last) = (Vec::new(), 0);
        for (serial, entry) in by_serial {
            let jumps = matches!(entry, Entry::Base { .. } | Entry::Header { .. });
            if !jumps && serial > last + 1 {
                missing.push((last + 1, serial - 1));
            }
            last = last.max(serial);
            saved.fold(entry);
        }
        let to = furthest.as_ref().map_or(last, |head| head.serial);
        if to > last {
            missing.push((last + 1, to));
        }
        let whole = matches!(damage, Damage::NoHead | Damage::HeadGarbled) && to <= last;
        let damage = Some(damage);
        Findings { damage, saved, missing, whole, furthest, keys: None, rings: 0, copy: None }
    }

    /// The records of the repaired log, and their head.
    async fn rewritten(
        &self,
        written: &Written,
        findings: &Findings,
        token: u64,
        now: Timestamp,
    ) -> Result<(Vec<String>, Head), StoreError> {
        let log = findings.copy.as_ref().or(written.log.as_ref());
        if let (true, Some(found), Some(keys)) = (findings.whole, log, &findings.keys) {
            let beside = Written { head: Kept::Absent, log: Some(found.clone()), ..written.clone() };
            let place = self.place();
            let reader = self.reader(Some(keys), &place);
            if let Some(head) = log::open_without_head(&beside, &reader)?.and_then(|state| state.head()) {
                let (records, entries) = log::entries(found, &reader)?;
                return Ok((keys.seal_log(&self.scope, &head.lineage, &records, &entries)?, head));
            }
        }
        let keys = match &findings.keys {
            Some(keys) => keys.clone(),
            None if findings.rings == 0 => self.first_keys().await?,
            // What was sealed is lost with its key; a new one begins here.
            None => self.next_keys(&random_key()?, findings.rings, &self.lock).await?,
        };
        let mut state = findings.saved.clone();
        state.close_interrupted(now);
        let (serial, release, lineage) = match &findings.furthest {
            Some(head) => (head.serial, head.release, head.lineage.clone()),
            None => (0, Default::default(), String::new()),
        };
        // No number is used again, even if nothing is known about what it stood for.
        state.serial = state.serial.max(serial) + 1;
        state.last_release = state.last_release.max(release);
        state.token = state.token.max(token);
        if !lineage.is_empty() {
            state.lineage = lineage;
        } else if state.lineage.is_empty() {
            state.lineage = uuid::Uuid::new_v4().to_string();
        }
        let entries = [header(state.lineage.clone(), &self.scope, now), state.to_base(None)];
        let first = chain::write(chain::NOTHING, &log::json(&entries[0]));
        let base = chain::write(&chain::hash_of(&first), &log::json(&entries[1]));
        let release = kusion_model::ReleaseNo(state.next_release().0 - 1);
        let (hash, seal) = (chain::hash_of(&base), Some(keys.mark()));
        let records = keys.seal_log(&self.scope, &state.lineage, &[first, base], &entries)?;
        Ok((records, Head { lineage: state.lineage, serial: state.serial, hash, release, seal }))
    }
}

/// Whether a copy holds what a log does; one of an older generation is another log. Somebody may have written meanwhile.
fn is_like(copy: &Records, log: &Records) -> bool {
    let same = copy.iter().zip(log.iter()).all(|(copied, read)| copied == read);
    copy.end >> 32 != log.end >> 32 || (same && copy.bounds.len() >= log.bounds.len())
}

/// The histories that the entries of a log may belong to.
fn lineages(written: &Written, furthest: Option<&Head>) -> Vec<String> {
    let first = written.log.as_ref().and_then(|log| log.iter().next());
    let told = first.and_then(Preamble::read).and_then(Result::ok).map(|preamble| preamble.lineage);
    let beside = match &written.head {
        Kept::Head(head) => Some(head.lineage.clone()),
        Kept::Absent | Kept::Garbled => None,
    };
    told.into_iter().chain(beside).chain(furthest.map(|head| head.lineage.clone())).collect()
}
