//! ReplicaSet and ReplicationController; also the numeric rule for custom kinds.

use super::deployment::refused_pods;
use crate::cause::workload::{self, Workload};
use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    if !crate::envelope::observed(object) {
        return Verdict::progressing("NotObserved", "the controller has not seen it yet");
    }
    if let Some(failure) = Conditions::of(object).truly("ReplicaFailure") {
        return refused_pods(object, failure.message, context);
    }
    let verdict = numbers(object);
    let pods = workload::owned_pods(object, context);
    if verdict.verdict == Grade::Healthy {
        return Verdict { restarts: workload::restarts(&pods), ..verdict };
    }
    let expected = object.int("/spec/replicas").unwrap_or(1);
    workload::apply(verdict, &Workload { pods, creator: object, expected, noun: "pods" }, context)
}

/// Steps 2 to 5.
pub(crate) fn numbers(object: View<'_>) -> Verdict {
    let n = object.int("/spec/replicas").unwrap_or(1);
    let status = |name: &str| object.int(&format!("/status/{name}"));
    let replicas = status("replicas").unwrap_or(0);
    let ready = status("readyReplicas").unwrap_or(0);
    let available = status("availableReplicas").unwrap_or(0);
    if let Some(labelled) = status("fullyLabeledReplicas").filter(|labelled| *labelled < n) {
        return Verdict::progressing("Creating", format!("{labelled} of {n} pods created"));
    }
    if available < n || ready < n {
        return Verdict::progressing("NotAvailable", format!("{} of {n} available", available.min(ready)));
    }
    if replicas > n {
        return Verdict::progressing("ScalingDown", format!("{} pods to remove", replicas - n));
    }
    if n == 0 {
        return Verdict::healthy("ScaledToZero", "no pods are wanted");
    }
    Verdict::healthy("Available", format!("{available} of {n} available"))
}
