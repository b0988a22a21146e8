//! The walk over the plan: starts what is ready, takes what ended, writes down what came of it.

use std::collections::{BTreeMap, BTreeSet};

use futures::channel::mpsc::UnboundedSender;
use futures::channel::oneshot::{self, Canceled};
use futures::future::{BoxFuture, Either, select};
use futures::stream::{FuturesUnordered, StreamExt};
use kusion_model::{
    Action, Attr, Deposed, DigestKey, INTERRUPTED, Observed, Phase, ReleaseNo, ResourceKey, ResourceRecord,
    Step, Tally, Timestamp, Wait, seal_like,
};
use kusion_runtime::ErrorKind;
use kusion_store::{Outcome, ReleaseEnd, Session, StoreError};

use crate::depart::{Departure, carry_out, departures};
use crate::keeper::Told;
use crate::outputs::Given;
use crate::resolve::resolve;
use crate::step::Done;
use crate::{
    ApplyError, ApplyInput, CancelToken, Doubt, Event, EventKind, FailurePolicy, HealthOutcome, HealthTarget,
    HealthVerdict, Report, StepEnd,
};

/// A future that ended.
pub(crate) enum Finished {
    Call(usize, Done),
    Health(usize, Box<HealthOutcome>),
    /// The look at what was left as it is.
    Rest(Vec<Doubt>),
    /// What a resource had replaced was deleted, or not.
    Farewell(usize, Box<ResourceRecord>, Result<(), String>),
}

pub(crate) struct Walk<'i> {
    pub(crate) input: &'i ApplyInput<'i>,
    release: ReleaseNo,
    /// The steps that change something, in plan order; then the resources that are left as they are.
    pub(crate) steps: Vec<&'i Step>,
    /// How many of them change something.
    pub(crate) n_changes: usize,
    /// What is left as it is has been looked at, or is being.
    pub(crate) looked: bool,
    /// Per step: who waits for it, and for what.
    waiters: Vec<Vec<(usize, Wait)>>,
    /// Per step: how many edges are still open.
    open_edges: Vec<usize>,
    ready: BTreeSet<usize>,
    pub(crate) ends: Vec<Option<StepEnd>>,
    /// How long a step took, by its place in `steps`.
    took: BTreeMap<usize, u64>,
    pub(crate) started: Vec<Option<Timestamp>>,
    /// The latest view of every object, for references.
    pub(crate) seen: BTreeMap<ResourceKey, Observed>,
    /// Records of resources that have replaced something which is still there, by place in `steps`.
    pub(crate) leaving: BTreeMap<usize, ResourceRecord>,
    departures: Vec<Option<Departure<'i>>>,
    pub(crate) n_calls: usize,
    /// To the keeper of the records.
    outbox: UnboundedSender<Told>,
    /// The keeper knows all that came of the steps and has been told to write it down.
    flushed: bool,
    /// Nothing more can be written.
    trouble: CancelToken,
    pub(crate) stopping: bool,
    pub(crate) failed: bool,
}

impl<'i> Walk<'i> {
    pub(crate) fn new(
        input: &'i ApplyInput<'i>,
        release: ReleaseNo,
        outbox: UnboundedSender<Told>,
        trouble: CancelToken,
    ) -> Self {
        let (mut steps, kept): (Vec<&Step>, Vec<&Step>) =
            input.plan.steps.iter().partition(|step| step.is_change());
        let n_changes = steps.len();
        steps.extend(kept);
        let index: BTreeMap<&ResourceKey, usize> = steps.iter().map(|step| &step.key).zip(0..).collect();
        let mut waiters = vec![Vec::new(); steps.len()];
        let mut open_edges = vec![0; steps.len()];
        for (at, step) in steps.iter().enumerate() {
            for edge in &step.after {
                if let Some(&before) = index.get(&edge.on) {
                    waiters[before].push((at, edge.wait));
                    open_edges[at] += 1;
                }
            }
        }
        let ready = (0..n_changes).filter(|&at| open_edges[at] == 0).collect();
        let departures = departures(input, &steps, &waiters);
        Walk {
            input,
            release,
            ends: vec![None; steps.len()],
            took: BTreeMap::new(),
            started: vec![None; steps.len()],
            steps,
            n_changes,
            looked: false,
            waiters,
            open_edges,
            ready,
            seen: input.live.clone(),
            leaving: BTreeMap::new(),
            departures,
            n_calls: 0,
            outbox,
            flushed: true,
            trouble,
            stopping: false,
            failed: false,
        }
    }

    /// Brings records up to date whose objects need no write.
    pub(crate) fn refresh_records(&mut self) {
        for step in &self.input.plan.steps {
            if let Some(record) = step.rerecord.clone() {
                self.record(step, record);
            }
        }
    }

