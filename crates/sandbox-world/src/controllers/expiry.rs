//! Events are kept for an hour.

use std::time::Duration;

use super::Item;
use super::read::*;
use crate::change::Reaction;
use crate::store::{Event, EventKind};
use crate::view::View;

const KEPT: Duration = Duration::from_secs(3600);

pub(crate) fn wakes(event: &Event, _: View<'_>) -> Vec<Item> {
    match is_of(event, "", "events") && event.kind != EventKind::Deleted {
        true => vec![Item::of(event)],
        false => Vec::new(),
    }
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(event) = view.get("", "events", &item.key.namespace, &item.key.name) else { return outcome };
    let stamps = ["/lastTimestamp", "/series/lastObservedTime", "/eventTime", "/metadata/creationTimestamp"];
    let last = stamps.iter().filter_map(|stamp| time(event, stamp)).max();
    let end = last.unwrap_or(view.now) + KEPT;
    if end <= view.now {
        outcome.changes.push(delete("", "events", event));
    } else {
        outcome.again(end);
    }
    outcome
}
