//! From entries to state: a pure fold, so that any past release can be rebuilt by stopping earlier.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use kusion_model::{
    Action, Attr, ClusterIdentity, INTERRUPTED, OutputUse, Phase, Prior, Records, Release, ReleaseNo,
    ResourceKey, ResourceRecord, Scope, Step, Timestamp,
};

use crate::entry::{Entry, Outcome, ReleaseEnd, Way};
use crate::vault::{self, Vault};
use crate::{Damage, Head, Keys};

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
    pub records: Records,
    /// What an interrupted release was going to make and may have made.
    pub intents: Records,
    /// What was being made when a release was cut off, or is being made by the open one.
    pub tried: Arc<BTreeSet<ResourceKey>>,
    pub releases: BTreeMap<ReleaseNo, Release>,
    pub outputs: BTreeMap<String, Attr>,
    /// The release that has begun and not ended: it runs, or it was interrupted.
    pub open: Option<ReleaseNo>,
    /// The last record was never finished; it counts for nothing.
    pub torn_tail: bool,
    /// Where it goes or comes from, as long as it does not count here.
    pub(crate) way: Option<Way>,
    /// The numbers of releases up to this one are used.
    pub(crate) last_release: ReleaseNo,
    /// The values of secrets, sealed.
    pub(crate) vault: Vault,
    /// The steps of the open release that have no outcome yet, with their action.
    pub(crate) pending: BTreeMap<ResourceKey, Action>,
    /// What the open release was the first to try: only of that does its failure say that nothing was made.
    pub(crate) first_tried: BTreeSet<ResourceKey>,
    /// How much of the log it was read from; nothing for a state that was not read from one.
    pub(crate) read: Source,
}

/// Where a state was read from; two states are equal wherever they come from.
#[derive(Clone, Debug, Default)]
pub(crate) struct Source(pub(crate) Option<Read>);

impl PartialEq for Source {
    fn eq(&self, _: &Source) -> bool {
        true
    }
}

/// What has to be put right before somebody writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unsettled {
    No,
    /// The log was only just made: it has no head yet.
    New,
    /// The log is written anew.
    Yes,
}

/// The log that a state was read from.
#[derive(Clone, Debug)]
pub(crate) struct Read {
    /// The position behind its last whole record.
    pub(crate) end: u64,
    /// How many releases can be rebuilt from it.
    pub(crate) n_releases: usize,
    /// Serial and hash of each entry; of those that were folded together, the last.
    pub(crate) links: Vec<Link>,
    /// Whether opening it for writing has to put something right first.
    pub(crate) unsettled: Unsettled,
    /// What it is sealed with; nothing for a log in clear.
    pub(crate) keys: Option<Keys>,
}

/// An entry in the chain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Link {
    pub(crate) serial: u64,
    pub(crate) hash: String,
}

impl State {
    pub(crate) fn new(lineage: String, scope: Scope) -> Self {
        State {
            scope,
            lineage,
            serial: 0,
            token: 0,
            records: Records::default(),
            intents: Records::default(),
            tried: Arc::default(),
            releases: BTreeMap::new(),
            outputs: BTreeMap::new(),
            open: None,
            torn_tail: false,
            way: None,
            last_release: ReleaseNo(0),
            vault: Vault::new(),
            pending: BTreeMap::new(),
            first_tried: BTreeSet::new(),
            read: Source::default(),
        }
    }

    /// Returns what the planner needs; it shares the records, so it costs nothing.
    #[must_use]
    pub fn prior(&self) -> Prior {
        Prior {
            // Before the first release a history has no identity yet: a preview without a lock and the apply after it
            // make the same plan.
            lineage: if self.serial == 0 { String::new() } else { self.lineage.clone() },
            serial: self.serial,
            records: Arc::clone(&self.records),
            intents: Arc::clone(&self.intents),
            tried: Arc::clone(&self.tried),
        }
    }