    /// The object is known under this id, and under no other any more.
    pub(crate) fn record(&mut self, step: &Step, record: ResourceRecord) {
        self.note(Outcome::Recorded(Box::new(record)));
        step.aliases.iter().cloned().for_each(|alias| self.note(Outcome::Forgotten(alias)));
    }

    /// Has it written down that a step is tried, where the plan asks for that; ends when it is written.
    fn note_trial(&mut self, step: &Step) -> impl Future<Output = Result<(), Canceled>> + Send + use<> {
        let (tell, told) = oneshot::channel();
        if step.once {
            let key = step.key.clone();
            let _ = self.outbox.unbounded_send(Told::Tries(key, tell));
        } else {
            let _ = tell.send(());
        }
        told
    }

    /// Tells the keeper what came of a step. It has gone only if the run itself has.
    pub(crate) fn note(&mut self, outcome: Outcome) {
        let _ = self.outbox.unbounded_send(Told::Came(outcome));
        self.flushed = false;
    }

    pub(crate) async fn run(&mut self) {
        self.walk().await;
        self.outbox.close_channel();
    }

    async fn walk(&mut self) {
        let input = self.input;
        let mut flight: FuturesUnordered<BoxFuture<'i, Finished>> = FuturesUnordered::new();
        loop {
            self.note_cancel();
            while !self.stopping && self.n_calls < input.options.concurrency.max(1) {
                let Some(at) = self.ready.pop_first() else { break };
                self.start(at, &flight);
            }
            // What was replaced goes before the rest is looked at.
            if flight.is_empty() && !self.start_farewells(&flight) {
                self.look_at_rest(&flight);
            }
            if self.n_calls == 0 && (flight.is_empty() || self.abandons_health()) {
                return;
            }
            self.flush_if_idle();
            let trouble = self.trouble.clone();
            let cancelled = std::pin::pin!(wait_for_cancel(input.cancel));
            let stuck = std::pin::pin!(wait_for_cancel(&trouble));
            match select(flight.next(), select(cancelled, stuck)).await {
                Either::Left((Some(finished), _)) => self.take(finished, &flight),
                Either::Left((None, _)) => return,
                Either::Right(_) => {}
            }
        }
    }

    /// After a cancel nobody waits for health any more; after a failure the others' health is still told.
    fn abandons_health(&self) -> bool {
        self.input.cancel.is_cancelled() || self.trouble.is_cancelled()
    }

    fn note_cancel(&mut self) {
        if self.abandons_health() && !self.stopping {
            self.stop();
        }
    }

    fn stop(&mut self) {
        self.stopping = true;
        self.emit(EventKind::Draining { in_flight: self.n_calls });
    }

    fn start(&mut self, at: usize, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        let (input, step) = (self.input, self.steps[at]);
        self.started[at] = Some(input.clock.now());
        self.emit(EventKind::StepStarted { key: step.key.clone(), action: step.action });
        match resolve(step, &self.seen, input.platforms, input.digest_key) {
            Ok(attributes) => {
                self.n_calls += 1;
                let (noted, departure) = (self.note_trial(step), self.departures[at].clone());
                let call = async move {
                    // Nobody may be asked to make it before it is written down. Where that failed, the keeper has told.
                    match noted.await {
                        Ok(()) => Finished::Call(at, carry_out(input, step, attributes, departure).await),
                        Err(_) => Finished::Call(at, Done::never_tried()),
                    }
                };
                flight.push(Box::pin(call));
            }
            Err(message) => self.fail(at, message, None, false),
        }
    }

    fn take(&mut self, finished: Finished, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        match finished {
            Finished::Call(at, done) => {
                self.n_calls -= 1;
                self.take_call(at, done, flight);
            }
            Finished::Health(at, outcome) => self.take_health(at, *outcome),
            Finished::Rest(doubts) => self.take_rest(doubts, flight),
            Finished::Farewell(at, record, gone) => self.take_farewell(at, *record, gone),
        }
    }

    fn take_call(&mut self, at: usize, done: Done, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        let step = self.steps[at];
        match done {
            Done::Failed { message, kind, uncertain } => self.fail(at, message, kind, uncertain),
            Done::Gone { warnings } => {
                let ids = std::iter::once(&step.key).chain(&step.aliases);
                ids.cloned().for_each(|id| self.note(Outcome::Forgotten(id)));
                self.seen.remove(&step.key);
                self.applied(at, warnings);
                self.end_step(at, StepEnd::Applied);
                self.release_waiters(at, Wait::Ready);
            }
            Done::Applied { mut observed, attributes, warnings, trouble } => {
                seal_live(&mut observed, &attributes, self.input.digest_key);
                self.keep(at, attributes, &observed);
                if let Some(message) = trouble {
                    return self.fail(at, message, None, false);
                }
                self.seen.insert(step.key.clone(), (*observed).clone());
                self.applied(at, warnings);
                self.end_step(at, StepEnd::Applied);
                self.release_waiters(at, Wait::Applied);
                self.await_health(at, *observed, flight);
            }
        }
    }

