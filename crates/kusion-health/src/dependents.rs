//! From a root to the objects below it, for the tree a user watches.
//!
//! In: an object and the snapshot. Out: its direct dependents. Invariant: ownership is by uid; names are used only where
//! Kubernetes itself links by name. Empty ReplicaSets of old revisions are hidden.

use crate::snapshot::Snapshot;
use crate::view::View;
use serde_json::Value;

/// The direct dependents of an object, owned ones first.
pub fn dependents<'s>(object: &Value, snapshot: &'s Snapshot) -> Vec<&'s Value> {
    let view = View(object);
    let mut found: Vec<View<'s>> =
        snapshot.owned_by(view).into_iter().filter(|owned| !is_empty_set(*owned)).collect();
    let mut linked: Vec<View<'s>> = match (view.group(), view.kind()) {
        ("", "Service") => slices(view, snapshot),
        ("apps", "StatefulSet") => claims(view, snapshot),
        ("cert-manager.io", "Certificate") => {
            snapshot.find("", "Secret", view.namespace(), view.str("/spec/secretName")).into_iter().collect()
        }
        _ => Vec::new(),
    };
    linked.retain(|other| !found.iter().any(|known| std::ptr::eq(known.0, other.0)));
    found.extend(linked);
    found.into_iter().map(|view| view.0).collect()
}

/// Is this object owned by another one of the snapshot?
pub fn is_dependent(object: &Value, snapshot: &Snapshot) -> bool {
    let owners = View(object).items("/metadata/ownerReferences");
    owners.map(|owner| owner.str("/uid")).any(|uid| !uid.is_empty() && snapshot.by_uid(uid).is_some())
}

fn is_empty_set(object: View<'_>) -> bool {
    let owned = !object.list("/metadata/ownerReferences").is_empty();
    object.kind() == "ReplicaSet"
        && owned
        && object.int("/spec/replicas") == Some(0)
        && object.num("/status/replicas") == 0
}

fn slices<'s>(service: View<'_>, snapshot: &'s Snapshot) -> Vec<View<'s>> {
    let all = snapshot.of_kind("discovery.k8s.io", "EndpointSlice");
    all.filter(|slice| {
        slice.namespace() == service.namespace()
            && slice.label("kubernetes.io/service-name") == Some(service.name())
    })
    .collect()
}

/// Claims made from a template carry the names of template, set and ordinal.
fn claims<'s>(set: View<'_>, snapshot: &'s Snapshot) -> Vec<View<'s>> {
    let prefixes: Vec<String> = set
        .items("/spec/volumeClaimTemplates")
        .map(|template| format!("{}-{}-", template.name(), set.name()))
        .collect();
    let of_set = |claim: &View<'s>| {
        claim.namespace() == set.namespace()
            && prefixes.iter().any(|prefix| {
                let rest = claim.name().strip_prefix(prefix.as_str());
                rest.is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
            })
    };
    snapshot.of_kind("", "PersistentVolumeClaim").filter(of_set).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn owned_objects_slices_and_claims_are_found() {
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db", "namespace": "n", "uid": "s"},
            "spec": {"volumeClaimTemplates": [{"metadata": {"name": "data"}}]}});
        let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "db-0", "namespace": "n", "uid": "p",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "s"}]}});
        let claim = |name: &str| json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name, "namespace": "n"}});
        let snapshot =
            Snapshot::of([set.clone(), pod.clone(), claim("data-db-0"), claim("data-db-x"), claim("other")]);
        let names: Vec<&str> =
            dependents(&set, &snapshot).into_iter().map(|object| View(object).name()).collect();
        assert_eq!(names, ["db-0", "data-db-0"]);
        assert!(is_dependent(&pod, &snapshot));
        assert!(!is_dependent(&set, &snapshot));
    }

    #[test]
    fn old_empty_replica_sets_are_hidden() {
        let root = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "n", "uid": "d"}});
        let set = |name: &str, replicas: i64| {
            json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": name, "namespace": "n",
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d"}]}, "spec": {"replicas": replicas}})
        };
        let snapshot = Snapshot::of([root.clone(), set("web-1", 0), set("web-2", 3)]);
        let names: Vec<&str> =
            dependents(&root, &snapshot).into_iter().map(|object| View(object).name()).collect();
        assert_eq!(names, ["web-2"]);
    }
}
