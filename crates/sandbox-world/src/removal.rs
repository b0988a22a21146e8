//! Deletion: preconditions, grace, finalizers, propagation; and what it means that nothing holds an object any more.
//!
//! In: a resource, a name, options. Out: the last state and whether the object is gone. Dependents are the garbage
//! collector's work: here an object only gets the finalizer that asks for it.

use std::sync::Arc;

use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use crate::registry::Served;
use crate::store::{Object, ObjectKey, meta_text};
use crate::world::World;
use crate::write::{about, forbidden, full_name, is_finished, not_found};

/// How something is removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removal {
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub grace_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    pub dry_run: bool,
}

/// What becomes of dependents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a removal came to.
#[derive(Clone, Debug)]
pub struct Removed {
    /// The last state, as it is kept.
    pub object: Object,
    /// Nothing held it.
    pub gone: bool,
}

/// Namespaces that a cluster cannot be without.
const KEPT_NAMESPACES: [&str; 3] = ["default", "kube-system", "kube-public"];
const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

impl World {
    /// Carries out a delete. Returns the last state; the object is still there while finalizers hold it.
    pub fn remove(
        &mut self,
        served: &Served,
        key: &ObjectKey,
        removal: &Removal,
    ) -> Result<Arc<Value>, Refusal> {
        self.remove_object(served, key, removal).map(|removed| removed.object.value)
    }

    /// As [`World::remove`], and says whether the object is gone.
    pub fn remove_object(
        &mut self,
        served: &Served,
        key: &ObjectKey,
        removal: &Removal,
    ) -> Result<Removed, Refusal> {
        let resource = served.key();
        let Some(live) = self.store.get(&resource, key).cloned() else {
            return Err(not_found(served, &key.name));
        };
        check_preconditions(served, key, removal, &live.value)?;
        let kind = live.value["kind"].as_str().unwrap_or_default();
        if kind == "Namespace" && KEPT_NAMESPACES.contains(&key.name.as_str()) {
            return Err(forbidden(served, &key.name, "this namespace may not be deleted"));
        }
        let grace = grace_of(kind, &live.value, removal);
        let mut next = Value::clone(&live.value);
        set_propagation(&mut next, propagation_of(kind, removal));
        if served.resource().kind == "CustomResourceDefinition" && !served.resource().custom {
            crate::definitions::hold(&mut next);
        }
        let terminating = mark(&mut next, grace, self.now);
        if is_finished(&next) {
            if removal.dry_run {
                return Ok(Removed { object: live, gone: true });
            }
            // Unlike the deletion of something held, this leaves the object as it was.
            let object = self.store.remove(&resource, key, Some(last_state(kind, &live, next)));
            let object = object.unwrap_or(live);
            self.after_removal(&resource, &object.value);
            return Ok(Removed { object, gone: true });
        }
        if kind == "Namespace" && terminating {
            if let Some(meta) = next["metadata"].as_object_mut() {
                meta.shift_remove("deletionGracePeriodSeconds");
            }
            next["status"]["phase"] = json!("Terminating");
        }
        if removal.dry_run || next == *live.value {
            let object = if removal.dry_run { Object::new(next, live.revision) } else { live };
            return Ok(Removed { object, gone: false });
        }
        let object = self.store.put(&resource, next);
        self.after_write(&resource, &object.value);
        // A definition may go at once, with all that it defined.
        let gone = self.store.get(&resource, key).is_none();
        Ok(Removed { object, gone })
    }
}

/// A pod that goes at once is shown as being deleted; everything else as it was.
fn last_state(kind: &str, live: &Object, next: Value) -> Value {
    match kind {
        "Pod" => next,
        _ if live.value.at("/metadata/deletionTimestamp").is_some() => next,
        _ => Value::clone(&live.value),
    }
}

fn check_preconditions(
    served: &Served,
    key: &ObjectKey,
    removal: &Removal,
    live: &Value,
) -> Result<(), Refusal> {
    let conflict = |text: String| {
        let name = &key.name;
        let message = format!("Operation cannot be fulfilled on {} \"{name}\": {text}", full_name(served));
        let refusal = about(served, name, 409, "Conflict", message);
        Refusal { kind: served.resource().kind.clone(), ..refusal }
    };
    let (uid, version) = (meta_text(live, "uid"), meta_text(live, "resourceVersion"));
    if let Some(wanted) = removal.uid.as_deref().filter(|wanted| *wanted != uid) {
        return Err(conflict(format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        )));
    }
    if let Some(wanted) = removal.resource_version.as_deref().filter(|wanted| *wanted != version) {
        return Err(conflict(format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        )));
    }
    Ok(())
}

/// How long an object may take to go: only pods that run somewhere take time.
fn grace_of(kind: &str, live: &Value, removal: &Removal) -> i64 {
    if kind != "Pod" {
        return 0;
    }
    let phase = live.at("/status/phase").and_then(Value::as_str).unwrap_or_default();
    let node = live.at("/spec/nodeName").and_then(Value::as_str).unwrap_or_default();
    if node.is_empty() || matches!(phase, "Succeeded" | "Failed") {
        return 0;
    }
    let own = live.at("/spec/terminationGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(30);
    // A negative period means the shortest one that is not at once.
    let asked = removal.grace_seconds.unwrap_or(own);
    if asked < 0 { 1 } else { asked }
}

fn propagation_of(kind: &str, removal: &Removal) -> Propagation {
    removal.propagation.unwrap_or(match kind {
        "Job" | "ReplicationController" => Propagation::Orphan,
        _ => Propagation::Background,
    })
}

fn set_propagation(object: &mut Value, propagation: Propagation) {
    let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let mut list: Vec<Value> = match meta.get("finalizers") {
        Some(Value::Array(list)) => list.clone(),
        _ => Vec::new(),
    };
    list.retain(|text| text != FOREGROUND && text != ORPHAN);
    match propagation {
        Propagation::Background => {}
        Propagation::Foreground => list.push(json!(FOREGROUND)),
        Propagation::Orphan => list.push(json!(ORPHAN)),
    }
    match list.is_empty() {
        true => meta.shift_remove("finalizers"),
        false => meta.insert("finalizers".to_owned(), Value::Array(list)),
    };
}

/// Marks an object as being deleted; true when it was not marked before. A shorter grace replaces a longer one.
fn mark(object: &mut Value, grace: i64, now: crate::time::Time) -> bool {
    let Some(meta) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return false };
    let marked = meta.get("deletionTimestamp").is_some_and(Value::is_string);
    let before = meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64).unwrap_or(0);
    if marked && grace >= before {
        return false;
    }
    let until = now + std::time::Duration::from_secs(u64::try_from(grace).unwrap_or(0));
    meta.insert("deletionTimestamp".to_owned(), Value::from(until.text()));
    meta.insert("deletionGracePeriodSeconds".to_owned(), Value::from(grace));
    if !marked && let Some(generation) = meta.get("generation").and_then(Value::as_i64) {
        meta.insert("generation".to_owned(), Value::from(generation + 1));
    }
    !marked
}