    fn applied(&mut self, at: usize, warnings: Vec<String>) {
        let step = self.steps[at];
        let millis = self.millis_of(at);
        self.emit(EventKind::StepApplied { key: step.key.clone(), action: step.action, millis, warnings });
    }

    pub(crate) fn record_of(&self, step: &Step, attributes: Attr, observed: &Observed) -> ResourceRecord {
        let before = self.input.prior.get(&step.key);
        let replaced = step.create_first.then(|| Deposed {
            uid: step.live_uid.clone(),
            kept: before.and_then(|record| record.kept.clone()),
        });
        ResourceRecord {
            key: step.key.clone(),
            kind: step.kind.clone(),
            attributes,
            depends_on: step.depends_on.clone(),
            references: step.references.clone(),
            extensions: step.extensions.clone(),
            uid: observed.uid.clone(),
            release: self.release,
            imported: step.adopts() || before.is_some_and(|record| record.imported),
            kept: observed.kept.clone(),
            deposed: step.deposed.iter().cloned().chain(replaced).collect(),
        }
    }

    fn await_health(
        &mut self,
        at: usize,
        observed: Observed,
        flight: &FuturesUnordered<BoxFuture<'i, Finished>>,
    ) {
        let needed = self.waiters[at].iter().any(|(_, wait)| *wait == Wait::Ready);
        if self.input.options.wait || needed {
            self.wait_for(at, target_of(self.steps[at], observed), flight);
        }
    }

    pub(crate) fn wait_for(
        &mut self,
        at: usize,
        target: HealthTarget,
        flight: &FuturesUnordered<BoxFuture<'i, Finished>>,
    ) {
        let input = self.input;
        self.emit(EventKind::HealthAwaited { key: target.key.clone() });
        let wait = async move { Finished::Health(at, Box::new(input.health.wait(target).await)) };
        flight.push(Box::pin(wait));
    }

    pub(crate) fn take_health(&mut self, at: usize, outcome: HealthOutcome) {
        let key = self.steps[at].key.clone();
        let HealthOutcome { verdict, message, cause, next, observed } = outcome;
        if let Some(mut observed) = observed {
            if let Some(before) = self.seen.get(&key) {
                seal_live(&mut observed, before.attributes.tree(), self.input.digest_key);
            }
            self.seen.insert(key.clone(), observed);
        }
        self.emit(EventKind::HealthKnown {
            key,
            verdict,
            message: message.clone(),
            cause: cause.clone(),
            next: next.clone(),
            millis: self.millis_of(at),
        });
        if verdict.is_ready() {
            self.end_step(at, StepEnd::Healthy);
            self.release_waiters(at, Wait::Ready);
            return;
        }
        let timed_out = verdict == HealthVerdict::TimedOut;
        self.end_step(at, StepEnd::Unhealthy { message, cause, next, timed_out });
        self.note_failure(at);
    }

    pub(crate) fn fail(&mut self, at: usize, message: String, kind: Option<ErrorKind>, uncertain: bool) {
        let step = self.steps[at];
        self.note(Outcome::Failed { key: step.key.clone(), message: message.clone(), uncertain });
        self.emit(EventKind::StepFailed {
            key: step.key.clone(),
            action: step.action,
            message: message.clone(),
        });
        self.end_step(at, StepEnd::Failed { message, kind });
        self.note_failure(at);
    }

    fn note_failure(&mut self, at: usize) {
        self.failed = true;
        self.skip_dependents(at);
        // Behind the last change there is nothing left to stop.
        if self.input.options.on_failure != FailurePolicy::Continue && !self.stopping && !self.looked {
            self.stop();
        }
    }

    fn skip_dependents(&mut self, at: usize) {
        let because = self.steps[at].key.clone();
        let mut stack: Vec<usize> = self.waiters[at].iter().map(|(waiter, _)| *waiter).collect();
        while let Some(waiter) = stack.pop() {
            if self.started[waiter].is_some() || self.ends[waiter].is_some() {
                continue;
            }
            self.ready.remove(&waiter);
            self.ends[waiter] = Some(StepEnd::Skipped { because: because.clone() });
            let key = self.steps[waiter].key.clone();
            self.emit(EventKind::StepSkipped { key, because: because.clone() });
            stack.extend(self.waiters[waiter].iter().map(|(next, _)| *next));
        }
    }

