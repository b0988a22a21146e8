//! The kubelets and the scheduler: pods get a node, their containers pull, start, fail, restart and stop, all by the clock.
//!
//! * [`scheduler`] — which node, or why none.
//! * `turn` — one look at a pod: containers go on from what is remembered ([`run`]); `status` — what the API sees of it.
//! * `script` — what the author of a pod wants to see go wrong; `image`, `config` — what can be missing.

use serde_json::Value;

use crate::change::{Change, Reaction};
use crate::controllers::Item;
use crate::controllers::read::{is_deleting, is_finished, is_of, put_status, text};
use crate::store::{Event, EventKind, ObjectKey, ResourceKey};
use crate::view::View;
use crate::world::World;
use crate::write::Removal;

mod config;
mod image;
pub mod inside;
pub mod run;
pub mod scheduler;
mod script;
mod status;
mod turn;

pub use run::{Containers, LogLine, PodRun};

pub fn wakes(event: &Event, _: View<'_>) -> Vec<Item> {
    let placed = !text(&event.object.value, "/spec/nodeName").is_empty();
    match is_of(event, "", "pods") && (placed || event.kind == EventKind::Deleted) {
        true => vec![Item::of(event)],
        false => Vec::new(),
    }
}

pub fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let key = &item.key;
    let known = view.runtime.get(key);
    let Some(pod) = view.get("", "pods", &key.namespace, &key.name) else {
        if known.is_some() {
            outcome.changes.push(Change::Remember { key: key.clone(), run: None });
        }
        return outcome;
    };
    let node = text(pod, "/spec/nodeName");
    if node.is_empty() || view.get("", "nodes", "", node).is_none() {
        return outcome;
    }
    if is_finished(pod) {
        if is_deleting(pod) {
            outcome.changes.push(end_of(pod));
        }
        return outcome;
    }
    let run = known.filter(|known| known.uid == text(pod, "/metadata/uid")).cloned();
    let run = run.unwrap_or_else(|| PodRun::of(pod, view.now, view.pace));
    let turn = turn::turn(view, pod, run);
    let status = status::status(view, pod, &turn.run);
    let stopped = turn.run.stopped;
    if known != Some(&turn.run) {
        outcome.changes.push(Change::Remember { key: key.clone(), run: Some(Box::new(turn.run)) });
    }
    outcome.changes.extend(turn.notes.into_iter().map(Change::Note));
    if pod.get("status") != Some(&status) {
        outcome.changes.push(put_status("", "pods", pod, status));
    }
    if stopped {
        outcome.changes.push(end_of(pod));
    }
    outcome.again_at = turn.again;
    outcome
}

/// The last word of a kubelet on a pod: its object may go.
fn end_of(pod: &Value) -> Change {
    let uid = Some(text(pod, "/metadata/uid").to_owned());
    let removal = Removal { uid, grace_seconds: Some(0), ..Removal::default() };
    Change::Delete { resource: ResourceKey::new("", "pods"), key: ObjectKey::of(pod), removal }
}

impl World {
    /// What a container has said, oldest first: since its last start, or before it. `None` when the kubelet knows no such
    /// container.
    pub fn logs(&self, namespace: &str, pod: &str, container: &str, previous: bool) -> Option<&[LogLine]> {
        let run = self.runtime.get(&ObjectKey::new(namespace, pod))?;
        let container = run.containers.iter().find(|known| known.name == container)?;
        Some(if previous { &container.previous } else { &container.logs })
    }
}
