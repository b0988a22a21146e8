//! Volumes, sandboxes and nodes: what keeps a placed pod from starting (rows 25 to 30).
//!
//! In: a pod, its events, claims and node. Out: causes. Invariant: mount events count only while the pod still waits for
//! them; a running pod's old mount trouble is history.

use super::{Cause, Weight, between, container::missing_config, shorten};
use crate::context::Context;
use crate::snapshot::Event;
use crate::view::View;

/// Causes read from mount, attach and network events.
pub(crate) fn from_events(pod: View<'_>, events: &[Event<'_>], context: &Context<'_>) -> Vec<Cause> {
    let told = |event: &Event<'_>| {
        let cause = from_event(pod, event, context)?;
        // The server's own words may name the pod.
        Some(if event.message.contains(pod.name()) { cause.naming(pod.name()) } else { cause })
    };
    events.iter().filter_map(told).collect()
}

fn from_event(pod: View<'_>, event: &Event<'_>, context: &Context<'_>) -> Option<Cause> {
    let node = node_name(pod);
    let message = event.message;
    let volume = between(message, "volume \"", "\"").unwrap_or_default();
    let volume = if volume.is_empty() { "a volume".to_owned() } else { format!("volume {volume}") };
    let cause = match event.reason {
        "FailedMount" if missing_config(message).is_some() => {
            let thing = missing_config(message).unwrap_or_default();
            let weight = Weight::Grace {
                grace: context.profile.missing_config_grace,
                armed: true,
                snapshot_fails: false,
            };
            Cause::new(26, "FailedMount", format!("{volume} needs {thing}, which does not exist"), weight)
                .next("create it")
                .key(format!("mount:{thing}"))
        }
        "FailedAttachVolume" if message.contains("Multi-Attach") => {
            let disk = between(message, "volume \"", "\"").unwrap_or("the disk");
            let holder = message.split_once("used by pod(s) ").map(|(_, rest)| format!(", held by {rest}"));
            let sentence =
                format!("disk {disk} is still attached to another node{}", holder.unwrap_or_default());
            Cause::new(27, "FailedAttachVolume", sentence, Weight::Recover).next(
                "use the Recreate strategy or ReadWriteMany; the old pod must end; if its node is dead, taint it out-of-service",
            )
        }
        "FailedMount" | "FailedMapVolume" | "FailedAttachVolume" | "VolumeResizeFailed" => {
            let sentence = format!("{volume} cannot be mounted on {node}: {}", shorten(message, 250));
            Cause::new(28, event.reason, sentence, Weight::Recover)
                .next(format!("look at the CSI driver's pod on {node}"))
        }
        "FailedCreatePodSandBox" | "NetworkNotReady" => {
            let text = message.rsplit("desc = ").next().unwrap_or(message);
            let sentence = format!("{node} cannot give the pod a network: {}", shorten(text, 250));
            Cause::new(29, event.reason, sentence, Weight::Recover)
                .next("look at the CNI pods and the address range")
        }
        _ => return None,
    };
    Some(cause.at(event.at))
}

fn node_name(pod: View<'_>) -> String {
    match pod.str("/spec/nodeName") {
        "" => "the node".to_owned(),
        name => format!("node {name}"),
    }
}

/// Claims of the pod that are not bound.
pub(crate) fn from_claims(pod: View<'_>, context: &Context<'_>) -> Vec<Cause> {
    let mut causes = Vec::new();
    for volume in pod.items("/spec/volumes").take(64) {
        let named = volume.text("/persistentVolumeClaim/claimName").map(str::to_owned);
        let ephemeral = volume.at("/ephemeral").map(|_| format!("{}-{}", pod.name(), volume.str("/name")));
        let Some(name) = named.or(ephemeral) else { continue };
        let Some(claim) = context.snapshot.find("", "PersistentVolumeClaim", pod.namespace(), &name) else {
            continue;
        };
        match claim.str("/status/phase") {
            "Bound" => {}
            "Lost" => {
                let sentence = format!("volume {name} is lost: its disk is gone");
                causes.push(Cause::new(25, "VolumeLost", sentence, Weight::Recover).naming(&name));
            }
            _ => causes.extend(claim_cause(claim, context)),
        }
    }
    causes
}

/// Why a claim stays pending; `None` when it only waits for its first consumer.
pub(crate) fn claim_cause(claim: View<'_>, context: &Context<'_>) -> Option<Cause> {
    let weight = Weight::Grace { grace: context.profile.volume_grace, armed: true, snapshot_fails: false };
    let make = |text: &str, next: Option<String>| {
        let sentence = format!("volume {} cannot be made: {}", claim.name(), shorten(text, 250));
        let cause = Cause::new(25, "Pending", sentence, weight.clone())
            .key(format!("claim:{}", claim.name()))
            .naming(claim.name());
        match next {
            Some(next) => cause.next(next),
            None => cause,
        }
    };
    let events = context.events(claim);
    let class = claim.text("/spec/storageClassName");
    if let Some(event) = events.iter().find(|event| event.reason == "ProvisioningFailed") {
        let missing = event.message.contains("not found");
        let next = match class {
            Some(class) if missing => format!("create storage class {class}, or name another"),
            _ => "look at the storage's quota and its provisioner".to_owned(),
        };
        return Some(make(event.message, Some(next)).at(event.at));
    }
    if let Some(event) = events.iter().find(|event| event.reason == "FailedBinding") {
        let next = "set a storage class, or create a matching volume".to_owned();
        return Some(make(event.message, Some(next)).at(event.at));
    }
    let known = context.snapshot.knows("storage.k8s.io", "StorageClass");
    if let Some(class) = class.filter(|class| !class.is_empty())
        && known
        && context.snapshot.find("storage.k8s.io", "StorageClass", "", class).is_none()
    {
        let text = format!("storage class {class} does not exist");
        return Some(make(&text, Some(format!("create storage class {class}, or name another"))));
    }
    let external = events.iter().find(|event| event.reason == "ExternalProvisioning")?;
    Some(make(external.message, Some("is that provisioner running?".to_owned())).at(external.at))
}

/// The pod's node, when it does not answer.
pub(crate) fn from_node(pod: View<'_>, context: &Context<'_>) -> Option<Cause> {
    let name = pod.str("/spec/nodeName");
    let node = context.snapshot.find("", "Node", "", name)?;
    if !node_silent(node) {
        return None;
    }
    let sentence = format!("node {name} does not answer (it is not ready)");
    Some(
        Cause::new(30, "NodeNotReady", sentence, Weight::Recover)
            .next("repair the node; the pod is replaced after its toleration (300 s by default), a StatefulSet's pod is not")
            .key(format!("node:{name}")),
    )
}

/// Is the node's Ready condition present and not true?
pub(crate) fn node_silent(node: View<'_>) -> bool {
    let conditions = crate::condition::Conditions::of(node);
    conditions.get("Ready").is_some_and(|ready| !ready.is_true())
}
