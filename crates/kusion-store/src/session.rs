//! A session: the right to write, and the writes of a release.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{
    Approval, Checkout, ClusterIdentity, OutputUse, PLAN_SCHEMA, Phase, Plan, PlanDraft, Release, ReleaseNo,
    ResourceKey, Step, Subject, Tally, Timestamp, Timings,
};

use crate::backend::Replacement;
use crate::entry::{Entry, Outcome, ReleaseEnd};
use crate::fold::{Link, Source};
use crate::seal::Bound;
use crate::{Fence, Head, Keys, Lease, StackStore, State, StoreError, chain, log, vault};

/// How many releases can be rebuilt, unless somebody says otherwise; older ones keep their history line only.
pub(crate) const KEEP_RELEASES: usize = 50;
/// How often a medium that does not answer is asked.
pub(crate) const TRIES: u32 = 5;

/// What is known of a release before it starts.
#[derive(Clone, Debug, Default)]
pub struct ReleaseDraft {
    pub by: Subject,
    pub commit: Option<String>,
    pub source: Option<Checkout>,
    /// Digests of what was evaluated, by package.
    pub models: BTreeMap<String, String>,
    pub approvals: Vec<Approval>,
    pub timings: Timings,
    /// Values of other stacks that it uses, by `project/stack`.
    pub uses: BTreeMap<String, Vec<OutputUse>>,
    /// The folder of the project.
    pub folder: Option<String>,
    /// The name of the default cluster.
    pub cluster: Option<String>,
    /// Which clusters it works on, and which of them are others than before.
    pub clusters: BTreeMap<String, ClusterIdentity>,
    pub moved: BTreeSet<String>,
    /// What stays on those, and is forgotten here.
    pub left: BTreeSet<ResourceKey>,
    pub inputs: BTreeMap<String, String>,
    pub message: Option<String>,
    pub rollback_to: Option<ReleaseNo>,
    /// Outputs that it takes away.
    pub gives_up: Vec<String>,
    /// Everything goes: the phase is called destroying.
    pub destroy: bool,
}

/// The holder's view of a stack: current state plus the right to write.
pub struct Session {
    store: StackStore,
    state: State,
    keys: Keys,
    fence: Fence,
    /// The end of the log as we know it; anything else means that somebody wrote.
    end: u64,
    n_releases: usize,
}

impl Session {
    /// A session on a log that nobody else can write any more.
    pub(crate) fn new(store: StackStore, state: State, keys: Keys, fence: Fence) -> Self {
        let (end, n_releases) = state.read.0.as_ref().map_or((0, 0), |read| (read.end, read.n_releases));
        Session { store, state, keys, fence, end, n_releases }
    }

    /// Returns the state, up to date with everything written through this session.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Shows that the holder is alive. Call it every few seconds.
    pub async fn heartbeat(&self, now: Timestamp) -> Result<(), StoreError> {
        self.change_lease(|lease| Lease { beat: lease.beat + 1, heartbeat: now, ..lease }).await
    }

    /// Starts a release: what the plan is going to change is durable when this returns.
    pub async fn begin(
        &mut self,
        plan: &Plan,
        draft: ReleaseDraft,
        now: Timestamp,
    ) -> Result<ReleaseNo, StoreError> {
        self.begin_with(plan, draft, now).await
    }

    async fn begin_with(
        &mut self,
        plan: &PlanDraft,
        draft: ReleaseDraft,
        now: Timestamp,
    ) -> Result<ReleaseNo, StoreError> {
        if plan.serial != self.state.serial
            || (plan.lineage != self.state.lineage && !plan.lineage.is_empty())
        {
            return Err(StoreError::Stale { expected: plan.serial });
        }
        let no = self.state.next_release();
        let release = Release {
            no,
            phase: if draft.destroy { Phase::Destroying } else { Phase::Applying },
            by: draft.by,
            commit: draft.commit,
            source: draft.source,
            models: draft.models,
            approvals: draft.approvals,
            timings: draft.timings,
            uses: draft.uses,
            outputs: BTreeMap::new(),
            folder: draft.folder,
            cluster: draft.cluster,
            clusters: draft.clusters,
            moved: draft.moved,
            left: draft.left,
            inputs: draft.inputs,
            plan_hash: plan.hash.clone(),
            engine: plan.engine.clone(),
            started: now,
            ended: None,
            tally: plan.tally(),
            message: draft.message,
            cause: None,
            rollback_to: draft.rollback_to,
            gives_up: draft.gives_up,
        };
        let steps = plan.steps.iter().filter(|step| step.is_change());
        // The live values before are in the plan's own file; here they would only make the log longer.
        let steps = steps.map(|step| Step { before: None, ..step.clone() }).collect();
        let (serial, token) = (self.state.serial + 1, self.fence.token);
        self.write(vec![Entry::Begin { serial, token, release: Box::new(release), steps }]).await?;
        self.n_releases += 1;
        Ok(no)
    }