    /// Returns the records with the values of their secrets, as far as they are kept.
    #[must_use]
    pub fn records_with_secrets(&self) -> Records {
        let mut records = self.records.clone();
        if let Some(keys) = self.read.0.as_ref().and_then(|read| read.keys.as_ref()) {
            vault::fill(&mut records, &self.vault, keys, &self.scope);
        }
        records
    }

    /// Returns which clusters the stack is on, by the name that resources use, as far as releases have recorded it.
    #[must_use]
    pub fn clusters(&self) -> BTreeMap<String, ClusterIdentity> {
        let mut all: BTreeMap<String, ClusterIdentity> = BTreeMap::new();
        for release in self.releases.values() {
            for (name, identity) in &release.clusters {
                let known = all.entry(name.clone()).or_default();
                // What one release could not see another may have seen.
                let uid = identity
                    .uid
                    .clone()
                    .or_else(|| known.uid.take().filter(|_| !release.moved.contains(name)));
                *known = ClusterIdentity { uid, ..identity.clone() };
            }
        }
        all
    }

    /// Returns the newest release.
    #[must_use]
    pub fn latest(&self) -> Option<&Release> {
        self.releases.values().next_back()
    }

    /// Returns the number that the next release gets.
    #[must_use]
    pub fn next_release(&self) -> ReleaseNo {
        ReleaseNo(self.last_release().0 + 1)
    }

    pub(crate) fn last_release(&self) -> ReleaseNo {
        self.releases.keys().next_back().copied().unwrap_or_default().max(self.last_release)
    }

    /// Returns the end of the log that this was read from or written to; `None` before the first release.
    #[must_use]
    pub fn head(&self) -> Option<Head> {
        let read = self.read.0.as_ref()?;
        let Link { serial, hash } = read.links.last()?.clone();
        let (lineage, release) = (self.lineage.clone(), self.last_release());
        Some(Head { lineage, serial, hash, release, seal: read.keys.as_ref().map(Keys::mark) })
    }

    /// Compares this state with what the cluster has been told about it.
    ///
    /// # Errors
    /// How the state differs: it is gone, older, or another.
    pub fn agrees_with(&self, witness: &Head) -> Result<(), Damage> {
        let Head { lineage, serial, hash, release, .. } = witness;
        let Some(Read { links, .. }) = self.read.0.as_ref() else {
            return Err(Damage::Lost { witness: *serial, release: *release, at: None });
        };
        if *lineage != self.lineage {
            return Err(Damage::Stranger { found: self.lineage.clone(), witness: lineage.clone() });
        }
        if *serial > self.serial {
            return Err(Damage::Old { ends: self.serial, witness: *serial, release: *release });
        }
        match links.iter().find(|link| link.serial == *serial) {
            Some(link) if link.hash != *hash => Err(Damage::Unlike { serial: *serial }),
            // What has been folded cannot be compared any more.
            _ => Ok(()),
        }
    }

    pub(crate) fn fold(&mut self, entry: Entry) {
        match entry {
            Entry::Header { .. } => {}
            Entry::Base {
                serial,
                token,
                records,
                intents,
                releases,
                outputs,
                last_release,
                secrets,
                tried,
                ..
            } => {
                let by_key = |list: Vec<ResourceRecord>| {
                    Records::new(list.into_iter().map(|r| (r.key.clone(), r)).collect())
                };
                (self.serial, self.token) = (serial, token);
                self.records = by_key(records);
                self.intents = by_key(intents);
                self.tried = Arc::new(tried.into_iter().collect());
                self.releases = releases.into_iter().map(|r| (r.no, ended(r))).collect();
                self.outputs = outputs;
                self.last_release = last_release;
                self.vault = secrets;
            }
            Entry::Begin { serial, token, release, steps } => {
                self.count(serial, token);
                self.begin(*release, steps);
            }
            Entry::Outcomes { serial, token, outcomes, secrets, .. } => {
                self.count(serial, token);
                self.vault.extend(secrets);
                outcomes.into_iter().for_each(|outcome| self.outcome(outcome));
            }
            Entry::End { serial, token, release, end } => {
                self.count(serial, token);
                self.end(release, end);
            }
            Entry::Rotated { serial, token, .. } => self.count(serial, token),
            Entry::Moved { serial, token, way, .. } => {
                self.count(serial, token);
                self.way = Some(way).filter(|way| *way != Way::Arrived);
            }
        }
    }

