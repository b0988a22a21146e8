//! What the owners of pods share: a pod from a template, and which pod is missed least.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::read::*;

/// A pod of a template, owned by `owner`; the caller names it.
pub(crate) fn from_template(owner: &Value, template: &Value) -> Value {
    let mut pod = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "namespace": text(owner, "/metadata/namespace"),
            "ownerReferences": [reference(owner)],
        },
        "spec": template["spec"],
    });
    for key in ["labels", "annotations", "finalizers"] {
        if let Some(value) = template.at(&format!("/metadata/{key}")) {
            pod["metadata"][key] = value.clone();
        }
    }
    pod
}

/// Sorts pods: those that are missed least first.
pub(crate) fn by_usefulness(pods: &mut [&Value]) {
    let phase = |pod: &Value| match text(pod, "/status/phase") {
        "Pending" | "" => 0,
        "Unknown" => 1,
        _ => 2,
    };
    let restarts = |pod: &Value| {
        let statuses = items(pod, "/status/containerStatuses");
        statuses.iter().map(|status| int(status, "/restartCount")).max().unwrap_or(0)
    };
    let cost = |pod: &Value| {
        annotation(pod, "controller.kubernetes.io/pod-deletion-cost").parse::<i64>().unwrap_or(0)
    };
    let crowd: Vec<String> = pods.iter().map(|pod| text(pod, "/spec/nodeName").to_owned()).collect();
    let neighbours = |pod: &Value| {
        let node = text(pod, "/spec/nodeName");
        crowd.iter().filter(|other| *other == node).count()
    };
    let since = |pod: &Value| {
        let ready = find_condition(&pod["status"], "Ready");
        ready.and_then(|ready| time(ready, "/lastTransitionTime"))
    };
    pods.sort_by_key(|pod| {
        (
            !text(pod, "/spec/nodeName").is_empty(),
            phase(pod),
            is_ready(pod),
            cost(pod),
            std::cmp::Reverse(neighbours(pod)),
            std::cmp::Reverse(since(pod)),
            std::cmp::Reverse(restarts(pod)),
            std::cmp::Reverse(time(pod, "/metadata/creationTimestamp")),
            text(pod, "/metadata/name").to_owned(),
        )
    });
}
