//! Defaults that depend on other fields, one function per type.

use serde_json::{Map, Value, json};

use crate::defaults::{Fill, put};
use crate::reach::Reach;

type Object = Map<String, Value>;

fn text<'m>(map: &'m Object, key: &str) -> &'m str {
    map.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn is_set(map: &Object, key: &str) -> bool {
    map.get(key).is_some_and(|v| !v.is_null())
}

fn set(map: &mut Object, key: &str, value: Value) {
    if !is_set(map, key) {
        map.insert(key.to_owned(), value);
    }
}

/// The child object, made when absent.
fn child<'m>(map: &'m mut Object, key: &str) -> Option<&'m mut Object> {
    let slot = map.entry(key).or_insert_with(|| json!({}));
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

fn items<'m>(map: &'m mut Object, key: &str) -> impl Iterator<Item = &'m mut Object> + use<'m> {
    map.get_mut(key).and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

pub(crate) fn pod_spec(spec: &mut Object) {
    // The deprecated alias is written beside the name it stands for.
    let name = match text(spec, "serviceAccountName") {
        "" => text(spec, "serviceAccount").to_owned(),
        name => name.to_owned(),
    };
    if !name.is_empty() {
        spec.insert("serviceAccountName".to_owned(), Value::from(name.as_str()));
        spec.insert("serviceAccount".to_owned(), Value::from(name));
    }
    if spec.get("hostNetwork") == Some(&Value::Bool(true)) {
        for list in ["containers", "initContainers"] {
            for container in items(spec, list) {
                for port in items(container, "ports") {
                    let host = port.get("hostPort").and_then(Value::as_i64).unwrap_or(0);
                    if let (0, Some(port_number)) = (host, port.get("containerPort").cloned()) {
                        port.insert("hostPort".to_owned(), port_number);
                    }
                }
            }
        }
    }
}

/// Only pods, not templates: requests follow limits.
pub(crate) fn pod(pod: &mut Object) {
    let Some(spec) = child(pod, "spec") else { return };
    set(spec, "enableServiceLinks", Value::Bool(true));
    for list in ["containers", "initContainers"] {
        for container in items(spec, list) {
            let Some(resources) = container.get_mut("resources").and_then(Value::as_object_mut) else {
                continue;
            };
            let Some(limits) = resources.get("limits").and_then(Value::as_object).cloned() else { continue };
            let Some(requests) = child(resources, "requests") else { continue };
            for (name, limit) in limits {
                set(requests, &name, limit);
            }
        }
    }
}

pub(crate) fn container(container: &mut Object) {
    if text(container, "imagePullPolicy").is_empty() {
        let policy = if is_latest(text(container, "image")) { "Always" } else { "IfNotPresent" };
        container.insert("imagePullPolicy".to_owned(), Value::from(policy));
    }
}

/// Whether an image has no tag, no digest, or the tag `latest`.
fn is_latest(image: &str) -> bool {
    if image.contains('@') {
        return false;
    }
    let last = image.rsplit('/').next().unwrap_or_default();
    last.split_once(':').is_none_or(|(_, tag)| tag == "latest")
}

pub(crate) fn image_volume(source: &mut Object) {
    if text(source, "pullPolicy").is_empty() {
        let policy = if is_latest(text(source, "reference")) { "Always" } else { "IfNotPresent" };
        source.insert("pullPolicy".to_owned(), Value::from(policy));
    }
}

pub(crate) fn device_request(request: &mut Object) {
    if text(request, "allocationMode") == "ExactCount" {
        // Zero is none.
        if request.get("count").is_none_or(|count| count.is_null() || count == 0) {
            request.insert("count".to_owned(), Value::from(1));
        }
    }
}

/// Numbers of a queue are plain: zero is absent.
pub(crate) fn queuing(queue: &mut Object) {
    for (key, value) in [("queues", 64), ("handSize", 8), ("queueLengthLimit", 50)] {
        if queue.get(key).is_none_or(|number| number.is_null() || number == 0) {
            queue.insert(key.to_owned(), Value::from(value));
        }
    }
}

/// One range of addresses and the list of them are two spellings of one thing.
pub(crate) fn node_spec(spec: &mut Object) {
    let first = spec.get("podCIDRs").and_then(|list| list.get(0)).cloned();
    match (text(spec, "podCIDR"), first) {
        ("", Some(first)) => drop(spec.insert("podCIDR".to_owned(), first)),
        ("", None) => {}
        (one, None) => {
            let list = json!([one]);
            spec.insert("podCIDRs".to_owned(), list);
        }
        _ => {}
    }
}

pub(crate) fn probe(probe: &mut Object) {
    // Numbers of a probe are plain: zero is absent.
    for (key, value) in
        [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)]
    {
        if probe.get(key).and_then(Value::as_i64).unwrap_or(0) == 0 {
            probe.insert(key.to_owned(), Value::from(value));
        }
    }
}

