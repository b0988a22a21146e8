//! The end of the walk: what the plan left as it is must be well too, or the release has not succeeded.
//!
//! Looked at behind the last change, because a change may have broken or mended it. What is not well then is waited for and
//! judged like everything else.

use std::collections::BTreeMap;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;

use crate::walk::{Finished, Walk, target_of};
use crate::{Doubt, HealthTarget, StepEnd};

impl<'i> Walk<'i> {
    /// Looks at everything that is left as it is, once, when nothing else is to be done.
    pub(crate) fn look_at_rest(&mut self, flight: &FuturesUnordered<BoxFuture<'i, Finished>>) {
        if self.looked || self.stopping || !self.input.options.wait {
            return;
        }
        self.looked = true;
        let now = self.input.clock.now();
        self.started[self.n_changes..].iter_mut().for_each(|started| *started = Some(now));
        let seen = |step: &&kusion_model::Step| Some(target_of(step, self.seen.get(&step.key)?.clone()));
        let targets: Vec<HealthTarget> = self.steps[self.n_changes..].iter().filter_map(seen).collect();
        let input = self.input;
        flight.push(Box::pin(async move { Finished::Rest(input.health.doubts(targets).await) }));
    }

    pub(crate) fn take_rest(
        &mut self,
        doubts: Vec<Doubt>,
        flight: &FuturesUnordered<BoxFuture<'i, Finished>>,
    ) {
        let index: BTreeMap<_, usize> = self.steps.iter().map(|step| &step.key).zip(0..).collect();
        let doubts: Vec<(usize, Doubt)> =
            doubts.into_iter().filter_map(|doubt| Some((*index.get(&doubt.target.key)?, doubt))).collect();
        self.ends[self.n_changes..].iter_mut().for_each(|end| *end = Some(StepEnd::Healthy));
        for (at, doubt) in doubts {
            self.ends[at] = None;
            match doubt.outcome {
                Some(outcome) => self.take_health(at, outcome),
                None => self.wait_for(at, doubt.target, flight),
            }
        }
    }

    /// What was left as it is and ended badly.
    pub(crate) fn unwell_rest(&self) -> BTreeMap<String, StepEnd> {
        let rest = self.steps.iter().zip(&self.ends).skip(self.n_changes);
        let bad = rest.filter_map(|(step, end)| match end {
            Some(end @ StepEnd::Unhealthy { .. }) => Some((step.key.to_string(), end.clone())),
            _ => None,
        });
        bad.collect()
    }
}
