//! Reading and shaping objects: the small words all controllers share.

use kube_meaning::reach::Reach;
use kube_meaning::selectors::LabelSelector;
use serde_json::{Map, Value, json};

use crate::change::{Change, Note};
use crate::store::{Event, ObjectKey, ResourceKey, meta_text};
use crate::time::Time;

/// A text by pointer; empty when it is not there.
pub(crate) fn text<'v>(object: &'v Value, pointer: &str) -> &'v str {
    object.at(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// A number by pointer; zero when it is not there.
pub(crate) fn int(object: &Value, pointer: &str) -> i64 {
    object.at(pointer).and_then(Value::as_i64).unwrap_or(0)
}

/// A number by pointer, or another one.
pub(crate) fn int_or(object: &Value, pointer: &str, other: i64) -> i64 {
    object.at(pointer).and_then(Value::as_i64).unwrap_or(other)
}

/// A list by pointer; empty when it is not there.
pub(crate) fn items<'v>(object: &'v Value, pointer: &str) -> &'v [Value] {
    object.at(pointer).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

/// A flag by pointer.
pub(crate) fn is(object: &Value, pointer: &str) -> bool {
    object.at(pointer).and_then(Value::as_bool).unwrap_or(false)
}

/// A moment by pointer.
pub(crate) fn time(object: &Value, pointer: &str) -> Option<Time> {
    Time::parse(object.at(pointer)?.as_str()?)
}

/// An annotation; empty when it is not there.
pub(crate) fn annotation<'v>(object: &'v Value, name: &str) -> &'v str {
    let annotations = object.get("metadata").and_then(|meta| meta.get("annotations"));
    annotations.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// A label; empty when it is not there.
pub(crate) fn label<'v>(object: &'v Value, name: &str) -> &'v str {
    let labels = object.get("metadata").and_then(|meta| meta.get("labels"));
    labels.and_then(|all| all.get(name)).and_then(Value::as_str).unwrap_or_default()
}

/// Whether somebody asked for the object's end.
pub(crate) fn is_deleting(object: &Value) -> bool {
    !meta_text(object, "deletionTimestamp").is_empty()
}

/// The resource of an event is this one.
pub(crate) fn is_of(event: &Event, group: &str, plural: &str) -> bool {
    event.resource.group == group && event.resource.plural == plural
}

/// The object's controller, if it is of that kind.
pub(crate) fn controller_of(object: &Value, kind: &str) -> Option<ObjectKey> {
    let owner = controller_ref(object)?;
    (text(owner, "/kind") == kind)
        .then(|| ObjectKey::new(meta_text(object, "namespace"), text(owner, "/name")))
}

/// The reference to the object's controller.
pub(crate) fn controller_ref(object: &Value) -> Option<&Value> {
    items(object, "/metadata/ownerReferences").iter().find(|owner| owner["controller"] == true)
}

/// Whether the object is controlled by that uid.
pub(crate) fn is_controlled_by(object: &Value, uid: &str) -> bool {
    controller_ref(object).is_some_and(|owner| text(owner, "/uid") == uid)
}

/// The controllers of that kind that an event's object has, or had before.
pub(crate) fn controllers_of(event: &Event, kind: &str) -> Vec<ObjectKey> {
    let mut found: Vec<ObjectKey> = controller_of(&event.object.value, kind).into_iter().collect();
    let before = event.before.as_ref().and_then(|before| controller_of(&before.value, kind));
    if let Some(before) = before
        && !found.contains(&before)
    {
        found.push(before);
    }
    found
}

/// The reference that makes `owner` the controller of something.
pub(crate) fn reference(owner: &Value) -> Value {
    json!({"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
        "uid": owner["metadata"]["uid"], "controller": true, "blockOwnerDeletion": true})
}

/// What `involvedObject` and the like hold.
pub(crate) fn object_ref(object: &Value) -> Value {
    let mut about = json!({"kind": object["kind"]});
    for key in ["namespace", "name", "uid"] {
        if !meta_text(object, key).is_empty() {
            about[key] = json!(meta_text(object, key));
        }
    }
    about["apiVersion"] = object["apiVersion"].clone();
    if !meta_text(object, "resourceVersion").is_empty() {
        about["resourceVersion"] = json!(meta_text(object, "resourceVersion"));
    }
    about
}

/// A Normal event of a controller.
pub(crate) fn normal(about: &Value, component: &'static str, reason: &'static str, message: String) -> Note {
    Note { about: object_ref(about), warning: false, reason, message, component, host: "".into() }
}

/// A Warning event of a controller.
pub(crate) fn warning(about: &Value, component: &'static str, reason: &'static str, message: String) -> Note {
    Note { warning: true, ..normal(about, component, reason, message) }
}

/// The wish to replace an object's status.
pub(crate) fn put_status(group: &str, plural: &str, object: &Value, status: Value) -> Change {
    Change::Status { resource: ResourceKey::new(group, plural), key: ObjectKey::of(object), status }
}

