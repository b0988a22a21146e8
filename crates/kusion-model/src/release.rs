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
    /// Who that is beyond the account of a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub identity: Option<Identity>,
}

/// Who somebody is, by more than the account of a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum Identity {
    /// A token of an OpenID provider whose signature was checked with the provider's keys.
    Token {
        issuer: String,
        subject: String,
        /// Name or address that the provider tells.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        name: Option<String>,
    },
    /// The author that git is set up with: what somebody says about himself.
    Git { author: String },
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Identity::Token { issuer, subject, name: None } => write!(f, "{subject} (token of {issuer})"),
            Identity::Token { issuer, subject, name: Some(name) } => {
                write!(f, "{name}, {subject} (token of {issuer})")
            }
            Identity::Git { author } => write!(f, "{author} (git, as they say themselves)"),
        }
    }
}

/// Which source a release was made from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Checkout {
    pub commit: String,
    /// Nothing was changed beside the commit.
    pub clean: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Where the repository was cloned from, without credentials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remote: Option<String>,
}

/// Consent to a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    pub how: Approved,
    pub by: Subject,
    pub at: Timestamp,
    /// The plan that was looked at.
    pub plan_hash: String,
}

/// How consent was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approved {
    /// Somebody was shown the plan and said yes.
    Asked,
    /// In advance, to whatever the plan would be: `-y`.
    Beforehand,
    /// To a plan that was saved; this is who saved it.
    SavedPlan,
    /// By a policy: what to do when a release fails.
    Policy,
}

impl fmt::Display for Approved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Approved::Asked => "looked at the plan and said yes",
            Approved::Beforehand => "beforehand (-y)",
            Approved::SavedPlan => "saved the plan",
            Approved::Policy => "by the policy for failures",
        })
    }
}

/// How long the stages of a release took, in milliseconds, before the first change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Timings {
    pub plan: u64,
    pub consent: u64,
    pub lock: u64,
}

impl Timings {
    fn is_unknown(&self) -> bool {
        *self == Timings::default()
    }
}

/// A value of another stack that a release has used.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OutputUse {
    /// What it refers to, as an entry of `outputs:` would name it.
    pub output: String,
    /// The release of that stack since which the value is what it is.
    #[serde(default)]
    pub version: ReleaseNo,
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Checkout>,
    /// Digests of what was evaluated, by package; the stack's own files are `.`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub models: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approvals: Vec<Approval>,
    #[serde(default, skip_serializing_if = "Timings::is_unknown")]
    pub timings: Timings,
    /// Values of other stacks that it used, by `project/stack`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub uses: BTreeMap<String, Vec<OutputUse>>,
    /// What it gives to other stacks: since which release each value is what it is.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub outputs: BTreeMap<String, ReleaseNo>,
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
    /// What was left there.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left: BTreeSet<ResourceKey>,
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
    /// Outputs that it takes away: whoever begins to use one of them while it runs is told.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gives_up: Vec<String>,
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
