//! What happens, as data; renderers live elsewhere.

use kusion_model::{Action, Phase, ReleaseNo, ResourceKey, Tally, Timestamp};
use serde::Serialize;

use crate::HealthVerdict;

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Event {
    pub at: Timestamp,
    #[serde(flatten)]
    pub kind: EventKind,
}

/// The kinds of events, in the order in which they come for one resource.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case", rename_all_fields = "camelCase")]
pub enum EventKind {
    ReleaseStarted {
        release: ReleaseNo,
        plan: String,
        tally: Tally,
    },
    StepStarted {
        key: ResourceKey,
        action: Action,
    },
    /// A transient failure; the next try comes after `after_millis`.
    Retrying {
        key: ResourceKey,
        attempt: u32,
        message: String,
        after_millis: u64,
    },
    StepApplied {
        key: ResourceKey,
        action: Action,
        millis: u64,
        warnings: Vec<String>,
    },
    StepFailed {
        key: ResourceKey,
        action: Action,
        message: String,
    },
    /// Something before it failed.
    StepSkipped {
        key: ResourceKey,
        because: ResourceKey,
    },
    /// The deletion of what the resource replaces, or had left behind, begins.
    OldLeaving {
        key: ResourceKey,
    },
    OldGone {
        key: ResourceKey,
        millis: u64,
    },
    /// What it has replaced is not deleted, because something before that failed; it stays recorded.
    OldStays {
        key: ResourceKey,
        because: ResourceKey,
    },
    /// The apply waits for its health.
    HealthAwaited {
        key: ResourceKey,
    },
    HealthKnown {
        key: ResourceKey,
        verdict: HealthVerdict,
        message: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        cause: Option<String>,
        #[serde(skip_serializing_if = "Option::is_none")]
        next: Option<String>,
        millis: u64,
    },
    /// A cancel or a failure: nothing new starts.
    Draining {
        in_flight: usize,
    },
    ReleaseEnded {
        release: ReleaseNo,
        phase: Phase,
        tally: Tally,
    },
}
