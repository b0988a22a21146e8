//! Releases: who did what, from which source, with which result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{ClusterIdentity, ResourceKey, ResourceRecord, Tally, Timestamp};

/// The number of a release in its stack, from 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ReleaseNo(pub u64);

impl fmt::Display for ReleaseNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Where a release stands; the names are upstream's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    Applying,
    Destroying,
    Succeeded,
    Failed,
}

impl Phase {
    /// Returns whether the release has ended.
    #[must_use]
    pub fn is_final(self) -> bool {
        matches!(self, Phase::Succeeded | Phase::Failed)
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Phase::Applying => "applying",
            Phase::Destroying => "destroying",
            Phase::Succeeded => "succeeded",
            Phase::Failed => "failed",
        })
    }
}

/// Who acts, from where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub user: String,
    pub host: String,
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}", self.user, self.host)
    }
}

/// The record of one release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    pub no: ReleaseNo,
    pub phase: Phase,
    pub by: Subject,
    /// The commit of the source, with `+` behind it if files were changed beside it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// The folder of the project: two projects of one name would share this state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// What the default cluster was called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// The clusters it worked on, by the name that resources use; the default one has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub clusters: BTreeMap<String, ClusterIdentity>,
    /// The clusters that were left for others of the same name: what was recorded there is forgotten.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub moved: BTreeSet<String>,
    /// The arguments of the program: names, and seals of their values. A value may be a password.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "sealed_inputs")]
    pub inputs: BTreeMap<String, String>,
    pub plan_hash: String,
    pub engine: String,
    pub started: Timestamp,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<Timestamp>,
    pub tally: Tally,
    /// What its author says about it: `apply -m`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Why it did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The release whose state this one went back to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_to: Option<ReleaseNo>,
}

/// The cause of a release that was stopped, by hand or by a kill.
pub const INTERRUPTED: &str = "interrupted";

impl Release {
    /// Returns the word for how it went: its phase, or that it was interrupted.
    #[must_use]
    pub fn word(&self) -> String {
        match self.cause.as_deref() {
            Some(INTERRUPTED) => INTERRUPTED.to_owned(),
            _ => self.phase.to_string(),
        }
    }
}

/// What an input of an old log is shown as: those were kept in clear.
const HIDDEN: &str = "(hidden)";

fn sealed_inputs<'de, D: serde::Deserializer<'de>>(from: D) -> Result<BTreeMap<String, String>, D::Error> {
    let mut inputs = BTreeMap::<String, String>::deserialize(from)?;
    inputs.values_mut().filter(|text| !crate::is_seal(text)).for_each(|text| *text = HIDDEN.to_owned());
    Ok(inputs)
}

/// The difference between the states of two releases.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReleaseDiff {
    pub added: Vec<ResourceKey>,
    pub removed: Vec<ResourceKey>,
    pub changed: Vec<ResourceKey>,
}

/// Compares the records of two releases.
#[must_use]
pub fn diff_releases(
    from: &BTreeMap<ResourceKey, ResourceRecord>,
    to: &BTreeMap<ResourceKey, ResourceRecord>,
) -> ReleaseDiff {
    let mut diff = ReleaseDiff::default();
    for (key, record) in to {
        match from.get(key) {
            None => diff.added.push(key.clone()),
            Some(old) if old.attributes != record.attributes => diff.changed.push(key.clone()),
            Some(_) => {}
        }
    }
    diff.removed = from.keys().filter(|key| !to.contains_key(key)).cloned().collect();
    diff
}
