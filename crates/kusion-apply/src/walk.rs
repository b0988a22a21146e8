//! The walk over the plan: starts what is ready, takes what ended, writes down what came of it.

use std::collections::BTreeMap;

use futures::channel::mpsc::UnboundedSender;
use futures::channel::oneshot::{self, Canceled};
use futures::future::{BoxFuture, Either, select};
use futures::stream::{FuturesUnordered, StreamExt};
use kusion_model::{
    Action, Attr, Deposed, DigestKey, INTERRUPTED, Observed, Phase, ReleaseNo, ResourceKey, ResourceRecord,
    Step, Tally, Timestamp, Wait, seal_like,
};
use kusion_runtime::{ErrorKind, RuntimeError};
use kusion_store::{Outcome, ReleaseEnd, Session, StoreError};

use crate::keeper::Told;
use crate::outputs::Given;
use crate::parts::{Part, Parts};
use crate::resolve::resolve;
use crate::step::{Done, run_step};
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
    /// What a resource replaces is gone, or not.
    Old(usize, Result<(), RuntimeError>),
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
    /// Who waits for whom.
    pub(crate) parts: Parts,
    pub(crate) ends: Vec<Option<StepEnd>>,
    /// How long a step took, by its place in `steps`.
    took: BTreeMap<usize, u64>,
    pub(crate) started: Vec<Option<Timestamp>>,
    /// The latest view of every object, for references.
    pub(crate) seen: BTreeMap<ResourceKey, Observed>,
    /// Records of resources that have replaced something which is still there, by place in `steps`.
    pub(crate) leaving: BTreeMap<usize, ResourceRecord>,
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
        Walk {
            input,
            release,
            parts: Parts::new(&steps[..n_changes]),
            ends: vec![None; steps.len()],
            took: BTreeMap::new(),
            started: vec![None; steps.len()],
            steps,
            n_changes,
            looked: false,
            seen: input.live.clone(),
            leaving: BTreeMap::new(),
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
                let Some(part) = self.parts.next() else { break };
                self.start(part, &flight);
            }
            if flight.is_empty() {
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

    pub(crate) fn start(&mut self, part: Part, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        match part {
            Part::New(at) => self.start_new(at, flight),
            Part::Old(at) => self.start_old(at, flight),
        }
    }

    /// The first part of a step begins.
    pub(crate) fn note_start(&mut self, at: usize) {
        if self.started[at].is_none() {
            let step = self.steps[at];
            self.started[at] = Some(self.input.clock.now());
            self.emit(EventKind::StepStarted { key: step.key.clone(), action: step.action });
        }
    }

    fn start_new(&mut self, at: usize, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        let (input, step) = (self.input, self.steps[at]);
        self.note_start(at);
        match resolve(step, &self.seen, input.platforms, input.digest_key) {
            Ok(attributes) => {
                self.n_calls += 1;
                let noted = self.note_trial(step);
                let call = async move {
                    // Nobody may be asked to make it before it is written down. Where that failed, the keeper has told.
                    match noted.await {
                        Ok(()) => Finished::Call(at, run_step(input, step, attributes).await),
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
            Finished::Old(at, gone) => {
                self.n_calls -= 1;
                self.take_old(at, gone, flight);
            }
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
                self.parts.reached(at, None);
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
                self.parts.reached(at, Some(Wait::Applied));
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
            depends_on: before.map(|record| record.depends_on.clone()).unwrap_or_default(),
        });
        // What had to go first has taken with it what was left behind.
        let deposed = if step.old_goes_first() { &[] } else { &step.deposed[..] };
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
            deposed: deposed.iter().cloned().chain(replaced).collect(),
        }
    }

    fn await_health(
        &mut self,
        at: usize,
        observed: Observed,
        flight: &FuturesUnordered<BoxFuture<'i, Finished>>,
    ) {
        if self.input.options.wait || self.parts.health_is_awaited(at) {
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
            self.parts.reached(at, Some(Wait::Ready));
            return;
        }
        let timed_out = verdict == HealthVerdict::TimedOut;
        self.end_step(at, StepEnd::Unhealthy { message, cause, next, timed_out });
        self.note_failure(at);
    }

    pub(crate) fn fail(&mut self, at: usize, message: String, kind: Option<ErrorKind>, uncertain: bool) {
        self.tell_failure(at, message, kind, uncertain);
        self.note_failure(at);
    }

    /// The step has failed; who waits for it does not know yet.
    pub(crate) fn tell_failure(
        &mut self,
        at: usize,
        message: String,
        kind: Option<ErrorKind>,
        uncertain: bool,
    ) {
        let step = self.steps[at];
        self.note(Outcome::Failed { key: step.key.clone(), message: message.clone(), uncertain });
        self.emit(EventKind::StepFailed {
            key: step.key.clone(),
            action: step.action,
            message: message.clone(),
        });
        self.end_step(at, StepEnd::Failed { message, kind });
    }

    /// Something went wrong with the new object of a step, or with all of it.
    fn note_failure(&mut self, at: usize) {
        self.skip(self.parts.behind_new(at), at);
        self.stop_after_failure();
    }

    pub(crate) fn stop_after_failure(&mut self) {
        self.failed = true;
        // Behind the last change there is nothing left to stop.
        if self.input.options.on_failure != FailurePolicy::Continue && !self.stopping && !self.looked {
            self.stop();
        }
    }

    /// Only health is waited for.
    fn flush_if_idle(&mut self) {
        if self.n_calls == 0 && self.parts.is_idle() && !std::mem::replace(&mut self.flushed, true) {
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
        for (at, (step, end)) in self.steps.iter().zip(&self.ends).take(self.n_changes).enumerate() {
            let half = self.is_half_replaced(at).then_some(StepEnd::HalfReplaced { because: None });
            let end = end.as_ref().or(half.as_ref()).cloned().unwrap_or(StepEnd::NotStarted);
            if end.is_made() {
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
        let success = steps.values().all(StepEnd::is_success)
            && !unknown
            && given.wrong.is_empty()
            && self.parts.old_are_gone();
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

    pub(crate) fn end_step(&mut self, at: usize, end: StepEnd) {
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
