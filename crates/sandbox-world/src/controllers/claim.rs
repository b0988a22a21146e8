//! PersistentVolumeClaims and PersistentVolumes: bound to a fitting volume, provisioned by the simulated class, or told why not.

use kube_meaning::quantity::Quantity;
use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, EventKind, ResourceKey};
use crate::view::View;

const COMPONENT: &str = "persistentvolume-controller";
/// The provisioner that this sandbox plays.
const SIMULATED: &str = "sandbox.kusion.io/simulated";
const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const PROTECTION: &str = "kubernetes.io/pvc-protection";

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    let claim = |namespace: &str, name: &str| Item::new("", "persistentvolumeclaims", namespace, name);
    let pending = || {
        let all = view.store.list(&ResourceKey::new("", "persistentvolumeclaims"), None);
        let waiting = all.filter(|(_, found)| text(&found.value, "/status/phase") != "Bound");
        waiting.map(|(key, _)| claim(&key.namespace, &key.name)).collect::<Vec<Item>>()
    };
    if is_of(event, "", "persistentvolumeclaims") {
        let mut found = vec![Item::of(event)];
        let volume = text(&event.object.value, "/spec/volumeName");
        if event.kind == EventKind::Deleted && !volume.is_empty() {
            found.push(Item::new("", "persistentvolumes", "", volume));
        }
        return found;
    }
    if is_of(event, "", "persistentvolumes") {
        let mut found = pending();
        found.push(Item::of(event));
        if event.kind == EventKind::Deleted {
            let of = |key| text(&event.object.value, &format!("/spec/claimRef/{key}"));
            found.push(claim(of("namespace"), of("name")));
        }
        return found;
    }
    if is_of(event, "storage.k8s.io", "storageclasses") {
        return pending();
    }
    if is_of(event, "", "pods") && event.kind != EventKind::Modified {
        let volumes = items(&event.object.value, "/spec/volumes").iter();
        let names = volumes.map(|volume| text(volume, "/persistentVolumeClaim/claimName"));
        return names.filter(|name| !name.is_empty()).map(|name| claim(&event.key.namespace, name)).collect();
    }
    Vec::new()
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(object) = view.store.get(&item.resource, &item.key) else { return outcome };
    let object = &*object.value;
    match item.resource.plural == "persistentvolumes" {
        true => volume(view, object, &mut outcome),
        false => claim(view, object, &mut outcome),
    }
    outcome
}

fn set_phase(volume: &Value, phase: &str, outcome: &mut Reaction) {
    if text(volume, "/status/phase") != phase {
        outcome.changes.push(patch(
            "",
            "persistentvolumes",
            volume,
            "status",
            json!({"status": {"phase": phase}}),
        ));
    }
}

fn volume(view: View<'_>, volume: &Value, outcome: &mut Reaction) {
    if is_deleting(volume) {
        let kept = items(volume, "/metadata/finalizers")
            .iter()
            .filter(|name| *name != "kubernetes.io/pv-protection");
        let kept: Vec<&Value> = kept.collect();
        if kept.len() < items(volume, "/metadata/finalizers").len() {
            let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
            outcome.changes.push(patch(
                "",
                "persistentvolumes",
                volume,
                "",
                json!({"metadata": {"finalizers": kept}}),
            ));
        }
        return;
    }
    let Some(wanted) = volume.at("/spec/claimRef") else {
        return set_phase(volume, "Available", outcome);
    };
    let claim = view.get("", "persistentvolumeclaims", text(wanted, "/namespace"), text(wanted, "/name"));
    let uid = text(wanted, "/uid");
    match claim {
        _ if uid.is_empty() => set_phase(volume, "Available", outcome),
        Some(claim) if text(claim, "/metadata/uid") == uid => set_phase(volume, "Bound", outcome),
        _ if text(volume, "/spec/persistentVolumeReclaimPolicy") == "Delete" => {
            outcome.changes.push(delete("", "persistentvolumes", volume));
        }
        _ => set_phase(volume, "Released", outcome),
    }
}

fn claim(view: View<'_>, claim: &Value, outcome: &mut Reaction) {
    if is_deleting(claim) {
        return let_go(view, claim, outcome);
    }
    let bound_to = text(claim, "/spec/volumeName");
    if text(claim, "/status/phase") == "Bound" {
        if view.get("", "persistentvolumes", "", bound_to).is_none() {
            let change = json!({"status": {"phase": "Lost"}});
            outcome.changes.push(patch("", "persistentvolumeclaims", claim, "status", change));
            let message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!";
            outcome.changes.push(Change::Note(warning(claim, COMPONENT, "ClaimLost", message.to_owned())));
        }
        return;
    }
    if let Some(found) = fitting(view, claim) {
        return bind(claim, found, outcome);
    }
    if bound_to.is_empty() {
        provision(view, claim, outcome);
    }
}

