//! ReplicaSet → pods: as many as wanted, the least useful ones go first.

use kube_meaning::status::Refusal;
use serde_json::{Value, json};

use super::Item;
use super::adopt::{adopt, adopters};
use super::pods::{by_usefulness, from_template};
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::Event;
use crate::view::View;

const COMPONENT: &str = "replicaset-controller";
/// Pods made in one look.
const BURST: usize = 500;

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "apps", "replicasets") {
        return vec![Item::of(event)];
    }
    if !is_of(event, "", "pods") {
        return Vec::new();
    }
    let owners = controllers_of(event, "ReplicaSet");
    let mut found = adopters(event, view, "apps", "replicasets");
    found.extend(owners.iter().map(|key| Item::new("apps", "replicasets", &key.namespace, &key.name)));
    found
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(set) = view.get("apps", "replicasets", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    outcome.changes = adopt(view, set, "", "pods");
    if !outcome.changes.is_empty() {
        return outcome;
    }
    let pods = pods_of(view, set);
    let active: Vec<&Value> = pods.iter().copied().filter(|pod| is_active(pod)).collect();
    if !is_deleting(set) {
        manage(set, &active, &mut outcome);
    }
    let status = status(view, set, &pods, &mut outcome, None);
    if set.get("status") != Some(&status) {
        outcome.changes.push(put_status("apps", "replicasets", set, status));
    }
    outcome
}

fn pods_of<'w>(view: View<'w>, set: &Value) -> Vec<&'w Value> {
    let uid = text(set, "/metadata/uid");
    let owned = view.owned(uid, "", "pods").into_iter().map(|pod| &**pod);
    owned.filter(|pod| is_controlled_by(pod, uid)).collect()
}

fn manage(set: &Value, active: &[&Value], outcome: &mut Reaction) {
    let wanted = usize::try_from(int_or(set, "/spec/replicas", 1)).unwrap_or(0);
    if active.len() < wanted {
        for _ in 0..(wanted - active.len()).min(BURST) {
            let note = normal(set, COMPONENT, "SuccessfulCreate", "Created pod: ".to_owned());
            let mut pod = from_template(set, &set["spec"]["template"]);
            pod["metadata"]["generateName"] = json!(format!("{}-", text(set, "/metadata/name")));
            outcome.changes.push(Change::Create { object: pod, note: Some(note) });
        }
        return;
    }
    let mut active = active.to_vec();
    by_usefulness(&mut active);
    for pod in &active[..active.len() - wanted] {
        outcome.changes.push(delete("", "pods", pod));
        let message = format!("Deleted pod: {}", text(pod, "/metadata/name"));
        outcome.changes.push(Change::Note(normal(set, COMPONENT, "SuccessfulDelete", message)));
    }
}

fn status(
    view: View<'_>,
    set: &Value,
    pods: &[&Value],
    outcome: &mut Reaction,
    failure: Option<&str>,
) -> Value {
    let mut status = set.get("status").cloned().unwrap_or_else(|| json!({}));
    let labels = meta_map(&set["spec"]["template"], "labels");
    let min_ready = int(set, "/spec/minReadySeconds");
    let (mut all, mut labelled, mut ready, mut good, mut ending) = (0, 0, 0, 0, 0);
    for pod in pods {
        if is_deleting(pod) && !is_finished(pod) {
            ending += 1;
        }
        if !is_active(pod) {
            continue;
        }
        all += 1;
        labelled += i64::from(
            labels.iter().all(|(key, value)| label(pod, key) == value.as_str().unwrap_or_default()),
        );
        ready += i64::from(is_ready(pod));
        match available(pod, min_ready, view.now) {
            Ok(()) => good += 1,
            Err(Some(at)) => outcome.again(at),
            Err(None) => {}
        }
    }
    status["replicas"] = json!(all);
    put_count(&mut status, "fullyLabeledReplicas", labelled);
    put_count(&mut status, "readyReplicas", ready);
    put_count(&mut status, "availableReplicas", good);
    status["terminatingReplicas"] = json!(ending);
    status["observedGeneration"] = set["metadata"]["generation"].clone();
    match failure {
        None => {
            drop_condition(&mut status, "ReplicaFailure");
            if status["conditions"] == json!([])
                && let Some(map) = status.as_object_mut()
            {
                map.shift_remove("conditions");
            }
        }
        Some(message) => {
            let new = condition("ReplicaFailure", "True", "FailedCreate", message, &view.now.text());
            if find_condition(&status, "ReplicaFailure").is_none() {
                set_condition(&mut status, new);
            }
        }
    }
    status
}

/// A pod that may not be made: the set says so, in an Event and a condition.
pub(crate) fn refused(view: View<'_>, item: &Item, change: &Change, refusal: &Refusal) -> Reaction {
    let mut outcome = Reaction::default();
    let set = view.get("apps", "replicasets", &item.key.namespace, &item.key.name);
    let (Some(set), Change::Create { .. }) = (set, change) else { return outcome };
    // In a namespace that is going nothing is wrong with the set.
    if refusal.causes.iter().any(|cause| cause.reason == "NamespaceTerminating") {
        return outcome;
    }
    let message = format!("Error creating: {}", refusal.message);
    outcome.changes.push(Change::Note(warning(set, COMPONENT, "FailedCreate", message)));
    let pods = pods_of(view, set);
    let status = status(view, set, &pods, &mut outcome, Some(&refusal.message));
    outcome.changes.push(put_status("apps", "replicasets", set, status));
    outcome
}
