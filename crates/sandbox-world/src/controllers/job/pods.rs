//! The pods of a Job: made, counted, let go.

use std::collections::BTreeSet;
use std::time::Duration;

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::{COMPONENT, INDEX, TRACKING, Work, holds, last_end, parse_indexes, show_indexes};
use crate::change::{Change, Reaction};
use crate::controllers::pods::from_template;
use crate::controllers::read::*;

/// Pods made in one look.
const BURST: i64 = 500;

/// Takes away what keeps a finished pod.
pub(super) fn release(pod: &Value) -> Change {
    let kept: Vec<&Value> =
        items(pod, "/metadata/finalizers").iter().filter(|known| *known != TRACKING).collect();
    let kept = if kept.is_empty() { Value::Null } else { json!(kept) };
    patch("", "pods", pod, "", json!({"metadata": {"finalizers": kept}}))
}

/// Whether a pod has come to an end for its Job: finished, or on its way out without being finished.
fn ended(pod: &Value) -> Option<&'static str> {
    match text(pod, "/status/phase") {
        "Succeeded" => Some("succeeded"),
        "Failed" => Some("failed"),
        _ => None,
    }
}

/// Writes down who ended, lets those go that are written down, and counts those that are let go.
pub(super) fn count(work: &mut Work<'_>, outcome: &mut Reaction) {
    let mut good = parse_indexes(text(&work.status, "/completedIndexes"));
    for key in ["succeeded", "failed"] {
        let path = format!("/uncountedTerminatedPods/{key}");
        let listed: Vec<Value> = items(&work.status, &path).to_vec();
        let find = |uid: &Value| work.pods.iter().find(|pod| pod["metadata"]["uid"] == *uid).copied();
        let free: Vec<&Value> = listed.iter().filter(|uid| !find(uid).is_some_and(holds)).collect();
        let counted = int(&work.status, &format!("/{key}")) + free.len() as i64;
        let mut kept: Vec<Value> = listed.iter().filter(|uid| !free.contains(uid)).cloned().collect();
        if key == "succeeded" {
            good.extend(listed.iter().filter_map(|uid| index_of(find(uid)?)));
        }
        for pod in &work.pods {
            if ended(pod) != Some(key) || !holds(pod) {
                continue;
            }
            match kept.contains(&pod["metadata"]["uid"]) {
                true => outcome.changes.push(release(pod)),
                false => kept.push(pod["metadata"]["uid"].clone()),
            }
        }
        // A pod that went without ending counts for nothing, and is let go.
        put_count(&mut work.status, key, counted);
        if work.status.get("uncountedTerminatedPods").is_none() {
            work.status["uncountedTerminatedPods"] = json!({});
        }
        if kept.is_empty() {
            if let Some(map) = work.status["uncountedTerminatedPods"].as_object_mut() {
                map.shift_remove(key);
            }
        } else {
            work.status["uncountedTerminatedPods"][key] = json!(kept);
        }
    }
    if work.is_indexed() && !good.is_empty() {
        work.status["completedIndexes"] = json!(show_indexes(&good));
    }
}

fn index_of(pod: &Value) -> Option<i64> {
    annotation(pod, INDEX).parse().ok()
}

/// The indexes that are done.
pub(super) fn indexes(work: &Work<'_>) -> BTreeSet<i64> {
    let mut all = parse_indexes(text(&work.status, "/completedIndexes"));
    let good = work.pods.iter().filter(|pod| text(pod, "/status/phase") == "Succeeded");
    all.extend(good.filter_map(|pod| index_of(pod)));
    all
}

/// How often a pod's containers were started again.
pub(super) fn restarts(pod: &Value) -> i64 {
    let statuses =
        items(pod, "/status/initContainerStatuses").iter().chain(items(pod, "/status/containerStatuses"));
    statuses.map(|status| int(status, "/restartCount")).sum()
}

/// A failed pod that the Job's policy calls fatal.
pub(super) fn fatal(work: &Work<'_>) -> Option<String> {
    let rules = items(work.job, "/spec/podFailurePolicy/rules");
    let failed = work.pods.iter().filter(|pod| text(pod, "/status/phase") == "Failed");
    for pod in failed {
        for status in items(pod, "/status/containerStatuses") {
            let Some(code) = status.at("/state/terminated/exitCode").filter(|code| **code != 0) else {
                continue;
            };
            let matching = rules.iter().position(|rule| {
                let codes = rule.get("onExitCodes");
                codes.is_some_and(|codes| {
                    let holds = items(codes, "/values").contains(code);
                    let named = text(codes, "/containerName");
                    (named.is_empty() || named == text(status, "/name"))
                        && (text(codes, "/operator") == "NotIn") != holds
                })
            });
            if let Some(at) = matching.filter(|at| text(&rules[*at], "/action") == "FailJob") {
                return Some(format!(
                    "Container {} for pod {}/{} failed with exit code {code} matching FailJob rule at index {at}",
                    text(status, "/name"),
                    text(pod, "/metadata/namespace"),
                    text(pod, "/metadata/name")
                ));
            }
        }
    }
    None
}

