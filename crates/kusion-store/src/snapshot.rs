//! A state as a document of its own: what `kusion state pull` prints and `kusion state push` reads.

use std::collections::BTreeMap;

use kusion_model::{Attr, Records, ReleaseNo, ResourceRecord, Scope};
use serde::{Deserialize, Serialize};

use crate::backend::Replacement;
use crate::store::header;
use crate::{Claim, Head, Outcome, StackStore, State, StoreError, Watch, chain, log};

/// The schema of the document.
pub const SNAPSHOT_SCHEMA: &str = "kusion.io/state/v1";

/// What is recorded of a stack; secrets are digests in it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Snapshot {
    pub schema: String,
    pub stack: Scope,
    pub lineage: String,
    pub serial: u64,
    /// The newest release.
    pub release: ReleaseNo,
    pub resources: Vec<ResourceRecord>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Attr>,
}

/// Why a snapshot does not fit.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    #[error("it has the schema `{found}`, and {SNAPSHOT_SCHEMA} is read")]
    Schema { found: String },
    #[error("it is of the stack {found}")]
    OtherStack { found: Box<Scope> },
    #[error("it is of another history ({found}) than the state ({known})")]
    Foreign { found: String, known: String },
    #[error("it is older (serial {found}) than the state (serial {known}): somebody has written since")]
    Older { found: u64, known: u64 },
    #[error("`{id}` stands in it twice")]
    Twice { id: String },
}

impl Snapshot {
    /// The document of a state.
    #[must_use]
    pub fn of(state: &State) -> Snapshot {
        Snapshot {
            schema: SNAPSHOT_SCHEMA.to_owned(),
            stack: state.scope.clone(),
            lineage: state.lineage.clone(),
            serial: state.serial,
            release: state.last_release(),
            resources: state.records.values().cloned().collect(),
            outputs: state.outputs.clone(),
        }
    }

    /// Whether it can be put in place of a state.
    ///
    /// # Errors
    /// Why not.
    pub fn fits(&self, state: &State) -> Result<(), Unfit> {
        if self.schema != SNAPSHOT_SCHEMA {
            return Err(Unfit::Schema { found: self.schema.clone() });
        }
        if self.stack != state.scope {
            return Err(Unfit::OtherStack { found: Box::new(self.stack.clone()) });
        }
        let mut keys = std::collections::BTreeSet::new();
        if let Some(record) = self.resources.iter().find(|record| !keys.insert(&record.key)) {
            return Err(Unfit::Twice { id: record.key.to_string() });
        }
        if !state.is_written() {
            return Ok(());
        }
        if self.lineage != state.lineage {
            return Err(Unfit::Foreign { found: self.lineage.clone(), known: state.lineage.clone() });
        }
        if self.serial < state.serial {
            return Err(Unfit::Older { found: self.serial, known: state.serial });
        }
        Ok(())
    }

    /// What must be recorded and forgotten so that a state becomes this.
    #[must_use]
    pub fn changes(&self, state: &State) -> Vec<Outcome> {
        let wanted: BTreeMap<_, _> = self.resources.iter().map(|record| (&record.key, record)).collect();
        let gone = state.records.keys().filter(|key| !wanted.contains_key(key));
        let gone = gone.map(|key| Outcome::Forgotten(key.clone()));
        let other = wanted.iter().filter(|(key, record)| state.records.get(key) != Some(**record));
        gone.chain(other.map(|(_, record)| Outcome::Recorded(Box::new((*record).clone())))).collect()
    }
}

impl State {
    /// Whether it was read from a log that somebody has written to.
    #[must_use]
    pub fn is_written(&self) -> bool {
        self.read.0.is_some() && self.serial > 0
    }
}

impl StackStore {
    /// Makes a snapshot the state where there is none, or one that is older: its history goes on behind the snapshot's serial,
    /// and no number is used again. A log that stood there is kept.
    ///
    /// # Errors
    /// A lock that somebody holds; a state that is as new as the snapshot.
    pub async fn restore(&self, claim: &Claim<'_>, snapshot: &Snapshot) -> Result<u64, StoreError> {
        let held = self.free_lease(claim, &mut Watch::default()).await?;
        let now = self.read().await?;
        let fence = self.take_lease(held, now.token, claim).await?;
        let restored = self.restore_under(&fence, claim, snapshot).await;
        self.give_back(&fence, claim.now).await;
        restored
    }

    async fn restore_under(
        &self,
        fence: &crate::Fence,
        claim: &Claim<'_>,
        snapshot: &Snapshot,
    ) -> Result<u64, StoreError> {
        let written = self.backend.read(&self.scope, 0).await?;
        let keys = match self.keys_of(&written).await? {
            Some(keys) => keys,
            None => self.first_keys().await?,
        };
        let place = self.place();
        if written.log.is_some() {
            let state = log::open(&written, &self.reader(Some(&keys), &place))?;
            if state.as_ref().is_some_and(|state| state.is_written() && state.serial >= snapshot.serial) {
                return Err(StoreError::Stale { expected: snapshot.serial });
            }
        }
        let mut state = State::new(snapshot.lineage.clone(), self.scope.clone());
        let by_key = snapshot.resources.iter().map(|record| (record.key.clone(), record.clone()));
        state.records = Records::new(by_key.collect());
        state.outputs = snapshot.outputs.clone();
        state.serial = snapshot.serial + 1;
        state.last_release = snapshot.release;
        state.token = fence.token;
        let entries = [header(state.lineage.clone(), &self.scope, claim.now), state.to_base(None)];
        let first = chain::write(chain::NOTHING, &log::json(&entries[0]));
        let base = chain::write(&chain::hash_of(&first), &log::json(&entries[1]));
        let head = Head {
            lineage: state.lineage.clone(),
            serial: state.serial,
            hash: chain::hash_of(&base),
            release: state.last_release,
            seal: Some(keys.mark()),
        };
        let records = keys.seal_log(&self.scope, &state.lineage, &[first, base], &entries)?;
        let copy = format!("log.replaced-{}", claim.now.millis);
        let (at, keep_as) = match &written.log {
            Some(log) => (log.end, Some(copy.as_str())),
            None => (0, None),
        };
        self.replace(fence, Replacement { at, records: &records, head: &head, keep_as }).await?;
        Ok(state.serial)
    }
}
