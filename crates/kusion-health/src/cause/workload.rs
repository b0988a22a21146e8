//! From a workload to the cause in its pods.
//!
//! In: a workload whose rule says "not yet" or "failed". Out: the same verdict with the best cause of its newest revision,
//! lifted to failed when that cause is final. Invariant: pods of old revisions never explain the new one.

use super::{Cause, Weight, explain, pod as pod_cause, refusal, shorten};
use crate::condition::Conditions;
use crate::context::Context;
use crate::verdict::{Grade, Verdict};
use crate::view::View;
use serde_json::Value;

/// Pods looked at per workload: more of them say nothing new.
const MOST_PODS: usize = 500;

const REVISION: &str = "deployment.kubernetes.io/revision";

/// The ReplicaSet that carries the Deployment's present template.
pub(crate) fn newest_replica_set<'a>(deployment: View<'_>, context: &Context<'a>) -> Option<View<'a>> {
    let owned = context.snapshot.owned_by(deployment);
    let sets: Vec<View<'a>> = owned.into_iter().filter(|set| set.kind() == "ReplicaSet").collect();
    let revision = deployment.annotation(REVISION);
    if let Some(found) = sets.iter().find(|set| revision.is_some() && set.annotation(REVISION) == revision) {
        return Some(*found);
    }
    if let Some(found) = sets.iter().find(|set| same_template(deployment, **set)) {
        return Some(*found);
    }
    let number = |set: &View<'_>| set.annotation(REVISION).and_then(|text| text.parse::<i64>().ok());
    let created = |set: &View<'_>| crate::time::parse(set.str("/metadata/creationTimestamp"));
    sets.into_iter().max_by_key(|set| (number(set), created(set)))
}

/// A rollback reuses an old set: templates tell, creation times do not.
fn same_template(deployment: View<'_>, set: View<'_>) -> bool {
    let wanted = deployment.get("/spec/template/spec");
    wanted.is_some() && wanted == set.get("/spec/template/spec")
}

/// Pods of a Deployment's newest revision, and the object whose events tell why there are none.
pub(crate) fn deployment_pods<'a>(deployment: View<'a>, context: &Context<'a>) -> (Vec<View<'a>>, View<'a>) {
    if let Some(set) = newest_replica_set(deployment, context) {
        return (owned_pods(set, context), set);
    }
    (selected_pods(deployment, context), deployment)
}

/// Without the ReplicaSet in the snapshot: pods of the selector whose owner carries the Deployment's name.
fn selected_pods<'a>(deployment: View<'_>, context: &Context<'a>) -> Vec<View<'a>> {
    let Some(wanted) = deployment.get("/spec/selector/matchLabels").and_then(Value::as_object) else {
        return Vec::new();
    };
    let prefix = format!("{}-", deployment.name());
    let fits = |pod: &View<'a>| {
        let owner = pod.items("/metadata/ownerReferences").next();
        let by_owner = owner.is_none_or(|owner| {
            owner.str("/kind") == "ReplicaSet" && owner.str("/name").starts_with(&prefix)
        });
        let labelled = wanted.iter().all(|(key, value)| pod.label(key) == value.as_str());
        pod.namespace() == deployment.namespace() && by_owner && labelled && !wanted.is_empty()
    };
    context.snapshot.of_kind("", "Pod").filter(fits).take(MOST_PODS).collect()
}

/// Pods owned by an object.
pub(crate) fn owned_pods<'a>(owner: View<'_>, context: &Context<'a>) -> Vec<View<'a>> {
    let owned = context.snapshot.owned_by(owner);
    owned.into_iter().filter(|pod| pod.kind() == "Pod" && pod.group().is_empty()).take(MOST_PODS).collect()
}

/// Restarts of all pods together.
pub(crate) fn restarts(pods: &[View<'_>]) -> i64 {
    pods.iter().map(|pod| pod_cause::restarts(*pod)).fold(0, i64::saturating_add)
}

/// What a workload knows about itself when its cause is looked for.
pub(crate) struct Workload<'a> {
    pub pods: Vec<View<'a>>,
    /// Whose FailedCreate events and ReplicaFailure condition explain missing pods.
    pub creator: View<'a>,
    /// Pods there should be.
    pub expected: i64,
    /// How a group of pods is called: `new pods`, `pods`.
    pub noun: &'static str,
}

