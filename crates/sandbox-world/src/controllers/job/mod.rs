//! Job → pods until enough have succeeded, or too many have failed, or time is over.
//!
//! Every finished pod is counted once: it is first written down as uncounted, then loses the finalizer that kept it, then
//! counts. Indexed Jobs give each pod an index.

use std::collections::BTreeSet;
use std::time::Duration;

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::Event;
use crate::time::Time;
use crate::view::View;

mod pods;

const COMPONENT: &str = "job-controller";
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

pub(crate) fn wakes(event: &Event, _: View<'_>) -> Vec<Item> {
    if is_of(event, "batch", "jobs") {
        return vec![Item::of(event)];
    }
    if !is_of(event, "", "pods") {
        return Vec::new();
    }
    let owners = controllers_of(event, "Job");
    let mut items: Vec<Item> =
        owners.iter().map(|key| Item::new("batch", "jobs", &key.namespace, &key.name)).collect();
    if holds(&event.object.value) && is_deleting(&event.object.value) {
        items.push(Item::of(event));
    }
    items
}

/// A pod that nobody counts any more is let go: its Job is gone, or is another one of the same name.
fn let_go(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(pod) = view.get("", "pods", &item.key.namespace, &item.key.name) else { return outcome };
    let Some(owner) = controller_of(pod, "Job") else { return outcome };
    let job = view.get("batch", "jobs", &owner.namespace, &owner.name);
    let counted = job.is_some_and(|job| is_controlled_by(pod, text(job, "/metadata/uid")));
    if holds(pod) && !counted {
        outcome.changes.push(pods::release(pod));
    }
    outcome
}

/// A Job with its pods.
struct Work<'w> {
    view: View<'w>,
    job: &'w Value,
    pods: Vec<&'w Value>,
    status: Value,
}

impl Work<'_> {
    fn is_indexed(&self) -> bool {
        text(self.job, "/spec/completionMode") == "Indexed"
    }

    fn completions(&self) -> Option<i64> {
        self.job.at("/spec/completions").and_then(Value::as_i64)
    }

    fn active(&self) -> Vec<&Value> {
        self.pods.iter().copied().filter(|pod| is_active(pod)).collect()
    }

    /// Pods that succeeded or failed, counted or not yet.
    fn ended(&self, key: &str, phase: &str) -> i64 {
        let counted = int(&self.status, &format!("/{key}"));
        let listed = items(&self.status, &format!("/uncountedTerminatedPods/{key}"));
        let fresh = self.pods.iter().filter(|pod| {
            text(pod, "/status/phase") == phase && holds(pod) && !listed.contains(&pod["metadata"]["uid"])
        });
        counted + listed.len() as i64 + fresh.count() as i64
    }

    fn put(&mut self, kind: &str, reason: &str, message: &str) {
        let now = self.view.now.text();
        let mut new = condition(kind, "True", reason, message, &now);
        new["lastProbeTime"] = json!(now);
        set_condition(&mut self.status, new);
    }
}

fn holds(pod: &Value) -> bool {
    items(pod, "/metadata/finalizers").iter().any(|known| known == TRACKING)
}

fn is_over(status: &Value) -> bool {
    is_true(status, "Complete") || is_true(status, "Failed")
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    if item.resource.plural == "pods" {
        return let_go(view, item);
    }
    let mut outcome = Reaction::default();
    let Some(job) = view.get("batch", "jobs", &item.key.namespace, &item.key.name) else { return outcome };
    if !text(job, "/spec/managedBy").is_empty() {
        return outcome;
    }
    let uid = text(job, "/metadata/uid");
    let owned = view.owned(uid, "", "pods").into_iter().map(|pod| &**pod);
    let pods: Vec<&Value> = owned.filter(|pod| is_controlled_by(pod, uid)).collect();
    let status = job.get("status").cloned().unwrap_or_else(|| json!({}));
    if is_over(&status) || is_deleting(job) {
        // What is left of its pods is let go.
        outcome.changes.extend(pods.iter().filter(|pod| holds(pod)).map(|pod| pods::release(pod)));
        if is_over(&status) && !is_deleting(job) {
            expire(view, job, &status, &mut outcome);
        }
        return outcome;
    }
    let mut work = Work { view, job, pods, status };
    run(&mut work, &mut outcome);
    outcome
}

