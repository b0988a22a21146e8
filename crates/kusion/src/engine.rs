//! The whole road: a [`Target`] (which stack), an [`Engine`] (which platforms), plan and apply between them.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{Either, select};
use kusion_apply::{ApplyError, CancelToken, Clock, Event, Options, Report};
use kusion_health::Verdict;
use kusion_model::{ClusterIdentity, Reference, Release, ResourceKey, Spec, StackRef, Timestamp};
use kusion_plan::wrong_extensions;
use kusion_runtime::DryRun;
use kusion_store::{
    Claim, Holder, LEASE_TIME, Liveness, Owner, ReleaseDraft, Session, State, StoreError, Watch,
};

use crate::clock::WallClock;
use crate::outputs::{Others, clashes, lost};
use crate::secrets::resolve;
use crate::site::{Access, HealthAsk, Healths, OnVerdict, SiteAsk, Sites};
use crate::{Aim, Execution, PlanAsk, PlanFailure, Ready, Recognised, Stand, Target, execute, make_plan};

/// How long one request may take, unless the caller says otherwise.
const REQUEST_LIMIT: Duration = Duration::from_secs(60);
/// What is told about a state of which nothing is there, not even what the cluster remembers.
const DESTROYED: &str = "nothing that this state records is there, and the cluster does not remember the state: the stack was \
     destroyed since and an older copy of its state was put back, or somebody has deleted its namespace. What is wanted is made \
     anew; numbers of releases may be used again that others have seen after release";
/// How often a held lock is tried again.
const LOCK_PAUSE: Duration = Duration::from_millis(300);

