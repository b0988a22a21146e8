//! All causes one pod gives.
//!
//! In: a pod. Out: unranked candidates. Invariant: init containers are read in order before the others, and the first that
//! blocks is the only one that counts.

use super::container::{self, Container, Role};
use super::{Cause, Weight, scheduler, shorten, volume};
use crate::condition::{Condition, Conditions};
use crate::context::Context;
use crate::snapshot::Event;
use crate::verdict::Subject;
use crate::view::View;

/// A pod cannot hold more containers than this and still be read by people.
const MOST_CONTAINERS: usize = 256;

/// Containers of a pod with their specs: init containers first, in order.
pub(crate) fn containers(pod: View<'_>) -> Vec<Container<'_>> {
    let mut found = Vec::new();
    let total = pod.list("/spec/initContainers").len().max(pod.list("/status/initContainerStatuses").len());
    for (index, status) in pod.items("/status/initContainerStatuses").take(MOST_CONTAINERS).enumerate() {
        let spec = pod.items("/spec/initContainers").find(|spec| spec.str("/name") == status.str("/name"));
        let sidecar = spec.is_some_and(|spec| spec.str("/restartPolicy") == "Always");
        let role = if sidecar { Role::Sidecar } else { Role::Init { index, total } };
        found.push(Container { pod, spec, status, role });
    }
    for status in pod.items("/status/containerStatuses").take(MOST_CONTAINERS) {
        let spec = pod.items("/spec/containers").find(|spec| spec.str("/name") == status.str("/name"));
        found.push(Container { pod, spec, status, role: Role::App });
    }
    found
}

/// Restarts of all containers.
pub(crate) fn restarts(pod: View<'_>) -> i64 {
    containers(pod).iter().map(Container::restarts).fold(0, i64::saturating_add)
}

/// Candidates of one pod; none when it is ready or done.
pub(crate) fn causes(pod: View<'_>, context: &Context<'_>) -> Vec<Cause> {
    let conditions = Conditions::of(pod);
    let phase = pod.str("/status/phase");
    if phase == "Succeeded" || (phase == "Running" && conditions.is_true("Ready")) {
        return Vec::new();
    }
    let events = context.events(pod);
    let mut found = Vec::new();
    if phase == "Failed" {
        found.extend(ended(pod, &events, context));
    } else {
        found.extend(container_causes(pod, &events, context));
        found.extend(placement(pod, &conditions, &events, context));
        if waits_for_start(pod) {
            found.extend(volume::from_events(pod, &events, context));
        }
        found.extend(volume::from_claims(pod, context));
        found.extend(gates(pod, &conditions));
        found.extend(disrupted(pod, &conditions));
    }
    found.extend(volume::from_node(pod, context));
    for cause in &mut found {
        cause.subject.get_or_insert_with(|| subject(pod));
    }
    found
}

fn subject(pod: View<'_>) -> Subject {
    Subject {
        kind: "Pod".to_owned(),
        namespace: pod.namespace().to_owned(),
        name: pod.name().to_owned(),
        container: None,
    }
}

/// Causes of container states. The first init container that blocks hides everything behind it.
pub(crate) fn container_causes(pod: View<'_>, events: &[Event<'_>], context: &Context<'_>) -> Vec<Cause> {
    let mut found = Vec::new();
    for container in containers(pod) {
        found.extend(container::cause(&container, events, context));
        if blocks(&container) {
            break;
        }
    }
    found
}

/// Neither ended well nor a started sidecar: what follows has not begun.
fn blocks(container: &Container<'_>) -> bool {
    match container.role {
        Role::App => false,
        Role::Sidecar => {
            !container.status.flag("/started") && container.status.at("/state/running").is_none()
        }
        Role::Init { .. } => container.status.int("/state/terminated/exitCode") != Some(0),
    }
}

/// No container has got past its creation.
fn waits_for_start(pod: View<'_>) -> bool {
    pod.str("/status/phase") == "Pending"
        || containers(pod).iter().any(|container| {
            matches!(container.status.str("/state/waiting/reason"), "ContainerCreating" | "PodInitializing")
        })
}

fn ended(pod: View<'_>, events: &[Event<'_>], context: &Context<'_>) -> Vec<Cause> {
    let reason = pod.str("/status/reason");
    let message = pod.str("/status/message");
    let node = pod.str("/spec/nodeName");
    let place = if node.is_empty() { "its node".to_owned() } else { format!("node {node}") };
    let bare = pod.list("/metadata/ownerReferences").is_empty();
    let weight = || if bare { Weight::Terminal } else { Weight::Recover };
    let cause = match reason {
        "" => return ended_containers(pod, events, context, bare),
        "DeadlineExceeded" => {
            let limit =
                pod.int("/spec/activeDeadlineSeconds").map_or(String::new(), |limit| format!(" {limit}"));
            let sentence = format!("{} ran longer than activeDeadlineSeconds{limit}", pod.name());
            Cause::new(36, reason, sentence, weight()).next("raise it, or see what hangs (last log line)")
        }
        "Evicted" | "Preempting" | "NodeShutdown" | "Terminated" | "Shutdown" | "NodeLost" => {
            let sentence = format!("{} was evicted from {place}: {}", pod.name(), shorten(message, 250));
            Cause::new(31, reason, sentence, weight())
                .next("look at requests, limits, ephemeral storage and priority")
        }
        _ => {
            let sentence = format!("{place} rejected {}: {reason}: {}", pod.name(), shorten(message, 250));
            Cause::new(32, reason, sentence.trim_end_matches([':', ' ']).to_owned(), weight())
        }
    };
    vec![cause.key(format!("ended:{reason}")).naming(pod.name())]
}

