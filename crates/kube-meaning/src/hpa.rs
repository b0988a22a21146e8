//! The two versions of the HorizontalPodAutoscaler: the only built-in kind that is served in two shapes.
//!
//! Only the parts that both versions can say are translated; other metrics stay in the newer version.

use serde_json::{Map, Value, json};

use crate::schema::Resource;

const TARGET_CPU: &str = "targetCPUUtilizationPercentage";

/// The object in the other version, or `None` when the kind needs no translation.
pub(crate) fn convert(object: &Value, from: &Resource, to: &Resource) -> Option<Value> {
    if from.kind != "HorizontalPodAutoscaler" || from.group != "autoscaling" {
        return None;
    }
    match (from.version.as_str(), to.version.as_str()) {
        ("v1", "v2") => Some(to_v2(object)),
        ("v2", "v1") => Some(to_v1(object)),
        _ => None,
    }
}

fn to_v2(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(spec) = out.get_mut("spec").and_then(Value::as_object_mut)
        && let Some(cpu) = spec.shift_remove(TARGET_CPU)
        && !cpu.is_null()
    {
        let metric = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": cpu}}});
        spec.insert("metrics".to_owned(), json!([metric]));
    }
    if let Some(status) = out.get_mut("status").and_then(Value::as_object_mut) {
        status.shift_remove("currentCPUUtilizationPercentage");
    }
    out
}

fn to_v1(object: &Value) -> Value {
    let mut out = object.clone();
    if let Some(spec) = out.get_mut("spec").and_then(Value::as_object_mut) {
        let metrics = spec.shift_remove("metrics").unwrap_or_default();
        let cpu = metrics.as_array().into_iter().flatten().find_map(cpu_target);
        if let Some(cpu) = cpu {
            spec.insert(TARGET_CPU.to_owned(), cpu);
        }
        spec.shift_remove("behavior");
    }
    if let Some(status) = out.get_mut("status").and_then(Value::as_object_mut) {
        let keep = ["observedGeneration", "lastScaleTime", "currentReplicas", "desiredReplicas"];
        let kept: Map<String, Value> = status
            .iter()
            .filter(|(k, _)| keep.contains(&k.as_str()))
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        *status = kept;
    }
    out
}

fn cpu_target(metric: &Value) -> Option<Value> {
    if metric["type"] != "Resource" || metric["resource"]["name"] != "cpu" {
        return None;
    }
    metric["resource"]["target"].get("averageUtilization").cloned()
}
