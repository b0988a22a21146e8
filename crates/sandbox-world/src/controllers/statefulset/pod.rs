//! One pod of a StatefulSet, with its name, its claims and its revision.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::{COMPONENT, REVISION, Set};
use crate::change::Change;
use crate::controllers::pods::from_template;
use crate::controllers::read::*;
use crate::controllers::revisions;

/// Makes a pod, after the claims that it needs.
pub(super) fn create(set: &Set<'_>, ordinal: i64, known: &[&Value]) -> Vec<Change> {
    let name = format!("{}-{ordinal}", set.name());
    let revision = revision_for(set, ordinal);
    let template = known
        .iter()
        .find(|found| text(found, "/metadata/name") == revision)
        .map_or_else(|| set.set["spec"]["template"].clone(), |found| revisions::template(found));
    let mut pod = from_template(set.set, &template);
    pod["metadata"]["name"] = json!(name);
    pod["metadata"]["labels"][REVISION] = json!(revision);
    pod["metadata"]["labels"]["statefulset.kubernetes.io/pod-name"] = json!(name);
    pod["metadata"]["labels"]["apps.kubernetes.io/pod-index"] = json!(ordinal.to_string());
    pod["metadata"]["generateName"] = json!(format!("{}-", set.name()));
    pod["spec"]["hostname"] = json!(name);
    if !text(set.set, "/spec/serviceName").is_empty() {
        pod["spec"]["subdomain"] = set.set["spec"]["serviceName"].clone();
    }
    let mut changes = Vec::new();
    let mut volumes: Vec<Value> = items(&pod, "/spec/volumes").to_vec();
    for template in items(set.set, "/spec/volumeClaimTemplates") {
        let short = text(template, "/metadata/name");
        let claim = format!("{short}-{name}");
        volumes.retain(|volume| text(volume, "/name") != short);
        volumes.push(json!({"name": short, "persistentVolumeClaim": {"claimName": claim}}));
        changes.extend(create_claim(set, template, &claim, &name));
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = json!(volumes);
    }
    let message = format!("Create Pod {name} in StatefulSet {} successful", set.name());
    changes.push(Change::Create { object: pod, note: None });
    changes.push(Change::Note(normal(set.set, COMPONENT, "SuccessfulCreate", message)));
    changes
}

/// Pods below the partition come back as they were.
fn revision_for(set: &Set<'_>, ordinal: i64) -> String {
    if ordinal < set.partition() { set.current.clone() } else { set.update.clone() }
}

fn create_claim(set: &Set<'_>, template: &Value, claim: &str, pod: &str) -> Vec<Change> {
    let namespace = text(set.set, "/metadata/namespace");
    if set.view.get("", "persistentvolumeclaims", namespace, claim).is_some() {
        return Vec::new();
    }
    let mut labels = meta_map(template, "labels");
    let matched = set.set.at("/spec/selector/matchLabels").and_then(Value::as_object);
    labels.extend(matched.cloned().unwrap_or_default());
    let mut meta = json!({"name": claim, "namespace": namespace, "labels": labels});
    let annotations = meta_map(template, "annotations");
    if !annotations.is_empty() {
        meta["annotations"] = json!(annotations);
    }
    if text(set.set, "/spec/persistentVolumeClaimRetentionPolicy/whenDeleted") == "Delete" {
        meta["ownerReferences"] = json!([reference(set.set)]);
    }
    let object = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": meta, "spec": template["spec"]});
    let message = format!("Create Claim {claim} Pod {pod} in StatefulSet {} success", set.name());
    vec![
        Change::Create { object, note: None },
        Change::Note(normal(set.set, COMPONENT, "SuccessfulCreate", message)),
    ]
}
