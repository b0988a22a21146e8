//! StatefulSet → numbered pods and their claims, in order.

use serde_json::{Value, json};

use super::Item;
use super::adopt::adopt;
use super::read::*;
use super::revisions;
use crate::change::{Change, Reaction};
use crate::store::Event;
use crate::view::View;

mod pod;

const COMPONENT: &str = "statefulset-controller";
const REVISION: &str = "controller-revision-hash";

pub(crate) fn wakes(event: &Event, _: View<'_>) -> Vec<Item> {
    if is_of(event, "apps", "statefulsets") {
        return vec![Item::of(event)];
    }
    if !is_of(event, "", "pods") && !is_of(event, "apps", "controllerrevisions") {
        return Vec::new();
    }
    let owners = controllers_of(event, "StatefulSet");
    owners.iter().map(|key| Item::new("apps", "statefulsets", &key.namespace, &key.name)).collect()
}

/// A set with its pods.
struct Set<'w> {
    view: View<'w>,
    set: &'w Value,
    /// By ordinal.
    pods: Vec<(i64, &'w Value)>,
    current: String,
    update: String,
}

impl<'w> Set<'w> {
    fn name(&self) -> &'w str {
        text(self.set, "/metadata/name")
    }

    fn start(&self) -> i64 {
        int(self.set, "/spec/ordinals/start")
    }

    fn wanted(&self) -> i64 {
        int_or(self.set, "/spec/replicas", 1)
    }

    fn is_ordered(&self) -> bool {
        text(self.set, "/spec/podManagementPolicy") != "Parallel"
    }

    fn partition(&self) -> i64 {
        int(self.set, "/spec/updateStrategy/rollingUpdate/partition")
    }

    fn pod(&self, ordinal: i64) -> Option<&'w Value> {
        self.pods.iter().find(|(at, _)| *at == ordinal).map(|(_, pod)| *pod)
    }

    fn is_healthy(&self, pod: &Value, outcome: &mut Reaction) -> bool {
        match available(pod, int(self.set, "/spec/minReadySeconds"), self.view.now) {
            _ if is_deleting(pod) => false,
            Ok(()) => true,
            Err(at) => {
                if let Some(at) = at {
                    outcome.again(at);
                }
                false
            }
        }
    }
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(set) = view.get("apps", "statefulsets", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    if is_deleting(set) {
        return outcome;
    }
    outcome.changes = adopt(view, set, "", "pods");
    outcome.changes.extend(adopt(view, set, "apps", "controllerrevisions"));
    if !outcome.changes.is_empty() {
        return outcome;
    }
    let known = revisions::of(view, set);
    let update = match revisions::ensure(set, &known) {
        Ok(revision) => text(revision, "/metadata/name").to_owned(),
        Err(changes) => {
            outcome.changes = changes;
            return outcome;
        }
    };
    let current = text(set, "/status/currentRevision");
    let current = known.iter().find(|revision| text(revision, "/metadata/name") == current);
    let current = current.map_or(update.clone(), |revision| text(revision, "/metadata/name").to_owned());
    let set = Set { view, set, pods: pods_of(view, set), current, update };
    manage(&set, &known, &mut outcome);
    status(&set, &mut outcome);
    let mut used: Vec<String> = set.pods.iter().map(|(_, pod)| label(pod, REVISION).to_owned()).collect();
    used.extend([set.current.clone(), set.update.clone()]);
    outcome.changes.extend(revisions::clean(set.set, &known, &used));
    outcome
}

fn pods_of<'w>(view: View<'w>, set: &Value) -> Vec<(i64, &'w Value)> {
    let uid = text(set, "/metadata/uid");
    let owned = view.owned(uid, "", "pods").into_iter().map(|pod| &**pod);
    let mut pods: Vec<(i64, &Value)> = owned
        .filter(|pod| is_controlled_by(pod, uid))
        .filter_map(|pod| Some((text(pod, "/metadata/name").rsplit_once('-')?.1.parse().ok()?, pod)))
        .collect();
    pods.sort_by_key(|(ordinal, _)| *ordinal);
    pods
}

/// One step in order, or all at once when the set is parallel.
fn manage(set: &Set<'_>, known: &[&Value], outcome: &mut Reaction) {
    let wanted = set.start()..set.start() + set.wanted();
    if grow(set, known, wanted.clone(), outcome) && shrink(set, &wanted, outcome) {
        update(set, wanted, outcome);
    }
}

