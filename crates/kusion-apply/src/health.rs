//! Waiting for health, injected: the judge knows kinds, the executor only waits.

use futures::future::BoxFuture;
use kusion_model::{Action, Observed, ResourceKey, ResourceType};
use serde::Serialize;

/// The end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum HealthVerdict {
    Healthy,
    /// It will not get well by waiting.
    Failed,
    /// Not healthy within its deadline.
    TimedOut,
    /// Nobody can tell; counts as ready.
    Unknown,
    /// It does nothing by intention; counts as ready.
    Suspended,
}

impl HealthVerdict {
    /// Returns whether dependents may go on.
    #[must_use]
    pub fn is_ready(self) -> bool {
        matches!(self, HealthVerdict::Healthy | HealthVerdict::Unknown | HealthVerdict::Suspended)
    }
}

/// What to wait for.
#[derive(Clone, Debug)]
pub struct HealthTarget {
    pub key: ResourceKey,
    pub kind: ResourceType,
    pub action: Action,
    /// The object as it was right after the apply.
    pub observed: Observed,
}

/// What came of the wait.
#[derive(Clone, Debug, PartialEq)]
pub struct HealthOutcome {
    pub verdict: HealthVerdict,
    pub message: String,
    pub cause: Option<String>,
    pub next: Option<String>,
    /// The object as it is now; references of dependents read from it.
    pub observed: Option<Observed>,
}

/// A resource that was left as it is and is not well, or not known to be.
#[derive(Clone, Debug)]
pub struct Doubt {
    /// As it is now; to be waited for.
    pub target: HealthTarget,
    /// The end of the wait, if waiting would not help.
    pub outcome: Option<HealthOutcome>,
}

/// Waits until a resource is healthy, has failed, or its deadline is over. Event-driven; owns its deadlines.
pub trait Health: Send + Sync {
    /// Waits for one resource. Many waits run at the same time.
    fn wait<'a>(&'a self, target: HealthTarget) -> BoxFuture<'a, HealthOutcome>;

    /// Looks once at what was left as it is, and gives back what is not surely well. Costs one list per kind, not one
    /// question per resource.
    fn doubts<'a>(&'a self, targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>>;
}

/// Takes everything for ready at once.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHealth;

impl Health for NoHealth {
    fn wait<'a>(&'a self, _target: HealthTarget) -> BoxFuture<'a, HealthOutcome> {
        let outcome = HealthOutcome {
            verdict: HealthVerdict::Unknown,
            message: String::new(),
            cause: None,
            next: None,
            observed: None,
        };
        Box::pin(futures::future::ready(outcome))
    }

    fn doubts<'a>(&'a self, _targets: Vec<HealthTarget>) -> BoxFuture<'a, Vec<Doubt>> {
        Box::pin(futures::future::ready(Vec::new()))
    }
}