    /// Records what came of some steps; several in one call cost one write.
    pub async fn record(&mut self, release: ReleaseNo, outcomes: Vec<Outcome>) -> Result<(), StoreError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        self.check_open(release)?;
        let (serial, token) = (self.state.serial + 1, self.fence.token);
        let secrets = vault::new_values(&outcomes, &self.state, &self.keys)?;
        self.write(vec![Entry::Outcomes { serial, token, release, outcomes, secrets }]).await
    }

    /// Ends a release with what came of its last steps, in one write. Old ones are folded together when there are many.
    pub async fn end(
        &mut self,
        release: ReleaseNo,
        outcomes: Vec<Outcome>,
        end: ReleaseEnd,
    ) -> Result<(), StoreError> {
        self.check_open(release)?;
        let (mut serial, token, mut entries) = (self.state.serial, self.fence.token, Vec::new());
        if !outcomes.is_empty() {
            serial += 1;
            let secrets = vault::new_values(&outcomes, &self.state, &self.keys)?;
            entries.push(Entry::Outcomes { serial, token, release, outcomes, secrets });
        }
        serial += 1;
        entries.push(Entry::End { serial, token, release, end });
        self.write(entries).await?;
        let keep = self.store.keep_releases;
        if self.n_releases > 2 * keep { self.compact(keep).await } else { Ok(()) }
    }

    /// Changes what is recorded without touching the world: a release of its own, so that it is known who did it. What came of
    /// it is one entry: all of it or nothing. Returns `None` if there is nothing to change.
    ///
    /// # Errors
    /// A state that cannot be written, or that somebody else writes now.
    pub async fn edit(
        &mut self,
        draft: ReleaseDraft,
        outcomes: Vec<Outcome>,
        now: Timestamp,
    ) -> Result<Option<ReleaseNo>, StoreError> {
        if outcomes.is_empty() {
            return Ok(None);
        }
        let State { scope, lineage, serial, outputs, .. } = &self.state;
        // No step of a plan is carried out here, so there is nothing to seal.
        let plan = PlanDraft {
            schema: PLAN_SCHEMA.to_owned(),
            engine: env!("CARGO_PKG_VERSION").to_owned(),
            scope: scope.clone(),
            lineage: lineage.clone(),
            serial: *serial,
            spec_digest: String::new(),
            rules: Vec::new(),
            steps: Vec::new(),
            hash: String::new(),
        };
        let outputs = outputs.clone();
        let no = self.begin_with(&plan, draft, now).await?;
        let tally = Tally::default();
        let end = ReleaseEnd { phase: Phase::Succeeded, ended: now, tally, message: None, outputs };
        self.end(no, outcomes, end).await?;
        Ok(Some(no))
    }

    /// Folds all but the newest `keep` releases into one entry. The chain goes on from the last entry that was folded, so the
    /// head and its witness stay true.
    pub async fn compact(&mut self, keep: usize) -> Result<(), StoreError> {
        let written = self.store.backend.read(&self.store.scope, 0).await?;
        let Some(found) = &written.log else { return Ok(()) };
        let place = self.store.place();
        let (mut records, mut entries) = log::entries(found, &self.store.reader(Some(&self.keys), &place))?;
        let is_begin = |at: &usize| matches!(entries[*at], Entry::Begin { .. });
        let begins: Vec<usize> = (0..entries.len()).filter(is_begin).collect();
        let cut = begins.len().checked_sub(keep.max(1)).and_then(|at| begins.get(at).copied());
        let Some(cut) = cut.filter(|cut| *cut > 1) else { return Ok(()) };
        let Entry::Begin { release, .. } = &entries[cut] else { return Ok(()) };
        let started = release.started;
        let kept = entries.split_off(cut);
        let header = entries.first().cloned();
        let mut base = State::new(String::new(), self.state.scope.clone());
        entries.into_iter().for_each(|entry| base.fold(entry));
        base.close_interrupted(started);
        let links = self.links();
        let folded = links.iter().find(|link| link.serial == base.serial).map(|link| link.hash.clone());
        let base = base.to_base(folded);
        records.splice(1..cut, [chain::write(&chain::hash_of(&records[0]), &log::json(&base))]);
        let Some(head) = self.state.head() else { return Ok(()) };
        let entries: Vec<Entry> = header.into_iter().chain([base]).chain(kept).collect();
        let (scope, lineage) = (&self.store.scope, &self.state.lineage);
        let records = self.keys.seal_log(scope, lineage, &records, &entries)?;
        let by = Replacement { at: self.end, records: &records, head: &head, keep_as: None };
        self.end = self.store.replace(&self.fence, by).await?;
        self.n_releases = begins.len().min(keep.max(1));
        Ok(())
    }

    /// Gives the lock back.
    pub async fn close(self, now: Timestamp) -> Result<(), StoreError> {
        // It only makes the next reading cheaper, whoever holds the lock by then: what cannot be gathered is read as it lies.
        let gathered = self.store.backend.gather(&self.store.scope, self.end);
        let freed = self.change_lease(|lease| Lease { owner: None, heartbeat: now, ..lease });
        futures::future::join(gathered, freed).await.1
    }

    async fn change_lease(&self, change: impl Fn(Lease) -> Lease) -> Result<(), StoreError> {
        let StackStore { backend, scope, .. } = &self.store;
        let mut own = backend.own_lease(scope, &self.fence);
        for _ in 0..TRIES {
            let slot = match own.take() {
                Some(own) => Some(own),
                None => backend.lease(scope).await?,
            };
            let lease = slot.as_ref().and_then(|slot| slot.lease.as_ref());
            Lease::check(lease, &self.fence)?;
            let (Some(lease), version) = (lease, slot.as_ref().map(|slot| slot.version.as_str())) else {
                continue;
            };
            let changed = change(lease.clone());
            match backend.swap_lease(scope, version, &changed).await {
                Ok(true) => return Ok(()),
                // Somebody was quicker, or the answer is lost: the next look tells.
                Ok(false) | Err(StoreError::Unanswered { .. }) => {}
                Err(error) => return Err(error),
            }
            let now = backend.lease(scope).await?.and_then(|slot| slot.lease);
            if now.as_ref() == Some(&changed) {
                return Ok(());
            }
        }
        Err(StoreError::Unanswered { place: self.store.place(), tries: TRIES })
    }

    fn check_open(&self, release: ReleaseNo) -> Result<(), StoreError> {
        if self.state.open == Some(release) { Ok(()) } else { Err(StoreError::NotOpen { no: release }) }
    }

    fn links(&self) -> &[Link] {
        self.state.read.0.as_ref().map_or(&[], |read| &read.links)
    }

    /// Writes entries, one behind the other: all of them are there, or the first ones, or none.
    pub(crate) async fn write(&mut self, entries: Vec<Entry>) -> Result<(), StoreError> {
        let mut prev = self.links().last().map_or(chain::NOTHING, |link| &link.hash).to_owned();
        let (lineage, mut release) = (self.state.lineage.clone(), ReleaseNo(self.state.next_release().0 - 1));
        let (mut records, mut links) = (Vec::new(), Vec::new());
        for entry in &entries {
            if let Entry::Begin { release: begun, .. } = entry {
                release = begun.no;
            }
            let record = chain::write(&prev, &log::json(entry));
            prev = chain::hash_of(&record);
            let serial = entry.serial();
            let bound = Bound { what: "record", scope: &self.store.scope, lineage: &lineage, serial };
            records.push(self.keys.seal(&bound, record.as_bytes())?);
            links.push(Link { serial, hash: prev.clone() });
        }
        let Some(serial) = links.last().map(|link| link.serial) else { return Ok(()) };
        let head = Head { lineage, serial, hash: prev, release, seal: Some(self.keys.mark()) };
        self.end = self.append(&records, &head).await?;
        entries.into_iter().for_each(|entry| self.state.fold(entry));
        if let Source(Some(read)) = &mut self.state.read {
            read.links.append(&mut links);
            read.end = self.end;
        }
        Ok(())
    }

    /// Appends records; where the answer is lost, looks whether they are there.
    async fn append(&self, records: &[String], head: &Head) -> Result<u64, StoreError> {
        let StackStore { backend, scope, .. } = &self.store;
        let mut unsure = false;
        for _ in 0..TRIES {
            match backend.append_if(scope, &self.fence, self.end, records, head).await {
                Err(StoreError::Unanswered { .. }) => unsure = true,
                Err(StoreError::Stale { .. }) if unsure => {}
                done => return done,
            }
            let tail = backend.read(scope, self.end).await?.log.unwrap_or_default();
            if tail.iter().eq(records.iter().map(String::as_bytes)) {
                return Ok(tail.end);
            }
        }
        Err(StoreError::Unanswered { place: self.store.place(), tries: TRIES })
    }
}