    fn count(&mut self, serial: u64, token: u64) {
        self.serial = serial;
        self.token = self.token.max(token);
    }

    fn begin(&mut self, release: Release, steps: Vec<Step>) {
        self.close_interrupted(release.started);
        self.leave(&release);
        let no = release.no;
        self.releases.insert(no, release);
        self.open = Some(no);
        for step in steps {
            let (key, action) = (step.key.clone(), step.action);
            if !self.records.contains_key(&key)
                && let Some(mut intent) = intent(step, no)
            {
                // What an earlier release may have made is where that one was going to make it.
                let before = self.intents.get(&key).and_then(|before| before.kept.clone());
                intent.kept = intent.kept.or(before);
                Arc::make_mut(&mut self.intents).insert(key.clone(), intent);
            }
            self.pending.insert(key, action);
        }
    }

    /// The stack goes to another cluster: what it made on the one before is there, and not ours to know any more.
    fn leave(&mut self, release: &Release) {
        let (moved, left) = (&release.moved, &release.left);
        // Releases did not always say what they leave: then it is everything on those clusters.
        let goes = |key: &ResourceKey| match left.is_empty() {
            true => moved.contains(&*key.cluster),
            false => left.contains(key),
        };
        for records in [&mut self.records, &mut self.intents].into_iter().filter(|_| !moved.is_empty()) {
            Arc::make_mut(records).retain(|key, _| !goes(key));
        }
    }

    /// A release that begins after another that never ended tells that the other was interrupted.
    pub(crate) fn close_interrupted(&mut self, now: Timestamp) {
        if let Some(release) = self.open.take().and_then(|no| self.releases.get_mut(&no)) {
            *release = Release { ended: Some(now), ..ended(release.clone()) };
        }
        self.pending.clear();
        self.first_tried.clear();
    }

    fn outcome(&mut self, outcome: Outcome) {
        if let Outcome::Tried(key) = outcome {
            if Arc::make_mut(&mut self.tried).insert(key.clone()) {
                self.first_tried.insert(key);
            }
            return;
        }
        self.settle_tried(&outcome);
        let action = self.pending.remove(outcome.key());
        match outcome {
            Outcome::Tried(_) => {}
            Outcome::Recorded(record) => {
                self.forget_intent(&record.key);
                Arc::make_mut(&mut self.records).insert(record.key.clone(), *record);
            }
            Outcome::Forgotten(key) => {
                self.forget_intent(&key);
                Arc::make_mut(&mut self.records).remove(&key);
            }
            // It was not there when the plan was made, and surely was not made: nothing to remember.
            Outcome::Failed { key, uncertain: false, .. }
                if action == Some(Action::Create) && !self.tried.contains(&key) =>
            {
                self.forget_intent(&key);
            }
            Outcome::Failed { .. } => {}
        }
    }

    /// Something that was being made is settled when it is there or given up. That a later try fails says nothing about an
    /// earlier one that was cut off.
    fn settle_tried(&mut self, outcome: &Outcome) {
        let key = outcome.key();
        let is_settled = match outcome {
            Outcome::Failed { uncertain, .. } => !uncertain && self.first_tried.contains(key),
            _ => true,
        };
        if is_settled && self.tried.contains(key) {
            Arc::make_mut(&mut self.tried).remove(key);
        }
    }

    fn forget_intent(&mut self, key: &ResourceKey) {
        if self.intents.contains_key(key) {
            Arc::make_mut(&mut self.intents).remove(key);
        }
    }

