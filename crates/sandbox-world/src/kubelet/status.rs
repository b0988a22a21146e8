//! The pod status that a kubelet writes: a function of the pod and of what it remembers.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::image;
use super::run::{ContainerRun, ContainerState, Ended, PodRun};
use super::script::is_sidecar;
use crate::controllers::read::{condition, find_condition, is_true, items, set_condition, text};
use crate::time::Time;
use crate::view::View;

/// Conditions that the kubelet writes; all others are left as they are.
const OWN: [&str; 4] = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"];

/// The status as it should be now.
pub(crate) fn status(view: View<'_>, pod: &Value, run: &PodRun) -> Value {
    let old = &pod["status"];
    let specs: Vec<&Value> =
        items(pod, "/spec/initContainers").iter().chain(items(pod, "/spec/containers")).collect();
    let phase = phase(pod, run, &specs);
    let mut status = json!({"phase": phase});
    if let Some(generation) = pod.at("/metadata/generation") {
        status["observedGeneration"] = generation.clone();
    }
    status["conditions"] = conditions(view.now, pod, run, &specs, phase);
    if run.overdue {
        status["reason"] = json!("DeadlineExceeded");
        status["message"] = json!("Pod was active on the node longer than the specified deadline");
    }
    let host = view.get("", "nodes", "", &run.node);
    let host = host.map_or(&[] as &[Value], |node| items(node, "/status/addresses"));
    let host = host.iter().find(|address| text(address, "/type") == "InternalIP");
    if let Some(ip) = host.map(|address| &address["address"]) {
        status["hostIP"] = ip.clone();
        status["hostIPs"] = json!([{"ip": ip}]);
    }
    if !run.address.is_empty() {
        let ip = if pod.at("/spec/hostNetwork") == Some(&json!(true)) {
            status["hostIP"].clone()
        } else {
            json!(run.address.as_str())
        };
        status["podIPs"] = json!([{"ip": ip}]);
        status["podIP"] = ip;
    }
    status["startTime"] = old.get("startTime").cloned().unwrap_or_else(|| json!(run.accepted.text()));
    let (name, namespace) = (text(pod, "/metadata/name"), text(pod, "/metadata/namespace"));
    let id = format!("{name}_{namespace}({})", run.uid);
    let waits_for_init = run.containers.iter().any(|container| container.init);
    for (key, init) in [("initContainerStatuses", true), ("containerStatuses", false)] {
        let shown: Vec<Value> = run
            .containers
            .iter()
            .zip(&specs)
            .filter(|(container, _)| container.init == init)
            .map(|(container, spec)| container_status(container, spec, &id, waits_for_init))
            .collect();
        if !shown.is_empty() {
            status[key] = json!(shown);
        }
    }
    for key in ["qosClass", "ephemeralContainerStatuses", "resourceClaimStatuses", "nominatedNodeName"] {
        if let Some(value) = old.get(key) {
            status[key] = value.clone();
        }
    }
    status
}

/// `40s`, `1m20s`, `5m0s`.
fn shown(span: std::time::Duration) -> String {
    match (span.as_secs() / 60, span.as_secs() % 60) {
        (0, seconds) => format!("{seconds}s"),
        (minutes, seconds) => format!("{minutes}m{seconds}s"),
    }
}

fn terminated(ended: &Ended, id: &str) -> Value {
    let mut state = json!({"exitCode": ended.exit, "reason": ended.reason.as_str()});
    if !ended.message.is_empty() {
        state["message"] = json!(ended.message);
    }
    state["startedAt"] = json!(ended.started.text());
    state["finishedAt"] = json!(ended.finished.text());
    state["containerID"] = json!(id);
    json!({"terminated": state})
}

fn container_status(run: &ContainerRun, spec: &Value, pod: &str, waits_for_init: bool) -> Value {
    let image = text(spec, "/image");
    let id =
        |restarts: i64| format!("containerd://{}", image::digest(&format!("{pod}/{}/{restarts}", run.name)));
    let first = if waits_for_init { "PodInitializing" } else { "ContainerCreating" };
    let waiting = |reason: &str, message: &str| match message {
        "" => json!({"waiting": {"reason": reason}}),
        _ => json!({"waiting": {"reason": reason, "message": message}}),
    };
    let state = match (&run.state, &run.shown) {
        (ContainerState::Waiting | ContainerState::Pulling { .. }, None) => waiting(first, ""),
        (ContainerState::Waiting | ContainerState::Pulling { .. }, Some((reason, message))) => {
            waiting(reason, message)
        }
        (ContainerState::Stuck { reason, message, .. }, _) => waiting(reason, message),
        (ContainerState::Running { since }, _) => json!({"running": {"startedAt": since.text()}}),
        (ContainerState::Ended(ended), _) => terminated(ended, &id(run.restarts)),
        (ContainerState::Backoff { wait, .. }, _) => {
            let wait = shown(*wait);
            let message = format!("back-off {wait} restarting failed container={} pod={pod}", run.name);
            waiting("CrashLoopBackOff", &message)
        }
    };
    let is_up = matches!(run.state, ContainerState::Running { .. });
    let was_up = is_up || run.last.is_some() || matches!(run.state, ContainerState::Ended(_));
    let last = run
        .last
        .as_ref()
        .filter(|_| !matches!(&run.state, ContainerState::Ended(now) if Some(now) == run.last.as_ref()));
    let shown_last = match last {
        Some(last) => terminated(
            last,
            &id(run.restarts - i64::from(is_up || !matches!(run.state, ContainerState::Backoff { .. }))),
        ),
        None => json!({}),
    };
    let mut status = json!({
        "name": run.name.as_str(), "state": state, "lastState": shown_last,
        "ready": if run.init && !is_sidecar(spec) { matches!(&run.state, ContainerState::Ended(ended) if ended.exit == 0) } else { run.ready },
        "restartCount": run.restarts, "image": image,
        "imageID": if was_up { image::id(image) } else { String::new() },
        "started": is_up && run.started,
    });
    if was_up {
        status["containerID"] = json!(id(run.restarts));
    }
    status
}

