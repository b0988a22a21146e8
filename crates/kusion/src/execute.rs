//! From a Plan to a Report, recorded.

use futures::future::{BoxFuture, join};
use kusion_apply::{
    ApplyError, ApplyInput, CancelToken, Clock, Event, Health, Options, Report, begin, carry_out,
};
use kusion_model::{DigestKey, Phase, ReleaseNo, StackOutput, Tally};
use kusion_runtime::Runtimes;
use kusion_store::{ReleaseDraft, ReleaseEnd, Session, State};

use crate::{Planned, Stand};

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
    /// Why it must not go on, asked when its release has begun: what another stack began at the same moment.
    pub clashes: &'a (dyn Fn() -> BoxFuture<'a, Vec<String>> + Send + Sync),
    /// Is told how far the log has been written, at begin and end.
    pub witness: &'a Stand,
    /// Takes what a person should know beside the events.
    pub warn: &'a (dyn Fn(&str) + Send + Sync),
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
        plan: planned.plan(),
        live: planned.live(),
        prior: planned.prior(),
        digest_key: with.key,
        platforms: planned.platforms(),
        outputs: with.outputs,
        runtimes: with.runtimes,
        health: with.health,
        clock: with.clock,
        cancel: with.cancel,
        events: with.events,
        options: with.options,
    };
    let release = begin(&input, session, draft).await?;
    let clashes = (with.clashes)().await;
    if !clashes.is_empty() {
        call_off(session, release, &clashes, with).await?;
        return Err(ApplyError::Shared(clashes));
    }
    // The first step need not wait until the cluster knows that there is a release.
    let begun = tell_witness(session.state(), with);
    let (done, ()) = join(carry_out(&input, session, release), begun).await;
    tell_witness(session.state(), with).await;
    done
}

/// Ends a release of which nothing was tried.
async fn call_off(
    session: &mut Session,
    release: ReleaseNo,
    clashes: &[String],
    with: &Execution<'_>,
) -> Result<(), ApplyError> {
    let end = ReleaseEnd {
        phase: Phase::Failed,
        ended: with.clock.now(),
        tally: Tally::default(),
        message: Some(clashes.join("; ")),
        outputs: session.state().outputs.clone(),
    };
    let ended = session.end(release, Vec::new(), end).await;
    ended.map_err(|source| ApplyError::Store { source, report: None })
}

/// Tells the end of the log as it is now.
fn tell_witness<'a>(state: &State, with: &Execution<'a>) -> impl Future<Output = ()> + Send + use<'a> {
    let is_empty = state.records.is_empty() && state.intents.is_empty();
    let (head, witness, warn) = (state.head(), with.witness, with.warn);
    async move {
        if let Some(head) = head {
            witness.tell(&head, is_empty).await.iter().for_each(|text| warn(text));
        }
    }
}
