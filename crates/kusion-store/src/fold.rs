//! From entries to state: a pure fold, so that any past release can be rebuilt by stopping earlier.

use std::collections::BTreeMap;

use kusion_model::{
    Action, Phase, Prior, Release, ReleaseNo, ResourceKey, ResourceRecord, Scope, Step, Timestamp,
};
use serde_json::Value;

use crate::entry::{Entry, Outcome, ReleaseEnd};

/// Everything known about a stack.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    pub scope: Scope,
    /// The identity of this history: a copy restored elsewhere keeps it, a new beginning has another.
    pub lineage: String,
    /// Counts writes.
    pub serial: u64,
    /// The highest lease token that has written.
    pub token: u64,
    pub records: BTreeMap<ResourceKey, ResourceRecord>,
    /// What an interrupted release was going to make and may have made.
    pub intents: BTreeMap<ResourceKey, ResourceRecord>,
    pub releases: BTreeMap<ReleaseNo, Release>,
    pub outputs: BTreeMap<String, Value>,
    /// The release that has begun and not ended: it runs, or it was interrupted.
    pub open: Option<ReleaseNo>,
    /// A torn last line was found and left out.
    pub torn_tail: bool,
    /// The steps of the open release that have no outcome yet, with their action.
    pub(crate) pending: BTreeMap<ResourceKey, Action>,
}

impl State {
    pub(crate) fn new(lineage: String, scope: Scope) -> Self {
        State {
            scope,
            lineage,
            serial: 0,
            token: 0,
            records: BTreeMap::new(),
            intents: BTreeMap::new(),
            releases: BTreeMap::new(),
            outputs: BTreeMap::new(),
            open: None,
            torn_tail: false,
            pending: BTreeMap::new(),
        }
    }

    /// Returns what the planner needs.
    #[must_use]
    pub fn prior(&self) -> Prior {
        Prior {
            // Before the first release a history has no identity yet: a preview without a lock and the apply after it
            // make the same plan.
            lineage: if self.serial == 0 { String::new() } else { self.lineage.clone() },
            serial: self.serial,
            records: self.records.clone(),
            intents: self.intents.clone(),
        }
    }

    /// Returns the newest release.
    #[must_use]
    pub fn latest(&self) -> Option<&Release> {
        self.releases.values().next_back()
    }

    /// Returns the number that the next release gets.
    #[must_use]
    pub fn next_release(&self) -> ReleaseNo {
        ReleaseNo(self.releases.keys().next_back().map_or(1, |no| no.0 + 1))
    }

    pub(crate) fn fold(&mut self, entry: &Entry) {
        match entry {
            Entry::Header { .. } => {}
            Entry::Base { serial, token, records, intents, releases, outputs } => {
                (self.serial, self.token) = (*serial, *token);
                self.records = records.iter().map(|r| (r.key.clone(), r.clone())).collect();
                self.intents = intents.iter().map(|r| (r.key.clone(), r.clone())).collect();
                self.releases = releases.iter().map(|r| (r.no, r.clone())).collect();
                self.outputs.clone_from(outputs);
            }
            Entry::Begin { serial, token, release, steps } => {
                self.count(*serial, *token);
                self.begin(release, steps);
            }
            Entry::Outcomes { serial, token, outcomes, .. } => {
                self.count(*serial, *token);
                outcomes.iter().for_each(|outcome| self.outcome(outcome));
            }
            Entry::End { serial, token, release, end } => {
                self.count(*serial, *token);
                self.end(*release, end);
            }
        }
    }

    fn count(&mut self, serial: u64, token: u64) {
        self.serial = serial;
        self.token = self.token.max(token);
    }

    fn begin(&mut self, release: &Release, steps: &[Step]) {
        self.close_interrupted(release.started);
        self.releases.insert(release.no, release.clone());
        self.open = Some(release.no);
        for step in steps {
            self.pending.insert(step.key.clone(), step.action);
            if let Some(intent) = intent(step, release.no)
                && !self.records.contains_key(&step.key)
            {
                self.intents.insert(step.key.clone(), intent);
            }
        }
    }

    /// A release that begins after another that never ended tells that the other was interrupted.
    fn close_interrupted(&mut self, now: Timestamp) {
        if let Some(release) = self.open.take().and_then(|no| self.releases.get_mut(&no)) {
            release.phase = Phase::Failed;
            release.ended = Some(now);
            release.message = Some("interrupted".to_owned());
        }
        self.pending.clear();
    }

    fn outcome(&mut self, outcome: &Outcome) {
        let action = self.pending.remove(outcome.key());
        match outcome {
            Outcome::Recorded(record) => {
                self.intents.remove(&record.key);
                self.records.insert(record.key.clone(), (**record).clone());
            }
            Outcome::Forgotten(key) => {
                self.intents.remove(key);
                self.records.remove(key);
            }
            // It was not there when the plan was made, and surely was not made: nothing to remember.
            Outcome::Failed { key, uncertain: false, .. } if action == Some(Action::Create) => {
                self.intents.remove(key);
            }
            Outcome::Failed { .. } => {}
        }
    }

    fn end(&mut self, no: ReleaseNo, end: &ReleaseEnd) {
        if let Some(release) = self.releases.get_mut(&no) {
            release.phase = end.phase;
            release.ended = Some(end.ended);
            release.tally = end.tally;
            release.message.clone_from(&end.message);
        }
        // A release that ended in order has not tried what has no outcome.
        for (key, action) in std::mem::take(&mut self.pending) {
            if action == Action::Create {
                self.intents.remove(&key);
            }
        }
        if end.phase == Phase::Succeeded {
            self.outputs.clone_from(&end.outputs);
        }
        self.open = None;
    }

    /// Returns the entry that stands for all of this.
    pub(crate) fn to_base(&self) -> Entry {
        Entry::Base {
            serial: self.serial,
            token: self.token,
            records: self.records.values().cloned().collect(),
            intents: self.intents.values().cloned().collect(),
            releases: self.releases.values().cloned().collect(),
            outputs: self.outputs.clone(),
        }
    }
}

fn intent(step: &Step, release: ReleaseNo) -> Option<ResourceRecord> {
    Some(ResourceRecord {
        key: step.key.clone(),
        kind: step.kind.clone(),
        attributes: step.desired.clone()?,
        depends_on: step.depends_on.clone(),
        extensions: step.extensions.clone(),
        uid: None,
        release,
        imported: step.action == Action::Import,
    })
}
