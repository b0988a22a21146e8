//! DaemonSet → one pod on every node that takes it.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::adopt::adopt;
use super::pods::from_template;
use super::read::*;
use super::revisions;
use crate::change::{Change, Reaction};
use crate::kubelet::scheduler::{selected, tolerates};
use crate::store::Event;
use crate::view::View;

const COMPONENT: &str = "daemonset-controller";
const REVISION: &str = "controller-revision-hash";
const GENERATION: &str = "pod-template-generation";

/// Taints that no DaemonSet pod minds: key and effect.
const BORNE: [(&str, &str); 6] = [
    ("node.kubernetes.io/not-ready", "NoExecute"),
    ("node.kubernetes.io/unreachable", "NoExecute"),
    ("node.kubernetes.io/disk-pressure", "NoSchedule"),
    ("node.kubernetes.io/memory-pressure", "NoSchedule"),
    ("node.kubernetes.io/pid-pressure", "NoSchedule"),
    ("node.kubernetes.io/unschedulable", "NoSchedule"),
];

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "apps", "daemonsets") {
        return vec![Item::of(event)];
    }
    if is_of(event, "", "nodes") {
        let all = view.store.list(&crate::store::ResourceKey::new("apps", "daemonsets"), None);
        return all.map(|(key, _)| Item::new("apps", "daemonsets", &key.namespace, &key.name)).collect();
    }
    if !is_of(event, "", "pods") && !is_of(event, "apps", "controllerrevisions") {
        return Vec::new();
    }
    let owners = controllers_of(event, "DaemonSet");
    owners.iter().map(|key| Item::new("apps", "daemonsets", &key.namespace, &key.name)).collect()
}

/// The node that a pod of a DaemonSet is meant for.
fn node_of(pod: &Value) -> &str {
    let bound = text(pod, "/spec/nodeName");
    if !bound.is_empty() {
        return bound;
    }
    let terms = "/spec/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/matchFields/0/values/0";
    text(pod, terms)
}

struct Daemons<'w> {
    view: View<'w>,
    set: &'w Value,
    pods: Vec<&'w Value>,
    nodes: Vec<&'w str>,
    /// Label value of the present template.
    hash: String,
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(set) = view.get("apps", "daemonsets", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    if is_deleting(set) {
        return outcome;
    }
    outcome.changes = adopt(view, set, "", "pods");
    outcome.changes.extend(adopt(view, set, "apps", "controllerrevisions"));
    if !outcome.changes.is_empty() {
        return outcome;
    }
    let known = revisions::of(view, set);
    let hash = match revisions::ensure(set, &known) {
        Ok(revision) => label(revision, REVISION).to_owned(),
        Err(changes) => {
            outcome.changes = changes;
            return outcome;
        }
    };
    let uid = text(set, "/metadata/uid");
    let owned = view.owned(uid, "", "pods").into_iter().map(|pod| &**pod);
    let pods = owned.filter(|pod| is_controlled_by(pod, uid)).collect();
    let template = json!({"spec": with_tolerations(set["spec"]["template"]["spec"].clone())});
    let nodes = view.list("", "nodes", None).filter(|node| fits(&template, node));
    let nodes = nodes.map(|node| text(node, "/metadata/name")).collect();
    let daemons = Daemons { view, set, pods, nodes, hash };
    manage(&daemons, &mut outcome);
    if outcome.changes.is_empty() {
        update(&daemons, &mut outcome);
    }
    status(&daemons, &mut outcome);
    let used: Vec<String> =
        daemons.pods.iter().map(|pod| format!("{}-{}", item.key.name, label(pod, REVISION))).collect();
    let used = [used, vec![format!("{}-{}", item.key.name, daemons.hash)]].concat();
    outcome.changes.extend(revisions::clean(set, &known, &used));
    outcome
}

fn fits(pod: &Value, node: &Value) -> bool {
    let hard = |taint: &&Value| text(taint, "/effect") != "PreferNoSchedule";
    selected(pod, node) && items(node, "/spec/taints").iter().filter(hard).all(|taint| tolerates(pod, taint))
}

fn with_tolerations(mut spec: Value) -> Value {
    let mut all = items(&spec, "/tolerations").to_vec();
    let host = is(&spec, "/hostNetwork").then_some(("node.kubernetes.io/network-unavailable", "NoSchedule"));
    for (key, effect) in BORNE.into_iter().chain(host) {
        all.push(json!({"key": key, "operator": "Exists", "effect": effect}));
    }
    spec["tolerations"] = json!(all);
    spec
}

fn on<'d>(daemons: &'d Daemons<'_>, node: &'d str) -> impl Iterator<Item = &'d Value> {
    daemons.pods.iter().copied().filter(move |pod| node_of(pod) == node)
}

/// A pod where there is none, none where none belongs, and none that failed.
fn manage(daemons: &Daemons<'_>, outcome: &mut Reaction) {
    for node in &daemons.nodes {
        let here: Vec<&Value> = on(daemons, node).collect();
        for pod in here.iter().filter(|pod| is_finished(pod) && !is_deleting(pod)) {
            let message = format!(
                "Found failed daemon pod {}/{} on node {node}, will try to kill it",
                text(pod, "/metadata/namespace"),
                text(pod, "/metadata/name")
            );
            outcome.changes.push(Change::Note(warning(daemons.set, COMPONENT, "FailedDaemonPod", message)));
            outcome.changes.push(delete("", "pods", pod));
        }
        if here.is_empty() {
            outcome.changes.push(create(daemons, node));
        }
    }
    for pod in &daemons.pods {
        if !daemons.nodes.contains(&node_of(pod)) && !is_deleting(pod) {
            outcome.changes.extend(take_down(daemons, pod));
        }
    }
}

