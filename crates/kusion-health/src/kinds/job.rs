//! Job: done when its condition says so; counts are only words.

use crate::cause::workload::{self, Workload};
use crate::cause::{self, Cause, Weight, pod as pod_cause};
use crate::condition::{Condition, Conditions};
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;

pub(crate) fn judge(object: View<'_>, context: &Context<'_>) -> Verdict {
    let verdict = by_conditions(object, context);
    if verdict.verdict != Grade::Progressing || verdict.reason == "Finishing" {
        return verdict;
    }
    let pods = workload::owned_pods(object, context);
    let restarts = workload::restarts(&pods);
    let found = Workload { pods, creator: object, expected: 1, noun: "pods" };
    let causes = workload::causes(&found, context).into_iter().map(bounded).collect();
    Verdict { restarts, ..cause::explain(verdict, causes, context) }
}

/// Crashes of a Job's pods are counted by its own back-off limit: they explain, but do not fail it early.
fn bounded(mut cause: Cause) -> Cause {
    if matches!(cause.rank, 19..=21 | 31 | 32 | 36) {
        cause.weight = Weight::Recover;
    }
    cause
}

fn by_conditions(object: View<'_>, context: &Context<'_>) -> Verdict {
    let conditions = Conditions::of(object);
    let suspend = object.flag("/spec/suspend");
    let suspended = conditions.is_true("Suspended");
    if let Some(complete) = conditions.truly("Complete") {
        return Verdict::healthy("Complete", complete.says());
    }
    for kind in ["Failed", "FailureTarget"] {
        if let Some(failure) = conditions.truly(kind) {
            return failed(object, failure, context);
        }
    }
    if conditions.is_true("SuccessCriteriaMet") {
        return Verdict::progressing("Finishing", "decided; its last pods are ending");
    }
    match (suspend, suspended) {
        (true, true) => return Verdict::suspended("Suspended", "suspended by its spec"),
        (true, false) => return Verdict::progressing("Suspending", "its pods are being stopped"),
        (false, true) => return Verdict::progressing("Resuming", "its pods are about to start"),
        (false, false) => {}
    }
    if object.get("/status/startTime").is_none() {
        return Verdict::progressing("NotStarted", "the job controller has not started it yet");
    }
    let status = |name: &str| object.num(&format!("/status/{name}"));
    let goal = object.int("/spec/completions").map_or(String::new(), |goal| format!(" of {goal}"));
    let counts = format!(
        "{}{goal} succeeded, {} active, {} failed",
        status("succeeded"),
        status("active"),
        status("failed")
    );
    Verdict::progressing("Running", counts)
}

fn failed(object: View<'_>, failure: &Condition<'_>, context: &Context<'_>) -> Verdict {
    let reason = failure.reason_or("Failed");
    let verdict = Verdict::failed(reason, failure.says());
    let last = last_failure(object, context);
    let name = object.name();
    let (rank, sentence) = match reason {
        "DeadlineExceeded" => {
            let limit =
                object.int("/spec/activeDeadlineSeconds").map_or(String::new(), |limit| format!(" {limit}"));
            (36, format!("{name} ran longer than activeDeadlineSeconds{limit}"))
        }
        "BackoffLimitExceeded" => {
            let last = last.as_ref().map_or(String::new(), |cause| format!("; last: {}", cause.sentence));
            (37, format!("{name} failed {} times{last}", object.num("/status/failed").max(1)))
        }
        "FailedIndexes" | "MaxFailedIndexesExceeded" => {
            let indexes = object.str("/status/failedIndexes");
            let list = if indexes.is_empty() {
                failure.says().to_owned()
            } else {
                format!("indexes {indexes} failed")
            };
            (38, format!("{name}: {list}"))
        }
        _ => (38, format!("{name}: {}", failure.says())),
    };
    let mut cause = Cause::new(rank, reason, sentence, Weight::Terminal).naming(name);
    if let Some(last) = last {
        cause.next = last.next;
        cause.subject = last.subject;
        cause.evidence = last.evidence;
    }
    if cause.next.is_none() {
        let advice = match reason {
            "DeadlineExceeded" => "raise it, or see what hangs (last log line)",
            _ => "read the log of the last failed pod",
        };
        cause.next = Some(advice.to_owned());
    }
    cause::explain(verdict, vec![cause], context)
}

/// The cause in the newest failed pod.
fn last_failure(object: View<'_>, context: &Context<'_>) -> Option<Cause> {
    let mut pods = workload::owned_pods(object, context);
    pods.sort_by_key(|pod| std::cmp::Reverse(pod.str("/metadata/creationTimestamp")));
    pods.sort_by_key(|pod| pod.str("/status/phase") != "Failed");
    pods.into_iter().find_map(|pod| {
        let mut causes = pod_cause::causes(pod, context);
        cause::rank(&mut causes, context);
        let mut cause = causes.into_iter().next()?;
        cause.add_pod(pod.name());
        Some(cause)
    })
}