/// A claim that pods use is not let go before they are.
fn let_go(view: View<'_>, claim: &Value, outcome: &mut Reaction) {
    let name = text(claim, "/metadata/name");
    let pods = view.store.list(&ResourceKey::new("", "pods"), Some(text(claim, "/metadata/namespace")));
    let used = pods.map(|(_, pod)| &*pod.value).filter(|pod| !is_finished(pod)).any(|pod| {
        items(pod, "/spec/volumes")
            .iter()
            .any(|volume| text(volume, "/persistentVolumeClaim/claimName") == name)
    });
    let held = items(claim, "/metadata/finalizers");
    if !used && held.iter().any(|known| known == PROTECTION) {
        let kept: Vec<&Value> = held.iter().filter(|known| *known != PROTECTION).collect();
        let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
        let change = json!({"metadata": {"finalizers": kept}});
        outcome.changes.push(patch("", "persistentvolumeclaims", claim, "", change));
    }
}

fn size(value: Option<&Value>) -> i128 {
    value.and_then(Quantity::from_json).map_or(0, |quantity| quantity.nanos())
}

/// The smallest free volume that has what the claim asks for.
fn fitting<'w>(view: View<'w>, claim: &Value) -> Option<&'w Value> {
    let named = text(claim, "/spec/volumeName");
    let asked = size(claim.at("/spec/resources/requests/storage"));
    let selector = selector(claim.at("/spec/selector"));
    let fits = |volume: &&Value| {
        let reserved = volume.at("/spec/claimRef");
        let ours = reserved.is_none_or(|reserved| {
            let same =
                |key: &str| text(reserved, &format!("/{key}")) == text(claim, &format!("/metadata/{key}"));
            same("namespace") && same("name") && (text(reserved, "/uid").is_empty() || same("uid"))
        });
        if !named.is_empty() {
            return ours && text(volume, "/metadata/name") == named;
        }
        let modes = items(volume, "/spec/accessModes");
        ours && matches!(text(volume, "/status/phase"), "Available" | "Pending" | "" | "Bound")
            && (text(volume, "/status/phase") != "Bound" || reserved.is_some())
            && text(volume, "/spec/storageClassName") == text(claim, "/spec/storageClassName")
            && size(volume.at("/spec/capacity/storage")) >= asked
            && items(claim, "/spec/accessModes").iter().all(|mode| modes.contains(mode))
            && selector.as_ref().is_none_or(|selector| selector.matches_object(volume))
    };
    let all = view
        .list("", "persistentvolumes", None)
        .map(|volume| &**volume)
        .filter(|volume| !is_deleting(volume));
    all.filter(fits).min_by_key(|volume| size(volume.at("/spec/capacity/storage")))
}

fn bind(claim: &Value, volume: &Value, outcome: &mut Reaction) {
    let name = text(volume, "/metadata/name");
    if text(volume, "/spec/claimRef/uid") != text(claim, "/metadata/uid") {
        let reference = object_ref(claim);
        let change = json!({"metadata": {"annotations": {"pv.kubernetes.io/bound-by-controller": "yes"}}, "spec": {"claimRef": reference}});
        outcome.changes.push(patch("", "persistentvolumes", volume, "", change));
    }
    set_phase(volume, "Bound", outcome);
    let mut annotations = json!({"pv.kubernetes.io/bind-completed": "yes"});
    let mut change = json!({});
    if text(claim, "/spec/volumeName").is_empty() {
        annotations["pv.kubernetes.io/bound-by-controller"] = json!("yes");
        change["spec"] = json!({"volumeName": name});
    }
    change["metadata"] = json!({"annotations": annotations});
    outcome.changes.push(patch("", "persistentvolumeclaims", claim, "", change));
    let status = json!({"phase": "Bound", "accessModes": volume["spec"]["accessModes"], "capacity": volume["spec"]["capacity"]});
    outcome.changes.push(patch("", "persistentvolumeclaims", claim, "status", json!({"status": status})));
}

