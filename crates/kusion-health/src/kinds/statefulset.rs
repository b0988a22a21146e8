//! StatefulSet: no conditions and no deadline, so failure is visible only in its pods.

use crate::cause::workload::{self, Workload};
use crate::context::Context;
use crate::verdict::{Grade, Verdict, count};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = rollout(object);
    let pods = workload::owned_pods(object, context);
    if verdict.verdict == Grade::Healthy {
        return Verdict { restarts: workload::restarts(&pods), ..verdict };
    }
    let ordered = object.str("/spec/podManagementPolicy") != "Parallel";
    let suspects = suspects(object, pods, ordered);
    let stuck_old =
        suspects.first().filter(|pod| ordered && is_old(object, **pod)).map(|pod| pod.name().to_owned());
    let found = Workload { pods: suspects, creator: object, expected: wanted(object), noun: "pods" };
    let verdict = workload::apply(verdict, &found, context);
    match stuck_old {
        Some(name) if verdict.verdict == Grade::Failed => {
            verdict.then(format!("delete pod {name} so that the fixed revision can start"))
        }
        _ => verdict,
    }
}

fn wanted(object: View<'_>) -> i64 {
    object.int("/spec/replicas").unwrap_or(1)
}

fn is_old(object: View<'_>, pod: View<'_>) -> bool {
    let update = object.str("/status/updateRevision");
    let hash = pod.label("controller-revision-hash").unwrap_or_default();
    !update.is_empty() && !hash.is_empty() && hash != update
}

/// Under OrderedReady the lowest pod that is not ready blocks all others; else every pod may tell.
fn suspects<'a>(object: View<'_>, pods: Vec<View<'a>>, ordered: bool) -> Vec<View<'a>> {
    let mut waiting: Vec<View<'a>> =
        pods.into_iter().filter(|pod| !crate::condition::Conditions::of(*pod).is_true("Ready")).collect();
    waiting.sort_by_key(|pod| ordinal(pod.name()));
    if ordered {
        waiting.truncate(1);
        return waiting;
    }
    let newest = waiting.iter().any(|pod| !is_old(object, *pod));
    if newest {
        waiting.retain(|pod| !is_old(object, *pod));
    }
    waiting
}

fn ordinal(name: &str) -> u64 {
    name.rsplit('-').next().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

fn rollout(object: View<'_>) -> Verdict {
    let n = wanted(object);
    let status = |name: &str| object.num(&format!("/status/{name}"));
    if !crate::envelope::observed(object) {
        return Verdict::progressing("NotObserved", "the controller has not seen it yet");
    }
    if status("replicas") < n {
        return Verdict::progressing("Creating", format!("{} of {n} pods created", status("replicas")));
    }
    if status("readyReplicas") < n {
        return Verdict::progressing("NotReady", format!("{} of {n} pods ready", status("readyReplicas")));
    }
    if status("replicas") > n {
        return Verdict::progressing("ScalingDown", count(status("replicas") - n, "pod") + " to remove");
    }
    if object.num("/spec/minReadySeconds") > 0 && status("availableReplicas") < n {
        return Verdict::progressing(
            "MinReadySeconds",
            format!("{} of {n} available", status("availableReplicas")),
        );
    }
    revisions(object, n)
}

/// Steps 6 to 11: everything runs; does it run the new revision?
fn revisions(object: View<'_>, n: i64) -> Verdict {
    let updated = object.int("/status/updatedReplicas");
    if object.str("/spec/updateStrategy/type") == "OnDelete" {
        let verdict = Verdict::healthy("OnDelete", format!("{n} of {n} pods ready"));
        return match updated {
            Some(updated) if updated < n => {
                verdict.warn(format!("{} pods still run the old revision", n - updated))
            }
            _ => verdict,
        };
    }
    let partition = object.num("/spec/updateStrategy/rollingUpdate/partition");
    if partition > 0 {
        let goal = n.saturating_sub(partition).max(0);
        let done = updated.unwrap_or(0);
        if done < goal {
            return Verdict::progressing("PartitionRollout", format!("{done} of {goal} updated"));
        }
        let message = format!("{goal} of {goal} updated; ordinals below {partition} are kept old");
        return Verdict::healthy("PartitionDone", message);
    }
    let update = object.text("/status/updateRevision");
    let current = object.text("/status/currentRevision");
    let differ = update.is_some() && current.is_some() && update != current;
    if updated.is_some_and(|updated| updated < n) || differ {
        return Verdict::progressing("Updating", format!("{} of {n} updated", updated.unwrap_or(0)));
    }
    let running = object.int("/status/currentReplicas");
    let blind = update.is_none() && current.is_none() && updated.is_none();
    if blind && running.is_some_and(|running| running < n) {
        return Verdict::progressing("Updating", format!("{} of {n} current", running.unwrap_or(0)));
    }
    Verdict::healthy("RolledOut", format!("{n} of {n} pods ready"))
}
