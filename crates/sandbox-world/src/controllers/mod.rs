//! The controllers: each a pure function from a snapshot to wishes, and a rule which events wake it.
//!
//! The table [`CONTROLLERS`] is all the driver knows. `wakes` names the objects to look at after an event; `reconcile` looks at
//! one; `refused` says what a controller makes of a wish the API refused (nothing, for most: it is tried again later).

use kube_meaning::status::Refusal;

use crate::change::{Change, Reaction};
use crate::kubelet;
use crate::store::{Event, ObjectKey, ResourceKey};
use crate::view::View;

mod adopt;
pub(crate) mod autoscaler;
mod budget;
mod claim;
mod cron;
mod cronjob;
mod daemonset;
mod deployment;
mod endpoints;
mod expiry;
mod garbage;
pub(crate) mod hash;
pub(crate) mod ingress;
mod job;
mod namespace;
pub(crate) mod pods;
mod quota;
pub(crate) mod read;
mod replicaset;
mod revisions;
mod statefulset;

/// One object that a controller is asked to look at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Item {
    pub resource: ResourceKey,
    pub key: ObjectKey,
}

impl Item {
    pub fn new(group: &str, plural: &str, namespace: &str, name: &str) -> Item {
        Item { resource: ResourceKey::new(group, plural), key: ObjectKey::new(namespace, name) }
    }

    /// The object of an event.
    pub fn of(event: &Event) -> Item {
        Item { resource: event.resource.clone(), key: event.key.clone() }
    }
}

/// A row of the table.
pub struct Controller {
    pub name: &'static str,
    /// The field manager of its writes.
    pub manager: &'static str,
    /// Its timers are housekeeping: a world with nothing else to do is settled.
    pub idle: bool,
    pub wakes: fn(&Event, View<'_>) -> Vec<Item>,
    pub reconcile: fn(View<'_>, &Item) -> Reaction,
    pub refused: fn(View<'_>, &Item, &Change, &Refusal) -> Reaction,
}

/// The field manager of the controllers.
const MANAGER: &str = "kube-controller-manager";

const fn row(
    name: &'static str,
    wakes: fn(&Event, View<'_>) -> Vec<Item>,
    reconcile: fn(View<'_>, &Item) -> Reaction,
) -> Controller {
    Controller { name, manager: MANAGER, idle: false, wakes, reconcile, refused: ignore }
}

fn ignore(_: View<'_>, _: &Item, _: &Change, _: &Refusal) -> Reaction {
    Reaction::default()
}

/// All controllers, in the order they are asked about an event.
pub static CONTROLLERS: &[Controller] = &[
    row("namespace", namespace::wakes, namespace::reconcile),
    // Pods are made before the Deployment counts them.
    Controller {
        refused: replicaset::refused,
        ..row("replicaset", replicaset::wakes, replicaset::reconcile)
    },
    row("deployment", deployment::wakes, deployment::reconcile),
    Controller {
        refused: statefulset::refused,
        ..row("statefulset", statefulset::wakes, statefulset::reconcile)
    },
    Controller { refused: daemonset::refused, ..row("daemonset", daemonset::wakes, daemonset::reconcile) },
    Controller { refused: job::refused, ..row("job", job::wakes, job::reconcile) },
    Controller { idle: true, ..row("cronjob", cronjob::wakes, cronjob::reconcile) },
    row("claim", claim::wakes, claim::reconcile),
    row("budget", budget::wakes, budget::reconcile),
    row("autoscaler", autoscaler::wakes, autoscaler::reconcile),
    Controller { manager: "sandbox-ingress", ..row("ingress", ingress::wakes, ingress::reconcile) },
    row("quota", quota::wakes, quota::reconcile),
    row("garbage", garbage::wakes, garbage::reconcile),
    Controller { idle: true, ..row("expiry", expiry::wakes, expiry::reconcile) },
    row("endpoints", endpoints::wakes, endpoints::reconcile),
    Controller {
        manager: "kube-scheduler",
        ..row("scheduler", kubelet::scheduler::wakes, kubelet::scheduler::reconcile)
    },
    Controller { manager: "kubelet", ..row("kubelet", kubelet::wakes, kubelet::reconcile) },
];