/// The wish to patch an object.
pub(crate) fn patch(
    group: &str,
    plural: &str,
    object: &Value,
    subresource: &'static str,
    patch: Value,
) -> Change {
    Change::Patch {
        resource: ResourceKey::new(group, plural),
        key: ObjectKey::of(object),
        subresource,
        patch,
    }
}

/// The wish to delete an object, and only this one: its uid must still be the same.
pub(crate) fn delete(group: &str, plural: &str, object: &Value) -> Change {
    let removal = crate::write::Removal {
        uid: Some(meta_text(object, "uid").to_owned()),
        propagation: Some(crate::write::Propagation::Background),
        ..crate::write::Removal::default()
    };
    Change::Delete { resource: ResourceKey::new(group, plural), key: ObjectKey::of(object), removal }
}

/// A selector that selects nothing when it cannot be read.
pub(crate) fn selector(value: Option<&Value>) -> Option<LabelSelector> {
    LabelSelector::from_json(value?).ok()
}

/// A condition; empty reason and message are left out.
pub(crate) fn condition(kind: &str, status: &str, reason: &str, message: &str, now: &str) -> Value {
    let mut condition = json!({"type": kind, "status": status, "lastTransitionTime": now});
    if !reason.is_empty() {
        condition["reason"] = json!(reason);
    }
    if !message.is_empty() {
        condition["message"] = json!(message);
    }
    condition
}

/// The condition of a type.
pub(crate) fn find_condition<'v>(status: &'v Value, kind: &str) -> Option<&'v Value> {
    items(status, "/conditions").iter().find(|condition| text(condition, "/type") == kind)
}

/// Whether a condition is True.
pub(crate) fn is_true(status: &Value, kind: &str) -> bool {
    find_condition(status, kind).is_some_and(|condition| text(condition, "/status") == "True")
}

/// Puts a condition into a status, in its old place or at the end. Its transition time stays when its status does.
pub(crate) fn set_condition(status: &mut Value, mut new: Value) {
    if !status.is_object() {
        *status = json!({});
    }
    let slot = &mut status["conditions"];
    if !slot.is_array() {
        *slot = json!([]);
    }
    let Some(list) = slot.as_array_mut() else { return };
    match list.iter_mut().find(|known| known["type"] == new["type"]) {
        Some(known) => {
            if known["status"] == new["status"] {
                new["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            *known = new;
        }
        None => list.push(new),
    }
}

/// Takes a condition out of a status.
pub(crate) fn drop_condition(status: &mut Value, kind: &str) {
    if let Some(list) = status.get_mut("conditions").and_then(Value::as_array_mut) {
        list.retain(|known| known["type"] != kind);
    }
}

/// Writes a counter the way the API does: zero is absent.
pub(crate) fn put_count(status: &mut Value, key: &str, count: i64) {
    let Some(map) = status.as_object_mut() else { return };
    if count == 0 {
        map.shift_remove(key);
    } else {
        map.insert(key.to_owned(), json!(count));
    }
}

/// The map under `metadata` that is called so, or an empty one.
pub(crate) fn meta_map(object: &Value, key: &str) -> Map<String, Value> {
    object
        .at("/metadata")
        .and_then(|meta| meta.get(key))
        .and_then(Value::as_object)
        .cloned()
        .unwrap_or_default()
}

/// A count or a percentage of a whole.
pub(crate) fn portion(value: Option<&Value>, whole: i64, up: bool) -> i64 {
    match value {
        Some(Value::Number(number)) => number.as_i64().unwrap_or(0),
        Some(Value::String(text)) => {
            let percent: i64 = text.trim_end_matches('%').parse().unwrap_or(0);
            let hundredths = percent.saturating_mul(whole);
            if up { hundredths.saturating_add(99).div_euclid(100) } else { hundredths.div_euclid(100) }
        }
        _ => 0,
    }
}

/// Whether a pod is neither finished nor on its way out.
pub(crate) fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !is_deleting(pod)
}

/// Whether a pod has come to its end.
pub(crate) fn is_finished(pod: &Value) -> bool {
    matches!(text(pod, "/status/phase"), "Succeeded" | "Failed")
}

/// Whether a pod is ready.
pub(crate) fn is_ready(pod: &Value) -> bool {
    pod.get("status").is_some_and(|status| is_true(status, "Ready"))
}

/// Whether a pod is available: ready for so many seconds. Else, when it would be, if it is ready at all.
pub(crate) fn available(pod: &Value, min_ready_seconds: i64, now: Time) -> Result<(), Option<Time>> {
    let ready = pod.get("status").and_then(|status| find_condition(status, "Ready"));
    let Some(ready) = ready.filter(|ready| text(ready, "/status") == "True") else { return Err(None) };
    let Some(since) = time(ready, "/lastTransitionTime").filter(|_| min_ready_seconds > 0) else {
        return Ok(());
    };
    let at = since + std::time::Duration::from_secs(min_ready_seconds.unsigned_abs());
    if at <= now { Ok(()) } else { Err(Some(at)) }
}
