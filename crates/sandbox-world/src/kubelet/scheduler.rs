//! Which node a pod gets: the emptiest that fits, or a condition and an Event that say why none does.

use std::collections::BTreeMap;

use kube_meaning::quantity::Quantity;
use kube_meaning::reach::Reach;
use kube_meaning::selectors::LabelSelector;
use serde_json::{Value, json};

use crate::change::{Change, Note, Reaction};
use crate::controllers::Item;
use crate::controllers::read::*;
use crate::store::{Event, EventKind};
use crate::view::View;

const COMPONENT: &str = "default-scheduler";

pub fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "", "pods") {
        let pod = &event.object.value;
        if event.kind == EventKind::Deleted || is_finished(pod) {
            return waiting(view);
        }
        return if is_waiting(pod) { vec![Item::of(event)] } else { Vec::new() };
    }
    let other = is_of(event, "", "nodes") || is_of(event, "", "persistentvolumeclaims");
    if other { waiting(view) } else { Vec::new() }
}

pub(crate) fn is_waiting(pod: &Value) -> bool {
    text(pod, "/spec/nodeName").is_empty() && is_active(pod)
}

fn waiting(view: View<'_>) -> Vec<Item> {
    view.index.waiting().map(|key| Item::new("", "pods", &key.namespace, &key.name)).collect()
}

pub fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(pod) = view.get("", "pods", &item.key.namespace, &item.key.name) else { return outcome };
    let gated = !items(pod, "/spec/schedulingGates").is_empty();
    let other = !matches!(text(pod, "/spec/schedulerName"), "" | "default-scheduler");
    if !is_waiting(pod) || gated || other {
        return outcome;
    }
    let about = |warning: bool, reason: &'static str, message: String| {
        Change::Note(Note {
            about: object_ref(pod),
            warning,
            reason,
            message,
            component: COMPONENT,
            host: "".into(),
        })
    };
    match place(view, pod) {
        Ok(node) => {
            let (namespace, name) = (&item.key.namespace, &item.key.name);
            outcome.changes.push(Change::Bind { key: item.key.clone(), node: node.into() });
            let message = format!("Successfully assigned {namespace}/{name} to {node}");
            outcome.changes.push(about(false, "Scheduled", message));
        }
        Err(message) => {
            let mut new = condition("PodScheduled", "False", "Unschedulable", &message, &view.now.text());
            new["lastProbeTime"] = Value::Null;
            new["observedGeneration"] = pod["metadata"]["generation"].clone();
            let mut status = pod["status"].clone();
            set_condition(&mut status, new);
            if pod["status"] != status {
                outcome.changes.push(about(true, "FailedScheduling", message));
                let change = json!({"status": {"conditions": status["conditions"]}});
                outcome.changes.push(patch("", "pods", pod, "status", change));
            }
        }
    }
    outcome
}

/// A node's fitness for a pod.
enum Fit {
    Good {
        pods: usize,
    },
    /// Why not, and whether another pod's end would help.
    Bad {
        why: Vec<String>,
        helps: bool,
    },
}

fn place<'w>(view: View<'w>, pod: &Value) -> Result<&'w str, String> {
    let nodes: Vec<&Value> = view.list("", "nodes", None).map(|node| &**node).collect();
    if nodes.is_empty() {
        return Err("no nodes available to schedule pods".to_owned());
    }
    let count = nodes.len();
    let refuse = |why: &str, helps: usize| {
        let mut told = Vec::new();
        if helps > 0 {
            told.push(format!("{helps} No preemption victims found for incoming pod"));
        }
        if helps < count {
            told.push(format!("{} Preemption is not helpful for scheduling", count - helps));
        }
        Err(format!(
            "0/{count} nodes are available: {why}. no new claims to deallocate, preemption: 0/{count} nodes are available: {}.",
            told.join(", ")
        ))
    };
    if let Some(problem) = claim_problem(view, pod) {
        return refuse(&problem, 0);
    }
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut helped = 0;
    let mut best: Option<(usize, &str)> = None;
    for node in nodes {
        match fit(view, pod, node) {
            Fit::Good { pods } => {
                let name = text(node, "/metadata/name");
                if best.is_none_or(|(least, _)| pods < least) {
                    best = Some((pods, name));
                }
            }
            Fit::Bad { why, helps } => {
                helped += usize::from(helps);
                for why in why {
                    *reasons.entry(why).or_default() += 1;
                }
            }
        }
    }
    if let Some((_, name)) = best {
        return Ok(name);
    }
    let mut told: Vec<String> = reasons.into_iter().map(|(why, count)| format!("{count} {why}")).collect();
    told.sort();
    refuse(&told.join(", "), helped)
}

