//! A session: the right to write, and the writes of a release.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{ClusterIdentity, Phase, Plan, Release, ReleaseNo, Step, Subject, Timestamp};

use crate::entry::{Entry, Outcome, ReleaseEnd};
use crate::lease::Lease;
use crate::log::{self, Log};
use crate::{Owner, StackStore, State, StoreError};

/// How many releases can be rebuilt; older ones keep their history line only.
const KEEP_RELEASES: usize = 50;

/// What is known of a release before it starts.
#[derive(Clone, Debug, Default)]
pub struct ReleaseDraft {
    pub by: Subject,
    pub commit: Option<String>,
    /// The folder of the project.
    pub folder: Option<String>,
    /// The name of the default cluster.
    pub cluster: Option<String>,
    /// Which clusters it works on, and which of them are others than before.
    pub clusters: BTreeMap<String, ClusterIdentity>,
    pub moved: BTreeSet<String>,
    pub inputs: BTreeMap<String, String>,
    pub message: Option<String>,
    pub rollback_to: Option<ReleaseNo>,
    /// Everything goes: the phase is called destroying.
    pub destroy: bool,
}

/// The holder's view of a stack: current state plus the right to write.
pub struct Session {
    store: StackStore,
    state: State,
    owner: Owner,
    token: u64,
    since: Timestamp,
    /// The length of the log as we know it; anything else means that somebody wrote.
    len: u64,
    n_releases: usize,
}

impl Session {
    pub(crate) fn new(store: StackStore, log: Log, owner: Owner, token: u64, since: Timestamp) -> Self {
        let Log { state, len, n_releases, .. } = log;
        Session { store, state, owner, token, since, len, n_releases }
    }

    /// Returns the state, up to date with everything written through this session.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Shows that the holder is alive. Call it every few seconds.
    pub fn heartbeat(&self, now: Timestamp) -> Result<(), StoreError> {
        let _guard = self.store.guard()?;
        self.check_token()?;
        let owner = Some(self.owner.clone());
        self.store.write_lease(&Lease { token: self.token, owner, since: self.since, heartbeat: now })
    }

    /// Starts a release: what the plan is going to change is on disk when this returns.
    pub fn begin(
        &mut self,
        plan: &Plan,
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
            folder: draft.folder,
            cluster: draft.cluster,
            clusters: draft.clusters,
            moved: draft.moved,
            inputs: draft.inputs,
            plan_hash: plan.hash.clone(),
            engine: plan.engine.clone(),
            started: now,
            ended: None,
            tally: plan.tally(),
            message: draft.message,
            rollback_to: draft.rollback_to,
        };
        let steps = plan.steps.iter().filter(|step| step.is_change());
        // The live values before are in the plan's own file; here they would only make the log longer.
        let steps = steps.map(|step| Step { before: None, ..step.clone() }).collect();
        let (serial, token) = (self.state.serial + 1, self.token);
        self.write(Entry::Begin { serial, token, release: Box::new(release), steps })?;
        self.n_releases += 1;
        Ok(no)
    }

    /// Records what came of some steps; several in one call cost one write.
    pub fn record(&mut self, release: ReleaseNo, outcomes: Vec<Outcome>) -> Result<(), StoreError> {
        if outcomes.is_empty() {
            return Ok(());
        }
        self.check_open(release)?;
        let (serial, token) = (self.state.serial + 1, self.token);
        self.write(Entry::Outcomes { serial, token, release, outcomes })
    }

    /// Ends a release. Old ones are folded together when there are many.
    pub fn end(&mut self, release: ReleaseNo, end: ReleaseEnd) -> Result<(), StoreError> {
        self.check_open(release)?;
        let (serial, token) = (self.state.serial + 1, self.token);
        self.write(Entry::End { serial, token, release, end })?;
        if self.n_releases > 2 * KEEP_RELEASES { self.compact(KEEP_RELEASES) } else { Ok(()) }
    }

    /// Folds all but the newest `keep` releases into one entry.
    pub fn compact(&mut self, keep: usize) -> Result<(), StoreError> {
        let _guard = self.store.guard()?;
        self.check_token()?;
        let path = self.store.log_path();
        let mut old = log::entries(&*self.store.disk, &path)?;
        let is_begin = |at: &usize| matches!(old[*at], Entry::Begin { .. });
        let begins: Vec<usize> = (0..old.len()).filter(is_begin).collect();
        let Some(&cut) = begins.len().checked_sub(keep.max(1)).and_then(|at| begins.get(at)) else {
            return Ok(());
        };
        let kept = old.split_off(cut);
        let mut text = String::new();
        let mut base = State::new(String::new(), self.state.scope.clone());
        for entry in old {
            if matches!(entry, Entry::Header { .. }) {
                text.push_str(&log::line(&entry));
            }
            base.fold(entry);
        }
        text.push_str(&log::line(&base.to_base()));
        kept.iter().for_each(|entry| text.push_str(&log::line(entry)));
        self.store.disk.replace(&path, text.as_bytes()).map_err(StoreError::io("write", &path))?;
        self.len = text.len() as u64;
        self.n_releases = begins.len().min(keep.max(1));
        Ok(())
    }

    /// Gives the lock back.
    pub fn close(self, now: Timestamp) -> Result<(), StoreError> {
        let _guard = self.store.guard()?;
        self.check_token()?;
        self.store.write_lease(&Lease { token: self.token, owner: None, since: self.since, heartbeat: now })
    }

    fn check_open(&self, release: ReleaseNo) -> Result<(), StoreError> {
        if self.state.open == Some(release) { Ok(()) } else { Err(StoreError::NotOpen { no: release }) }
    }

    fn check_token(&self) -> Result<(), StoreError> {
        let theirs = self.store.lease()?.map_or(0, |lease| lease.token);
        if theirs == self.token { Ok(()) } else { Err(StoreError::Fenced { ours: self.token, theirs }) }
    }

    fn write(&mut self, entry: Entry) -> Result<(), StoreError> {
        let _guard = self.store.guard()?;
        self.check_token()?;
        let path = self.store.log_path();
        let found = self.store.disk.len(&path).map_err(StoreError::io("measure", &path))?;
        if found != self.len {
            return Err(StoreError::Stale { expected: self.state.serial });
        }
        let line = log::line(&entry);
        if let Err(error) = self.store.disk.append(&path, line.as_bytes()) {
            // Half a line may be there. Cut it, so that the next line does not continue it; if even that fails, the
            // length differs and every later write is refused until the log is opened anew.
            let _ = self.store.disk.truncate(&path, self.len);
            return Err(StoreError::io("write", &path)(error));
        }
        self.len += line.len() as u64;
        self.state.fold(entry);
        Ok(())
    }
}
