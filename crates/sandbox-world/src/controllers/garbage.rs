//! Garbage collection: what becomes of dependents when their owner goes.
//!
//! In the background an object without any living owner is deleted. In the foreground an owner waits for the dependents that
//! block it, and they for theirs. An orphaning owner lets them go first.

use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, EventKind, ObjectKey, ResourceKey};
use crate::view::View;
use crate::write::{Propagation, Removal};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

fn owners(object: &Value) -> &[Value] {
    items(object, "/metadata/ownerReferences")
}

fn has_finalizer(object: &Value, name: &str) -> bool {
    items(object, "/metadata/finalizers").iter().any(|known| known == name)
}

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    let object = &event.object.value;
    let mut found = Vec::new();
    let before = event.before.as_ref().map(|before| &*before.value);
    if event.kind == EventKind::Deleted {
        let dependents = view.store.owned_by(text(object, "/metadata/uid"));
        found.extend(dependents.map(|(resource, key)| Item { resource: resource.clone(), key: key.clone() }));
    } else {
        let new = before.is_none_or(|before| owners(before) != owners(object));
        let held = has_finalizer(object, FOREGROUND) || has_finalizer(object, ORPHAN);
        if new && !owners(object).is_empty() || is_deleting(object) && held {
            found.push(Item::of(event));
        }
    }
    // An owner that waits for its dependents looks again when one goes, or is let go.
    let gone =
        event.kind == EventKind::Deleted || before.is_some_and(|before| owners(before) != owners(object));
    if gone {
        let all = owners(object).iter().chain(before.map(owners).unwrap_or_default());
        found.extend(all.filter_map(|owner| {
            let (item, live) = owner_of(view, owner, &event.key)?;
            is_deleting(live).then_some(item)
        }));
    }
    found
}

/// The living owner that a reference names.
fn owner_of<'w>(view: View<'w>, owner: &Value, dependent: &ObjectKey) -> Option<(Item, &'w Value)> {
    let api = text(owner, "/apiVersion");
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    let served = view.registry.by_kind(group, version, text(owner, "/kind"))?;
    let namespace = if served.resource().namespaced { dependent.namespace.as_str() } else { "" };
    let item = Item { resource: served.key(), key: ObjectKey::new(namespace, text(owner, "/name")) };
    let live = &view.store.get(&item.resource, &item.key)?.value;
    (text(live, "/metadata/uid") == text(owner, "/uid")).then_some((item, live))
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(object) = view.store.get(&item.resource, &item.key) else { return outcome };
    let object = &*object.value;
    if is_deleting(object) && has_finalizer(object, ORPHAN) {
        orphan(view, item, object, &mut outcome);
    } else if is_deleting(object) && has_finalizer(object, FOREGROUND) {
        foreground(view, item, object, &mut outcome);
    } else if !owners(object).is_empty() && !is_deleting(object) {
        background(view, item, object, &mut outcome);
    }
    outcome
}

fn dependents<'w>(view: View<'w>, owner: &Value) -> Vec<(&'w ResourceKey, &'w ObjectKey, &'w Value)> {
    let owned = view.store.owned_by(text(owner, "/metadata/uid"));
    owned
        .filter_map(|(resource, key)| Some((resource, key, &*view.store.get(resource, key)?.value)))
        .collect()
}

fn orphan(view: View<'_>, item: &Item, owner: &Value, outcome: &mut Reaction) {
    for (resource, key, dependent) in dependents(view, owner) {
        let kept = without(owners(dependent), text(owner, "/metadata/uid"));
        outcome.changes.push(set_owners(resource, key, kept));
    }
    outcome.changes.push(drop_finalizer(item, owner, ORPHAN));
}

fn foreground(view: View<'_>, item: &Item, owner: &Value, outcome: &mut Reaction) {
    let uid = text(owner, "/metadata/uid");
    let blocks = |dependent: &Value| {
        owners(dependent)
            .iter()
            .any(|owner| text(owner, "/uid") == uid && owner["blockOwnerDeletion"] == true)
    };
    let mut waiting = false;
    for (resource, key, dependent) in dependents(view, owner) {
        if !blocks(dependent) {
            continue;
        }
        waiting = true;
        if !is_deleting(dependent) {
            let has_own = view.store.owned_by(text(dependent, "/metadata/uid")).next().is_some();
            let propagation = if has_own { Propagation::Foreground } else { Propagation::Background };
            outcome.changes.push(remove(resource, key, dependent, propagation));
        }
    }
    if !waiting {
        outcome.changes.push(drop_finalizer(item, owner, FOREGROUND));
    }
}

fn background(view: View<'_>, item: &Item, object: &Value, outcome: &mut Reaction) {
    let known = |owner: &Value| {
        let api = text(owner, "/apiVersion");
        let (group, version) = api.split_once('/').unwrap_or(("", api));
        view.registry.by_kind(group, version, text(owner, "/kind")).is_some()
    };
    // An owner of a kind that is not served cannot be looked for: it counts as living.
    let lives = |owner: &&Value| !known(owner) || owner_of(view, owner, &item.key).is_some();
    let living = owners(object).iter().filter(lives).count();
    if living == 0 {
        outcome.changes.push(remove(&item.resource, &item.key, object, Propagation::Background));
    } else if living < owners(object).len() {
        let kept: Vec<Value> = owners(object).iter().filter(lives).cloned().collect();
        outcome.changes.push(set_owners(&item.resource, &item.key, kept));
    }
}

fn without(owners: &[Value], uid: &str) -> Vec<Value> {
    owners.iter().filter(|owner| text(owner, "/uid") != uid).cloned().collect()
}

fn set_owners(resource: &ResourceKey, key: &ObjectKey, kept: Vec<Value>) -> Change {
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    let patch = json!({"metadata": {"ownerReferences": kept}});
    Change::Patch { resource: resource.clone(), key: key.clone(), subresource: "", patch }
}

fn drop_finalizer(item: &Item, object: &Value, name: &str) -> Change {
    let kept: Vec<&Value> =
        items(object, "/metadata/finalizers").iter().filter(|known| *known != name).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    let patch = json!({"metadata": {"finalizers": kept}});
    Change::Patch { resource: item.resource.clone(), key: item.key.clone(), subresource: "", patch }
}

fn remove(resource: &ResourceKey, key: &ObjectKey, object: &Value, propagation: Propagation) -> Change {
    let uid = Some(text(object, "/metadata/uid").to_owned());
    // What a foreground or orphaning delete already asked of it stays.
    let propagation = Some(propagation);
    Change::Delete {
        resource: resource.clone(),
        key: key.clone(),
        removal: Removal { uid, propagation, ..Removal::default() },
    }
}
