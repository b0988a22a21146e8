//! Adoption: objects without a controller that a selector matches get one; those it no longer matches are let go.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::Change;
use crate::store::{Event, EventKind, ObjectKey, ResourceKey};
use crate::view::View;

/// The owners of a kind that would take the object of this event, which has none.
pub(crate) fn adopters(event: &Event, view: View<'_>, group: &str, plural: &str) -> Vec<Item> {
    let object = &event.object.value;
    let known = event.before.as_ref().is_some_and(|before| {
        let owners = |value: &Value| value.at("/metadata/ownerReferences").cloned();
        owners(&before.value) == owners(object)
            && meta_map(&before.value, "labels") == meta_map(object, "labels")
    });
    if event.kind == EventKind::Deleted || known || controller_ref(object).is_some() {
        return Vec::new();
    }
    let owners = view.store.list(&ResourceKey::new(group, plural), Some(&event.key.namespace));
    let taking = owners.filter(|(_, owner)| {
        selector(owner.value.at("/spec/selector")).is_some_and(|selector| selector.matches_object(object))
    });
    taking.map(|(key, _)| Item::new(group, plural, &key.namespace, &key.name)).collect()
}

/// Takes what matches and has no controller; lets go what has this one and does not match.
pub(crate) fn adopt(view: View<'_>, owner: &Value, group: &str, plural: &str) -> Vec<Change> {
    let Some(selector) = selector(owner.at("/spec/selector")).filter(|found| !found.is_empty()) else {
        return Vec::new();
    };
    if is_deleting(owner) {
        return Vec::new();
    }
    let uid = text(owner, "/metadata/uid");
    let resource = ResourceKey::new(group, plural);
    let get = |key: &ObjectKey| view.store.get(&resource, key).map(|object| &*object.value);
    let alone = view.index.orphans(&resource, text(owner, "/metadata/namespace")).filter_map(get);
    let taken =
        alone.filter(|object| !is_deleting(object) && selector.matches_object(object)).map(|object| {
            let mut all = items(object, "/metadata/ownerReferences").to_vec();
            all.push(reference(owner));
            (object, json!(all))
        });
    let owned = view.owned(uid, group, plural).into_iter().map(|object| &**object);
    let freed = owned.filter(|object| is_controlled_by(object, uid) && !selector.matches_object(object));
    let freed = freed.map(|object| {
        let owners = items(object, "/metadata/ownerReferences").iter();
        let kept: Vec<&Value> = owners.filter(|other| text(other, "/uid") != uid).collect();
        (object, if kept.is_empty() { Value::Null } else { json!(kept) })
    });
    let change = |(object, owners): (&Value, Value)| {
        patch(group, plural, object, "", json!({"metadata": {"ownerReferences": owners}}))
    };
    taken.chain(freed).map(change).collect()
}
