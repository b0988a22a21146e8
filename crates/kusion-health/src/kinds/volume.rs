//! PersistentVolume, VolumeSnapshot, VolumeAttachment.

use crate::context::Context;
use crate::verdict::Verdict;
use crate::view::View;
use serde_json::Value;

const SNAPSHOT_GRACE: i64 = 120_000;

pub(crate) fn volume(object: View<'_>) -> Verdict {
    let message = object.str("/status/message");
    match object.str("/status/phase") {
        "Available" => Verdict::healthy("Available", "free to be claimed"),
        "Bound" => Verdict::healthy("Bound", format!("claimed by {}", object.str("/spec/claimRef/name"))),
        "Released" => Verdict::healthy("Released", "its claim is gone; awaits manual reclaim"),
        "Failed" => Verdict::failed("Failed", message).because(message),
        _ => Verdict::progressing("Pending", "the volume is not available yet"),
    }
}

/// VolumeSnapshot and VolumeSnapshotContent.
pub(crate) fn snapshot(object: View<'_>, context: &Context<'_>) -> Verdict {
    if object.flag("/status/readyToUse") {
        return Verdict::healthy("ReadyToUse", "the snapshot can be used");
    }
    if let Some(error) = error_text(object.get("/status/error")) {
        return if context.live() {
            Verdict::progressing("SnapshotError", &*error).because(&*error).fails_after(SNAPSHOT_GRACE)
        } else {
            Verdict::failed("SnapshotError", &*error).because(&*error)
        };
    }
    Verdict::progressing("NotReady", "the snapshot is being taken")
}

pub(crate) fn attachment(object: View<'_>) -> Verdict {
    if object.flag("/status/attached") {
        return Verdict::healthy("Attached", "attached");
    }
    let verdict = Verdict::progressing("Attaching", "not attached yet");
    match error_text(object.get("/status/attachError")) {
        Some(error) => verdict.because(error),
        None => verdict,
    }
}

fn error_text(error: Option<&Value>) -> Option<String> {
    let error = error?;
    let message =
        error.get("message").and_then(Value::as_str).or(error.as_str()).unwrap_or("an error without message");
    Some(message.to_owned())
}