pub(crate) fn volume(volume: &mut Object) {
    if !volume.iter().any(|(key, value)| key != "name" && !value.is_null()) {
        volume.insert("emptyDir".to_owned(), json!({}));
    }
}

pub(crate) fn claim(object: &mut Object) {
    if let Some(status) = child(object, "status") {
        put(status, "phase", Fill::Str("Pending"));
    }
}

pub(crate) fn claim_templates(spec: &mut Object) {
    for claim in items(spec, "volumeClaimTemplates") {
        set(claim, "apiVersion", Value::from("v1"));
        set(claim, "kind", Value::from("PersistentVolumeClaim"));
    }
}

pub(crate) fn service_spec(spec: &mut Object) {
    let kind = text(spec, "type").to_owned();
    if text(spec, "sessionAffinity") == "ClientIP" {
        let timeout = child(spec, "sessionAffinityConfig").and_then(|config| child(config, "clientIP"));
        if let Some(client) = timeout {
            set(client, "timeoutSeconds", Value::from(10_800));
        }
    } else {
        spec.shift_remove("sessionAffinityConfig");
    }
    for port in items(spec, "ports") {
        put(port, "protocol", Fill::Str("TCP"));
        let target = port.get("targetPort");
        let unset = target.is_none_or(|t| t.is_null() || t.as_i64() == Some(0) || t.as_str() == Some(""));
        if let (true, Some(number)) = (unset, port.get("port").cloned()) {
            port.insert("targetPort".to_owned(), number);
        }
    }
    let addresses = spec.get("externalIPs").is_some_and(|l| l.as_array().is_some_and(|l| !l.is_empty()));
    if kind == "NodePort" || kind == "LoadBalancer" || (kind == "ClusterIP" && addresses) {
        put(spec, "externalTrafficPolicy", Fill::Str("Cluster"));
    }
    if kind == "LoadBalancer" {
        set(spec, "allocateLoadBalancerNodePorts", Value::Bool(true));
    }
    if kind != "ExternalName" {
        put(spec, "internalTrafficPolicy", Fill::Str("Cluster"));
    }
}

pub(crate) fn namespace(object: &mut Object) {
    if let Some(metadata) = child(object, "metadata") {
        let name = text(metadata, "name").to_owned();
        if !name.is_empty()
            && let Some(labels) = child(metadata, "labels")
        {
            labels.insert("kubernetes.io/metadata.name".to_owned(), Value::from(name));
        }
    }
    if let Some(status) = child(object, "status") {
        put(status, "phase", Fill::Str("Active"));
    }
}

