//! What a Deployment says of itself: counters, Available, Progressing with its deadline, ReplicaFailure.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::time::Time;

/// A Deployment's condition: it also says when it was last written.
pub(crate) fn new_condition(kind: &str, status: &str, reason: &str, message: &str, now: Time) -> Value {
    let now = now.text();
    json!({"type": kind, "status": status, "lastUpdateTime": now, "lastTransitionTime": now, "reason": reason, "message": message})
}

/// Puts a condition at the end, unless it says nothing new.
pub(crate) fn set(status: &mut Value, mut new: Value) {
    let kind = text(&new, "/type").to_owned();
    if let Some(known) = find_condition(status, &kind) {
        if known["status"] == new["status"] && known["reason"] == new["reason"] {
            return;
        }
        if known["status"] == new["status"] {
            new["lastTransitionTime"] = known["lastTransitionTime"].clone();
        }
    }
    drop_condition(status, &kind);
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Some(list) = status["conditions"].as_array_mut() {
        list.push(new);
    }
}

fn count<'w>(sets: impl Iterator<Item = &'w Value>, pointer: &str) -> i64 {
    sets.map(|set| int(set, pointer)).sum()
}

/// Counters and Available.
fn calculate(rollout: &Rollout<'_>) -> Value {
    let mut status = rollout.deployment.get("status").cloned().unwrap_or_else(|| json!({}));
    let available = count(rollout.all(), "/status/availableReplicas");
    let wanted_pods = count(rollout.all(), "/spec/replicas");
    status["observedGeneration"] = rollout.deployment["metadata"]["generation"].clone();
    put_count(&mut status, "replicas", count(rollout.all(), "/status/replicas"));
    put_count(&mut status, "updatedReplicas", count(rollout.new.into_iter(), "/status/replicas"));
    put_count(&mut status, "readyReplicas", count(rollout.all(), "/status/readyReplicas"));
    put_count(&mut status, "availableReplicas", available);
    put_count(&mut status, "unavailableReplicas", (wanted_pods - available).max(0));
    status["terminatingReplicas"] = json!(count(rollout.all(), "/status/terminatingReplicas"));
    let enough = available >= rollout.wanted() - rollout.bounds().1;
    let (state, reason, message) = match enough {
        true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    set(&mut status, new_condition("Available", state, reason, message, rollout.view.now));
    status
}

fn write(rollout: &Rollout<'_>, status: Value, outcome: &mut Reaction) {
    if rollout.deployment.get("status") != Some(&status) {
        outcome.changes.push(put_status("apps", "deployments", rollout.deployment, status));
    }
}

/// Counters only: while paused, scaling or being deleted.
pub(crate) fn plain(rollout: &Rollout<'_>, outcome: &mut Reaction) {
    let status = calculate(rollout);
    write(rollout, status, outcome);
}

/// Whether a status says that the rollout is complete.
pub(crate) fn is_complete(rollout: &Rollout<'_>, status: &Value) -> bool {
    let wanted = rollout.wanted();
    int(status, "/updatedReplicas") == wanted
        && int(status, "/replicas") == wanted
        && int(status, "/availableReplicas") == wanted
        && int(status, "/observedGeneration") >= int(rollout.deployment, "/metadata/generation")
}

fn has_progressed(old: &Value, new: &Value) -> bool {
    let rest = |status: &Value| int(status, "/replicas") - int(status, "/updatedReplicas");
    int(new, "/updatedReplicas") > int(old, "/updatedReplicas")
        || rest(new) < rest(old)
        || int(new, "/readyReplicas") > int(old, "/readyReplicas")
        || int(new, "/availableReplicas") > int(old, "/availableReplicas")
}

/// Counters and conditions of a rollout under way.
pub(crate) fn progress(rollout: &Rollout<'_>, outcome: &mut Reaction) {
    let now = rollout.view.now;
    let mut status = calculate(rollout);
    if !rollout.has_deadline() {
        drop_condition(&mut status, "Progressing");
    }
    let old = &rollout.deployment["status"];
    let known = find_condition(old, "Progressing").cloned();
    let reason = known.as_ref().map_or("", |known| text(known, "/reason"));
    let same = int(&status, "/replicas") == int(&status, "/updatedReplicas");
    if rollout.has_deadline() && !(same && reason == "NewReplicaSetAvailable") {
        let about = match rollout.new {
            Some(set) => format!("ReplicaSet \"{}\"", text(set, "/metadata/name")),
            None => format!("Deployment \"{}\"", text(rollout.deployment, "/metadata/name")),
        };
        if is_complete(rollout, &status) {
            let message = format!("{about} has successfully progressed.");
            set(&mut status, new_condition("Progressing", "True", "NewReplicaSetAvailable", &message, now));
        } else if has_progressed(old, &status) {
            let message = format!("{about} is progressing.");
            let mut new = new_condition("Progressing", "True", "ReplicaSetUpdated", &message, now);
            if let Some(known) = known.as_ref().filter(|known| text(known, "/status") == "True") {
                new["lastTransitionTime"] = known["lastTransitionTime"].clone();
            }
            drop_condition(&mut status, "Progressing");
            set(&mut status, new);
        } else if let Some(deadline) = deadline(rollout, known.as_ref()) {
            if deadline <= now {
                let message = format!("{about} has timed out progressing.");
                let new = new_condition("Progressing", "False", "ProgressDeadlineExceeded", &message, now);
                set(&mut status, new);
            } else {
                outcome.again(deadline);
            }
        }
        // Progress now moves the deadline; the next look, woken by this write, sets the timer.
    }
    failure(rollout, &mut status);
    write(rollout, status, outcome);
}

/// When a rollout that stands still has taken too long.
fn deadline(rollout: &Rollout<'_>, known: Option<&Value>) -> Option<Time> {
    let known = known?;
    if matches!(text(known, "/reason"), "NewReplicaSetAvailable" | "ProgressDeadlineExceeded") {
        return None;
    }
    let seconds = int(rollout.deployment, "/spec/progressDeadlineSeconds").unsigned_abs();
    // One more second: the moment it counts from is written in whole seconds.
    Some(time(known, "/lastUpdateTime")? + Duration::from_secs(seconds + 1))
}

/// The sets' failure to make pods is the Deployment's.
fn failure(rollout: &Rollout<'_>, status: &mut Value) {
    let of = |set: &Value| find_condition(&set["status"], "ReplicaFailure").cloned();
    let found = rollout.new.and_then(of).or_else(|| rollout.old.iter().find_map(|set| of(set)));
    match found {
        Some(failure) => {
            let now = rollout.view.now;
            let (reason, message) = (text(&failure, "/reason"), text(&failure, "/message"));
            set(status, new_condition("ReplicaFailure", text(&failure, "/status"), reason, message, now));
        }
        None => drop_condition(status, "ReplicaFailure"),
    }
}

/// Says that the Deployment was paused or resumed, once.
pub(crate) fn pause(rollout: &Rollout<'_>) -> Option<Change> {
    if !rollout.has_deadline() {
        return None;
    }
    let deployment = rollout.deployment;
    let known = find_condition(&deployment["status"], "Progressing");
    let reason = known.map_or("", |known| text(known, "/reason"));
    if reason == "ProgressDeadlineExceeded" {
        return None;
    }
    let (reason, message) = match (is(deployment, "/spec/paused"), reason == "DeploymentPaused") {
        (true, false) => ("DeploymentPaused", "Deployment is paused"),
        (false, true) => ("DeploymentResumed", "Deployment is resumed"),
        _ => return None,
    };
    let mut status = deployment.get("status").cloned().unwrap_or_else(|| json!({}));
    set(&mut status, new_condition("Progressing", "Unknown", reason, message, rollout.view.now));
    Some(put_status("apps", "deployments", deployment, status))
}
