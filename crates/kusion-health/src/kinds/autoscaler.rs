//! HorizontalPodAutoscaler: conditions in the status (v2) or in an annotation (v1).

use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::{Verdict, count};
use crate::view::View;
use serde_json::Value;

const TARGET_GRACE: i64 = 60_000;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let annotated = annotation_conditions(object);
    let mut conditions = Conditions::of(object);
    if conditions.is_empty() {
        conditions = Conditions::from_list(&annotated, None);
    }
    if conditions.is_empty() {
        return Verdict::progressing("NotObserved", "the autoscaler has not looked at it yet");
    }
    if let Some(able) = conditions.falsely("AbleToScale")
        && matches!(able.reason, "FailedGetScale" | "FailedUpdateScale")
    {
        let cause = format!("{} cannot scale its target: {}", object.name(), able.says());
        let next = "does the target named in scaleTargetRef exist?";
        return when_live(context, "CannotScale", able.says(), TARGET_GRACE)
            .because(cause)
            .naming(object.name())
            .then(next);
    }
    if let Some(active) = conditions.falsely("ScalingActive") {
        match active.reason {
            "ScalingDisabled" => return Verdict::healthy("Disabled", active.says()),
            "InvalidSelector" | "InvalidMetricSourceType" => {
                return Verdict::failed(active.reason, active.says()).because(active.says());
            }
            reason if no_metric(reason) => {
                let cause = format!("{} gets no metric: {}", object.name(), active.says());
                return when_live(context, "NoMetrics", active.says(), context.profile.metrics_grace)
                    .because(cause)
                    .naming(object.name())
                    .then("is the metrics server running, and do the containers have requests?");
            }
            _ => {}
        }
    }
    if conditions.is_true("AbleToScale") || conditions.is_true("ScalingLimited") {
        let verdict =
            Verdict::healthy("AbleToScale", count(object.num("/status/currentReplicas"), "replica"));
        let full =
            conditions.truly("ScalingLimited").is_some_and(|limited| limited.reason == "TooManyReplicas");
        return if full { verdict.warn("at its maximum") } else { verdict };
    }
    Verdict::progressing("NotReady", "the autoscaler cannot act yet")
}

fn no_metric(reason: &str) -> bool {
    reason == "FailedComputeMetricsReplicas"
        || (reason.starts_with("FailedGet") && reason.ends_with("Metric"))
}

/// Progressing for its grace while somebody waits, failed in a snapshot.
fn when_live(context: &Context<'_>, reason: &str, message: &str, grace: i64) -> Verdict {
    if context.live() {
        Verdict::progressing(reason, message).fails_after(grace)
    } else {
        Verdict::failed(reason, message)
    }
}

fn annotation_conditions(object: View<'_>) -> Vec<Value> {
    let text = object.annotation("autoscaling.alpha.kubernetes.io/conditions").unwrap_or_default();
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => list,
        _ => Vec::new(),
    }
}