fn create(daemons: &Daemons<'_>, node: &str) -> Change {
    let set = daemons.set;
    let mut pod = from_template(set, &set["spec"]["template"]);
    pod["spec"] = with_tolerations(pod["spec"].take());
    pod["metadata"]["generateName"] = json!(format!("{}-", text(set, "/metadata/name")));
    pod["metadata"]["labels"][REVISION] = json!(daemons.hash);
    let generation = annotation(set, "deprecated.daemonset.template.generation");
    pod["metadata"]["labels"][GENERATION] = json!(if generation.is_empty() { "1" } else { generation });
    let required = "requiredDuringSchedulingIgnoredDuringExecution";
    pod["spec"]["affinity"]["nodeAffinity"][required] = json!({"nodeSelectorTerms": [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}]});
    let note = normal(set, COMPONENT, "SuccessfulCreate", "Created pod: ".to_owned());
    Change::Create { object: pod, note: Some(note) }
}

fn take_down(daemons: &Daemons<'_>, pod: &Value) -> Vec<Change> {
    let message = format!("Deleted pod: {}", text(pod, "/metadata/name"));
    vec![delete("", "pods", pod), Change::Note(normal(daemons.set, COMPONENT, "SuccessfulDelete", message))]
}

fn is_old(daemons: &Daemons<'_>, pod: &Value) -> bool {
    label(pod, REVISION) != daemons.hash
}

/// Replaces old pods, as many at once as may be away.
fn update(daemons: &Daemons<'_>, outcome: &mut Reaction) {
    let set = daemons.set;
    if text(set, "/spec/updateStrategy/type") == "OnDelete" {
        return;
    }
    let wanted = daemons.nodes.len() as i64;
    let bound = set.at("/spec/updateStrategy/rollingUpdate/maxUnavailable");
    let bound = bound.map_or(1, |bound| portion(Some(bound), wanted, true)).max(1);
    let min_ready = int(set, "/spec/minReadySeconds");
    let good = |pod: &Value| !is_deleting(pod) && available(pod, min_ready, daemons.view.now).is_ok();
    let mut away = daemons.nodes.iter().filter(|node| !on(daemons, node).any(good)).count() as i64;
    let old = daemons.pods.iter().filter(|pod| is_old(daemons, pod) && !is_deleting(pod));
    // Those that do not serve go first and cost nothing.
    let (dead, alive): (Vec<&Value>, Vec<&Value>) = old.copied().partition(|pod| !good(pod));
    for pod in dead {
        outcome.changes.extend(take_down(daemons, pod));
    }
    for pod in alive {
        if away >= bound {
            break;
        }
        away += 1;
        outcome.changes.extend(take_down(daemons, pod));
    }
}

fn status(daemons: &Daemons<'_>, outcome: &mut Reaction) {
    let set = daemons.set;
    let min_ready = int(set, "/spec/minReadySeconds");
    let (mut current, mut ready, mut good, mut updated) = (0, 0, 0, 0);
    for node in &daemons.nodes {
        let Some(pod) = on(daemons, node).find(|pod| !is_deleting(pod)) else { continue };
        current += 1;
        updated += i64::from(!is_old(daemons, pod));
        ready += i64::from(is_ready(pod));
        match available(pod, min_ready, daemons.view.now) {
            Ok(()) => good += 1,
            Err(Some(at)) => outcome.again(at),
            Err(None) => {}
        }
    }
    let wanted = daemons.nodes.len() as i64;
    let astray =
        daemons.pods.iter().filter(|pod| !daemons.nodes.contains(&node_of(pod)) && !is_deleting(pod));
    let mut status = set.get("status").cloned().unwrap_or_else(|| json!({}));
    for (key, count) in [
        ("currentNumberScheduled", current),
        ("numberMisscheduled", astray.count() as i64),
        ("desiredNumberScheduled", wanted),
        ("numberReady", ready),
    ] {
        status[key] = json!(count);
    }
    status["observedGeneration"] = set["metadata"]["generation"].clone();
    put_count(&mut status, "updatedNumberScheduled", updated);
    put_count(&mut status, "numberAvailable", good);
    put_count(&mut status, "numberUnavailable", wanted - good);
    if set.get("status") != Some(&status) {
        outcome.changes.push(put_status("apps", "daemonsets", set, status));
    }
}

/// A pod that may not be made: the set says so.
pub(crate) fn refused(
    view: View<'_>,
    item: &Item,
    change: &Change,
    refusal: &kube_meaning::status::Refusal,
) -> Reaction {
    let mut outcome = Reaction::default();
    let set = view.get("apps", "daemonsets", &item.key.namespace, &item.key.name);
    let (Some(set), Change::Create { object, .. }) = (set, change) else { return outcome };
    if text(object, "/kind") == "Pod" {
        let message = format!("Error creating: {}", refusal.message);
        outcome.changes.push(Change::Note(warning(set, COMPONENT, "FailedCreate", message)));
    }
    outcome
}
