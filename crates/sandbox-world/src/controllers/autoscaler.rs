//! HorizontalPodAutoscaler, as far as a cluster without metrics goes: its target is looked at, nothing is measured.
//!
//! The annotation `sandbox.kusion.io/metrics: "50"` on the autoscaler plays a metrics API that reports this utilisation; on the
//! namespace `kube-system` it is a metrics server for all. `target` reports what each autoscaler aims at.

use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::{Event, ResourceKey};
use crate::view::View;

const COMPONENT: &str = "horizontal-pod-autoscaler";
/// Says which utilisation is measured.
pub(crate) const METRICS: &str = "sandbox.kusion.io/metrics";
/// Whatever an autoscaler aims at is measured.
pub(crate) const AS_WANTED: &str = "target";

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

/// An autoscaler under way: what it says of itself, and what it asks for.
struct Scaling<'w> {
    view: View<'w>,
    scaler: &'w Value,
    status: Value,
    outcome: Reaction,
}

impl Scaling<'_> {
    fn put(&mut self, kind: &str, state: &str, reason: &str, message: &str) {
        let new = condition(kind, state, reason, message, &self.view.now.text());
        set_condition(&mut self.status, new);
    }

    fn warn(&mut self, reason: &'static str, message: String) {
        self.outcome.changes.push(Change::Note(warning(self.scaler, COMPONENT, reason, message)));
    }
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let scaler = view.get("autoscaling", "horizontalpodautoscalers", &item.key.namespace, &item.key.name);
    let Some(scaler) = scaler else { return Reaction::default() };
    let status = scaler.get("status").cloned().unwrap_or_else(|| json!({}));
    let mut scaling = Scaling { view, scaler, status, outcome: Reaction::default() };
    let target = &scaler["spec"]["scaleTargetRef"];
    let api = text(target, "/apiVersion");
    let (group, version) = api.split_once('/').unwrap_or(("", api));
    let served = view.registry.by_kind(group, version, text(target, "/kind"));
    let plural = served.as_ref().map_or("", |served| served.resource().plural.as_str());
    let (namespace, name) = (text(scaler, "/metadata/namespace"), text(target, "/name"));
    match view.get(group, plural, namespace, name) {
        Some(found) => measure(&mut scaling, found),
        None => {
            let missing = format!("{plural}.{group} \"{name}\" not found");
            let message =
                format!("the HPA controller was unable to get the target's current scale: {missing}");
            scaling.put("AbleToScale", "False", "FailedGetScale", &message);
            scaling.warn("FailedGetScale", missing);
        }
    }
    let Scaling { status, mut outcome, .. } = scaling;
    if scaler.get("status") != Some(&status) {
        outcome.changes.push(put_status("autoscaling", "horizontalpodautoscalers", scaler, status));
    } else {
        // Nothing new: the Event was told before.
        outcome.changes.retain(|change| !matches!(change, Change::Note(_)));
    }
    outcome
}

/// Looks at a target that is there.
fn measure(scaling: &mut Scaling<'_>, found: &Value) {
    let scaler = scaling.scaler;
    let current = int(found, "/spec/replicas");
    let got = "the HPA controller was able to get the target's current scale";
    scaling.put("AbleToScale", "True", "SucceededGetScale", got);
    scaling.status["currentReplicas"] = json!(int(found, "/status/replicas"));
    scaling.status["desiredReplicas"] = json!(int(&scaling.status, "/desiredReplicas"));
    let (least, most) = (int_or(scaler, "/spec/minReplicas", 1), int_or(scaler, "/spec/maxReplicas", 1));
    let in_bounds = current.clamp(least, most.max(least));
    if current == 0 {
        let message = "scaling is disabled since the replica count of the target is zero";
        scaling.put("ScalingActive", "False", "ScalingDisabled", message);
    } else if in_bounds != current {
        let (reason, which) = match current > most {
            true => ("TooManyReplicas", "above Spec.MaxReplicas"),
            false => ("TooFewReplicas", "below Spec.MinReplicas"),
        };
        scaling.status["desiredReplicas"] = json!(in_bounds);
        scaling.put("ScalingLimited", "True", reason, "the desired replica count is out of bounds");
        rescale(scaling, found, in_bounds, &format!("Current number of replicas {which}"));
    } else if let Some((measured, aim)) = measured(scaling) {
        let wanted = ((current * measured + aim - 1) / aim).clamp(least, most.max(least));
        let found_metric = "the HPA was able to successfully calculate a replica count from cpu resource utilization (percentage of request)";
        scaling.put("ScalingActive", "True", "ValidMetricFound", found_metric);
        let within = "the desired count is within the acceptable range";
        scaling.put("ScalingLimited", "False", "DesiredWithinRange", within);
        scaling.status["desiredReplicas"] = json!(wanted);
        if wanted != current {
            let way = if wanted > current { "above" } else { "below" };
            let why = format!("cpu resource utilization (percentage of request) {way} target");
            rescale(scaling, found, wanted, &why);
        }
    } else {
        let short = "failed to get cpu utilization: unable to get metrics for resource cpu: unable to fetch metrics from resource metrics API: the server could not find the requested resource (get pods.metrics.k8s.io)";
        let message = format!("the HPA was unable to compute the replica count: {short}");
        scaling.put("ScalingActive", "False", "FailedGetResourceMetric", &message);
        scaling.warn("FailedGetResourceMetric", short.to_owned());
    }
}

/// What the metrics API reports, and what the autoscaler aims at; `None` where there is no metrics API.
fn measured(scaling: &Scaling<'_>) -> Option<(i64, i64)> {
    let aim = int_or(scaling.scaler, "/spec/metrics/0/resource/target/averageUtilization", 80).max(1);
    let own = annotation(scaling.scaler, METRICS);
    let all = scaling.view.get("", "namespaces", "", "kube-system");
    let said = if own.is_empty() { all.map_or("", |system| annotation(system, METRICS)) } else { own };
    let measured = if said == AS_WANTED { aim } else { said.parse().ok()? };
    Some((measured, aim))
}

fn rescale(scaling: &mut Scaling<'_>, target: &Value, size: i64, why: &str) {
    let Some(served) = scaling.view.registry.of_object(target) else { return };
    let key = served.key();
    let change = patch(&key.group, &key.plural, target, "scale", json!({"spec": {"replicas": size}}));
    let message = format!("New size: {size}; reason: {why}");
    let note = normal(scaling.scaler, COMPONENT, "SuccessfulRescale", message);
    scaling.outcome.changes.extend([change, Change::Note(note)]);
}