/// Makes what is missing, lowest first. False when the rest has to wait.
fn grow(set: &Set<'_>, known: &[&Value], wanted: std::ops::Range<i64>, outcome: &mut Reaction) -> bool {
    for ordinal in wanted {
        let good = match set.pod(ordinal) {
            Some(pod) if is_finished(pod) && !is_deleting(pod) => {
                let (namespace, name) = (text(set.set, "/metadata/namespace"), text(pod, "/metadata/name"));
                let message =
                    format!("StatefulSet {namespace}/{} is recreating failed Pod {name}", set.name());
                outcome.changes.push(Change::Note(warning(
                    set.set,
                    COMPONENT,
                    "RecreatingFailedPod",
                    message,
                )));
                outcome.changes.push(delete("", "pods", pod));
                false
            }
            Some(pod) => set.is_healthy(pod, outcome),
            None => {
                outcome.changes.extend(pod::create(set, ordinal, known));
                false
            }
        };
        if set.is_ordered() && !good {
            return false;
        }
    }
    true
}

/// Takes down what is too much, highest first. False when the rest has to wait.
fn shrink(set: &Set<'_>, wanted: &std::ops::Range<i64>, outcome: &mut Reaction) -> bool {
    for (_, pod) in set.pods.iter().rev().filter(|(at, _)| !wanted.contains(at)) {
        if !is_deleting(pod) {
            outcome.changes.extend(take_down(set, pod));
        }
        if set.is_ordered() {
            return false;
        }
    }
    true
}

/// Replaces pods of the old revision, highest first, each when the one before it is well.
fn update(set: &Set<'_>, wanted: std::ops::Range<i64>, outcome: &mut Reaction) {
    if text(set.set, "/spec/updateStrategy/type") == "OnDelete" {
        return;
    }
    for ordinal in (wanted.start.max(set.partition())..wanted.end).rev() {
        let Some(pod) = set.pod(ordinal) else { return };
        if label(pod, REVISION) != set.update && !is_deleting(pod) {
            outcome.changes.extend(take_down(set, pod));
            return;
        }
        if !set.is_healthy(pod, outcome) {
            return;
        }
    }
}

fn take_down(set: &Set<'_>, pod: &Value) -> Vec<Change> {
    let message =
        format!("Delete Pod {} in StatefulSet {} successful", text(pod, "/metadata/name"), set.name());
    vec![delete("", "pods", pod), Change::Note(normal(set.set, COMPONENT, "SuccessfulDelete", message))]
}

fn status(set: &Set<'_>, outcome: &mut Reaction) {
    let live: Vec<&Value> = set.pods.iter().map(|(_, pod)| *pod).collect();
    let made = live.iter().filter(|pod| !is_finished(pod));
    let count = |wanted: &dyn Fn(&Value) -> bool| made.clone().filter(|pod| wanted(pod)).count() as i64;
    let on = |revision: &str| {
        let (revision, pods) = (revision.to_owned(), made.clone());
        pods.filter(|pod| label(pod, REVISION) == revision && !is_deleting(pod)).count() as i64
    };
    let min_ready = int(set.set, "/spec/minReadySeconds");
    let (replicas, ready) = (count(&|_| true), count(&|pod| is_ready(pod)));
    let good = count(&|pod| available(pod, min_ready, set.view.now).is_ok());
    let (mut current, mut on_current, on_update) = (set.current.clone(), on(&set.current), on(&set.update));
    let rolling = text(set.set, "/spec/updateStrategy/type") != "OnDelete";
    if rolling && on_update == replicas && ready == replicas && replicas == set.wanted() {
        current = set.update.clone();
        on_current = on_update;
    }
    let mut status = set.set.get("status").cloned().unwrap_or_else(|| json!({}));
    status["observedGeneration"] = set.set["metadata"]["generation"].clone();
    status["replicas"] = json!(replicas);
    status["availableReplicas"] = json!(good);
    put_count(&mut status, "readyReplicas", ready);
    put_count(&mut status, "currentReplicas", on_current);
    put_count(&mut status, "updatedReplicas", on_update);
    status["currentRevision"] = json!(current);
    status["updateRevision"] = json!(set.update);
    status["collisionCount"] = json!(int(&status, "/collisionCount"));
    if set.set.get("status") != Some(&status) {
        outcome.changes.push(put_status("apps", "statefulsets", set.set, status));
    }
}

/// A pod or claim that may not be made: the set says so.
pub(crate) fn refused(
    view: View<'_>,
    item: &Item,
    change: &Change,
    refusal: &kube_meaning::status::Refusal,
) -> Reaction {
    let mut outcome = Reaction::default();
    let set = view.get("apps", "statefulsets", &item.key.namespace, &item.key.name);
    let (Some(set), Change::Create { object, .. }) = (set, change) else { return outcome };
    let (kind, name) = (text(object, "/kind"), text(object, "/metadata/name"));
    if kind != "Pod" {
        return outcome;
    }
    let message = format!(
        "Create Pod {name} in StatefulSet {} failed error: {}",
        text(set, "/metadata/name"),
        refusal.message
    );
    outcome.changes.push(Change::Note(warning(set, COMPONENT, "FailedCreate", message)));
    outcome
}
