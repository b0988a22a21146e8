//! ResourceQuota status: what is used of what is allowed.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::Reaction;
use crate::quota::used;
use crate::store::{Event, EventKind, ResourceKey};
use crate::view::View;

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "", "resourcequotas") {
        return vec![Item::of(event)];
    }
    let ended = is_of(event, "", "pods") && is_finished(&event.object.value);
    let resized = is_of(event, "", "services");
    if event.key.namespace.is_empty() || event.kind == EventKind::Modified && !ended && !resized {
        return Vec::new();
    }
    let quotas = view.store.list(&ResourceKey::new("", "resourcequotas"), Some(&event.key.namespace));
    quotas.map(|(key, _)| Item::new("", "resourcequotas", &key.namespace, &key.name)).collect()
}

/// The resource whose objects an entry counts.
fn counted(what: &str) -> ResourceKey {
    if let Some(named) = what.strip_prefix("count/") {
        let (plural, group) = named.split_once('.').unwrap_or((named, ""));
        return ResourceKey::new(group, plural);
    }
    match what {
        "requests.storage" => ResourceKey::new("", "persistentvolumeclaims"),
        "services.nodeports" | "services.loadbalancers" => ResourceKey::new("", "services"),
        "services"
        | "configmaps"
        | "secrets"
        | "persistentvolumeclaims"
        | "replicationcontrollers"
        | "resourcequotas" => ResourceKey::new("", what),
        _ => ResourceKey::new("", "pods"),
    }
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(quota) = view.get("", "resourcequotas", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    let hard = quota.at("/spec/hard").cloned().unwrap_or_else(|| json!({}));
    let mut sums = json!({});
    for what in hard.as_object().into_iter().flat_map(serde_json::Map::keys) {
        let sum = used(view.store, &counted(what), &item.key.namespace, what);
        sums[what] = json!(sum.canonical());
    }
    let status = json!({"hard": hard, "used": sums});
    if quota.get("status") != Some(&status) && status["hard"] != Value::Null {
        outcome.changes.push(put_status("", "resourcequotas", quota, status));
    }
    outcome
}
