//! The end of old objects: of what is replaced before the new one is made, of what was replaced when nobody uses it any more.

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kusion_model::{Attr, Observed, ResourceKey, ResourceRecord, Wait};
use kusion_runtime::RuntimeError;
use kusion_store::Outcome;

use crate::parts::Part;
use crate::resolve::resolve;
use crate::step::{delete_left, delete_old};
use crate::walk::{Finished, Walk};
use crate::{EventKind, StepEnd};

impl<'i> Walk<'i> {
    /// Records what a step has made, and what that has replaced. Nothing is recorded of what is there only while it is used.
    pub(crate) fn keep(&mut self, at: usize, attributes: Attr, observed: &Observed) {
        let step = self.steps[at];
        if self.input.platforms.passes(&step.kind, &step.extensions) {
            return self.note(Outcome::Forgotten(step.key.clone()));
        }
        let record = self.record_of(step, attributes, observed);
        if !record.deposed.is_empty() {
            self.leaving.insert(at, record.clone());
        }
        self.record(step, record);
    }

    pub(crate) fn start_old(&mut self, at: usize, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        let (input, step) = (self.input, self.steps[at]);
        self.note_start(at);
        if step.old_goes_first() && self.parts.waits_for_old_only(at) {
            // Nothing is deleted for something that can be seen not to come.
            if let Err(message) = resolve(step, &self.seen, input.platforms, input.digest_key) {
                return self.fail_old(at, message, None);
            }
        }
        self.n_calls += 1;
        self.emit(EventKind::OldLeaving { key: step.key.clone() });
        let left = self.leaving.get(&at).map(|record| record.deposed.clone()).unwrap_or_default();
        flight.push(Box::pin(async move {
            let gone = match step.old_goes_first() {
                true => delete_old(input, step).await,
                false => delete_left(input, step, left).await,
            };
            Finished::Old(at, gone)
        }));
    }

    pub(crate) fn take_old(
        &mut self,
        at: usize,
        gone: Result<(), RuntimeError>,
        flight: &FuturesUnordered<BoxFuture<'i, Finished>>,
    ) {
        let step = self.steps[at];
        match gone {
            Err(error) if step.old_goes_first() => {
                let uncertain = error.is_uncertain();
                self.fail_old(at, error.message, Some((error.kind, uncertain)));
            }
            Err(error) => {
                let message = format!("what it has replaced is still there: {}", error.message);
                self.fail_old(at, message, None);
            }
            Ok(()) => {
                self.note_gone(at);
                self.emit(EventKind::OldGone { key: step.key.clone(), millis: self.millis_of(at) });
                self.parts.reached(at, Some(Wait::Gone));
                if step.old_goes_first() {
                    self.go_on(at, flight);
                } else if let Some(end) = self.ends[at].take() {
                    self.end_step(at, end);
                }
            }
        }
    }

    /// Writes down that old objects are gone. What had to go first leaves a record of something that is not there: the next
    /// plan makes it.
    fn note_gone(&mut self, at: usize) {
        let step = self.steps[at];
        let record = match step.old_goes_first() {
            true => {
                self.seen.remove(&step.key);
                let before = self.input.prior.records.get(&step.key).cloned();
                before.map(|before| ResourceRecord {
                    kept: step.kept.clone(),
                    depends_on: step.depends_on.clone(),
                    ..before
                })
            }
            false => self.leaving.remove(&at),
        };
        if let Some(record) = record {
            self.record(step, ResourceRecord { deposed: Vec::new(), ..record });
        }
    }

    /// Makes the new object at once, if nothing else is waited for: also when the run is being stopped, because half of it is
    /// done.
    fn go_on(&mut self, at: usize, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        if self.parts.take(Part::New(at)) {
            self.start(Part::New(at), flight);
        } else if let Some(StepEnd::Skipped { because }) = &self.ends[at] {
            // What the new one needs failed meanwhile.
            self.ends[at] = Some(StepEnd::HalfReplaced { because: Some(because.clone()) });
        }
    }

    /// Whether the old object of a step is gone and nothing came of the new one yet.
    pub(crate) fn is_half_replaced(&self, at: usize) -> bool {
        self.steps[at].old_goes_first() && self.parts.old_is_gone(at)
    }

    fn fail_old(&mut self, at: usize, message: String, kind: Option<(kusion_runtime::ErrorKind, bool)>) {
        let (kind, uncertain) = kind.map_or((None, false), |(kind, uncertain)| (Some(kind), uncertain));
        self.tell_failure(at, message, kind, uncertain);
        self.skip(self.parts.behind_old(at), at);
        self.stop_after_failure();
    }

    /// Gives up what cannot begin because of a step that failed, and what waits for that in turn.
    pub(crate) fn skip(&mut self, hit: Vec<Part>, because: usize) {
        let because = self.steps[because].key.clone();
        let mut stack = hit;
        while let Some(part) = stack.pop() {
            if !self.parts.give_up(part) {
                continue;
            }
            match part {
                Part::New(at) => {
                    stack.extend(self.parts.behind_new(at));
                    stack.extend(self.steps[at].old_goes_first().then_some(Part::Old(at)));
                    self.skip_new(at, &because);
                }
                Part::Old(at) => {
                    stack.extend(self.parts.behind_old(at));
                    if !self.steps[at].old_goes_first()
                        && self.ends[at].as_ref().is_some_and(StepEnd::is_made)
                    {
                        let key = self.steps[at].key.clone();
                        self.emit(EventKind::OldStays { key, because: because.clone() });
                    }
                }
            }
        }
    }

    fn skip_new(&mut self, at: usize, because: &ResourceKey) {
        if self.ends[at].is_some() {
            return;
        }
        let because = because.clone();
        self.ends[at] = Some(match self.is_half_replaced(at) {
            true => StepEnd::HalfReplaced { because: Some(because.clone()) },
            false => StepEnd::Skipped { because: because.clone() },
        });
        self.emit(EventKind::StepSkipped { key: self.steps[at].key.clone(), because });
    }
}