/// Something a person may want to see on the road, in the order in which it happens.
pub enum Happening<'a> {
    /// Something that a person should know and that is not wrong.
    Note(&'a str),
    /// Something that a person should know and that changes nothing.
    Warning(&'a str),
    /// The clusters are asked what is there.
    Asking,
    /// A plan stands; nobody has consented to it yet. `again`: the state moved while the lock was waited for.
    Planned { ready: &'a Ready, again: bool },
    /// Nothing changes, and yet there will be a release: something has to become healthy, or to be recorded.
    Unchanged(&'a Ready),
    /// The lock is asked for; a cancel is heard from here on.
    Locking,
    /// Somebody else holds the lock, and it is waited for; told once.
    Waiting(&'a Holder),
    /// The walk begins; the healths answer questions about dependents until it ends.
    Began { ready: &'a Ready, healths: Arc<Healths> },
    /// An event of the executor.
    Event(&'a Event),
    /// A new verdict about a resource that is waited for.
    Verdict { key: &'a ResourceKey, verdict: &'a Verdict },
    /// The release is recorded.
    Ended { report: &'a Report, ready: &'a Ready },
    /// The failure policy goes back to a release; `None`: there is none to go back to.
    GoingBack(Option<&'a Release>),
}

/// Is told what happens; called from the task that applies, so it must be quick.
pub type Observer = Arc<dyn Fn(Happening<'_>) + Send + Sync>;

/// What is wanted of an apply.
#[derive(Clone)]
pub struct ApplyAsk {
    pub draft: ReleaseDraft,
    pub options: Options,
    /// The user's own limit for each wait for health.
    pub timeout: Option<Duration>,
    /// Who holds the lock while it runs.
    pub owner: Owner,
    /// Whether the owner of an old lock still runs.
    pub alive: fn(&Owner) -> Liveness,
    pub lock_timeout: Duration,
    /// What other stacks use may go away.
    pub break_dependents: bool,
    pub cancel: CancelToken,
    pub observer: Observer,
}

impl ApplyAsk {
    /// Waits for health, tells nobody, does not wait for a lock.
    #[must_use]
    pub fn new(draft: ReleaseDraft) -> Self {
        let owner = kusion_store::local_owner(&draft.by.user, &draft.by.host, "kusion");
        ApplyAsk {
            draft,
            options: Options::default(),
            timeout: None,
            owner,
            alive: |owner| kusion_store::local_liveness(&owner.host, owner),
            lock_timeout: Duration::ZERO,
            break_dependents: false,
            cancel: CancelToken::default(),
            observer: Arc::new(|_| {}),
        }
    }
}

/// The world: ways to platforms, and a clock.
pub struct Engine {
    ways: Vec<Arc<dyn Access>>,
    /// What is known of the default cluster without asking it.
    home: ClusterIdentity,
    clock: Arc<dyn Clock>,
    request_limit: Duration,
    may_move: bool,
}

impl Default for Engine {
    fn default() -> Self {
        Engine::new()
    }
}

impl Engine {
    /// Works on no platform yet, with the clock of this machine.
    #[must_use]
    pub fn new() -> Self {
        Engine {
            ways: Vec::new(),
            home: ClusterIdentity::default(),
            clock: Arc::new(WallClock),
            request_limit: REQUEST_LIMIT,
            may_move: false,
        }
    }

    /// Works also on this platform: a cluster, providers.
    #[must_use]
    pub fn with(mut self, way: impl Access + 'static) -> Self {
        if let Some(("", home)) = way.cluster() {
            self.home = home;
        }
        self.ways.push(Arc::new(way));
        self
    }

    /// Works also on another cluster than the one that a state is of: what was made there stays there and is forgotten.
    #[must_use]
    pub fn with_move(mut self, may_move: bool) -> Self {
        self.may_move = may_move;
        self
    }

    #[must_use]
    pub fn with_clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    #[must_use]
    pub fn with_request_limit(mut self, limit: Duration) -> Self {
        self.request_limit = limit;
        self
    }

    /// The name of the default cluster.
    #[must_use]
    pub fn context(&self) -> &str {
        &self.home.context
    }

    /// Where the default cluster is.
    #[must_use]
    pub fn server(&self) -> &str {
        &self.home.server
    }

    /// The time of its clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Opens the platforms for a stack, also for questions beside a plan.
    #[must_use]
    pub fn sites(&self, target: &Target, dry_run: DryRun) -> Sites {
        let owner = target.scope.owner();
        let ask = SiteAsk { key: &target.key, owner, request_limit: self.request_limit, dry_run };
        Sites::open(&self.ways, &ask)
    }

    /// Plans a Spec against a stack's state and the platforms. An empty Spec plans to destroy.
    ///
    /// # Errors
    /// What is wrong with the Spec, the state or the world.
    pub async fn plan(&self, target: &Target, spec: Spec, dry_run: DryRun) -> Result<Ready, PlanFailure> {
        let state = target.store.read().await.map_err(PlanFailure::Store)?;
        self.plan_from(target, state, spec, Aim::Apply, dry_run).await
    }

    /// The same, from a state that has been read already: reading it is a good part of the work for a large stack.
    ///
    /// # Errors
    /// What is wrong with the Spec or the world.
    pub async fn plan_from(
        &self,
        target: &Target,
        state: State,
        mut spec: Spec,
        aim: Aim,
        dry_run: DryRun,
    ) -> Result<Ready, PlanFailure> {
        let sites = self.sites(target, dry_run);
        // Before anything is learned or resolved: what nobody serves has no secrets that anybody knows of.
        for resource in &spec.resources {
            sites.runtimes.get(&resource.kind, &resource.key()).map_err(PlanFailure::NoRuntime)?;
        }
        let wrong = wrong_extensions(&spec, &sites.platforms());
        if !wrong.is_empty() {
            return Err(PlanFailure::Spec(wrong));
        }
        let learned = sites.learn(&mut spec).await;
        let platforms = learned.map_err(|e| PlanFailure::refused(e).placed(&spec, &target.project_dir))?;
        let recognised = self.recognise(&sites, &state).await?;
        let (stand, mut warnings) =
            self.recall(target, &spec, &state, &sites).await.map_err(PlanFailure::Store)?;
        let is_forgotten = !state.records.is_empty() && stand.is_forgotten(&warnings);
        let given = Others::read(target, &spec).await.map_err(PlanFailure::Store)?;
        let others = |stack: &StackRef, reference: &Reference| given.get(stack, reference);
        // What is put back uses what it used then: its references are filled in by now.
        let uses = match aim {
            Aim::Apply => given.uses(&spec),
            Aim::Destroy => BTreeMap::new(),
            Aim::Rollback(to) => {
                state.releases.get(&to).map(|release| release.uses.clone()).unwrap_or_default()
            }
        };
        let prior = recognised.prior(&state);
        let resolved = resolve(target, &spec, &sites, &platforms).await?;
        let ask = PlanAsk {
            scope: target.scope.clone(),
            spec: resolved.as_ref().unwrap_or(&spec),
            platforms: &platforms,
            prior: &prior,
            rules: &target.rules,
            owners: &target.owners,
            runtimes: &sites.runtimes,
            key: &target.key,
            others: &others,
            destroy: aim == Aim::Destroy,
        };
        let planned = match make_plan(&ask).await {
            Ok(planned) => planned,
            Err(failure) => {
                // The failure is what is told.
                let _ = sites.give_back().await;
                return Err(failure.placed(&spec, &target.project_dir));
            }
        };
        // The witness goes with the last resource: so it is after a destroy.
        if is_forgotten && !state.records.keys().any(|key| planned.live().contains_key(key)) {
            warnings.push(format!("{DESTROYED} {}", state.latest().map_or(0, |release| release.no.0)));
        }
        let outputs = target.outputs.clone();
        Ok(Ready { planned, aim, spec, state, sites, recognised, stand, warnings, platforms, uses, outputs })
    }

    /// Asks the clusters who they are, and compares them with those that a state is of.
    ///
    /// # Errors
    /// Another cluster, or one that cannot be asked.
    pub async fn recognise(&self, sites: &Sites, state: &State) -> Result<Recognised, PlanFailure> {
        let found = sites.identities().await.map_err(PlanFailure::Remote)?;
        Recognised::new(found, state, self.may_move, &sites.platforms()).map_err(PlanFailure::OtherCluster)
    }

    /// Compares the state with what the clusters know about it; returns who they know it by, and what to warn about.
    ///
    /// # Errors
    /// A state that is gone, older than what the clusters know, or another.
    pub async fn recall(
        &self,
        target: &Target,
        spec: &Spec,
        state: &State,
        sites: &Sites,
    ) -> Result<(Stand, Vec<String>), StoreError> {
        let mut stand = Stand::of(&target.scope, spec, state, sites);
        let (known, warnings) = stand.recall().await;
        let Some(known) = known.filter(|known| state.agrees_with(known).is_err()) else {
            return Ok((stand, warnings));
        };
        // Somebody may have written between the two looks; then the state as it is now agrees.
        let now = target.store.read().await?;
        match now.agrees_with(&known) {
            Err(damage) => {
                Err(StoreError::Damaged { place: target.store.place(), damage: stand.placed(damage) })
            }
            Ok(()) => Ok((stand, warnings)),
        }
    }

    /// Carries a plan out under the stack's lock and records the release. Needs a Tokio runtime.
    ///
    /// # Errors
    /// A lock that somebody else holds, conflicts with other managers, or a state that moved or cannot be written.
    pub async fn apply(&self, target: &Target, ready: &Ready, ask: &ApplyAsk) -> Result<Report, ApplyError> {
        let locked = self.lock(target, &ready.state, ask).await;
        let session = locked.map_err(|source| ApplyError::Store { source, report: None })?;
        self.apply_in(session, target, ready, ask).await
    }

    /// Plans again what was planned from a state that has moved since; `None` if it has not. For who had to wait for the lock.
    ///
    /// # Errors
    /// What is wrong with the Spec or the world.
    pub async fn plan_again(
        &self,
        session: &Session,
        target: &Target,
        ready: &Ready,
        dry_run: DryRun,
    ) -> Result<Option<Ready>, PlanFailure> {
        if ready.is_of(session.state()) {
            return Ok(None);
        }
        let (state, spec) = (session.state().clone(), ready.spec.clone());
        self.plan_from(target, state, spec, ready.aim, dry_run).await.map(Some)
    }

    /// Carries a plan out with a lock that has been won; gives the lock back.
    ///
    /// # Errors
    /// Conflicts with other managers, or a state that moved or cannot be written.
    pub async fn apply_in(
        &self,
        mut session: Session,
        target: &Target,
        ready: &Ready,
        ask: &ApplyAsk,
    ) -> Result<Report, ApplyError> {
        let failed = |source| ApplyError::Store { source, report: None };
        let observer = Arc::clone(&ask.observer);
        let listener: OnVerdict = Arc::new(move |key, verdict| observer(Happening::Verdict { key, verdict }));
        let health_ask = HealthAsk { listener: &listener, timeout: ask.timeout, now: self.clock.now() };
        let health = Arc::new(ready.sites.health(&health_ask));
        (ask.observer)(Happening::Began { ready, healths: Arc::clone(&health) });
        let with = Execution {
            clashes: &|| Box::pin(clashes(ready, target, ask.break_dependents)),
            witness: &ready.stand,
            warn: &|text| (ask.observer)(Happening::Warning(text)),
            runtimes: &ready.sites.runtimes,
            health: &*health,
            clock: &*self.clock,
            cancel: &ask.cancel,
            events: &|event| (ask.observer)(Happening::Event(&event)),
            options: ask.options,
            key: &target.key,
            outputs: &target.outputs,
        };
        let draft = ReleaseDraft {
            clusters: ready.recognised.found.clone(),
            moved: ready.recognised.moved.keys().cloned().collect(),
            left: ready.recognised.left.clone(),
            uses: ready.uses.clone(),
            gives_up: lost(ready, target).iter().map(ToString::to_string).collect(),
            ..ask.draft.clone()
        };
        let work = execute(&ready.planned, &mut session, draft, &with);
        let result = match select(pin!(work), pin!(stopping(&ask.cancel, &ready.sites))).await {
            Either::Left((result, _)) => result,
            Either::Right((never, _)) => match never {},
        };
        let closed = session.close(self.clock.now()).await;
        ready.sites.close().await;
        let report = result?;
        closed.map_err(failed)?;
        Ok(report)
    }

    /// Takes the stack's lock; waits for it as long as the ask says, and as long as it takes to see that a holder elsewhere is
    /// silent if it looks so. A state that is known already is not read again.
    ///
    /// # Errors
    /// A lock that somebody else holds for longer, or a state that cannot be written.
    pub async fn lock(&self, target: &Target, known: &State, ask: &ApplyAsk) -> Result<Session, StoreError> {
        let (started, mut watch, mut seen) = (self.clock.elapsed(), Watch::default(), None);
        loop {
            let (now, elapsed) = (self.clock.now(), self.clock.elapsed());
            let claim = Claim { owner: ask.owner.clone(), now, elapsed, alive: &ask.alive };
            let holder = match target.store.claim(&claim, Some(known), &mut watch).await {
                Err(StoreError::Locked { holder }) => holder,
                other => return other,
            };
            // A clock that is wrong makes us wait too long or not at all, never take what is held.
            let lease = u64::try_from(LEASE_TIME.as_millis()).unwrap_or(u64::MAX);
            let looks_silent = (ask.alive)(&holder.owner) == Liveness::Unknown
                && now.millis_since(holder.heartbeat) > lease
                && seen.is_none_or(|seen| seen == holder.heartbeat);
            let patience = if looks_silent { ask.lock_timeout.max(2 * LEASE_TIME) } else { ask.lock_timeout };
            if elapsed.saturating_sub(started) >= patience {
                return Err(StoreError::Locked { holder });
            }
            if seen.replace(holder.heartbeat).is_none() {
                (ask.observer)(Happening::Waiting(&holder));
            }
            self.clock.sleep(LOCK_PAUSE).await;
        }
    }
}

/// Passes the wish to stop on to the platforms; what is in flight is waited for by others.
async fn stopping(cancel: &CancelToken, sites: &Sites) -> Infallible {
    cancel.cancelled().await;
    sites.stop().await;
    std::future::pending().await
}