    fn end(&mut self, no: ReleaseNo, end: ReleaseEnd) {
        let outputs = self.versions(no, &end);
        if let Some(release) = self.releases.get_mut(&no) {
            release.outputs = outputs;
            release.phase = end.phase;
            release.ended = Some(end.ended);
            release.tally = end.tally;
            release.cause = end.message;
        }
        // A release that ended in order has not tried what has no outcome.
        for (key, action) in std::mem::take(&mut self.pending) {
            if action == Action::Create && !self.tried.contains(&key) {
                self.forget_intent(&key);
            }
        }
        self.first_tried.clear();
        if end.phase == Phase::Succeeded {
            self.outputs = end.outputs;
        }
        self.open = None;
    }

    /// Since which release each output has its value.
    fn versions(&self, no: ReleaseNo, end: &ReleaseEnd) -> BTreeMap<String, ReleaseNo> {
        let version = |(text, value): (&String, &Attr)| {
            let before = self.output_version(text).filter(|_| self.outputs.get(text) == Some(value));
            (text.clone(), before.unwrap_or(no))
        };
        end.outputs.iter().map(version).collect()
    }

    /// Returns since which release an output has its value; `None` if it has none.
    #[must_use]
    pub fn output_version(&self, text: &str) -> Option<ReleaseNo> {
        self.outputs.get(text)?;
        let good = self.releases.values().rev().find(|release| release.phase == Phase::Succeeded)?;
        // What was recorded before versions were kept is as old as its release.
        Some(*good.outputs.get(text).unwrap_or(&good.no))
    }

    /// Returns the outputs that a release takes away which has begun and not ended.
    #[must_use]
    pub fn gives_up(&self) -> &[String] {
        self.open.and_then(|no| self.releases.get(&no)).map_or(&[], |release| &release.gives_up)
    }

    /// Returns what the stack uses of others, by `project/stack`: what its last good release used, and what a later one may
    /// have put in place. Nothing if it has no resource.
    #[must_use]
    pub fn uses(&self) -> BTreeMap<String, Vec<OutputUse>> {
        let mut all: BTreeMap<String, Vec<OutputUse>> = BTreeMap::new();
        if self.records.is_empty() && self.intents.is_empty() {
            return all;
        }
        for release in self.releases.values().rev() {
            for (stack, uses) in &release.uses {
                let known = all.entry(stack.clone()).or_default();
                let new: Vec<_> = uses
                    .iter()
                    .filter(|it| known.iter().all(|old| old.output != it.output))
                    .cloned()
                    .collect();
                known.extend(new);
            }
            if release.phase == Phase::Succeeded {
                break;
            }
        }
        all
    }

    /// Returns the entry that stands for all of this, and for the entry with this hash in the chain.
    pub(crate) fn to_base(&self, folded: Option<String>) -> Entry {
        Entry::Base {
            folded,
            last_release: self.last_release,
            secrets: vault::needed(&self.vault, &self.records),
            serial: self.serial,
            token: self.token,
            records: self.records.values().cloned().collect(),
            intents: self.intents.values().cloned().collect(),
            tried: self.tried.iter().cloned().collect(),
            releases: self.releases.values().cloned().collect(),
            outputs: self.outputs.clone(),
        }
    }
}

/// A release that was folded away without an end was interrupted.
fn ended(release: Release) -> Release {
    if release.phase.is_final() {
        return release;
    }
    Release { phase: Phase::Failed, cause: Some(INTERRUPTED.to_owned()), ..release }
}

fn intent(step: Step, release: ReleaseNo) -> Option<ResourceRecord> {
    Some(ResourceRecord {
        attributes: step.desired?,
        key: step.key,
        kind: step.kind,
        depends_on: step.depends_on,
        references: step.references,
        extensions: step.extensions,
        uid: None,
        release,
        imported: step.action == Action::Import,
        kept: step.kept,
        deposed: step.deposed,
    })
}
