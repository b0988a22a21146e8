//! The entries of the log.

use std::collections::BTreeMap;

use kusion_model::{
    Attr, Phase, Release, ReleaseNo, ResourceKey, ResourceRecord, Scope, Step, Tally, Timestamp,
};
use serde::{Deserialize, Serialize};

use crate::vault::Vault;

/// The format of the entries and their chain.
pub(crate) const FORMAT: u32 = 2;
/// The same in sealed records: what this engine writes.
pub(crate) const SEALED: u32 = 3;

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub(crate) enum Entry {
    /// The first line.
    Header { format: u32, lineage: String, scope: Scope, created: Timestamp },
    /// Everything before the oldest kept release, folded; or what a repair has saved.
    Base {
        serial: u64,
        token: u64,
        records: Vec<ResourceRecord>,
        intents: Vec<ResourceRecord>,
        releases: Vec<Release>,
        outputs: BTreeMap<String, Attr>,
        /// The hash of the last entry that was folded: the next one follows from that, as it did before.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        folded: Option<String>,
        /// The numbers of releases up to this one are used, even if nothing is known about them any more.
        #[serde(default, skip_serializing_if = "is_none")]
        last_release: ReleaseNo,
        /// The sealed values of the secrets in the records.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        secrets: Vault,
        /// What was being made when a release was cut off.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        tried: Vec<ResourceKey>,
    },
    /// A release starts; the steps that change something are here before the first of them is tried.
    Begin { serial: u64, token: u64, release: Box<Release>, steps: Vec<Step> },
    /// What came of some steps.
    Outcomes {
        serial: u64,
        token: u64,
        release: ReleaseNo,
        outcomes: Vec<Outcome>,
        /// The sealed values of secrets that were not kept before.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        secrets: Vault,
    },
    /// A release ends.
    End { serial: u64, token: u64, release: ReleaseNo, end: ReleaseEnd },
    /// Everything is sealed with another key from here on.
    Rotated { serial: u64, token: u64, ring: u64, at: Timestamp },
    /// The state goes to another place, or has come from one.
    Moved { serial: u64, token: u64, at: Timestamp, way: Way },
}

/// A state between two places. At every moment at most one of them can be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Way {
    /// It counts no more; the address is where it went.
    Leaving(String),
    /// It does not count yet; the address is where it comes from.
    Arriving(String),
    /// It counts.
    Arrived,
}

impl Entry {
    /// Returns its number; the header has 0.
    pub(crate) fn serial(&self) -> u64 {
        match self {
            Entry::Header { .. } => 0,
            Entry::Base { serial, .. }
            | Entry::Begin { serial, .. }
            | Entry::Outcomes { serial, .. }
            | Entry::End { serial, .. }
            | Entry::Rotated { serial, .. }
            | Entry::Moved { serial, .. } => *serial,
        }
    }
}

fn is_none(no: &ReleaseNo) -> bool {
    no.0 == 0
}

/// What came of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Nothing yet: it is being made from now on, and a crash would leave nobody who knows whether it was.
    Tried(ResourceKey),
    /// It exists as recorded.
    Recorded(Box<ResourceRecord>),
    /// It is gone, or never was.
    Forgotten(ResourceKey),
    /// It failed; `uncertain` says that the write may have happened all the same.
    Failed { key: ResourceKey, message: String, uncertain: bool },
}

impl Outcome {
    /// Returns the resource it is about.
    #[must_use]
    pub fn key(&self) -> &ResourceKey {
        match self {
            Outcome::Recorded(record) => &record.key,
            Outcome::Tried(key) | Outcome::Forgotten(key) | Outcome::Failed { key, .. } => key,
        }
    }
}

/// How a release ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReleaseEnd {
    pub phase: Phase,
    pub ended: Timestamp,
    pub tally: Tally,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// What other stacks may refer to, by the text of the output; sealed.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, Attr>,
}
