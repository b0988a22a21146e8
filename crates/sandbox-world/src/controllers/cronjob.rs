//! CronJob → Jobs on time, with what may run beside what, and how many old ones are kept.

use std::time::Duration;

use kube_meaning::reach::Reach;
use kube_meaning::schedule::Schedule;
use serde_json::{Value, json};

use super::Item;
use super::cron::next_time;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, ObjectKey};
use crate::time::Time;
use crate::view::View;

const COMPONENT: &str = "cronjob-controller";

pub(crate) fn wakes(event: &Event, _: View<'_>) -> Vec<Item> {
    if is_of(event, "batch", "cronjobs") {
        return vec![Item::of(event)];
    }
    if !is_of(event, "batch", "jobs") {
        return Vec::new();
    }
    let owners = controllers_of(event, "CronJob");
    owners.iter().map(|key| Item::new("batch", "cronjobs", &key.namespace, &key.name)).collect()
}

fn end_of(job: &Value) -> Option<&'static str> {
    ["Complete", "Failed"].into_iter().find(|kind| is_true(&job["status"], kind))
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(cron) = view.get("batch", "cronjobs", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    if is_deleting(cron) {
        return outcome;
    }
    let uid = text(cron, "/metadata/uid");
    let owned = view.owned(uid, "batch", "jobs").into_iter().map(|job| &**job);
    let jobs: Vec<&Value> = owned.filter(|job| is_controlled_by(job, uid)).collect();
    let mut status = cron.get("status").cloned().unwrap_or_else(|| json!({}));
    follow(cron, &jobs, &mut status, &mut outcome);
    clean(cron, &jobs, &mut outcome);
    fire(view, cron, &jobs, &mut status, &mut outcome);
    if status["active"] == json!([])
        && let Some(map) = status.as_object_mut()
    {
        map.shift_remove("active");
    }
    if cron.get("status").cloned().unwrap_or_else(|| json!({})) != status {
        outcome.changes.push(put_status("batch", "cronjobs", cron, status));
    }
    outcome
}

/// Drops ended Jobs from the active ones.
fn follow(cron: &Value, jobs: &[&Value], status: &mut Value, outcome: &mut Reaction) {
    let mut active: Vec<Value> = items(status, "/active").to_vec();
    for known in active.clone() {
        let job = jobs.iter().find(|job| job["metadata"]["uid"] == known["uid"]);
        let end = job.and_then(|job| end_of(job));
        match (job, end) {
            (Some(_), None) => continue,
            (Some(job), Some(end)) => {
                let message = format!("Saw completed job: {}, condition: {end}", text(job, "/metadata/name"));
                outcome.changes.push(Change::Note(normal(cron, COMPONENT, "SawCompletedJob", message)));
                if end == "Complete" {
                    status["lastSuccessfulTime"] = job["status"]["completionTime"].clone();
                }
            }
            (None, _) => {
                let message = format!("Active job went missing: {}", text(&known, "/name"));
                outcome.changes.push(Change::Note(normal(cron, COMPONENT, "MissingJob", message)));
            }
        }
        active.retain(|other| other["uid"] != known["uid"]);
    }
    for job in jobs.iter().filter(|job| end_of(job).is_none() && !is_deleting(job)) {
        if !active.iter().any(|known| known["uid"] == job["metadata"]["uid"]) {
            active.push(object_ref(job));
        }
    }
    status["active"] = json!(active);
}

/// Removes ended Jobs beyond the limits, oldest first.
fn clean(cron: &Value, jobs: &[&Value], outcome: &mut Reaction) {
    for (end, pointer, other) in
        [("Complete", "/spec/successfulJobsHistoryLimit", 3), ("Failed", "/spec/failedJobsHistoryLimit", 1)]
    {
        let limit = usize::try_from(int_or(cron, pointer, other)).unwrap_or(0);
        let mut ended: Vec<&&Value> =
            jobs.iter().filter(|job| end_of(job) == Some(end) && !is_deleting(job)).collect();
        ended.sort_by_key(|job| (time(job, "/status/startTime"), text(job, "/metadata/name")));
        for job in &ended[..ended.len().saturating_sub(limit)] {
            outcome.changes.push(delete("batch", "jobs", job));
            let message = format!("Deleted job {}", text(job, "/metadata/name"));
            outcome.changes.push(Change::Note(normal(cron, COMPONENT, "SuccessfulDelete", message)));
        }
    }
}

