//! Saving what can be saved of a damaged log: first told, then, on demand, done.

use kusion_model::Timestamp;

use crate::backend::{Kept, Replacement, Written};
use crate::entry::Entry;
use crate::store::header;
use crate::{Claim, Damage, Head, StackStore, State, StoreError, Watch, chain, log};

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
}

impl StackStore {
    /// Says what a repair would save; touches nothing. `witness` is what the cluster knows.
    pub async fn examine(&self, witness: Option<&Head>) -> Result<Findings, StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        self.find(&written, witness)
    }

    /// Makes the state that [`StackStore::examine`] tells, under the lock. The damaged log is kept beside the new one.
    pub async fn repair(&self, claim: &Claim<'_>, witness: Option<&Head>) -> Result<Findings, StoreError> {
        let held = self.free_lease(claim, &mut Watch::default()).await?;
        let found = self.examine(witness).await?;
        if found.damage.is_none() {
            return Ok(found);
        }
        let leased = held.is_some();
        let fence = self.take_lease(held, found.saved.token, claim).await?;
        // Our own lease tells nothing about what was here before.
        let written = Written { leased, ..self.backend.read(&self.scope, 0).await? };
        let findings = self.find(&written, witness)?;
        let repaired = match &findings.damage {
            None => Ok(0),
            Some(_) => {
                let (records, head) = self.rewritten(&written, &findings, fence.token, claim.now)?;
                let at = written.log.as_ref().map_or(0, |log| log.end);
                let copy = format!("log.damaged-{}", claim.now.millis);
                let keep_as = written.log.as_ref().map(|_| copy.as_str());
                self.replace(&fence, Replacement { at, records: &records, head: &head, keep_as }).await
            }
        };
        self.give_back(&fence, claim.now).await;
        repaired.map(|_| findings)
    }

    fn find(&self, written: &Written, witness: Option<&Head>) -> Result<Findings, StoreError> {
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
        match log::open(written, &self.scope, &self.place()) {
            Ok(state) => {
                let state = state.unwrap_or_else(|| State::new(String::new(), self.scope.clone()));
                let damage = witness.and_then(|witness| state.agrees_with(witness).err());
                let last = state.serial;
                let to = furthest.as_ref().map_or(last, |head| head.serial);
                let missing = if damage.is_some() && to > last { vec![(last + 1, to)] } else { Vec::new() };
                Ok(Findings { damage, saved: state, missing, whole: false, furthest })
            }
            Err(StoreError::Damaged { damage, .. }) => Ok(self.salvaged(written, damage, furthest)),
            Err(error) => Err(error),
        }
    }

    /// Folds every entry that is intact, in order.
    fn salvaged(&self, written: &Written, damage: Damage, furthest: Option<Head>) -> Findings {
        let strange = matches!(damage, Damage::Foreign { .. } | Damage::OtherStack { .. });
        let found = written.log.as_ref().filter(|_| !strange).map(log::salvage).unwrap_or_default();
        let lineage = found.iter().find_map(|entry| match entry {
            Entry::Header { lineage, .. } => Some(lineage.clone()),
            _ => None,
        });
        let mut saved = State::new(lineage.unwrap_or_default(), self.scope.clone());
        let mut by_serial: Vec<(u64, Entry)> =
            found.into_iter().map(|entry| (entry.serial(), entry)).collect();
        // A base is everything up to its serial, so it comes before what follows it.
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
        Findings { damage: Some(damage), saved, missing, whole, furthest }
    }

    /// The records of the repaired log, and their head.
    fn rewritten(
        &self,
        written: &Written,
        findings: &Findings,
        token: u64,
        now: Timestamp,
    ) -> Result<(Vec<String>, Head), StoreError> {
        if let (true, Some(found)) = (findings.whole, &written.log) {
            let beside = Written { head: Kept::Absent, ..written.clone() };
            let head =
                log::open_without_head(&beside, &self.scope, &self.place())?.and_then(|state| state.head());
            if let Some(head) = head {
                return Ok((log::entries(found, &self.place())?.0, head));
            }
        }
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
        let first = header(state.lineage.clone(), &self.scope, now);
        let base = chain::write(&chain::hash_of(&first), &log::json(&state.to_base(None)));
        let release = kusion_model::ReleaseNo(state.next_release().0 - 1);
        let head =
            Head { lineage: state.lineage, serial: state.serial, hash: chain::hash_of(&base), release };
        Ok((vec![first, base], head))
    }
}
