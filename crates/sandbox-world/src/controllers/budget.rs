//! PodDisruptionBudget: how many of its pods may be away.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::Reaction;
use crate::store::{Event, ResourceKey};
use crate::view::View;

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "policy", "poddisruptionbudgets") {
        return vec![Item::of(event)];
    }
    if !is_of(event, "", "pods") {
        return Vec::new();
    }
    let all =
        view.store.list(&ResourceKey::new("policy", "poddisruptionbudgets"), Some(&event.key.namespace));
    let touched = all.filter(|(_, budget)| {
        let selector = selector(budget.value.at("/spec/selector"));
        selector.is_some_and(|selector| selector.matches_object(&event.object.value))
    });
    touched.map(|(key, _)| Item::new("policy", "poddisruptionbudgets", &key.namespace, &key.name)).collect()
}

/// How many pods the owners of these pods want together.
fn expected(view: View<'_>, pods: &[&Value]) -> i64 {
    let mut seen: Vec<&str> = Vec::new();
    let mut sum = 0;
    for pod in pods {
        let Some(owner) = controller_ref(pod) else {
            sum += 1;
            continue;
        };
        let uid = text(owner, "/uid");
        if seen.contains(&uid) {
            continue;
        }
        seen.push(uid);
        let namespace = text(pod, "/metadata/namespace");
        let plural = match text(owner, "/kind") {
            "ReplicaSet" => "replicasets",
            "StatefulSet" => "statefulsets",
            _ => {
                sum += pods.iter().filter(|other| is_controlled_by(other, uid)).count() as i64;
                continue;
            }
        };
        let Some(set) = view.get("apps", plural, namespace, text(owner, "/name")) else { continue };
        // A Deployment's sets count once, by the Deployment.
        let deployment = controller_of(set, "Deployment");
        let deployment =
            deployment.and_then(|key| view.get("apps", "deployments", &key.namespace, &key.name));
        match deployment {
            Some(deployment) if seen.contains(&text(deployment, "/metadata/uid")) => {}
            Some(deployment) => {
                seen.push(text(deployment, "/metadata/uid"));
                sum += int_or(deployment, "/spec/replicas", 1);
            }
            None => sum += int_or(set, "/spec/replicas", 1),
        }
    }
    sum
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(budget) = view.get("policy", "poddisruptionbudgets", &item.key.namespace, &item.key.name) else {
        return outcome;
    };
    let selector = selector(budget.at("/spec/selector"));
    let pods: Vec<&Value> = view
        .store
        .list(&ResourceKey::new("", "pods"), Some(text(budget, "/metadata/namespace")))
        .map(|(_, pod)| &*pod.value)
        .filter(|pod| {
            selector.as_ref().is_some_and(|selector| selector.matches_object(pod)) && !is_finished(pod)
        })
        .collect();
    let healthy = pods.iter().filter(|pod| is_ready(pod) && !is_deleting(pod)).count() as i64;
    let (mut expected, mut desired) = (pods.len() as i64, 0);
    if let Some(most) = budget.at("/spec/maxUnavailable") {
        expected = self::expected(view, &pods);
        desired = (expected - portion(Some(most), expected, true)).max(0);
    } else if let Some(least) = budget.at("/spec/minAvailable") {
        if least.is_string() {
            expected = self::expected(view, &pods);
        }
        desired = portion(Some(least), expected, true);
    }
    let allowed = if expected > 0 { (healthy - desired).max(0) } else { 0 };
    let mut status = budget.get("status").cloned().unwrap_or_else(|| json!({}));
    status["observedGeneration"] = budget["metadata"]["generation"].clone();
    for (key, count) in [
        ("disruptionsAllowed", allowed),
        ("currentHealthy", healthy),
        ("desiredHealthy", desired),
        ("expectedPods", expected),
    ] {
        status[key] = json!(count);
    }
    let (state, reason) =
        if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let mut new = condition("DisruptionAllowed", state, reason, "", &view.now.text());
    new["message"] = json!("");
    new["observedGeneration"] = budget["metadata"]["generation"].clone();
    set_condition(&mut status, new);
    if budget.get("status") != Some(&status) {
        outcome.changes.push(put_status("policy", "poddisruptionbudgets", budget, status));
    }
    outcome
}
