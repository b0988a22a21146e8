//! What an apply takes, and its entry.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::channel::mpsc;
use futures::future::join;
use kusion_model::{DigestKey, Note, Observed, Plan, Platforms, Prior, ReleaseNo, ResourceKey, StackOutput};
use kusion_runtime::Runtimes;
use kusion_store::{ReleaseDraft, Session, StoreError};

use crate::keeper::Keeper;
use crate::walk::Walk;
use crate::{CancelToken, Clock, Event, EventKind, Health, Report, RetryPolicy};

/// What to do when a step fails.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Start nothing new.
    #[default]
    Stop,
    /// Go on with everything that does not depend on it.
    Continue,
    /// Start nothing new and ask the caller to go back.
    Rollback,
}

/// How to walk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    pub concurrency: usize,
    pub retry: RetryPolicy,
    pub on_failure: FailurePolicy,
    /// Wait until everything that was applied is healthy.
    pub wait: bool,
    /// How long a delete may take.
    pub gone_limit: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            concurrency: 16,
            retry: RetryPolicy::default(),
            on_failure: FailurePolicy::default(),
            wait: true,
            gone_limit: Duration::from_secs(120),
        }
    }
}

/// Everything an apply needs beside the session.
pub struct ApplyInput<'a> {
    pub plan: &'a Plan,
    /// The live objects as observed for the plan; references to what does not change read from them.
    pub live: &'a BTreeMap<ResourceKey, Observed>,
    /// The records before, and what an interrupted release was going to make.
    pub prior: &'a Prior,
    pub digest_key: &'a DigestKey,
    /// What a value that becomes known has to look like.
    pub platforms: &'a Platforms,
    pub outputs: &'a [StackOutput],
    pub runtimes: &'a Runtimes,
    pub health: &'a dyn Health,
    pub clock: &'a dyn Clock,
    pub cancel: &'a CancelToken,
    pub events: &'a (dyn Fn(Event) + Send + Sync),
    pub options: Options,
}

/// An apply that could not be carried through.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    #[error("other managers own fields of this plan: {}", .0.join("; "))]
    Conflict(Vec<String>),
    #[error("objects of this plan belong to other stacks: {}", .0.join("; "))]
    Owned(Vec<String>),
    #[error("outputs that stacks share are going away at this very moment: {}", .0.join("; "))]
    Shared(Vec<String>),
    #[error("the state could not be written: {source}")]
    Store {
        #[source]
        source: StoreError,
        /// What was done before; absent if nothing was started.
        report: Option<Box<Report>>,
    },
}

/// Begins a release and carries its plan out; the session stays open for the caller to close.
pub async fn apply(
    input: &ApplyInput<'_>,
    session: &mut Session,
    draft: ReleaseDraft,
) -> Result<Report, ApplyError> {
    let release = begin(input, session, draft).await?;
    carry_out(input, session, release).await
}

/// Begins a release: the plan is durable before anything of it is tried.
pub async fn begin(
    input: &ApplyInput<'_>,
    session: &mut Session,
    draft: ReleaseDraft,
) -> Result<ReleaseNo, ApplyError> {
    refuse_conflicts(input.plan)?;
    let begun = session.begin(input.plan, draft, input.clock.now()).await;
    begun.map_err(|source| ApplyError::Store { source, report: None })
}

/// Carries out the plan of a release that has begun.
pub async fn carry_out(
    input: &ApplyInput<'_>,
    session: &mut Session,
    release: ReleaseNo,
) -> Result<Report, ApplyError> {
    let (outbox, inbox) = mpsc::unbounded();
    let trouble = CancelToken::default();
    let mut walk = Walk::new(input, release, outbox, trouble.clone());
    walk.emit(EventKind::ReleaseStarted {
        release,
        plan: input.plan.hash.clone(),
        tally: input.plan.tally(),
    });
    walk.refresh_records();
    let keeper = Keeper { session: &mut *session, release, clock: input.clock, inbox, trouble };
    let ((), kept) = join(walk.run(), keeper.run()).await;
    walk.finish(session, kept).await
}

fn refuse_conflicts(plan: &Plan) -> Result<(), ApplyError> {
    let all = plan.steps.iter().flat_map(|step| step.changes.iter().map(move |change| (step, change)));
    let owned =
        plan.steps.iter().filter_map(|step| Some(format!("{} belongs to {}", step.key, step.refused_for()?)));
    let owned: Vec<String> = owned.collect();
    if !owned.is_empty() {
        return Err(ApplyError::Owned(owned));
    }
    let refused: Vec<String> = all
        .filter(|(_, change)| change.note == Some(Note::Conflict))
        .map(|(step, change)| {
            format!(
                "{} {} is owned by {}",
                step.key,
                change.path,
                change.manager.as_deref().unwrap_or("another")
            )
        })
        .collect();
    if refused.is_empty() { Ok(()) } else { Err(ApplyError::Conflict(refused)) }
}
