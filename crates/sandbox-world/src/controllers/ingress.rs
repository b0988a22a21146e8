//! The ingress controller of the sandbox: it publishes an address for every Ingress of a class that names it. Nothing listens there.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::Reaction;
use crate::store::{Event, ResourceKey};
use crate::view::View;

/// What a class says in `spec.controller` to be served by this one.
pub(crate) const INGRESS_CONTROLLER: &str = "sandbox.kusion.io/ingress";
const GROUP: &str = "networking.k8s.io";
const DEFAULT: &str = "ingressclass.kubernetes.io/is-default-class";

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, GROUP, "ingresses") {
        return vec![Item::of(event)];
    }
    if !is_of(event, GROUP, "ingressclasses") {
        return Vec::new();
    }
    let all = view.store.list(&ResourceKey::new(GROUP, "ingresses"), None);
    all.map(|(key, _)| Item::new(GROUP, "ingresses", &key.namespace, &key.name)).collect()
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut reaction = Reaction::default();
    let Some(ingress) = view.get(GROUP, "ingresses", &item.key.namespace, &item.key.name) else {
        return reaction;
    };
    if is_deleting(ingress) || !is_served(view, ingress) {
        return reaction;
    }
    let status = json!({"loadBalancer": {"ingress": [{"ip": "127.0.0.1"}]}});
    if ingress.get("status") != Some(&status) {
        reaction.changes.push(put_status(GROUP, "ingresses", ingress, status));
    }
    reaction
}

/// Whether the class of an Ingress is ours; one without a class has the default.
fn is_served(view: View<'_>, ingress: &Value) -> bool {
    let ours = |class: &Value| text(class, "/spec/controller") == INGRESS_CONTROLLER;
    let named = text(ingress, "/spec/ingressClassName");
    if ingress.at("/spec/ingressClassName").is_some() {
        return view.get(GROUP, "ingressclasses", "", named).is_some_and(|class| ours(class));
    }
    let mut classes = view.store.list(&ResourceKey::new(GROUP, "ingressclasses"), None);
    classes.any(|(_, class)| annotation(&class.value, DEFAULT) == "true" && ours(&class.value))
}