pub(crate) fn replication_controller(object: &mut Object) {
    let labels = object.get("spec").and_then(|s| s.at("/template/metadata/labels")).cloned();
    let labels = labels.filter(|labels| labels.as_object().is_some_and(|labels| !labels.is_empty()));
    let is_bare = |map: &Object, key: &str| {
        map.get(key).is_none_or(|value| value.as_object().is_none_or(Map::is_empty))
    };
    if let Some(spec) = child(object, "spec") {
        set(spec, "replicas", Value::from(1));
        if let Some(labels) = labels.clone().filter(|_| is_bare(spec, "selector")) {
            spec.insert("selector".to_owned(), labels);
        }
    }
    if let (Some(labels), Some(metadata)) = (labels, child(object, "metadata"))
        && is_bare(metadata, "labels")
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

pub(crate) fn limit_range_item(item: &mut Object) {
    if text(item, "type") != "Container" {
        return;
    }
    let copies = [("default", "max"), ("defaultRequest", "default"), ("defaultRequest", "min")];
    for (to, from) in copies {
        let Some(source) = item.get(from).and_then(Value::as_object).cloned() else { continue };
        if let Some(target) = child(item, to) {
            for (name, value) in source {
                set(target, &name, value);
            }
        }
    }
}

/// Values of a rolling update; with another strategy the server writes zeros, because its own fields are plain numbers.
fn rolling(strategy: &mut Object, values: &[(&str, Value)]) {
    let rolls = text(strategy, "type") == "RollingUpdate";
    if !rolls && !is_set(strategy, "rollingUpdate") {
        return;
    }
    if let Some(update) = child(strategy, "rollingUpdate") {
        for (key, value) in values {
            set(update, key, if rolls { value.clone() } else { Value::from(0) });
        }
    }
}

pub(crate) fn deployment_strategy(strategy: &mut Object) {
    rolling(strategy, &[("maxUnavailable", Value::from("25%")), ("maxSurge", Value::from("25%"))]);
}

pub(crate) fn stateful_set_strategy(strategy: &mut Object) {
    // Only a strategy without a type gets the struct; a named one keeps what it has.
    if text(strategy, "type").is_empty() {
        strategy.insert("type".to_owned(), Value::from("RollingUpdate"));
        set(strategy, "rollingUpdate", json!({}));
    }
    if is_set(strategy, "rollingUpdate") {
        rolling(strategy, &[("partition", Value::from(0))]);
    }
}

pub(crate) fn daemon_set_strategy(strategy: &mut Object) {
    rolling(strategy, &[("maxUnavailable", Value::from(1)), ("maxSurge", Value::from(0))]);
}

pub(crate) fn job(object: &mut Object) {
    let labels = object.get("spec").and_then(|s| s.at("/template/metadata/labels")).cloned();
    if let Some(spec) = child(object, "spec") {
        if !is_set(spec, "completions") && !is_set(spec, "parallelism") {
            spec.insert("completions".to_owned(), Value::from(1));
        }
        set(spec, "parallelism", Value::from(1));
        let limit = if is_set(spec, "backoffLimitPerIndex") { i32::MAX } else { 6 };
        set(spec, "backoffLimit", Value::from(limit));
        put(spec, "completionMode", Fill::Str("NonIndexed"));
        set(spec, "suspend", Value::Bool(false));
        set(spec, "manualSelector", Value::Bool(false));
        let replacement = if is_set(spec, "podFailurePolicy") { "Failed" } else { "TerminatingOrFailed" };
        put(spec, "podReplacementPolicy", Fill::Str(replacement));
    }
    if let (Some(labels), Some(metadata)) = (labels.filter(|l| !l.is_null()), child(object, "metadata"))
        && metadata.get("labels").is_none_or(|l| l.as_object().is_none_or(Map::is_empty))
    {
        metadata.insert("labels".to_owned(), labels);
    }
}

pub(crate) fn cron_job(object: &mut Object) {
    let Some(spec) = child(object, "spec") else { return };
    put(spec, "concurrencyPolicy", Fill::Str("Allow"));
    set(spec, "suspend", Value::Bool(false));
    set(spec, "successfulJobsHistoryLimit", Value::from(3));
    set(spec, "failedJobsHistoryLimit", Value::from(1));
}

pub(crate) fn autoscaler_v2(spec: &mut Object) {
    if spec.get("metrics").is_none_or(|m| m.as_array().is_none_or(Vec::is_empty)) {
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 80}}});
        spec.insert("metrics".to_owned(), json!([cpu]));
    }
    let Some(behavior) = spec.get_mut("behavior").and_then(Value::as_object_mut) else { return };
    if let Some(up) = child(behavior, "scaleUp") {
        set(up, "stabilizationWindowSeconds", Value::from(0));
        put(up, "selectPolicy", Fill::Str("Max"));
        let pods = json!({"type": "Pods", "value": 4, "periodSeconds": 15});
        set(up, "policies", json!([pods, {"type": "Percent", "value": 100, "periodSeconds": 15}]));
    }
    if let Some(down) = child(behavior, "scaleDown") {
        put(down, "selectPolicy", Fill::Str("Max"));
        set(down, "policies", json!([{"type": "Percent", "value": 100, "periodSeconds": 15}]));
    }
}

pub(crate) fn network_policy(spec: &mut Object) {
    if spec.get("policyTypes").is_some_and(|t| t.as_array().is_some_and(|l| !l.is_empty())) {
        return;
    }
    let egress = spec.get("egress").is_some_and(|e| e.as_array().is_some_and(|l| !l.is_empty()));
    let types = if egress { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
    spec.insert("policyTypes".to_owned(), types);
}

pub(crate) fn subject(subject: &mut Object) {
    let group = match text(subject, "kind") {
        "User" | "Group" => "rbac.authorization.k8s.io",
        _ => return,
    };
    put(subject, "apiGroup", Fill::Str(group));
}

pub(crate) fn mutating_webhook(webhook: &mut Object) {
    put(webhook, "reinvocationPolicy", Fill::Str("Never"));
}

pub(crate) fn crd_spec(spec: &mut Object) {
    let Some(names) = child(spec, "names") else { return };
    let kind = text(names, "kind").to_owned();
    if !kind.is_empty() {
        put_text(names, "singular", kind.to_lowercase());
        put_text(names, "listKind", format!("{kind}List"));
    }
}

fn put_text(map: &mut Object, key: &str, value: String) {
    if text(map, key).is_empty() {
        map.insert(key.to_owned(), Value::from(value));
    }
}
