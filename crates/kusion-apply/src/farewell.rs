//! The end of objects that others have replaced: they go when everything that used them has moved on.

use std::collections::BTreeSet;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use kusion_model::{Attr, Observed, ResourceKey, ResourceRecord};
use kusion_store::Outcome;

use crate::step::delete_deposed;
use crate::walk::{Finished, Walk};

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

    /// Begins to delete what was replaced, when everything that used it has moved on: first that which no other replaced object
    /// used, then the next. After a failure it stays, and stays recorded. Returns whether there was anything to begin.
    pub(crate) fn start_farewells(&mut self, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) -> bool {
        if self.failed || self.stopping || self.leaving.is_empty() {
            return false;
        }
        let steps = &self.steps;
        let used: BTreeSet<&ResourceKey> =
            self.leaving.keys().flat_map(|&at| steps[at].after.iter().map(|edge| &edge.on)).collect();
        let free: Vec<usize> =
            self.leaving.keys().copied().filter(|&at| !used.contains(&steps[at].key)).collect();
        for at in free {
            let Some(record) = self.leaving.remove(&at) else { continue };
            self.n_calls += 1;
            let (input, step) = (self.input, self.steps[at]);
            let farewell = async move {
                let mut gone = Ok(());
                for deposed in &record.deposed {
                    if gone.is_ok() {
                        gone = delete_deposed(input, step, deposed).await.map_err(|error| error.message);
                    }
                }
                Finished::Farewell(at, Box::new(record), gone)
            };
            flight.push(Box::pin(farewell));
        }
        true
    }

    pub(crate) fn take_farewell(&mut self, at: usize, record: ResourceRecord, gone: Result<(), String>) {
        self.n_calls -= 1;
        match gone {
            Ok(()) => {
                let record = ResourceRecord { deposed: Vec::new(), ..record };
                self.note(Outcome::Recorded(Box::new(record)));
            }
            Err(message) => {
                self.fail(at, format!("what it has replaced is still there: {message}"), None, false);
            }
        }
    }
}