/// A finished Job goes by itself when it says so.
fn expire(view: View<'_>, job: &Value, status: &Value, outcome: &mut Reaction) {
    let Some(ttl) = job.at("/spec/ttlSecondsAfterFinished").and_then(Value::as_u64) else { return };
    let end = ["Complete", "Failed"].iter().find_map(|kind| find_condition(status, kind));
    let Some(end) = end.and_then(|end| time(end, "/lastTransitionTime")) else { return };
    let at = end + Duration::from_secs(ttl);
    if at <= view.now {
        outcome.changes.push(delete("batch", "jobs", job));
    } else {
        outcome.again(at);
    }
}

fn run(work: &mut Work<'_>, outcome: &mut Reaction) {
    let suspended = is(work.job, "/spec/suspend");
    if work.status.get("startTime").is_none() && !suspended {
        work.status["startTime"] = json!(work.view.now.text());
    }
    pods::count(work, outcome);
    let failure = failure(work, outcome);
    let done = is_done(work);
    if suspended && failure.is_none() && !done {
        suspend(work, outcome);
    } else if let Some((reason, message)) = failure {
        fail(work, reason, &message, outcome);
    } else if done {
        complete(work, outcome);
    } else {
        resume(work, outcome);
        pods::manage(work, outcome);
    }
    counters(work);
    if work.job.get("status") != Some(&work.status) {
        outcome.changes.push(put_status("batch", "jobs", work.job, work.status.clone()));
    }
}

fn counters(work: &mut Work<'_>) {
    let active = work.active().len() as i64;
    let ready = work.active().iter().filter(|pod| is_ready(pod)).count() as i64;
    let ending = work.pods.iter().filter(|pod| is_deleting(pod) && !is_finished(pod)).count() as i64;
    let over = is_over(&work.status);
    put_count(&mut work.status, "active", if over { 0 } else { active });
    work.status["ready"] = json!(if over { 0 } else { ready });
    work.status["terminating"] = json!(ending);
    if work.status.get("uncountedTerminatedPods").is_none() {
        work.status["uncountedTerminatedPods"] = json!({});
    }
}

/// Why the Job has failed, if it has.
fn failure(work: &Work<'_>, outcome: &mut Reaction) -> Option<(&'static str, String)> {
    if let Some(target) = find_condition(&work.status, "FailureTarget") {
        let known = ["BackoffLimitExceeded", "DeadlineExceeded", "PodFailurePolicy"];
        let reason = known.into_iter().find(|known| *known == text(target, "/reason"))?;
        return Some((reason, text(target, "/message").to_owned()));
    }
    if is_true(&work.status, "SuccessCriteriaMet") {
        return None;
    }
    if let Some(message) = pods::fatal(work) {
        return Some(("PodFailurePolicy", message));
    }
    let limit = int_or(work.job, "/spec/backoffLimit", 6);
    let restarts: i64 = match text(work.job, "/spec/template/spec/restartPolicy") {
        "OnFailure" => work.active().iter().map(|pod| pods::restarts(pod)).sum(),
        _ => 0,
    };
    let worn = if limit == 0 { restarts > 0 } else { restarts >= limit };
    if work.ended("failed", "Failed") > limit || worn {
        return Some(("BackoffLimitExceeded", "Job has reached the specified backoff limit".to_owned()));
    }
    let seconds = work.job.at("/spec/activeDeadlineSeconds").and_then(Value::as_u64)?;
    let end = time(&work.status, "/startTime")? + Duration::from_secs(seconds);
    if is(work.job, "/spec/suspend") || work.view.now < end {
        outcome.again(end);
        return None;
    }
    Some(("DeadlineExceeded", "Job was active longer than specified deadline".to_owned()))
}

fn is_done(work: &Work<'_>) -> bool {
    let good = work.ended("succeeded", "Succeeded");
    match work.completions() {
        Some(wanted) if work.is_indexed() => pods::indexes(work).len() as i64 >= wanted,
        Some(wanted) => good >= wanted,
        None => good > 0 && work.active().is_empty(),
    }
}

/// First the target, then, when no pod is left, the end.
fn fail(work: &mut Work<'_>, reason: &'static str, message: &str, outcome: &mut Reaction) {
    for pod in work.active() {
        outcome.changes.push(delete("", "pods", pod));
        let told = format!("Deleted pod: {}", text(pod, "/metadata/name"));
        outcome.changes.push(Change::Note(normal(work.job, COMPONENT, "SuccessfulDelete", told)));
    }
    let told = is_true(&work.status, "FailureTarget");
    work.put("FailureTarget", reason, message);
    if told && is_settled(work) {
        work.put("Failed", reason, message);
        outcome.changes.push(Change::Note(warning(work.job, COMPONENT, reason, message.to_owned())));
    }
}

