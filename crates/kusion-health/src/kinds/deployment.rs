//! Deployment: rolled out means the *updated* pods are available and the old ones are gone.

use crate::cause::{self, refusal, workload};
use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::{Grade, Verdict, count};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let paused = object.flag("/spec/paused");
    if paused && let Some(held) = held_back(object, context) {
        let message = format!("paused before it was rolled out: {}", held.message);
        return Verdict::suspended("Paused", message);
    }
    let verdict = rollout(object, context);
    if paused && verdict.verdict == Grade::Healthy {
        return explain(verdict.note("paused"), object, context);
    }
    explain(verdict, object, context)
}

/// What a pause holds back: rows 2 and 5 to 10, whatever rows 3 and 4 say.
fn held_back(object: View<'_>, context: &Context<'_>) -> Option<Verdict> {
    if !crate::envelope::observed(object) {
        return Some(not_observed());
    }
    let conditions = Conditions::of(object);
    let refused =
        conditions.truly("ReplicaFailure").map(|found| refused_pods(object, found.message, context));
    refused.or_else(|| counters(object, wanted(object))).or_else(|| unavailable(&conditions))
}

fn not_observed() -> Verdict {
    Verdict::progressing("NotObserved", "the controller has not seen it yet")
}

/// Row 10. The reasons of rows 3 and 4 are not its business.
fn unavailable(conditions: &Conditions<'_>) -> Option<Verdict> {
    const TAKEN: [&str; 3] = ["ProgressDeadlineExceeded", "ReplicaSetCreateError", "FailedCreate"];
    let stuck = conditions.falsely("Progressing").filter(|stuck| !TAKEN.contains(&stuck.reason));
    let found = conditions.falsely("Available").or(stuck)?;
    Some(Verdict::progressing("NotAvailable", found.says()))
}

fn wanted(object: View<'_>) -> i64 {
    object.int("/spec/replicas").unwrap_or(1)
}

fn rollout(object: View<'_>, context: &Context<'_>) -> Verdict {
    let n = wanted(object);
    let conditions = Conditions::of(object);
    let progressing = conditions.get("Progressing");
    if !crate::envelope::observed(object) {
        return not_observed();
    }
    if let Some(late) = progressing.filter(|condition| condition.reason == "ProgressDeadlineExceeded") {
        return Verdict::failed("ProgressDeadlineExceeded", late.says());
    }
    let refused = progressing.filter(|condition| {
        condition.is_false() && matches!(condition.reason, "ReplicaSetCreateError" | "FailedCreate")
    });
    if let Some(refused) = refused {
        return Verdict::progressing("CannotCreateReplicaSet", refused.says())
            .because(refused.says())
            .fails_after(context.profile.refusal_grace);
    }
    if let Some(failure) = conditions.truly("ReplicaFailure") {
        return refused_pods(object, failure.message, context);
    }
    if let Some(verdict) = counters(object, n) {
        return verdict;
    }
    if let Some(verdict) = unavailable(&conditions) {
        return verdict;
    }
    if let Some(set) = workload::newest_replica_set(object, context) {
        let observed = set.int("/status/observedGeneration");
        if matches!((observed, set.generation()), (Some(seen), Some(current)) if seen < current) {
            return Verdict::progressing(
                "ReplicaSetLag",
                format!("ReplicaSet {} is not observed yet", set.name()),
            );
        }
    }
    Verdict::healthy(
        "RolledOut",
        format!("{} of {n} updated pods available", object.num("/status/availableReplicas")),
    )
}

/// Steps 6 to 9: what the counters still miss.
fn counters(object: View<'_>, n: i64) -> Option<Verdict> {
    let updated = object.num("/status/updatedReplicas");
    let replicas = object.num("/status/replicas");
    let ready = object.num("/status/readyReplicas");
    let available = object.num("/status/availableReplicas");
    if updated < n {
        return Some(Verdict::progressing("Updating", format!("{updated} of {n} updated")));
    }
    if replicas > updated {
        return Some(Verdict::progressing(
            "OldPodsLeft",
            count(replicas - updated, "old pod") + " to remove",
        ));
    }
    if replicas > n {
        return Some(Verdict::progressing("ScalingDown", count(replicas - n, "pod") + " to remove"));
    }
    if available < updated || ready < n {
        let reason = if ready >= n { "MinReadySeconds" } else { "NotAvailable" };
        return Some(Verdict::progressing(reason, format!("{available} of {n} available")));
    }
    None
}

/// ReplicaFailure: refused for good, or waiting for something to clear.
pub(crate) fn refused_pods(object: View<'_>, message: &str, context: &Context<'_>) -> Verdict {
    let cause = refusal::read(message, object.namespace(), context.profile);
    let verdict = if refusal::is_terminal(&cause) {
        Verdict::failed("PodsRefused", message)
    } else {
        Verdict::progressing("CannotCreatePods", message)
    };
    cause::explain(verdict, vec![cause], context)
}

fn explain(verdict: Verdict, object: View<'_>, context: &Context<'_>) -> Verdict {
    let (pods, creator) = workload::deployment_pods(object, context);
    let settled =
        matches!(verdict.reason.as_str(), "PodsRefused" | "CannotCreatePods" | "CannotCreateReplicaSet");
    if settled || verdict.verdict == Grade::Healthy {
        return Verdict { restarts: workload::restarts(&pods), ..verdict };
    }
    let found = workload::Workload { pods, creator, expected: wanted(object), noun: "new pods" };
    let late = verdict.reason == "ProgressDeadlineExceeded";
    let verdict = workload::apply(verdict, &found, context);
    if late && verdict.cause.is_none() {
        let seconds = object.int("/spec/progressDeadlineSeconds").unwrap_or(600);
        return cause::explain(verdict, vec![workload::no_progress(seconds, &found.pods)], context);
    }
    verdict
}
