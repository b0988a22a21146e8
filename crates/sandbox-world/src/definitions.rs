//! Custom resource definitions: what follows from storing, changing and deleting one.
//!
//! A definition is accepted and served at once: the conditions come as a second write, as the server's own controller
//! makes them. A definition that is deleted takes its objects with it, and goes when the last of them has gone.

use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use crate::removal::Removal;
use crate::store::{ObjectKey, ResourceKey, meta_text};
use crate::world::World;
use crate::write::Write;

const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

fn definitions() -> ResourceKey {
    ResourceKey::new("apiextensions.k8s.io", "customresourcedefinitions")
}

/// A definition is held until its objects are gone.
pub(crate) fn hold(crd: &mut Value) {
    let Some(meta) = crd.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    if meta.get("deletionTimestamp").is_some_and(Value::is_string) {
        return;
    }
    let list = meta.entry("finalizers").or_insert_with(|| json!([]));
    if let Some(list) = list.as_array_mut().filter(|list| !list.iter().any(|f| f == CLEANUP)) {
        list.push(json!(CLEANUP));
    }
}

impl World {
    /// What follows when an object was stored.
    pub(crate) fn after_write(&mut self, resource: &ResourceKey, value: &Value) {
        if *resource != definitions() {
            return;
        }
        match value.at("/metadata/deletionTimestamp").is_some() {
            true => self.clean_up(value),
            false => self.establish(value),
        }
    }

    /// What follows when an object is gone.
    pub(crate) fn after_removal(&mut self, resource: &ResourceKey, value: &Value) {
        if *resource == definitions() {
            self.registry.forget(meta_text(value, "name"));
        } else if resource.group.contains('.') {
            // It may have been the last thing that a definition waits for.
            let key = ObjectKey::new("", &format!("{}.{}", resource.plural, resource.group));
            self.release(&key);
        }
    }

    /// Serves a definition and says so in its conditions.
    fn establish(&mut self, crd: &Value) {
        let conflict = self.name_conflict(crd);
        if conflict.is_none() {
            self.registry.define(crd);
        }
        let has = |kind: &str, status: &str| {
            let conditions = crd.at("/status/conditions").and_then(Value::as_array);
            conditions.into_iter().flatten().any(|c| c["type"] == kind && c["status"] == status)
        };
        let wanted = if conflict.is_none() { "True" } else { "False" };
        if has("Established", wanted) && has("NamesAccepted", wanted) {
            return;
        }
        let now = self.now.text();
        let condition = |kind: &str, reason: &str, message: &str| {
            json!({"type": kind, "status": wanted, "lastTransitionTime": now, "reason": reason,
                "message": message, "observedGeneration": crd["metadata"]["generation"]})
        };
        let mut next = crd.clone();
        next["status"]["conditions"] = match &conflict {
            None => json!([
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ]),
            Some((reason, message)) => json!([
                condition("NamesAccepted", reason, message),
                condition("Established", "NotAccepted", "not all names are accepted"),
            ]),
        };
        if conflict.is_none() {
            next["status"]["acceptedNames"] = crd["spec"]["names"].clone();
        }
        self.store.put(&definitions(), next);
    }

    /// Why the names of a definition are taken: the reason of the condition, and its message.
    fn name_conflict(&self, crd: &Value) -> Option<(&'static str, String)> {
        let own = meta_text(crd, "name");
        let (group, names) = (&crd["spec"]["group"], &crd["spec"]["names"]);
        let others = self
            .registry
            .definitions()
            .filter(|(name, other)| name.as_str() != own && other.spec["group"] == *group);
        for (_, other) in others {
            for (key, reason) in [
                ("plural", "PluralConflict"),
                ("singular", "SingularConflict"),
                ("kind", "KindConflict"),
                ("listKind", "ListKindConflict"),
            ] {
                let taken = &other.spec["names"][key];
                if !taken.is_null() && *taken == names[key] {
                    return Some((reason, format!("{taken} is already in use")));
                }
            }
        }
        None
    }

    /// Deletes all objects of a definition that is being deleted.
    fn clean_up(&mut self, crd: &Value) {
        let text = |pointer: &str| crd.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let resource = ResourceKey::new(text("/spec/group"), text("/spec/names/plural"));
        let keys: Vec<ObjectKey> = self.store.list(&resource, None).map(|(key, _)| key.clone()).collect();
        if let Some(served) = self.registry.of_key(&resource) {
            for key in keys {
                // Each was there a moment ago and nothing is asked of it: it cannot be refused.
                let _ = self.remove_object(&served, &key, &Removal::default());
            }
        }
        self.release(&ObjectKey::new("", text("/metadata/name")));
    }

    /// Lets a definition go that is being deleted and has no objects any more.
    fn release(&mut self, key: &ObjectKey) {
        let Some(found) = self.store.get(&definitions(), key) else { return };
        let crd = found.value.clone();
        let text = |pointer: &str| crd.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let resource = ResourceKey::new(text("/spec/group"), text("/spec/names/plural"));
        let held = crd.at("/metadata/deletionTimestamp").is_none()
            || self.store.list(&resource, None).next().is_some();
        if held {
            return;
        }
        let mut next = Value::clone(&crd);
        if let Some(list) = next.pointer_mut("/metadata/finalizers").and_then(Value::as_array_mut) {
            list.retain(|finalizer| finalizer != CLEANUP);
            if !list.is_empty() {
                return;
            }
        }
        self.registry.forget(&key.name);
        self.store.remove(&definitions(), key, Some(next));
    }

    /// The rules of a custom resource's schema that are written in CEL.
    pub(crate) fn check_rules(
        &self,
        ask: &Write<'_>,
        object: &Value,
        live: Option<&Value>,
    ) -> Result<(), Refusal> {
        let resource = ask.served.resource();
        let Some(structural) = &resource.structural else { return Ok(()) };
        if !kube_meaning::crd::has_rules(structural, 0) {
            return Ok(());
        }
        let causes = crate::rules::broken(structural, object, live);
        if causes.is_empty() {
            return Ok(());
        }
        let name = meta_text(object, "name");
        Err(Refusal::invalid(&resource.group, &resource.kind, name, causes))
    }
}
