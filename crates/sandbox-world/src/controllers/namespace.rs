//! Namespaces: what every namespace has (a service account, the root certificate), and its end with all it holds.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, EventKind, ResourceKey};
use crate::view::View;
use crate::world::World;
use crate::write::{Propagation, Removal};

const ROOT: &str = "kube-root-ca.crt";
const ABOUT_ROOT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal endpoints such as the internal service IP or kubernetes.default.svc. No other usage is guaranteed across distributions of Kubernetes clusters.";

/// What a world without a server says.
const NO_CERTIFICATE: &str = "-----BEGIN CERTIFICATE-----\nsandbox\n-----END CERTIFICATE-----\n";

impl World {
    /// The certificate by which clients know this API, as PEM: namespaces show it to their pods.
    pub fn set_root_certificate(&mut self, pem: &str) {
        self.runtime.root = Some(pem.into());
        let maps = ResourceKey::new("", "configmaps");
        let stale: Vec<Value> = self
            .store
            .list(&maps, None)
            .filter(|(key, map)| key.name == ROOT && map.value["data"]["ca.crt"] != pem)
            .map(|(_, map)| Value::clone(&map.value))
            .collect();
        for mut map in stale {
            map["data"]["ca.crt"] = json!(pem);
            self.store.put(&maps, map);
        }
    }
}

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "", "namespaces") {
        return vec![Item::of(event)];
    }
    let namespace = event.key.namespace.as_str();
    if namespace.is_empty() {
        return Vec::new();
    }
    let basic = match event.resource.plural.as_str() {
        "serviceaccounts" => event.key.name == "default",
        "configmaps" => event.key.name == ROOT,
        _ => false,
    };
    let ending = || view.get("", "namespaces", "", namespace).is_some_and(|found| is_deleting(found));
    if basic && event.kind != EventKind::Added || ending() {
        return vec![Item::new("", "namespaces", "", namespace)];
    }
    Vec::new()
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let name = item.key.name.as_str();
    let Some(namespace) = view.get("", "namespaces", "", name) else { return outcome };
    if is_deleting(namespace) {
        end(view, namespace, &mut outcome);
        return outcome;
    }
    if view.get("", "configmaps", name, ROOT).is_none() {
        let object = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": ROOT, "namespace": name, "annotations": {"kubernetes.io/description": ABOUT_ROOT}},
            "data": {"ca.crt": view.runtime.root.as_deref().unwrap_or(NO_CERTIFICATE)},
        });
        outcome.changes.push(Change::Create { object, note: None });
    }
    if view.get("", "serviceaccounts", name, "default").is_none() {
        let object = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}});
        outcome.changes.push(Change::Create { object, note: None });
    }
    outcome
}

/// What is left in a namespace, by resource.
type Contents<'w> = BTreeMap<&'w ResourceKey, Vec<&'w Value>>;

fn contents<'w>(view: View<'w>, name: &'w str) -> Contents<'w> {
    let mut found = Contents::new();
    for resource in view.store.resources() {
        let here: Vec<&Value> =
            view.store.list(resource, Some(name)).map(|(_, object)| &*object.value).collect();
        if !here.is_empty() {
            found.insert(resource, here);
        }
    }
    found
}

fn remove<'w>(
    resource: &ResourceKey,
    objects: impl Iterator<Item = &'w Value>,
) -> impl Iterator<Item = Change> {
    objects.filter(|object| !is_deleting(object)).map(move |object| Change::Delete {
        resource: resource.clone(),
        key: crate::store::ObjectKey::of(object),
        removal: Removal { propagation: Some(Propagation::Background), ..Removal::default() },
    })
}

/// Pods first, then the rest, then the namespace itself; what stays is told in conditions.
fn end(view: View<'_>, namespace: &Value, outcome: &mut Reaction) {
    let name = text(namespace, "/metadata/name");
    let all = contents(view, name);
    if all.is_empty() {
        outcome.changes.push(Change::Finalize { namespace: name.into() });
        return;
    }
    let pods = ResourceKey::new("", "pods");
    let first = all.get(&pods).map(Vec::as_slice).unwrap_or_default();
    outcome.changes.extend(remove(&pods, first.iter().copied()));
    let ending = first.iter().filter(|pod| items(pod, "/metadata/finalizers").is_empty()).count();
    if ending == 0 {
        for (resource, objects) in &all {
            outcome.changes.extend(remove(resource, objects.iter().copied()));
        }
    }
    // What can go at once goes with the deletes above: only what stays after them is told.
    let stays = |object: &&Value| is_deleting(object);
    let left: Contents<'_> = all
        .into_iter()
        .map(|(resource, objects)| (resource, objects.into_iter().filter(stays).collect::<Vec<&Value>>()))
        .filter(|(_, objects)| !objects.is_empty())
        .collect();
    if outcome.changes.is_empty() {
        let status = conditions(view, namespace, &left, ending);
        if namespace.get("status") != Some(&status) {
            outcome.changes.push(put_status("", "namespaces", namespace, status));
        }
    }
}

fn conditions(view: View<'_>, namespace: &Value, left: &Contents<'_>, pods: usize) -> Value {
    let mut status = namespace.get("status").cloned().unwrap_or_else(|| json!({}));
    status["phase"] = json!("Terminating");
    let now = view.now.text();
    let mut put = |kind: &str, bad: bool, reason: &str, message: &str| {
        set_condition(
            &mut status,
            condition(kind, if bad { "True" } else { "False" }, reason, message, &now),
        );
    };
    put(
        "NamespaceDeletionDiscoveryFailure",
        false,
        "ResourcesDiscovered",
        "All resources successfully discovered",
    );
    put(
        "NamespaceDeletionGroupVersionParsingFailure",
        false,
        "ParsedGroupVersions",
        "All legacy kube types successfully parsed",
    );
    if pods > 0 {
        let name = text(namespace, "/metadata/name");
        let message = format!(
            "Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: {name} for gvr: /v1, Resource=pods"
        );
        put("NamespaceDeletionContentFailure", true, "ContentDeletionFailed", &message);
    } else {
        put(
            "NamespaceDeletionContentFailure",
            false,
            "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        );
    }
    remaining(left, &mut put);
    status
}

/// What is left, and who holds it.
fn remaining(left: &Contents<'_>, put: &mut dyn FnMut(&str, bool, &str, &str)) {
    let mut kinds: Vec<String> = Vec::new();
    let mut holders: BTreeMap<&str, usize> = BTreeMap::new();
    for (resource, objects) in left {
        kinds.push(format!(
            "{}.{} has {} resource instances",
            resource.plural,
            resource.group,
            objects.len()
        ));
        for finalizer in objects.iter().flat_map(|object| items(object, "/metadata/finalizers")) {
            *holders.entry(finalizer.as_str().unwrap_or_default()).or_default() += 1;
        }
    }
    kinds.sort();
    match kinds.is_empty() {
        true => put("NamespaceContentRemaining", false, "ContentRemoved", "All content successfully removed"),
        false => {
            let message = format!("Some resources are remaining: {}", kinds.join(", "));
            put("NamespaceContentRemaining", true, "SomeResourcesRemain", &message);
        }
    }
    match holders.is_empty() {
        true => put(
            "NamespaceFinalizersRemaining",
            false,
            "ContentHasNoFinalizers",
            "All content-preserving finalizers finished",
        ),
        false => {
            let told: Vec<String> =
                holders.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect();
            let message =
                format!("Some content in the namespace has finalizers remaining: {}", told.join(", "));
            put("NamespaceFinalizersRemaining", true, "SomeFinalizersRemain", &message);
        }
    }
}
