//! What controllers ask for often, kept up to date from the events: what each node has given away, which pods wait for a node,
//! and who has no controller.
//!
//! Invariant: a function of the store as of the last event that was dispatched; it is dropped and built anew with
//! [`crate::World::wake_all`].

use std::collections::{BTreeMap, BTreeSet};

use ecow::EcoString;
use serde_json::Value;

use crate::controllers::read::{controller_ref, is_finished, text};
use crate::kubelet::scheduler::{is_waiting, requests};
use crate::store::{Event, EventKind, ObjectKey, ResourceKey};

/// What the pods of a node ask for together, in billionths.
#[derive(Clone, Debug, Default)]
pub(crate) struct Given {
    pub(crate) pods: usize,
    pub(crate) amounts: BTreeMap<String, i128>,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub(crate) struct Index {
    nodes: BTreeMap<EcoString, Given>,
    orphans: BTreeSet<(ResourceKey, ObjectKey)>,
    waiting: BTreeSet<ObjectKey>,
}

/// Kinds that get a controller by selector.
const ADOPTABLE: [(&str, &str); 3] = [("", "pods"), ("apps", "replicasets"), ("apps", "controllerrevisions")];

impl Index {
    /// What a node has given away.
    pub(crate) fn given(&self, node: &str) -> Option<&Given> {
        self.nodes.get(node)
    }

    /// The pods that have no node yet.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = &ObjectKey> {
        self.waiting.iter()
    }

    /// The objects of a resource in a namespace that have no controller.
    pub(crate) fn orphans(
        &self,
        resource: &ResourceKey,
        namespace: &str,
    ) -> impl Iterator<Item = &ObjectKey> {
        let first = (resource.clone(), ObjectKey::new(namespace, ""));
        let (resource, namespace) = (resource.clone(), EcoString::from(namespace));
        let rest = self.orphans.range(first..);
        rest.take_while(move |(of, key)| *of == resource && key.namespace == namespace).map(|(_, key)| key)
    }

    pub(crate) fn follow(&mut self, event: &Event) {
        let resource = &event.resource;
        if !ADOPTABLE.iter().any(|(group, plural)| resource.group == *group && resource.plural == *plural) {
            return;
        }
        let after = Some(&*event.object.value).filter(|_| event.kind != EventKind::Deleted);
        let slot = (resource.clone(), event.key.clone());
        if after.is_some_and(|object| controller_ref(object).is_none()) {
            self.orphans.insert(slot);
        } else {
            self.orphans.remove(&slot);
        }
        if resource.plural == "pods" {
            match after.is_some_and(is_waiting) {
                true => self.waiting.insert(event.key.clone()),
                false => self.waiting.remove(&event.key),
            };
            let before = event.before.as_ref().map(|before| &*before.value);
            // Most changes of a pod are of its status and move nothing here.
            if place(before) != place(after) {
                self.count(before, -1);
                self.count(after, 1);
            }
        }
    }

    fn count(&mut self, pod: Option<&Value>, sign: i128) {
        let Some((pod, node)) = pod.and_then(|pod| Some((pod, place(Some(pod))?))) else { return };
        let given = self.nodes.entry(node.into()).or_default();
        given.pods = if sign > 0 { given.pods + 1 } else { given.pods.saturating_sub(1) };
        for (name, amount) in requests(pod) {
            *given.amounts.entry(name).or_default() += sign * amount;
        }
    }
}

/// The node whose room a pod takes.
fn place(pod: Option<&Value>) -> Option<&str> {
    let pod = pod?;
    Some(text(pod, "/spec/nodeName")).filter(|node| !node.is_empty() && !is_finished(pod))
}
