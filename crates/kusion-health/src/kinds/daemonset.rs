//! DaemonSet: one available, updated pod on every wanted node.

use crate::cause::volume::node_silent;
use crate::cause::workload::{self, Workload};
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = rollout(object);
    let pods = workload::owned_pods(object, context);
    let misplaced = object.num("/status/numberMisscheduled");
    let verdict = if misplaced > 0 {
        verdict.warn(format!("{misplaced} pods run on nodes they should not"))
    } else {
        verdict
    };
    if verdict.verdict == Grade::Healthy {
        return Verdict { restarts: workload::restarts(&pods), ..verdict };
    }
    let newest = newest(object, pods);
    let silent = silent_nodes(&newest, context);
    let expected = object.num("/status/desiredNumberScheduled");
    let found = Workload { pods: newest, creator: object, expected, noun: "pods" };
    let verdict = workload::apply(verdict, &found, context);
    match silent {
        Some(nodes) if verdict.verdict == Grade::Progressing => verdict
            .because(format!("node {nodes} is not ready"))
            .then("repair the node, or remove it from the cluster"),
        _ => verdict,
    }
}

/// Pods of the newest template generation, when the pods tell it; all of them else.
fn newest<'a>(object: View<'_>, pods: Vec<View<'a>>) -> Vec<View<'a>> {
    let Some(generation) = object.generation().map(|generation| generation.to_string()) else { return pods };
    let is_new =
        |pod: &View<'a>| pod.label("pod-template-generation").is_none_or(|label| label == generation);
    if pods.iter().any(is_new) { pods.into_iter().filter(is_new).collect() } else { pods }
}

/// The nodes of the pods that are not ready, if all of those nodes are down.
fn silent_nodes(pods: &[View<'_>], context: &Context<'_>) -> Option<String> {
    let waiting = pods.iter().filter(|pod| !crate::condition::Conditions::of(**pod).is_true("Ready"));
    let mut names: Vec<&str> = Vec::new();
    for pod in waiting {
        let name = pod.str("/spec/nodeName");
        let node = context.snapshot.find("", "Node", "", name)?;
        if !node_silent(node) {
            return None;
        }
        names.push(name);
    }
    names.sort_unstable();
    names.dedup();
    (!names.is_empty()).then(|| names.join(", "))
}

fn rollout(object: View<'_>) -> Verdict {
    let status = |name: &str| object.int(&format!("/status/{name}"));
    let desired = match status("desiredNumberScheduled") {
        Some(desired) if crate::envelope::observed(object) => desired,
        _ => return Verdict::progressing("NotObserved", "the controller has not seen it yet"),
    };
    if let Some(current) = status("currentNumberScheduled").filter(|current| *current < desired) {
        return Verdict::progressing("Creating", format!("{current} of {desired} pods created"));
    }
    let unavailable = status("numberUnavailable").unwrap_or(0);
    // a sparse status has only the unavailable count
    let available = match status("numberAvailable") {
        Some(available) => available,
        None if status("numberUnavailable").is_some() => desired.saturating_sub(unavailable),
        None => 0,
    };
    let updated = status("updatedNumberScheduled").unwrap_or(0);
    let numbers = format!("{available} of {desired} available");
    if object.str("/spec/updateStrategy/type") == "OnDelete" {
        if available < desired {
            return Verdict::progressing("NotAvailable", numbers);
        }
        let verdict = Verdict::healthy("OnDelete", numbers);
        let old = desired.saturating_sub(updated);
        return if old > 0 {
            verdict.warn(format!("{old} pods still run the old revision"))
        } else {
            verdict
        };
    }
    if updated < desired {
        return Verdict::progressing("Updating", format!("{updated} of {desired} updated"));
    }
    let ready = status("numberReady").unwrap_or(0);
    if available < desired || ready < desired || unavailable > 0 {
        return Verdict::progressing("NotAvailable", numbers);
    }
    let verdict = Verdict::healthy("RolledOut", numbers);
    if desired == 0 { verdict.note("no node matches") } else { verdict }
}
