//! A real walk: the executor with its keeper, on a platform that makes a resource in the time that a cluster needs.

use std::collections::BTreeMap;
use std::future::ready;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use kusion_apply::{ApplyInput, CancelToken, Clock, EventKind, NoHealth, Options, apply};
use kusion_model::{DigestKey, Observed, Platforms, Proposal, ResourceKey, ResourceType, Timestamp};
use kusion_runtime::{
    Applied, DeleteAsk, Deleted, IdentifyAsk, ObserveAsk, ProposeAsk, Runtime, RuntimeError, Runtimes,
    WriteAsk,
};
use kusion_store::{Backend, Liveness, SimMedium, Store};

use super::work::{now, owner, plan, release, scope};

/// How many resources a second the engine creates at best (docs/evidence.md): a run that is slower has more time for its state.
const CREATES_PER_SECOND: u32 = 300;

/// Where the time of a run went.
pub(super) struct Run {
    /// From the lock to giving it back.
    pub(super) whole: Duration,
    /// Before the first resource was begun, and after the last was made.
    pub(super) around: Duration,
    /// What the keeper computed beside the walk, on the walk's own thread.
    pub(super) beside: Duration,
}

/// Makes some resources in a stack whose state is on a medium.
pub(super) fn run(backend: &Arc<dyn Backend>, stack: &str, n: usize) -> Result<Run, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let (whole, around) = runtime.block_on(walk(backend, stack, n))?;
    Ok(Run { whole, around, beside: beside(n)? })
}

async fn walk(backend: &Arc<dyn Backend>, stack: &str, n: usize) -> Result<(Duration, Duration), String> {
    let options = Options { wait: false, ..Options::default() };
    let pace = Duration::from_secs(1) * u32::try_from(options.concurrency).unwrap_or(1) / CREATES_PER_SECOND;
    let mut runtimes = Runtimes::default();
    runtimes.insert(ResourceType::kubernetes(), "", Arc::new(Maker { pace }));
    let (first, last) = (Mutex::new(None), Mutex::new(None));
    let events = |event: kusion_apply::Event| {
        let slot = match event.kind {
            EventKind::StepStarted { .. } => &first,
            EventKind::StepApplied { .. } => &last,
            _ => return,
        };
        let mut at = slot.lock().unwrap_or_else(PoisonError::into_inner);
        if at.is_none() || std::ptr::eq(slot, &last) {
            *at = Some(Instant::now());
        }
    };
    let begun = Instant::now();
    let store = Store::new(Arc::clone(backend)).stack(&scope(stack));
    let told = |error: kusion_store::StoreError| error.to_string();
    let mut session = store.acquire(owner(), now(), &|_| Liveness::Dead).await.map_err(told)?;
    let prior = session.state().prior();
    // Making the plan is no work of the state.
    let planning = Instant::now();
    let plan = plan(&session, 0..n)?;
    let planned = planning.elapsed();
    let input = ApplyInput {
        plan: &plan,
        live: &BTreeMap::new(),
        prior: &prior,
        digest_key: &DigestKey::new([1; 32]),
        platforms: &Platforms::new(Vec::new()),
        outputs: &[],
        runtimes: &runtimes,
        health: &NoHealth,
        clock: &Wall,
        cancel: &CancelToken::default(),
        events: &events,
        options,
    };
    let report = apply(&input, &mut session, Default::default()).await.map_err(|error| error.to_string())?;
    session.close(now()).await.map_err(told)?;
    let whole = begun.elapsed().saturating_sub(planned);
    if report.tally.create != n {
        return Err(format!("{} of {n} were made", report.tally.create));
    }
    let at = |slot: &Mutex<Option<Instant>>| *slot.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(first), Some(last)) = (at(&first), at(&last)) else {
        return Err("nothing was made".to_owned());
    };
    Ok((whole, whole.saturating_sub(last.duration_since(first))))
}

/// The CPU time of the same records on a medium that costs nothing.
fn beside(n: usize) -> Result<Duration, String> {
    let store = Store::new(Arc::new(SimMedium::default())).stack(&scope("beside"));
    let told = |error: kusion_store::StoreError| error.to_string();
    let mut session = kusion_store::wait(store.acquire(owner(), now(), &|_| Liveness::Dead)).map_err(told)?;
    let before = thread_clock();
    release(&mut session, 0..n)?;
    Ok(thread_clock().saturating_sub(before))
}

fn thread_clock() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or(0), u32::try_from(time.tv_nsec).unwrap_or(0))
}

struct Wall;

impl Clock for Wall {
    fn now(&self) -> Timestamp {
        now()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    fn sleep(&self, how_long: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(how_long))
    }
}

/// A platform that takes its time.
struct Maker {
    pace: Duration,
}

impl Runtime for Maker {
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>> {
        Box::pin(ready(Ok(asks.iter().map(|ask| ask.key.to_string()).collect())))
    }

    fn observe<'a>(
        &'a self,
        _asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        Box::pin(ready(Ok(BTreeMap::new())))
    }

    fn propose<'a>(
        &'a self,
        _asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        Box::pin(ready(Vec::new()))
    }

    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        Box::pin(async move {
            tokio::time::sleep(self.pace).await;
            let observed = Observed {
                attributes: ask.attributes.clone().into(),
                version: None,
                uid: Some(ask.key.to_string()),
                owner: None,
                terminating: None,
                kept: None,
            };
            Ok(Applied { observed, warnings: Vec::new(), trouble: None })
        })
    }

    fn delete<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(ready(Ok(Deleted::Gone)))
    }

    fn release<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(ready(Ok(())))
    }

    fn wait_gone<'a>(
        &'a self,
        _ask: DeleteAsk<'a>,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(ready(Ok(Deleted::Gone)))
    }
}
