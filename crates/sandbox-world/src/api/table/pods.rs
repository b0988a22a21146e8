//! The row of a pod: its status in one word is the hardest cell there is.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::age;
use crate::time::Time;

/// Cells of a pod.
pub(crate) fn cells(pod: &Value, now: Time) -> Vec<Value> {
    let (spec, status) = (&pod["spec"], &pod["status"]);
    let statuses = list(&status["containerStatuses"]);
    let inits = list(&status["initContainerStatuses"]);
    let total = list(&spec["containers"]).len()
        + list(&spec["initContainers"]).iter().filter(|c| c["restartPolicy"] == "Always").count();
    let sidecars_ready = inits.iter().filter(|c| c["ready"] == true && is_sidecar(spec, c)).count();
    let ready = statuses.iter().filter(|c| c["ready"] == true && c.at("/state/running").is_some()).count()
        + sidecars_ready;
    let text = |value: &Value| match value.as_str() {
        None | Some("") => json!("<none>"),
        Some(text) => json!(text),
    };
    let gates = list(&spec["readinessGates"]);
    let gates = match gates.len() {
        0 => "<none>".to_owned(),
        count => {
            let met = gates.iter().filter(|gate| {
                list(&status["conditions"])
                    .iter()
                    .any(|c| c["type"] == gate["conditionType"] && c["status"] == "True")
            });
            format!("{}/{count}", met.count())
        }
    };
    vec![
        pod["metadata"]["name"].clone(),
        json!(format!("{ready}/{total}")),
        json!(reason(pod)),
        json!(restarts(statuses, inits, now)),
        json!(age::since(pod["metadata"].get("creationTimestamp"), now)),
        text(&status["podIP"]),
        text(&spec["nodeName"]),
        text(&status["nominatedNodeName"]),
        json!(gates),
    ]
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn is_sidecar(spec: &Value, status: &Value) -> bool {
    list(&spec["initContainers"])
        .iter()
        .any(|c| c["name"] == status["name"] && c["restartPolicy"] == "Always")
}

fn restarts(statuses: &[Value], inits: &[Value], now: Time) -> String {
    let all = || statuses.iter().chain(inits);
    let count: i64 = all().filter_map(|c| c["restartCount"].as_i64()).sum();
    let last = all().filter_map(|c| c.at("/lastState/terminated/finishedAt")?.as_str()).max();
    match last.filter(|_| count > 0) {
        Some(last) => format!("{count} ({} ago)", age::since(Some(&json!(last)), now)),
        None => count.to_string(),
    }
}

/// The status in one word.
fn reason(pod: &Value) -> String {
    let status = &pod["status"];
    let text = |pointer: &str| status.at(pointer).and_then(Value::as_str).unwrap_or_default();
    let mut reason = match text("/reason") {
        "" => text("/phase").to_owned(),
        reason => reason.to_owned(),
    };
    let gated = list(&status["conditions"])
        .iter()
        .any(|c| c["type"] == "PodScheduled" && c["reason"] == "SchedulingGated");
    if gated {
        reason = "SchedulingGated".to_owned();
    }
    let initializing = init_reason(pod, &mut reason);
    let initialized =
        list(&status["conditions"]).iter().any(|c| c["type"] == "Initialized" && c["status"] == "True");
    if !initializing || initialized {
        let mut running = false;
        for container in list(&status["containerStatuses"]).iter().rev() {
            let at = |pointer: &str| container.at(pointer).and_then(Value::as_str).filter(|t| !t.is_empty());
            if let Some(waiting) = at("/state/waiting/reason") {
                reason = waiting.to_owned();
            } else if let Some(terminated) = container.at("/state/terminated") {
                reason = ended(terminated);
            } else if container["ready"] == true && container.at("/state/running").is_some() {
                running = true;
            }
        }
        if reason == "Completed" && running {
            let ready =
                list(&status["conditions"]).iter().any(|c| c["type"] == "Ready" && c["status"] == "True");
            reason = if ready { "Running".to_owned() } else { "NotReady".to_owned() };
        }
    }
    if pod["metadata"].get("deletionTimestamp").is_some() {
        let over = matches!(text("/phase"), "Succeeded" | "Failed");
        reason = match text("/reason") {
            "NodeLost" => "Unknown".to_owned(),
            _ if over => reason,
            _ => "Terminating".to_owned(),
        };
    }
    reason
}

fn ended(terminated: &Value) -> String {
    match (terminated["reason"].as_str(), terminated["signal"].as_i64()) {
        (Some(reason), _) if !reason.is_empty() => reason.to_owned(),
        (_, Some(signal)) if signal != 0 => format!("Signal:{signal}"),
        _ => format!("ExitCode:{}", terminated["exitCode"].as_i64().unwrap_or(0)),
    }
}

/// Init containers that are not through decide alone; true while they are not.
fn init_reason(pod: &Value, reason: &mut String) -> bool {
    let inits = list(&pod["spec"]["initContainers"]);
    for (at, container) in list(&pod["status"]["initContainerStatuses"]).iter().enumerate() {
        let state = &container["state"];
        if state.at("/terminated/exitCode") == Some(&json!(0)) {
            continue;
        }
        if is_sidecar(&pod["spec"], container) && container["started"] == true {
            continue;
        }
        *reason = match (state.get("terminated"), state.at("/waiting/reason").and_then(Value::as_str)) {
            (Some(terminated), _) => format!("Init:{}", ended(terminated)),
            (None, Some(waiting)) if !waiting.is_empty() && waiting != "PodInitializing" => {
                format!("Init:{waiting}")
            }
            _ => format!("Init:{at}/{}", inits.len()),
        };
        return true;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_status_of_a_pod_is_the_word_that_people_look_for() {
        let pod = |status: Value, deleted: bool| {
            let mut pod = json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c"}],
                "initContainers": [{"name": "i"}]}, "status": status});
            if deleted {
                pod["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
            }
            reason(&pod)
        };
        let container =
            |state: Value| json!({"phase": "Running", "containerStatuses": [{"name": "c", "state": state}]});
        assert_eq!(pod(json!({"phase": "Pending"}), false), "Pending");
        assert_eq!(
            pod(container(json!({"waiting": {"reason": "CrashLoopBackOff"}})), false),
            "CrashLoopBackOff"
        );
        assert_eq!(pod(container(json!({"terminated": {"exitCode": 3}})), false), "ExitCode:3");
        assert_eq!(pod(json!({"phase": "Running"}), true), "Terminating");
        let init =
            json!({"phase": "Pending", "initContainerStatuses": [{"name": "i", "state": {"running": {}}}]});
        assert_eq!(pod(init, false), "Init:0/1");
    }
}
