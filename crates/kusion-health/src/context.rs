//! What every rule may look at besides its object.
//!
//! In: snapshot, profile, clock. Out: passed by reference to each rule. Invariant: without a clock (a file, a one-shot
//! check) no rule may speak of durations.

use crate::profile::Profile;
use crate::rules::Rules;
use crate::snapshot::{Event, Snapshot};
use crate::time::Millis;
use crate::view::View;

/// Events older than this are history, unless there is no clock.
const EVENT_AGE: Millis = 15 * 60 * 1000;

#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub snapshot: &'a Snapshot,
    pub profile: &'a Profile,
    pub rules: Option<&'a Rules>,
    /// The virtual clock of a wait; `None` for files and one-shot checks.
    pub now: Option<Millis>,
    /// How deep the walk into owned objects is.
    pub depth: u8,
}

impl<'a> Context<'a> {
    pub(crate) fn live(&self) -> bool {
        self.now.is_some()
    }

    /// Events of an object, newest first, without history.
    pub(crate) fn events(&self, object: View<'_>) -> Vec<Event<'a>> {
        let mut events = self.snapshot.events_of(object);
        if let Some(now) = self.now {
            events.retain(|event| event.at.is_none_or(|at| now - at <= EVENT_AGE));
        }
        events
    }

    pub(crate) fn deeper(self) -> Context<'a> {
        Context { depth: self.depth + 1, ..self }
    }
}