fn phase(pod: &Value, run: &PodRun, specs: &[&Value]) -> &'static str {
    let policy = text(pod, "/spec/restartPolicy");
    if run.overdue {
        return "Failed";
    }
    let inits = run.containers.iter().zip(specs).filter(|(container, _)| container.init);
    for (container, spec) in inits {
        match &container.state {
            ContainerState::Ended(ended) if ended.exit == 0 => {}
            ContainerState::Ended(_) if policy == "Never" && !is_sidecar(spec) => return "Failed",
            ContainerState::Running { .. } if is_sidecar(spec) && container.started => {}
            _ => return if run.stopped { "Failed" } else { "Pending" },
        }
    }
    let (mut running, mut waiting, mut stopped, mut good) = (0, 0, 0, 0);
    for container in run.containers.iter().filter(|container| !container.init) {
        match (&container.state, &container.last) {
            (ContainerState::Running { .. }, _) => running += 1,
            (ContainerState::Ended(ended), _) => {
                stopped += 1;
                good += i32::from(ended.exit == 0);
            }
            (_, Some(_)) => stopped += 1,
            (_, None) => waiting += 1,
        }
    }
    match (waiting, running, stopped) {
        _ if run.stopped && waiting == 0 => {
            if stopped == good {
                "Succeeded"
            } else {
                "Failed"
            }
        }
        (0, 0, stopped) if stopped > 0 => match policy {
            "Always" => "Running",
            _ if stopped == good => "Succeeded",
            "Never" => "Failed",
            _ => "Running",
        },
        (0, running, _) if running > 0 => "Running",
        _ => "Pending",
    }
}

fn conditions(now: Time, pod: &Value, run: &PodRun, specs: &[&Value], phase: &str) -> Value {
    let now = now.text();
    let over = matches!(phase, "Succeeded" | "Failed");
    let mut list = json!({"conditions": []});
    let mut put = |kind: &str, ok: bool, reason: &str, message: &str| {
        let mut new = condition(kind, if ok { "True" } else { "False" }, reason, message, &now);
        new["lastProbeTime"] = Value::Null;
        if let Some(generation) = pod.at("/metadata/generation") {
            new["observedGeneration"] = generation.clone();
        }
        if let Some(known) =
            find_condition(&pod["status"], kind).filter(|known| known["status"] == new["status"])
        {
            new["lastTransitionTime"] = known["lastTransitionTime"].clone();
        }
        set_condition(&mut list, new);
    };
    put("PodReadyToStartContainers", !run.address.is_empty() && !over, "", "");
    let is_done = |container: &ContainerRun, spec: &Value| match &container.state {
        ContainerState::Ended(ended) => ended.exit == 0,
        ContainerState::Running { .. } => is_sidecar(spec) && container.started,
        _ => false,
    };
    let named = |wanted: &dyn Fn(&ContainerRun, &Value) -> bool| {
        let pairs = run.containers.iter().zip(specs).filter(|(container, spec)| wanted(container, spec));
        pairs.map(|(container, _)| container.name.as_str()).collect::<Vec<&str>>()
    };
    let undone = named(&|container, spec| container.init && !is_done(container, spec));
    let ended = if phase == "Succeeded" { "PodCompleted" } else { "" };
    match undone.as_slice() {
        [] => put("Initialized", true, ended, ""),
        names => {
            let message = format!("containers with incomplete status: [{}]", names.join(" "));
            put("Initialized", false, "ContainersNotInitialized", &message);
        }
    }
    let unready = named(&|container, spec| (!container.init || is_sidecar(spec)) && !container.ready);
    readiness(pod, phase, &unready, &mut put);
    for known in items(&pod["status"], "/conditions") {
        if !OWN.contains(&text(known, "/type")) {
            set_condition(&mut list, known.clone());
        }
    }
    list["conditions"].take()
}

/// Ready and ContainersReady, and what of a pod that has ended.
fn readiness(pod: &Value, phase: &str, unready: &[&str], put: &mut dyn FnMut(&str, bool, &str, &str)) {
    let message = format!("containers with unready status: [{}]", unready.join(" "));
    let mut gates = items(pod, "/spec/readinessGates").iter().map(|gate| text(gate, "/conditionType"));
    let closed = gates.find(|gate| !is_true(&pod["status"], gate));
    let (reason, message) = match phase {
        "Succeeded" => ("PodCompleted", ""),
        "Failed" => ("PodFailed", ""),
        _ if !unready.is_empty() => ("ContainersNotReady", message.as_str()),
        _ => ("", ""),
    };
    match closed.filter(|_| reason.is_empty()) {
        Some(gate) => {
            let message = format!("corresponding condition of pod readiness gate \"{gate}\" does not exist.");
            put("Ready", false, "ReadinessGatesNotReady", &message);
        }
        None => put("Ready", reason.is_empty(), reason, message),
    }
    put("ContainersReady", reason.is_empty(), reason, message);
}
