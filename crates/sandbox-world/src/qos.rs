//! What the API server says of a new pod: that it waits, and how much it is promised.

use kube_meaning::quantity::same_quantity;
use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use crate::controllers::read::{condition, items};
use crate::time::Time;

/// The first status of a pod.
pub(crate) fn first_status(pod: &Value, now: Time) -> Value {
    let mut status = json!({"phase": "Pending", "qosClass": class(pod)});
    if !items(pod, "/spec/schedulingGates").is_empty() {
        let message = "Scheduling is blocked due to non-empty scheduling gates";
        let mut gated = condition("PodScheduled", "False", "SchedulingGated", message, &now.text());
        gated["lastTransitionTime"] = Value::Null;
        gated["lastProbeTime"] = Value::Null;
        status["conditions"] = json!([gated]);
    }
    status
}

/// Guaranteed when every container has limits for both and asks for just as much; best effort when none asks for anything.
fn class(pod: &Value) -> &'static str {
    let containers = || items(pod, "/spec/initContainers").iter().chain(items(pod, "/spec/containers"));
    let amount = |container: &Value, list: &str, name: &str| {
        container.at(&format!("/resources/{list}/{name}")).filter(|amount| !is_zero(amount)).cloned()
    };
    let any = containers().any(|container| {
        ["requests", "limits"]
            .iter()
            .any(|list| ["cpu", "memory"].iter().any(|name| amount(container, list, name).is_some()))
    });
    if !any {
        return "BestEffort";
    }
    let full = containers().all(|container| {
        ["cpu", "memory"].iter().all(|name| {
            let (asked, limit) = (amount(container, "requests", name), amount(container, "limits", name));
            limit.is_some_and(|limit| asked.is_none_or(|asked| same_quantity(&asked, &limit)))
        })
    });
    if full { "Guaranteed" } else { "Burstable" }
}

fn is_zero(amount: &Value) -> bool {
    same_quantity(amount, &json!("0"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_class_follows_requests_and_limits() {
        let pod = |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        assert_eq!(class(&pod(json!({}))), "BestEffort");
        assert_eq!(class(&pod(json!({"requests": {"cpu": "1"}}))), "Burstable");
        let both = json!({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "1000m", "memory": "1024Mi"}});
        assert_eq!(class(&pod(both)), "Guaranteed");
    }
}