fn ended_containers(pod: View<'_>, events: &[Event<'_>], context: &Context<'_>, bare: bool) -> Vec<Cause> {
    let mut found = container_causes(pod, events, context);
    for cause in &mut found {
        cause.weight = if bare { Weight::Terminal } else { Weight::Recover };
    }
    found
}

/// Why the pod has no node.
fn placement(
    pod: View<'_>,
    conditions: &Conditions<'_>,
    events: &[Event<'_>],
    context: &Context<'_>,
) -> Option<Cause> {
    if !pod.str("/spec/nodeName").is_empty() {
        return None;
    }
    let condition = conditions.falsely("PodScheduled");
    if let Some(gated) = condition.filter(|condition| condition.reason == "SchedulingGated") {
        let gates: Vec<&str> = pod.items("/spec/schedulingGates").map(|gate| gate.str("/name")).collect();
        let names = if gates.is_empty() { gated.says().to_owned() } else { gates.join(", ") };
        let sentence = format!("{} is held by gate {names}", pod.name());
        return Some(
            Cause::new(24, "SchedulingGated", sentence, Weight::Recover)
                .next("ask the gate's owner (a queue controller)")
                .key(format!("gate:{names}"))
                .naming(pod.name()),
        );
    }
    let event = events.iter().find(|event| event.reason == "FailedScheduling");
    let text =
        condition.map(Condition::says).filter(|text| !text.is_empty()).or(event.map(|event| event.message))?;
    let reading = scheduler::read(text);
    let refused = events.iter().find(|event| event.reason == "NotTriggerScaleUp");
    let weight = if events.iter().any(|event| event.reason == "TriggeredScaleUp") {
        Weight::Recover
    } else {
        let profile = context.profile;
        let grace =
            if refused.is_some() { profile.scheduling_grace_not_triggered } else { profile.scheduling_grace };
        Weight::Grace { grace, armed: true, snapshot_fails: false }
    };
    let quoted = refused.map_or(String::new(), |event| {
        format!("; the autoscaler adds none: {}", shorten(event.message, 150))
    });
    let sentence = format!("no node fits {}: {}{quoted}", pod.name(), reading.summary);
    // an unbound claim is the claim's story, told by its own cause when the claim is known
    let rank = if text.contains("unbound immediate PersistentVolumeClaims") { 26 } else { 23 };
    let cause = Cause::new(rank, "Unschedulable", sentence, weight)
        .key(format!("schedule:{}", reading.summary))
        .naming(pod.name());
    Some(match reading.advice {
        Some(advice) => cause.next(advice),
        None => cause,
    })
}

/// Readiness gates that are not true.
pub(crate) fn open_gates<'a>(pod: View<'a>, conditions: &Conditions<'_>) -> Vec<&'a str> {
    let gates = pod.items("/spec/readinessGates").map(|gate| gate.str("/conditionType"));
    gates.filter(|gate| !gate.is_empty() && !conditions.is_true(gate)).collect()
}

fn gates(pod: View<'_>, conditions: &Conditions<'_>) -> Option<Cause> {
    if !conditions.is_true("ContainersReady") || conditions.is_true("Ready") {
        return None;
    }
    let open = open_gates(pod, conditions);
    if open.is_empty() {
        return None;
    }
    let guess = open.iter().find_map(|gate| gate_owner(gate)).unwrap_or("its controller");
    let sentence = format!("waiting for readiness gate {}, set by {guess}", open.join(", "));
    Some(Cause::new(34, "ReadinessGate", sentence, Weight::Recover).next(format!("look at {guess}")))
}

/// Who sets a gate, by its prefix.
fn gate_owner(gate: &str) -> Option<&'static str> {
    let owners = [
        ("target-health.elbv2.k8s.aws", "the AWS load balancer controller"),
        ("target-health.alb", "the AWS load balancer controller"),
        ("cloud.google.com/load-balancer-neg-ready", "the GKE load balancer controller"),
        ("pod.kusionstack.io", "the PodOpsLifecycle controller"),
        ("podopslifecycle.kusionstack.io", "the PodOpsLifecycle controller"),
        ("InPlaceUpdateReady", "the workload's controller"),
    ];
    owners
        .iter()
        .find(|(prefix, _)| gate.starts_with(prefix) || gate.contains(prefix))
        .map(|(_, owner)| *owner)
}

fn disrupted(pod: View<'_>, conditions: &Conditions<'_>) -> Option<Cause> {
    let target = conditions.truly("DisruptionTarget")?;
    let sentence = format!("{} is being evicted: {}", pod.name(), shorten(target.says(), 200));
    let cause = Cause::new(31, target.reason_or("DisruptionTarget"), sentence, Weight::Recover);
    Some(cause.at(target.at).naming(pod.name()))
}