fn fire(view: View<'_>, cron: &Value, jobs: &[&Value], status: &mut Value, outcome: &mut Reaction) {
    if is(cron, "/spec/suspend") {
        return;
    }
    let text_of = text(cron, "/spec/schedule");
    let schedule = match Schedule::parse(text_of) {
        Ok(schedule) => schedule,
        Err(problem) => {
            let message = format!("unparseable schedule: \"{text_of}\" : {problem}");
            outcome.changes.push(Change::Note(warning(cron, COMPONENT, "UnparseableSchedule", message)));
            return;
        }
    };
    let last = time(status, "/lastScheduleTime").or_else(|| time(cron, "/metadata/creationTimestamp"));
    let Some(due) = last_due(&schedule, last.unwrap_or(view.now), view.now) else {
        if let Some(next) = next_time(&schedule, view.now) {
            outcome.again(next);
        }
        return;
    };
    if let Some(next) = next_time(&schedule, view.now) {
        outcome.again(next);
    }
    let late = cron.at("/spec/startingDeadlineSeconds").and_then(Value::as_u64);
    if late.is_some_and(|late| view.now.since(due) > Duration::from_secs(late)) {
        let message = format!("Missed scheduled time to start a job: {}", due.text());
        outcome.changes.push(Change::Note(warning(cron, COMPONENT, "MissSchedule", message)));
        return;
    }
    if !items(status, "/active").is_empty() {
        match text(cron, "/spec/concurrencyPolicy") {
            "Forbid" => {
                let message =
                    "Not starting job because prior execution is running and concurrency policy is Forbid";
                outcome.changes.push(Change::Note(normal(
                    cron,
                    COMPONENT,
                    "JobAlreadyActive",
                    message.to_owned(),
                )));
                return;
            }
            "Replace" => {
                for job in jobs.iter().filter(|job| end_of(job).is_none() && !is_deleting(job)) {
                    outcome.changes.push(delete("batch", "jobs", job));
                    let message = format!("Deleted job {}", text(job, "/metadata/name"));
                    outcome.changes.push(Change::Note(normal(cron, COMPONENT, "SuccessfulDelete", message)));
                }
            }
            _ => {}
        }
    }
    start(view, cron, due, status, outcome);
}

/// The newest time that is due and was not served.
fn last_due(schedule: &Schedule, last: Time, now: Time) -> Option<Time> {
    let mut due = None;
    let mut at = last;
    // After a long sleep only the newest counts; a hundred is where a real controller gives up counting.
    for _ in 0..100 {
        match next_time(schedule, at) {
            Some(next) if next <= now => {
                due = Some(next);
                at = next;
            }
            _ => return due,
        }
    }
    next_time(schedule, now - Duration::from_secs(60)).filter(|next| *next <= now).or(due)
}

fn start(view: View<'_>, cron: &Value, due: Time, status: &mut Value, outcome: &mut Reaction) {
    let namespace = text(cron, "/metadata/namespace");
    let name = format!("{}-{}", text(cron, "/metadata/name"), due.millis() / 60_000);
    status["lastScheduleTime"] = json!(due.text());
    if view
        .store
        .get(&crate::store::ResourceKey::new("batch", "jobs"), &ObjectKey::new(namespace, &name))
        .is_some()
    {
        return;
    }
    let template = &cron["spec"]["jobTemplate"];
    let mut annotations = meta_map(template, "annotations");
    annotations.insert("batch.kubernetes.io/cronjob-scheduled-timestamp".into(), json!(due.text()));
    let mut job = json!({
        "apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations, "ownerReferences": [reference(cron)]},
        "spec": template["spec"],
    });
    let labels = meta_map(template, "labels");
    if !labels.is_empty() {
        job["metadata"]["labels"] = json!(labels);
    }
    let note = normal(cron, COMPONENT, "SuccessfulCreate", "Created job ".to_owned());
    outcome.changes.push(Change::Create { object: job, note: Some(note) });
}