/// Adds the cause to a verdict that is not good.
pub(crate) fn apply(verdict: Verdict, workload: &Workload<'_>, context: &Context<'_>) -> Verdict {
    let mut verdict = verdict;
    verdict.restarts = restarts(&workload.pods);
    if !matches!(verdict.verdict, Grade::Progressing | Grade::Failed | Grade::Unknown) {
        return verdict;
    }
    let causes = causes(workload, context);
    let keep = verdict.cause.is_some() && causes.is_empty();
    if keep { verdict } else { explain(verdict, causes, context) }
}

/// Ranked causes over all pods, grouped.
pub(crate) fn causes(workload: &Workload<'_>, context: &Context<'_>) -> Vec<Cause> {
    let mut groups: Vec<(Cause, usize)> = Vec::new();
    for pod in &workload.pods {
        if pod.get("/metadata/deletionTimestamp").is_some() {
            continue;
        }
        for cause in pod_cause::causes(*pod, context) {
            match groups.iter_mut().find(|(known, _)| known.key == cause.key) {
                Some((known, count)) => {
                    *count += 1;
                    if cause.fails(context) && !known.fails(context) {
                        *known = cause;
                    }
                }
                None => groups.push((cause, 1)),
            }
        }
    }
    groups.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let total = workload.pods.len();
    let mut found: Vec<Cause> =
        groups.into_iter().map(|(cause, count)| count_pods(cause, count, total, workload.noun)).collect();
    if (total as i64) < workload.expected {
        found.extend(refusals(workload.creator, context));
    }
    found
}

fn count_pods(mut cause: Cause, count: usize, total: usize, noun: &str) -> Cause {
    let name = cause.subject.as_ref().map(|subject| subject.name.clone()).unwrap_or_default();
    if total > 1 {
        cause.sentence = format!("{count} of {total} {noun}: {}", cause.sentence);
    }
    cause.add_pod(&name);
    cause
}

/// Why the creator of the pods cannot create them.
pub(crate) fn refusals(creator: View<'_>, context: &Context<'_>) -> Vec<Cause> {
    let conditions = Conditions::of(creator);
    let mut texts: Vec<(&str, Option<i64>)> = Vec::new();
    if let Some(failure) = conditions.truly("ReplicaFailure") {
        texts.push((failure.message, failure.at));
    }
    let events = context.events(creator);
    let failed =
        events.iter().filter(|event| event.reason == "FailedCreate" || event.reason == "FailedCreatePod");
    // only the newest: an older refusal may have been cured
    texts.extend(failed.take(1).map(|event| (event.message, event.at)));
    let read =
        |(text, at): (&str, Option<i64>)| refusal::read(text, creator.namespace(), context.profile).at(at);
    texts.into_iter().filter(|(text, _)| !text.is_empty()).map(read).collect()
}

/// The state of a pod in words, for "no progress" without a better cause.
fn state_of(pod: View<'_>) -> String {
    let conditions = Conditions::of(pod);
    let ready = conditions.get("Ready").map_or("", |ready| ready.message);
    let detail = if ready.is_empty() { String::new() } else { format!(", {}", shorten(ready, 150)) };
    format!("{} is {}{detail}", pod.name(), pod.text("/status/phase").unwrap_or("not observed"))
}

/// No progress, and nothing better is known (row 39).
pub(crate) fn no_progress(seconds: i64, pods: &[View<'_>]) -> Cause {
    let newest = pods.iter().max_by_key(|pod| pod.str("/metadata/creationTimestamp"));
    let state = newest.map_or(String::new(), |pod| format!("; newest pod: {}", state_of(*pod)));
    let cause = Cause::new(
        39,
        "ProgressDeadlineExceeded",
        format!("no progress for {seconds} s{state}"),
        Weight::Terminal,
    )
    .next("describe the newest pod and read its log");
    match newest {
        Some(pod) => cause.naming(pod.name()),
        None => cause,
    }
}
