//! HorizontalPodAutoscaler, as far as a cluster without metrics goes: its target is looked at, nothing is measured.
//!
//! The annotation `sandbox.kusion.io/metrics: "50"` on the autoscaler plays a metrics API that reports this utilisation.

use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Outcome};
use crate::store::{Event, ResourceKey};
use crate::view::View;

const COMPONENT: &str = "horizontal-pod-autoscaler";
const METRICS: &str = "sandbox.kusion.io/metrics";

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "autoscaling", "horizontalpodautoscalers") {
        return vec![Item::of(event)];
    }
    if event.resource.group != "apps" {
        return Vec::new();
    }
    let kind = text(&event.object.value, "/kind");
    let all = view
        .store
        .list(&ResourceKey::new("autoscaling", "horizontalpodautoscalers"), Some(&event.key.namespace));
    let aimed = all.filter(|(_, scaler)| {
        text(&scaler.value, "/spec/scaleTargetRef/kind") == kind
            && text(&scaler.value, "/spec/scaleTargetRef/name") == event.key.name
    });
    aimed
        .map(|(key, _)| Item::new("autoscaling", "horizontalpodautoscalers", &key.namespace, &key.name))
        .collect()
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Outcome {
    let mut outcome = Outcome::default();
    let scaler = view.get("autoscaling", "horizontalpodautoscalers", &item.key.namespace, &item.key.name);
    let Some(scaler) = scaler else { return outcome };
    let target = &scaler["spec"]["scaleTargetRef"];
    let api = text(target, "/apiVersion");
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    let served = view.registry.by_kind(group, version, text(target, "/kind"));
    let (namespace, name) = (text(scaler, "/metadata/namespace"), text(target, "/name"));
    let found =
        served.as_ref().and_then(|served| view.get(group, &served.resource().plural, namespace, name));
    let mut status = scaler.get("status").cloned().unwrap_or_else(|| json!({}));
    let now = view.now.text();
    let put = |status: &mut Value, kind: &str, state: &str, reason: &str, message: &str| {
        set_condition(status, condition(kind, state, reason, message, &now));
    };
    let Some(found) = found else {
        let plural = served.as_ref().map_or("", |served| served.resource().plural.as_str());
        let message = format!(
            "the HPA controller was unable to get the target's current scale: {plural}.{group} \"{name}\" not found"
        );
        put(&mut status, "AbleToScale", "False", "FailedGetScale", &message);
        outcome.changes.push(Change::Note(warning(
            scaler,
            COMPONENT,
            "FailedGetScale",
            format!("{plural}.{group} \"{name}\" not found"),
        )));
        finish(scaler, status, &mut outcome);
        return outcome;
    };
    let current = int(found, "/spec/replicas");
    put(
        &mut status,
        "AbleToScale",
        "True",
        "SucceededGetScale",
        "the HPA controller was able to get the target's current scale",
    );
    status["currentReplicas"] = json!(int(found, "/status/replicas"));
    status["desiredReplicas"] = json!(int(&status, "/desiredReplicas"));
    let (least, most) = (int_or(scaler, "/spec/minReplicas", 1), int_or(scaler, "/spec/maxReplicas", 1));
    let measured = annotation(scaler, METRICS).parse::<i64>().ok();
    let in_bounds = current.clamp(least, most);
    if current == 0 {
        put(
            &mut status,
            "ScalingActive",
            "False",
            "ScalingDisabled",
            "scaling is disabled since the replica count of the target is zero",
        );
    } else if in_bounds != current {
        let (reason, which) = if current > most {
            ("TooManyReplicas", "above Spec.MaxReplicas")
        } else {
            ("TooFewReplicas", "below Spec.MinReplicas")
        };
        rescale(view, scaler, found, in_bounds, &format!("Current number of replicas {which}"), &mut outcome);
        status["desiredReplicas"] = json!(in_bounds);
        put(&mut status, "ScalingLimited", "True", reason, "the desired replica count is out of bounds");
    } else if let Some(measured) = measured {
        let aim = int_or(scaler, "/spec/metrics/0/resource/target/averageUtilization", 80).max(1);
        let wanted = ((current * measured + aim - 1) / aim).clamp(least, most);
        put(
            &mut status,
            "ScalingActive",
            "True",
            "ValidMetricFound",
            "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)",
        );
        put(
            &mut status,
            "ScalingLimited",
            "False",
            "DesiredWithinRange",
            "the desired count is within the acceptable range",
        );
        status["desiredReplicas"] = json!(wanted);
        if wanted != current {
            let way = if wanted > current { "above" } else { "below" };
            rescale(
                view,
                scaler,
                found,
                wanted,
                &format!("cpu resource utilization (percentage of request) {way} target"),
                &mut outcome,
            );
        }
    } else {
        let message = "the HPA was unable to compute the replica count: failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
        put(&mut status, "ScalingActive", "False", "FailedGetResourceMetric", message);
        let short = message.trim_start_matches("the HPA was unable to compute the replica count: ");
        outcome.changes.push(Change::Note(warning(
            scaler,
            COMPONENT,
            "FailedGetResourceMetric",
            short.to_owned(),
        )));
    }
    finish(scaler, status, &mut outcome);
    outcome
}

fn rescale(view: View<'_>, scaler: &Value, target: &Value, size: i64, why: &str, outcome: &mut Outcome) {
    let Some(served) = view.registry.of_object(target) else { return };
    let key = served.key();
    outcome.changes.push(patch(&key.group, &key.plural, target, "", json!({"spec": {"replicas": size}})));
    let message = format!("New size: {size}; reason: {why}");
    outcome.changes.push(Change::Note(normal(scaler, COMPONENT, "SuccessfulRescale", message)));
}

fn finish(scaler: &Value, mut status: Value, outcome: &mut Outcome) {
    if status.get("currentMetrics").is_none() {
        status["currentMetrics"] = Value::Null;
    }
    if status["currentMetrics"].is_null()
        && let Some(map) = status.as_object_mut()
    {
        map.shift_remove("currentMetrics");
    }
    if scaler.get("status") != Some(&status) {
        outcome.changes.push(put_status("autoscaling", "horizontalpodautoscalers", scaler, status));
    } else {
        // Nothing new: the Event was told before.
        outcome.changes.retain(|change| !matches!(change, Change::Note(_)));
    }
}