fn complete(work: &mut Work<'_>, outcome: &mut Reaction) {
    let (reason, message) = ("CompletionsReached", "Reached expected number of succeeded pods");
    for pod in work.active() {
        outcome.changes.push(delete("", "pods", pod));
    }
    let told = is_true(&work.status, "SuccessCriteriaMet");
    work.put("SuccessCriteriaMet", reason, message);
    if told && is_settled(work) {
        work.put("Complete", reason, message);
        work.status["completionTime"] = json!(work.view.now.text());
        outcome.changes.push(Change::Note(normal(
            work.job,
            COMPONENT,
            "Completed",
            "Job completed".to_owned(),
        )));
    }
}

/// No pod runs, and all that ended are counted.
fn is_settled(work: &Work<'_>) -> bool {
    let listed = ["succeeded", "failed"]
        .iter()
        .any(|key| !items(&work.status, &format!("/uncountedTerminatedPods/{key}")).is_empty());
    !listed && work.pods.iter().all(|pod| is_finished(pod) && !holds(pod))
}

fn suspend(work: &mut Work<'_>, outcome: &mut Reaction) {
    for pod in work.active() {
        outcome.changes.push(delete("", "pods", pod));
        let told = format!("Deleted pod: {}", text(pod, "/metadata/name"));
        outcome.changes.push(Change::Note(normal(work.job, COMPONENT, "SuccessfulDelete", told)));
    }
    if !is_true(&work.status, "Suspended") {
        work.put("Suspended", "JobSuspended", "Job suspended");
        if let Some(map) = work.status.as_object_mut() {
            map.shift_remove("startTime");
        }
        outcome.changes.push(Change::Note(normal(
            work.job,
            COMPONENT,
            "Suspended",
            "Job suspended".to_owned(),
        )));
    }
}

fn resume(work: &mut Work<'_>, outcome: &mut Reaction) {
    if is_true(&work.status, "Suspended") {
        let now = work.view.now.text();
        let mut new = condition("Suspended", "False", "JobResumed", "Job resumed", &now);
        new["lastProbeTime"] = json!(now);
        set_condition(&mut work.status, new);
        work.status["startTime"] = json!(now);
        outcome.changes.push(Change::Note(normal(work.job, COMPONENT, "Resumed", "Job resumed".to_owned())));
    }
}

/// A pod that may not be made: the Job says so.
pub(crate) fn refused(
    view: View<'_>,
    item: &Item,
    change: &Change,
    refusal: &kube_meaning::status::Refusal,
) -> Reaction {
    let mut outcome = Reaction::default();
    let job = view.get("batch", "jobs", &item.key.namespace, &item.key.name);
    let (Some(job), Change::Create { .. }) = (job, change) else { return outcome };
    let message = format!("Error creating: {}", refusal.message);
    outcome.changes.push(Change::Note(warning(job, COMPONENT, "FailedCreate", message)));
    outcome
}

/// `0-2,5` as a set; what cannot be read is left out.
fn parse_indexes(text: &str) -> BTreeSet<i64> {
    let mut all = BTreeSet::new();
    for piece in text.split(',').filter(|piece| !piece.is_empty()) {
        let (first, last) = piece.split_once('-').unwrap_or((piece, piece));
        if let (Ok(first), Ok(last)) = (first.parse::<i64>(), last.parse::<i64>()) {
            all.extend(first..=last.min(first.saturating_add(100_000)));
        }
    }
    all
}

fn show_indexes(all: &BTreeSet<i64>) -> String {
    let mut pieces: Vec<(i64, i64)> = Vec::new();
    for index in all {
        match pieces.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => pieces.push((*index, *index)),
        }
    }
    let shown = pieces.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    shown.collect::<Vec<String>>().join(",")
}

/// When the newest of these pods ended.
fn last_end(pods: &[&Value]) -> Option<Time> {
    let ends = pods.iter().flat_map(|pod| items(pod, "/status/containerStatuses"));
    ends.filter_map(|status| time(status, "/state/terminated/finishedAt")).max()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn indexes_are_shown_as_ranges() {
        let all = parse_indexes("0-2,5,7,8");
        assert_eq!(all.len(), 6);
        assert_eq!(show_indexes(&all), "0-2,5,7,8");
    }
}