    /// Lets those go on who waited for this much: ready includes applied, but each edge is counted once.
    fn release_waiters(&mut self, at: usize, reached: Wait) {
        let gone = self.steps[at].action.is_leaving();
        for &(waiter, wait) in &self.waiters[at] {
            if wait != reached && !gone {
                continue;
            }
            self.open_edges[waiter] = self.open_edges[waiter].saturating_sub(1);
            if self.open_edges[waiter] == 0 && self.ends[waiter].is_none() {
                self.ready.insert(waiter);
            }
        }
    }

    /// Only health is waited for.
    fn flush_if_idle(&mut self) {
        if self.n_calls == 0 && self.ready.is_empty() && !std::mem::replace(&mut self.flushed, true) {
            let _ = self.outbox.unbounded_send(Told::Idle);
        }
    }

    /// Writes the end of the release, if everything before it is written.
    pub(crate) async fn finish(
        self,
        session: &mut Session,
        kept: Result<Vec<Outcome>, StoreError>,
    ) -> Result<Report, ApplyError> {
        let report = self.report();
        let message = report.steps.iter().find_map(|(key, end)| match end {
            StepEnd::Failed { message, .. } => Some(format!("{key}: {message}")),
            StepEnd::Unhealthy { message, cause, .. } => {
                Some(format!("{key}: {}", cause.as_ref().unwrap_or(message)))
            }
            _ => None,
        });
        let message = message.or_else(|| report.wrong_outputs.first().cloned());
        let message = message.or_else(|| report.cancelled.then(|| INTERRUPTED.to_owned()));
        let end = ReleaseEnd {
            phase: report.phase,
            ended: self.input.clock.now(),
            tally: report.tally,
            message,
            outputs: report.outputs.clone(),
        };
        let written = match kept {
            Ok(rest) => session.end(self.release, rest, end).await,
            Err(error) => Err(error),
        };
        self.emit(EventKind::ReleaseEnded {
            release: self.release,
            phase: report.phase,
            tally: report.tally,
        });
        match written {
            Err(source) => Err(ApplyError::Store { source, report: Some(Box::new(report)) }),
            Ok(()) => Ok(report),
        }
    }

    fn report(&self) -> Report {
        let mut tally = Tally { unchanged: self.input.plan.tally().unchanged, ..Tally::default() };
        let mut steps = BTreeMap::new();
        for (step, end) in self.steps.iter().zip(&self.ends).take(self.n_changes) {
            let end = end.clone().unwrap_or(StepEnd::NotStarted);
            if end.is_applied() {
                tally.count(step);
            }
            steps.insert(step.key.to_string(), end);
        }
        steps.extend(self.unwell_rest());
        // Interrupted while it waited: nobody knows whether it is healthy, so it is no release to go back to.
        let (cancelled, waited) = (self.input.cancel.is_cancelled(), self.input.options.wait);
        let unproven = |(step, end): (&&Step, &Option<StepEnd>)| match step.action {
            Action::Delete | Action::Release => false,
            Action::NoOp => *end != Some(StepEnd::Healthy),
            _ => *end == Some(StepEnd::Applied),
        };
        let unknown = waited && self.steps.iter().zip(&self.ends).any(unproven);
        let given = Given::of(self.input.outputs, &self.seen);
        let success = steps.values().all(StepEnd::is_success) && !unknown && given.wrong.is_empty();
        Report {
            release: self.release,
            phase: if success { Phase::Succeeded } else { Phase::Failed },
            tally,
            steps,
            millis: self.took.iter().map(|(&at, &millis)| (self.steps[at].key.to_string(), millis)).collect(),
            cancelled,
            waited,
            rollback_wanted: self.failed && self.input.options.on_failure == FailurePolicy::Rollback,
            outputs: given.values,
            wrong_outputs: given.wrong,
        }
    }

    fn end_step(&mut self, at: usize, end: StepEnd) {
        self.took.insert(at, self.millis_of(at));
        self.ends[at] = Some(end);
    }

    pub(crate) fn millis_of(&self, at: usize) -> u64 {
        self.started[at].map_or(0, |started| self.input.clock.now().millis_since(started))
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        (self.input.events)(Event { at: self.input.clock.now(), kind });
    }
}

pub(crate) fn target_of(step: &Step, observed: Observed) -> HealthTarget {
    HealthTarget { key: step.key.clone(), kind: step.kind.clone(), action: step.action, observed }
}

/// Seals what was filled from a secret, which the platform cannot know.
fn seal_live(observed: &mut Observed, like: &Attr, key: &DigestKey) {
    if like.has_secret() {
        observed.attributes.change_tree(|tree| seal_like(tree, like, key));
    }
}

async fn wait_for_cancel(cancel: &CancelToken) {
    if cancel.is_cancelled() {
        // Already known; only the flight counts now.
        futures::future::pending::<()>().await;
    }
    cancel.cancelled().await;
}