fn claim_problem(view: View<'_>, pod: &Value) -> Option<String> {
    let namespace = text(pod, "/metadata/namespace");
    items(pod, "/spec/volumes").iter().find_map(|volume| {
        let name = text(volume, "/persistentVolumeClaim/claimName");
        if name.is_empty() {
            return None;
        }
        let Some(claim) = view.get("", "persistentvolumeclaims", namespace, name) else {
            return Some(format!("persistentvolumeclaim \"{name}\" not found"));
        };
        let class = text(claim, "/spec/storageClassName");
        let class = view.get("storage.k8s.io", "storageclasses", "", class);
        let late = class.is_some_and(|class| text(class, "/volumeBindingMode") == "WaitForFirstConsumer");
        let bound = !text(claim, "/spec/volumeName").is_empty();
        (!bound && !late).then(|| "pod has unbound immediate PersistentVolumeClaims".to_owned())
    })
}

fn fit(view: View<'_>, pod: &Value, node: &Value) -> Fit {
    let bad = |why: &str| Fit::Bad { why: vec![why.to_owned()], helps: false };
    if is(node, "/spec/unschedulable")
        && !tolerates(pod, &json!({"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}))
    {
        return bad("node(s) were unschedulable");
    }
    let hard = |taint: &&Value| text(taint, "/effect") != "PreferNoSchedule";
    if items(node, "/spec/taints").iter().filter(hard).any(|taint| !tolerates(pod, taint)) {
        return bad("node(s) had untolerated taint(s)");
    }
    if !selected(pod, node) {
        return bad("node(s) didn't match Pod's node affinity/selector");
    }
    let name = text(node, "/metadata/name");
    let given = view.index.given(name);
    let pods = given.map_or(0, |given| given.pods);
    let mut why = Vec::new();
    let mut helps = true;
    let room = int_quantity(&node["status"]["allocatable"]["pods"]) / 1_000_000_000;
    if pods as i128 >= room {
        why.push("Too many pods".to_owned());
    }
    for (resource, wanted) in requests(pod) {
        let room = int_quantity(&node["status"]["allocatable"][&resource]);
        let used = given.and_then(|given| given.amounts.get(&resource)).copied().unwrap_or(0);
        if wanted > 0 && used + wanted > room {
            why.push(format!("Insufficient {resource}"));
            helps &= wanted <= room;
        }
    }
    match why.is_empty() {
        true => Fit::Good { pods },
        false => Fit::Bad { why, helps },
    }
}

fn int_quantity(value: &Value) -> i128 {
    Quantity::from_json(value).map_or(0, |quantity| quantity.nanos())
}

/// What a pod asks for: the sum of its containers, or its largest init container.
pub fn requests(pod: &Value) -> BTreeMap<String, i128> {
    let mut sum: BTreeMap<String, i128> = BTreeMap::new();
    let of = |container: &Value| -> Vec<(String, i128)> {
        let asked = container.at("/resources/requests").and_then(Value::as_object);
        asked.into_iter().flatten().map(|(name, value)| (name.clone(), int_quantity(value))).collect()
    };
    for container in items(pod, "/spec/containers") {
        for (name, value) in of(container) {
            *sum.entry(name).or_default() += value;
        }
    }
    for container in items(pod, "/spec/initContainers") {
        for (name, value) in of(container) {
            let slot = sum.entry(name).or_default();
            *slot = (*slot).max(value);
        }
    }
    sum
}

/// Whether a pod bears a taint.
pub fn tolerates(pod: &Value, taint: &Value) -> bool {
    items(pod, "/spec/tolerations").iter().any(|toleration| {
        let effect = text(toleration, "/effect");
        let key = text(toleration, "/key");
        let exists = text(toleration, "/operator") == "Exists";
        (effect.is_empty() || effect == text(taint, "/effect"))
            && (key == text(taint, "/key") || key.is_empty() && exists)
            && (exists || text(toleration, "/value") == text(taint, "/value"))
    })
}

/// Whether a pod's node selector and required node affinity take a node.
pub fn selected(pod: &Value, node: &Value) -> bool {
    let chosen = pod.at("/spec/nodeSelector").and_then(Value::as_object);
    if chosen.into_iter().flatten().any(|(key, value)| label(node, key) != value.as_str().unwrap_or_default())
    {
        return false;
    }
    let required =
        "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
    let terms = items(pod, required);
    terms.is_empty() || terms.iter().any(|term| term_takes(term, node))
}

fn term_takes(term: &Value, node: &Value) -> bool {
    let labels = json!({"matchLabels": {}, "matchExpressions": term.get("matchExpressions").cloned().unwrap_or_else(|| json!([]))});
    let by_label = LabelSelector::from_json(&labels).is_ok_and(|selector| selector.matches_object(node));
    let by_field = items(term, "/matchFields").iter().all(|field| {
        let name = text(node, "/metadata/name");
        let holds = items(field, "/values").iter().any(|value| value == name);
        text(field, "/key") == "metadata.name" && (text(field, "/operator") == "NotIn") != holds
    });
    by_label && by_field
}
