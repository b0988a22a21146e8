//! From a Plan to a Report, recorded.

use kusion_apply::{ApplyError, ApplyInput, CancelToken, Clock, Event, Health, Options, Report, apply};
use kusion_model::{DigestKey, StackOutput};
use kusion_runtime::Runtimes;
use kusion_store::{ReleaseDraft, Session};

use crate::Planned;

/// What an execution runs on.
pub struct Execution<'a> {
    pub runtimes: &'a Runtimes,
    pub health: &'a dyn Health,
    pub clock: &'a dyn Clock,
    pub cancel: &'a CancelToken,
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    pub options: Options,
    pub key: &'a DigestKey,
    /// What other stacks may refer to.
    pub outputs: &'a [StackOutput],
}

/// Carries a plan out; the session stays open.
///
/// # Errors
/// Conflicts in the plan, or a state that cannot be written.
pub async fn execute(
    planned: &Planned,
    session: &mut Session,
    draft: ReleaseDraft,
    with: &Execution<'_>,
) -> Result<Report, ApplyError> {
    let input = ApplyInput {
        plan: &planned.plan,
        secrets: &planned.secrets,
        live: &planned.live,
        prior: &planned.prior,
        digest_key: with.key,
        outputs: with.outputs,
        runtimes: with.runtimes,
        health: with.health,
        clock: with.clock,
        cancel: with.cancel,
        events: with.events,
        options: with.options,
    };
    apply(&input, session, draft).await
}
