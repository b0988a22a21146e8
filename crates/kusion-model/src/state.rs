//! State: what the engine has made, one record per resource.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Attr, Deposed, Kept, Observed, ReferenceUse, ReleaseNo, ResourceKey, ResourceType};

/// What is remembered of one resource.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ResourceRecord {
    pub key: ResourceKey,
    #[serde(rename = "type")]
    pub kind: ResourceType,
    /// The attributes as last applied, with references filled in.
    pub attributes: Attr,
    /// All dependencies at that time; they order a later delete.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceKey>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// The identity that the platform gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<String>,
    /// Which fields of `attributes` were filled in from other resources of the stack: a rollback fills them in anew.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub references: Vec<ReferenceUse>,
    /// The release that wrote it last.
    pub release: ReleaseNo,
    /// It existed before we came.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub imported: bool,
    /// What the platform wants to get back with the next question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<Kept>,
    /// Objects that this one has replaced and that are not deleted yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub deposed: Vec<Deposed>,
}

impl ResourceRecord {
    /// Returns whether a live object is the one that was recorded. One that was made anew under the same name has another uid;
    /// a record from before uids were kept is believed.
    #[must_use]
    pub fn is_of(&self, live: &Observed) -> bool {
        self.uid.is_none() || live.uid.is_none() || self.uid == live.uid
    }
}

impl fmt::Debug for ResourceRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Record({} by release {})", self.key, self.release)
    }
}

/// The records of a stack by key, shared: planner, executor and store look at the same ones.
pub type Records = Arc<BTreeMap<ResourceKey, ResourceRecord>>;

/// The state as the planner sees it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prior {
    pub lineage: String,
    pub serial: u64,
    pub records: Records,
    /// What an interrupted release was going to make and may have made. Counts as recorded.
    pub intents: Records,
    /// What was being made when a release was cut off: it may exist although nothing is recorded of it.
    pub tried: Arc<BTreeSet<ResourceKey>>,
}

impl Prior {
    /// Returns the record of a resource, or else what an interrupted release was going to make.
    #[must_use]
    pub fn get(&self, key: &ResourceKey) -> Option<&ResourceRecord> {
        self.records.get(key).or_else(|| self.intents.get(key))
    }

    /// Returns the record of a resource, unless the live object is not the one that was recorded.
    #[must_use]
    pub fn of(&self, key: &ResourceKey, live: Option<&Observed>) -> Option<&ResourceRecord> {
        self.get(key).filter(|record| live.is_none_or(|live| record.is_of(live)))
    }

    /// Returns all keys, recorded or intended, once each and in order.
    #[must_use]
    pub fn keys(&self) -> Vec<&ResourceKey> {
        let mut keys: Vec<_> = self.records.keys().chain(self.intents.keys()).collect();
        keys.sort_unstable();
        keys.dedup();
        keys
    }
}
