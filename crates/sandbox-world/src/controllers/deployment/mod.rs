//! Deployment → ReplicaSets: rolling update, Recreate, pause, scaling, revisions, history, conditions.
//!
//! One reconcile is one stage (make the new set, or scale some sets, or tell the status); its own writes wake it for the next.

use kube_meaning::reach::Reach;
use serde_json::Value;

use super::Item;
use super::adopt;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, EventKind};
use crate::view::View;

mod revision;
mod rolling;
mod scale;
mod status;

const COMPONENT: &str = "deployment-controller";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HISTORY: &str = "deployment.kubernetes.io/revision-history";
const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
const MAX: &str = "deployment.kubernetes.io/max-replicas";
const HASH: &str = "pod-template-hash";

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    let item = |key: crate::store::ObjectKey| Item::new("apps", "deployments", &key.namespace, &key.name);
    if is_of(event, "apps", "deployments") {
        return vec![Item::of(event)];
    }
    if is_of(event, "apps", "replicasets") {
        let mut found = adopt::adopters(event, view, "apps", "deployments");
        found.extend(controllers_of(event, "Deployment").into_iter().map(item));
        return found;
    }
    // Recreate waits for the last old pod.
    if is_of(event, "", "pods") && event.kind == EventKind::Deleted {
        let sets = controllers_of(event, "ReplicaSet");
        let sets = sets.iter().filter_map(|key| view.get("apps", "replicasets", &key.namespace, &key.name));
        return sets.filter_map(|set| controller_of(set, "Deployment")).map(item).collect();
    }
    Vec::new()
}

/// A Deployment with its ReplicaSets.
struct Rollout<'w> {
    view: View<'w>,
    deployment: &'w Value,
    /// The set of the present template, if it is there.
    new: Option<&'w Value>,
    /// The other sets, oldest first.
    old: Vec<&'w Value>,
}

impl<'w> Rollout<'w> {
    fn of(view: View<'w>, deployment: &'w Value) -> Rollout<'w> {
        let uid = text(deployment, "/metadata/uid");
        let owned = view.owned(uid, "apps", "replicasets").into_iter().map(|set| &**set);
        let mut sets: Vec<&Value> = owned.filter(|set| is_controlled_by(set, uid)).collect();
        sets.sort_by_key(|set| (time(set, "/metadata/creationTimestamp"), text(set, "/metadata/name")));
        let new = sets.iter().position(|set| revision::same_template(deployment, set));
        let new = new.map(|at| sets.remove(at));
        Rollout { view, deployment, new, old: sets }
    }

    fn all(&self) -> impl Iterator<Item = &'w Value> + '_ {
        self.old.iter().copied().chain(self.new)
    }

    fn wanted(&self) -> i64 {
        int_or(self.deployment, "/spec/replicas", 1)
    }

    fn is_rolling(&self) -> bool {
        text(self.deployment, "/spec/strategy/type") != "Recreate"
    }

    /// (maxSurge, maxUnavailable) as counts; both zero becomes one unavailable.
    fn bounds(&self) -> (i64, i64) {
        if !self.is_rolling() {
            return (0, 0);
        }
        let at = |key: &str| self.deployment.at(&format!("/spec/strategy/rollingUpdate/{key}"));
        let surge = portion(at("maxSurge"), self.wanted(), true);
        let unavailable = portion(at("maxUnavailable"), self.wanted(), false);
        let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
        (surge, unavailable.min(self.wanted()))
    }

    fn has_deadline(&self) -> bool {
        let seconds = int(self.deployment, "/spec/progressDeadlineSeconds");
        seconds > 0 && seconds < i64::from(i32::MAX)
    }

    fn has_old_pods(&self) -> bool {
        self.old.iter().any(|set| {
            let pods = self.view.owned(text(set, "/metadata/uid"), "", "pods");
            pods.iter().any(|pod| !is_finished(pod))
        })
    }
}

fn replicas(set: &Value) -> i64 {
    int(set, "/spec/replicas")
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let Some(deployment) = view.get("apps", "deployments", &item.key.namespace, &item.key.name) else {
        return Reaction::default();
    };
    let taken = adopt::adopt(view, deployment, "apps", "replicasets");
    let mut outcome = Reaction { changes: taken, again_at: None };
    if !outcome.changes.is_empty() {
        return outcome;
    }
    let rollout = Rollout::of(view, deployment);
    if is_deleting(deployment) {
        status::plain(&rollout, &mut outcome);
    } else if let Some(change) = status::pause(&rollout) {
        outcome.changes.push(change);
    } else if is(deployment, "/spec/paused") || scale::is_scaling(&rollout) {
        resize(&rollout, &mut outcome);
    } else if rollout.is_rolling() {
        roll(&rollout, &mut outcome);
    } else {
        recreate(&rollout, &mut outcome);
    }
    outcome
}

fn resize(rollout: &Rollout<'_>, outcome: &mut Reaction) {
    outcome.changes.extend(scale::rescale(rollout));
    if outcome.changes.is_empty() && is(rollout.deployment, "/spec/paused") {
        outcome.changes.extend(revision::clean(rollout));
    }
    status::plain(rollout, outcome);
}

fn roll(rollout: &Rollout<'_>, outcome: &mut Reaction) {
    let first = revision::ensure(rollout);
    if !first.is_empty() {
        outcome.changes = first;
        return;
    }
    let mut changes = rolling::grow_new(rollout);
    if changes.is_empty() {
        changes = rolling::shrink_old(rollout);
    }
    finish(rollout, changes, outcome);
}

fn recreate(rollout: &Rollout<'_>, outcome: &mut Reaction) {
    let mut changes: Vec<Change> = rollout
        .old
        .iter()
        .filter(|set| replicas(set) > 0)
        .flat_map(|set| scale::to(rollout, set, 0))
        .collect();
    if changes.is_empty() && !rollout.has_old_pods() {
        let first = revision::ensure(rollout);
        if !first.is_empty() {
            outcome.changes = first;
            return;
        }
        changes = rollout.new.map(|set| scale::to(rollout, set, rollout.wanted())).unwrap_or_default();
    }
    finish(rollout, changes, outcome);
}

fn finish(rollout: &Rollout<'_>, changes: Vec<Change>, outcome: &mut Reaction) {
    outcome.changes = changes;
    if status::is_complete(rollout, &rollout.deployment["status"]) {
        outcome.changes.extend(revision::clean(rollout));
    }
    status::progress(rollout, outcome);
}
