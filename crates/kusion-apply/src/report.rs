//! What came of a plan.

use std::collections::BTreeMap;

use kusion_model::{Attr, Phase, ReleaseNo, ResourceKey, Tally};
use kusion_runtime::ErrorKind;
use serde::Serialize;

/// How one step ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "end", rename_all = "kebab-case")]
pub enum StepEnd {
    /// Applied; its health was not waited for.
    Applied,
    Healthy,
    /// The call failed.
    Failed {
        message: String,
        /// What kind of failure it was, where a platform has told one.
        #[serde(skip)]
        kind: Option<ErrorKind>,
    },
    /// Applied, and then failed or not healthy in time.
    Unhealthy {
        message: String,
        cause: Option<String>,
        next: Option<String>,
        timed_out: bool,
    },
    /// Something before it failed.
    Skipped {
        because: ResourceKey,
    },
    /// The old object is gone and the new one is not made: something before it failed, or the run was stopped.
    HalfReplaced {
        because: Option<ResourceKey>,
    },
    /// A cancel or the failure policy stopped the run before it.
    NotStarted,
}

impl StepEnd {
    /// Returns whether the resource is as the plan wants it.
    #[must_use]
    pub fn is_success(&self) -> bool {
        matches!(self, StepEnd::Applied | StepEnd::Healthy)
    }

    /// Returns whether the world was written to.
    #[must_use]
    pub fn is_applied(&self) -> bool {
        self.is_made() || matches!(self, StepEnd::HalfReplaced { .. })
    }

    /// Returns whether all was done that was planned, however it turned out.
    #[must_use]
    pub fn is_made(&self) -> bool {
        self.is_success() || matches!(self, StepEnd::Unhealthy { .. })
    }
}

/// The end of an apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    pub release: ReleaseNo,
    pub phase: Phase,
    /// What was really done.
    pub tally: Tally,
    /// The steps that change something, by the text of their key; and what was left as it is and is not well.
    pub steps: BTreeMap<String, StepEnd>,
    /// How long each step took that was started, its wait for health included.
    pub millis: BTreeMap<String, u64>,
    pub cancelled: bool,
    /// Whether health was waited for: without it success only says that every write was accepted.
    pub waited: bool,
    /// The failure policy asks for the state before; the caller plans it.
    pub rollback_wanted: bool,
    #[serde(skip)]
    pub outputs: BTreeMap<String, Attr>,
    /// Outputs whose value is not of the type that the stack declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong_outputs: Vec<String>,
}

impl Report {
    /// Returns whether everything is as planned.
    #[must_use]
    pub fn is_success(&self) -> bool {
        self.phase == Phase::Succeeded
    }

    /// Returns whether some steps were applied and others were not.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        let applied = self.steps.values().filter(|end| end.is_applied()).count();
        applied > 0 && applied < self.steps.len()
    }

    /// Returns how a resource's step ended.
    #[must_use]
    pub fn end_of(&self, key: &ResourceKey) -> Option<&StepEnd> {
        self.steps.get(&key.to_string())
    }
}