/// Makes the pods that are missing, after the wait that failures cost.
pub(super) fn manage(work: &Work<'_>, outcome: &mut Reaction) {
    let active = work.active();
    let parallel = int_or(work.job, "/spec/parallelism", 1);
    let good = work.ended("succeeded", "Succeeded");
    let wanted = match work.completions() {
        Some(completions) => parallel.min(completions - good),
        None if good > 0 => active.len() as i64,
        None => parallel,
    };
    let extra = active.len() as i64 - wanted;
    if extra > 0 {
        let mut active = active;
        crate::controllers::pods::by_usefulness(&mut active);
        for pod in &active[..usize::try_from(extra).unwrap_or(0)] {
            outcome.changes.push(delete("", "pods", pod));
        }
        return;
    }
    // Pods on their way out still hold their place.
    let ending = work.pods.iter().filter(|pod| is_deleting(pod) && !is_finished(pod)).count() as i64;
    let missing = (-extra - ending).clamp(0, BURST);
    if missing == 0 {
        return;
    }
    if let Some(at) = backoff_end(work).filter(|at| *at > work.view.now) {
        outcome.again(at);
        return;
    }
    let mut free = free_indexes(work, &active);
    for _ in 0..missing {
        let index = if work.is_indexed() { free.pop() } else { None };
        if work.is_indexed() && index.is_none() {
            break;
        }
        outcome.changes.push(create(work, index));
    }
}

fn free_indexes(work: &Work<'_>, active: &[&Value]) -> Vec<i64> {
    if !work.is_indexed() {
        return Vec::new();
    }
    let mut taken = indexes(work);
    taken.extend(active.iter().filter_map(|pod| index_of(pod)));
    let all = 0..work.completions().unwrap_or(0).min(100_000);
    let mut free: Vec<i64> = all.filter(|index| !taken.contains(index)).collect();
    free.reverse();
    free
}

/// After failures the next pod waits: longer each time.
fn backoff_end(work: &Work<'_>) -> Option<crate::time::Time> {
    let failed: Vec<&Value> =
        work.pods.iter().copied().filter(|pod| text(pod, "/status/phase") == "Failed").collect();
    let end = last_end(&failed)?;
    let times = u32::try_from(failed.len().saturating_sub(1)).unwrap_or(0).min(10);
    let wait = (work.view.pace.job_backoff * 2u32.pow(times)).min(Duration::from_secs(600));
    Some(end + wait)
}

fn create(work: &Work<'_>, index: Option<i64>) -> Change {
    let job = work.job;
    let mut pod = from_template(job, &job["spec"]["template"]);
    let name = text(job, "/metadata/name");
    let mut held = items(&pod, "/metadata/finalizers").to_vec();
    held.push(json!(TRACKING));
    pod["metadata"]["finalizers"] = json!(held);
    pod["metadata"]["generateName"] = json!(format!("{name}-"));
    if let Some(index) = index {
        let shown = index.to_string();
        pod["metadata"]["generateName"] = json!(format!("{name}-{shown}-"));
        pod["metadata"]["annotations"][INDEX] = json!(shown);
        pod["metadata"]["labels"][INDEX] = json!(shown);
        pod["spec"]["hostname"] = json!(format!("{name}-{shown}"));
        let from = json!({"fieldRef": {"fieldPath": format!("metadata.labels['{INDEX}']")}});
        for list in ["containers", "initContainers"] {
            for container in pod["spec"][list].as_array_mut().into_iter().flatten() {
                let mut env = items(container, "/env").to_vec();
                env.push(json!({"name": "JOB_COMPLETION_INDEX", "valueFrom": from}));
                container["env"] = json!(env);
            }
        }
        if pod["spec"]["initContainers"].is_null()
            && let Some(spec) = pod["spec"].as_object_mut()
        {
            spec.shift_remove("initContainers");
        }
    }
    let note = normal(job, COMPONENT, "SuccessfulCreate", "Created pod: ".to_owned());
    Change::Create { object: pod, note: Some(note) }
}
