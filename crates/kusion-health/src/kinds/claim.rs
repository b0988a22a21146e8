//! PersistentVolumeClaim: bound, or waiting for a consumer on purpose.

use crate::cause::{self, volume};
use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;

const DEFAULT: &str = "storageclass.kubernetes.io/is-default-class";
const OLD_DEFAULT: &str = "storageclass.beta.kubernetes.io/is-default-class";

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    match object.str("/status/phase") {
        "Bound" => bound(object),
        "Lost" => Verdict::failed("Lost", "its volume is gone; data may be lost")
            .because(format!(
                "volume {} of the claim is gone; data may be lost",
                object.str("/spec/volumeName")
            ))
            .then("restore the volume, or delete the claim and make a new one"),
        _ => pending(object, context),
    }
}

fn bound(object: View<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    for kind in ["ControllerResizeError", "NodeResizeError", "ModifyVolumeError"] {
        if let Some(bad) = conditions.truly(kind) {
            return Verdict::failed("ResizeFailed", bad.says()).because(bad.says());
        }
    }
    if conditions.is_true("FileSystemResizePending") {
        return Verdict::healthy("Bound", "bound; the resize finishes when a pod mounts it");
    }
    if let Some(resizing) = conditions.truly("Resizing") {
        return Verdict::progressing("Resizing", resizing.says());
    }
    Verdict::healthy("Bound", format!("bound to {}", object.str("/spec/volumeName")))
}

fn pending(object: View<'_>, context: &Context<'_>) -> Verdict {
    if waits_for_consumer(object, context) {
        return Verdict::healthy("WaitsForConsumer", "its volume is made when a pod that uses it is placed");
    }
    let verdict = Verdict::progressing("Pending", "no volume is bound to it yet");
    let found = volume::claim_cause(object, context);
    cause::explain(verdict, found.into_iter().collect(), context)
}

fn waits_for_consumer(object: View<'_>, context: &Context<'_>) -> bool {
    let phase = object.str("/status/phase");
    if phase != "Pending" && object.has_status() {
        return false;
    }
    if object.annotation("volume.kubernetes.io/selected-node").is_some() || consumed(object, context) {
        return false;
    }
    let mode =
        class_of(object, context).map(|class| class.str("/volumeBindingMode") == "WaitForFirstConsumer");
    let told = || {
        let waits = |condition: &crate::condition::Condition<'_>| condition.reason == "WaitForFirstConsumer";
        if Conditions::of(object).list.iter().any(waits) {
            return true;
        }
        let newest = context.events(object).into_iter().find(|event| event.reason != "ExternalProvisioning");
        newest.is_some_and(|event| event.reason == "WaitForFirstConsumer")
    };
    phase == "Pending" && (mode == Some(true) || (mode.is_none() && told()))
}

/// The claim's class, or the default one when none is named.
fn class_of<'a>(object: View<'_>, context: &Context<'a>) -> Option<View<'a>> {
    let old = object.annotation("volume.beta.kubernetes.io/storage-class");
    match object.text("/spec/storageClassName").or(old) {
        Some(name) => context.snapshot.find("storage.k8s.io", "StorageClass", "", name),
        None => {
            let mut classes = context.snapshot.of_kind("storage.k8s.io", "StorageClass");
            classes
                .find(|class| [DEFAULT, OLD_DEFAULT].iter().any(|key| class.annotation(key) == Some("true")))
        }
    }
}

/// Does a placed pod use the claim?
fn consumed(object: View<'_>, context: &Context<'_>) -> bool {
    let mut pods = context.snapshot.of_kind("", "Pod");
    pods.any(|pod| {
        let names = |volume: View<'_>| {
            volume.str("/persistentVolumeClaim/claimName") == object.name()
                || (volume.at("/ephemeral").is_some()
                    && object.name() == format!("{}-{}", pod.name(), volume.str("/name")))
        };
        pod.namespace() == object.namespace()
            && !pod.str("/spec/nodeName").is_empty()
            && pod.items("/spec/volumes").any(names)
    })
}
