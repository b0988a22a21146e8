//! Adoption: objects without a controller that a selector matches get one; those it no longer matches are let go.

use serde_json::json;

use super::Item;
use super::read::*;
use crate::change::Change;
use crate::store::{Event, EventKind, ResourceKey};
use crate::view::View;

/// The owners of a kind that would take the object of this event, which has none.
pub(crate) fn adopters(event: &Event, view: View<'_>, group: &str, plural: &str) -> Vec<Item> {
    let object = &event.object.value;
    let known = event.before.as_ref().is_some_and(|before| {
        let owners = |value: &serde_json::Value| value.pointer("/metadata/ownerReferences").cloned();
        owners(&before.value) == owners(object)
            && meta_map(&before.value, "labels") == meta_map(object, "labels")
    });
    if event.kind == EventKind::Deleted || known || controller_ref(object).is_some() {
        return Vec::new();
    }
    let owners = view.store.list(&ResourceKey::new(group, plural), Some(&event.key.namespace));
    let taking = owners.filter(|(_, owner)| {
        selector(owner.value.pointer("/spec/selector"))
            .is_some_and(|selector| selector.matches_object(object))
    });
    taking.map(|(key, _)| Item::new(group, plural, &key.namespace, &key.name)).collect()
}

/// Takes what matches and has no controller; lets go what has this one and does not match.
pub(crate) fn adopt(view: View<'_>, owner: &serde_json::Value, group: &str, plural: &str) -> Vec<Change> {
    let Some(selector) = selector(owner.pointer("/spec/selector")).filter(|found| !found.is_empty()) else {
        return Vec::new();
    };
    if is_deleting(owner) {
        return Vec::new();
    }
    let uid = text(owner, "/metadata/uid");
    let all = view.store.list(&ResourceKey::new(group, plural), Some(text(owner, "/metadata/namespace")));
    let mut changes = Vec::new();
    for (_, object) in all {
        let object = &*object.value;
        let owners = items(object, "/metadata/ownerReferences");
        let change = match controller_ref(object) {
            None if !is_deleting(object) && selector.matches_object(object) => {
                let mut all = owners.to_vec();
                all.push(reference(owner));
                json!(all)
            }
            Some(known) if text(known, "/uid") == uid && !selector.matches_object(object) => {
                let kept: Vec<_> = owners.iter().filter(|other| text(other, "/uid") != uid).collect();
                if kept.is_empty() { serde_json::Value::Null } else { json!(kept) }
            }
            _ => continue,
        };
        let change = json!({"metadata": {"ownerReferences": change}});
        changes.push(patch(group, plural, object, "", change));
    }
    changes
}