fn provision(view: View<'_>, claim: &Value, outcome: &mut Reaction) {
    let tell = |warn: bool, reason: &'static str, message: String| {
        let note = normal(claim, COMPONENT, reason, message);
        Change::Note(crate::change::Note { warning: warn, ..note })
    };
    if text(claim, "/status/phase") != "Pending" {
        let change = json!({"status": {"phase": "Pending"}});
        outcome.changes.push(patch("", "persistentvolumeclaims", claim, "status", change));
    }
    let class = text(claim, "/spec/storageClassName");
    if class.is_empty() {
        let asked = claim.at("/spec/storageClassName").is_some();
        let default = view
            .list("storage.k8s.io", "storageclasses", None)
            .find(|class| annotation(class, DEFAULT) == "true");
        if let Some(default) = default.filter(|_| !asked) {
            let change = json!({"spec": {"storageClassName": text(default, "/metadata/name")}});
            outcome.changes.push(patch("", "persistentvolumeclaims", claim, "", change));
            return;
        }
        let message = "no persistent volumes available for this claim and no storage class is set".to_owned();
        outcome.changes.push(tell(false, "FailedBinding", message));
        outcome.again(view.now + view.pace.bind_retry);
        return;
    }
    let Some(found) = view.get("storage.k8s.io", "storageclasses", "", class) else {
        let message = format!("storageclass.storage.k8s.io \"{class}\" not found");
        outcome.changes.push(tell(true, "ProvisioningFailed", message));
        outcome.again(view.now + view.pace.bind_retry);
        return;
    };
    if text(found, "/volumeBindingMode") == "WaitForFirstConsumer" && !has_consumer(view, claim) {
        let message = "waiting for first consumer to be created before binding".to_owned();
        outcome.changes.push(tell(false, "WaitForFirstConsumer", message));
        return;
    }
    make(view, claim, found, outcome);
}

/// A volume of a class: made here, or left to the class's own provisioner.
fn make(view: View<'_>, claim: &Value, class: &Value, outcome: &mut Reaction) {
    let provisioner = text(class, "/provisioner");
    if provisioner == SIMULATED {
        let name = format!("pvc-{}", text(claim, "/metadata/uid"));
        if view.get("", "persistentvolumes", "", &name).is_none() {
            outcome.changes.push(Change::Create { object: simulated(claim, class, &name), note: None });
            let message = format!("Successfully provisioned volume {name}");
            outcome.changes.push(Change::Note(normal(claim, SIMULATED, "ProvisioningSucceeded", message)));
        }
        return;
    }
    if annotation(claim, "volume.kubernetes.io/storage-provisioner") != provisioner {
        let annotations = json!({"volume.beta.kubernetes.io/storage-provisioner": provisioner, "volume.kubernetes.io/storage-provisioner": provisioner});
        let change = json!({"metadata": {"annotations": annotations}});
        outcome.changes.push(patch("", "persistentvolumeclaims", claim, "", change));
    }
    let message = format!(
        "Waiting for a volume to be created either by the external provisioner '{provisioner}' or manually by the system administrator. If volume creation is delayed, please verify that the provisioner is running and correctly registered."
    );
    outcome.changes.push(Change::Note(normal(claim, COMPONENT, "ExternalProvisioning", message)));
    outcome.again(view.now + view.pace.bind_retry);
}

fn has_consumer(view: View<'_>, claim: &Value) -> bool {
    let name = text(claim, "/metadata/name");
    let pods = view.store.list(&ResourceKey::new("", "pods"), Some(text(claim, "/metadata/namespace")));
    pods.map(|(_, pod)| &*pod.value).any(|pod| {
        items(pod, "/spec/volumes")
            .iter()
            .any(|volume| text(volume, "/persistentVolumeClaim/claimName") == name)
    })
}

fn simulated(claim: &Value, class: &Value, name: &str) -> Value {
    let mut about = object_ref(claim);
    about["kind"] = json!("PersistentVolumeClaim");
    json!({
        "apiVersion": "v1", "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": SIMULATED}},
        "spec": {
            "accessModes": claim["spec"]["accessModes"],
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "claimRef": about,
            "hostPath": {"path": format!("/var/lib/sandbox/{name}"), "type": "DirectoryOrCreate"},
            "persistentVolumeReclaimPolicy": class.get("reclaimPolicy").cloned().unwrap_or_else(|| json!("Delete")),
            "storageClassName": class["metadata"]["name"],
            "volumeMode": claim.at("/spec/volumeMode").cloned().unwrap_or_else(|| json!("Filesystem")),
        },
    })
}
