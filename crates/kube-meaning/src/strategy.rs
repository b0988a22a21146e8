//! What a kind's own rules do to an object between decoding and storing.
//!
//! In: the decoded object, and for updates the live one. Out, in place: the fields that clients may not set are put back,
//! the generation is raised when the meaning changed, a Job gets its selector, a Service keeps its addresses.
//! Allocation (addresses, node ports) and admission are the caller's: they need the world.

use serde_json::{Map, Value, json};

use crate::decode::TEMPLATE_GENERATION;
use crate::reach::Reach;
use crate::reset::{Reset, reset_fields};
use crate::schema::{Resource, Schema, Ty};
use crate::ssa::Target;
use crate::typed::same_value;

type Object = Map<String, Value>;

/// Kinds whose objects have a generation.
const GENERATION: [&str; 26] = [
    "Pod",
    "Deployment",
    "ReplicaSet",
    "ReplicationController",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "PodDisruptionBudget",
    "Ingress",
    "IngressClass",
    "NetworkPolicy",
    "EndpointSlice",
    "PodTemplate",
    "PriorityClass",
    "ValidatingWebhookConfiguration",
    "MutatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "CustomResourceDefinition",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionPolicyBinding",
    "DeviceClass",
    "ResourceSlice",
];

/// Whether the kind counts generations.
pub fn has_generation(resource: &Resource) -> bool {
    resource.custom || GENERATION.contains(&resource.kind.as_str())
}

fn metadata(object: &mut Value) -> Option<&mut Object> {
    let map = object.as_object_mut()?;
    let slot = map.entry("metadata").or_insert_with(|| json!({}));
    if slot.is_null() {
        *slot = json!({});
    }
    slot.as_object_mut()
}

/// Prepares a new object: system fields, first generation, no status of the client's.
pub fn prepare_create(target: Target<'_>, object: &mut Value, uid: &str, now: &str) {
    let resource = target.resource;
    if let Some(meta) = metadata(object) {
        meta.insert("uid".to_owned(), Value::from(uid));
        meta.insert("creationTimestamp".to_owned(), Value::from(now));
        for key in
            ["deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "resourceVersion", "generation"]
        {
            meta.shift_remove(key);
        }
        if has_generation(resource) {
            meta.insert("generation".to_owned(), Value::from(1));
        }
    }
    if resource.has_subresource("status")
        && let Some(map) = object.as_object_mut()
    {
        map.shift_remove("status");
    }
    match resource.kind.as_str() {
        "Job" if !resource.custom => job_selector(object, uid),
        "DaemonSet" if !resource.custom => template_generation(object, 1),
        "Namespace" if !resource.custom => object["spec"] = json!({"finalizers": ["kubernetes"]}),
        "PersistentVolume" if !resource.custom => {
            object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": now});
        }
        "CustomResourceDefinition" if !resource.custom => {
            let versions = object["spec"]["versions"].as_array().into_iter().flatten();
            let stored: Vec<&Value> = versions.filter(|v| v["storage"] == true).map(|v| &v["name"]).collect();
            object["status"] = json!({"storedVersions": stored});
        }
        _ => {}
    }
}

/// A Job selects its pods by its own uid.
fn job_selector(object: &mut Value, uid: &str) {
    if object.at("/spec/manualSelector") == Some(&Value::Bool(true)) {
        return;
    }
    let name = object.at("/metadata/name").cloned().unwrap_or_default();
    let labels = [
        ("batch.kubernetes.io/controller-uid", Value::from(uid)),
        ("batch.kubernetes.io/job-name", name.clone()),
        ("controller-uid", Value::from(uid)),
        ("job-name", name),
    ];
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.insert("selector".to_owned(), json!({"matchLabels": {"batch.kubernetes.io/controller-uid": uid}}));
    let template = spec.entry("template").or_insert_with(|| json!({}));
    for (key, value) in &labels {
        template["metadata"]["labels"][*key] = value.clone();
    }
}

fn template_generation(object: &mut Value, generation: i64) {
    if let Some(meta) = metadata(object) {
        let annotations = meta.entry("annotations").or_insert_with(|| json!({}));
        annotations[TEMPLATE_GENERATION] = Value::from(generation.to_string());
    }
}

/// Prepares an update: what this path may not change is put back, and the generation follows the meaning. `hollow`: the
/// request held an empty list or map ([`is_hollow`]).
pub fn prepare_update(target: Target<'_>, live: &Value, new: &mut Value, hollow: bool) {
    restore_metadata(live, new);
    match reset_fields(target) {
        Reset::Nothing => {}
        Reset::Status => restore(live, new, "status"),
        Reset::SpecAndStatus => {
            restore(live, new, "spec");
            restore(live, new, "status");
        }
        reset => restore_for_status(target, reset, live, new),
    }
    if !target.resource.custom && target.subresource.is_empty() {
        keep_own(target.resource, live, new);
    }
    bump_generation(target, live, new, hollow);
}

fn restore(live: &Value, new: &mut Value, key: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match live.get(key) {
        Some(value) => {
            map.insert(key.to_owned(), value.clone());
        }
        None => {
            map.shift_remove(key);
        }
    }
}

fn restore_metadata(live: &Value, new: &mut Value) {
    let old = live.get("metadata").and_then(Value::as_object);
    let Some(meta) = metadata(new) else { return };
    let system = [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
        "resourceVersion",
        "namespace",
    ];
    for key in system {
        match old.and_then(|m| m.get(key)) {
            Some(value) => {
                meta.insert(key.to_owned(), value.clone());
            }
            None => {
                meta.shift_remove(key);
            }
        }
    }
}

fn restore_for_status(target: Target<'_>, reset: Reset, live: &Value, new: &mut Value) {
    if target.resource.custom {
        // Only the status of a custom resource changes; everything else is the live object's.
        let status = new.get("status").cloned();
        *new = live.clone();
        if let Some(map) = new.as_object_mut() {
            match status {
                Some(status) => map.insert("status".to_owned(), status),
                None => map.shift_remove("status"),
            };
        }
        return;
    }
    restore(live, new, "spec");
    let keys: &[&str] = match reset {
        Reset::SpecAndMetadata => {
            restore(live, new, "metadata");
            &[]
        }
        Reset::SpecAndLabels => &["labels"],
        Reset::SpecAndOwners => &["ownerReferences"],
        _ => &[],
    };
    let old = live.get("metadata").and_then(Value::as_object);
    let Some(meta) = metadata(new) else { return };
    for key in keys {
        match old.and_then(|m| m.get(*key)) {
            Some(value) => {
                meta.insert((*key).to_owned(), value.clone());
            }
            None => {
                meta.shift_remove(*key);
            }
        }
    }
}

/// Fields that the server fills and a client may leave out of an update.
fn keep_own(resource: &Resource, live: &Value, new: &mut Value) {
    match resource.kind.as_str() {
        "Service" => keep_addresses(live, new),
        "Namespace" => restore(live, new, "spec"),
        "DaemonSet" => {
            let key = "/metadata/annotations/deprecated.daemonset.template.generation";
            let old = live.at(key).and_then(Value::as_str).and_then(|t| t.parse::<i64>().ok()).unwrap_or(1);
            let changed = changed_at(live, new, "/spec/template");
            template_generation(new, old + i64::from(changed));
        }
        _ => {}
    }
}

fn keep_addresses(live: &Value, new: &mut Value) {
    let (Some(old), Some(spec)) = (live.get("spec"), new.get_mut("spec").and_then(Value::as_object_mut))
    else {
        return;
    };
    let external = |t: Option<&Value>| t.and_then(Value::as_str) == Some("ExternalName");
    if external(old.get("type")) || external(spec.get("type")) {
        return;
    }
    let keys = ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"];
    for key in keys {
        if let (Some(value), false) = (old.get(key), spec.contains_key(key)) {
            spec.insert(key.to_owned(), value.clone());
        }
    }
    let node_ports =
        |t: Option<&Value>| matches!(t.and_then(Value::as_str), Some("NodePort" | "LoadBalancer"));
    if !(node_ports(old.get("type")) && node_ports(spec.get("type"))) {
        return;
    }
    let old_ports = old.get("ports").and_then(Value::as_array).cloned().unwrap_or_default();
    for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
        let twin = old_ports.iter().find(|p| p["port"] == port["port"] && p["protocol"] == port["protocol"]);
        if let (Some(node), None) = (twin.and_then(|p| p.get("nodePort")), port.get("nodePort")) {
            port["nodePort"] = node.clone();
        }
    }
}

fn changed_at(live: &Value, new: &Value, pointer: &str) -> bool {
    !is_alike(live.at(pointer), new.at(pointer))
}

/// Whether the server's own comparison finds no difference: to it an empty list is none.
pub(crate) fn is_alike(a: Option<&Value>, b: Option<&Value>) -> bool {
    let some = |value: &&Value| !value.is_null() && value.as_array().is_none_or(|list| !list.is_empty());
    match (a.filter(some), b.filter(some)) {
        (None, None) => true,
        (Some(Value::Object(a)), Some(Value::Object(b))) => {
            a.iter().all(|(key, value)| is_alike(Some(value), b.get(key)))
                && b.iter().all(|(key, value)| a.contains_key(key) || is_alike(None, Some(value)))
        }
        (Some(Value::Array(a)), Some(Value::Array(b))) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| is_alike(Some(a), Some(b)))
        }
        (Some(a), Some(b)) => same_value(a, b),
        _ => false,
    }
}

/// Kinds whose generation rises with every write that holds an empty list or map: the server compares them to the letter
/// there, and what it has stored holds none.
const TO_THE_LETTER: [&str; 3] =
    ["NetworkPolicy", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"];

/// Whether a request for one of those kinds holds an empty list or map outside its metadata. Such a write never comes to rest.
pub fn is_hollow(target: Target<'_>, request: &Value) -> bool {
    let resource = target.resource;
    if resource.custom || !target.subresource.is_empty() || !TO_THE_LETTER.contains(&resource.kind.as_str()) {
        return false;
    }
    let Some(fields) = request.as_object() else { return false };
    let own = fields.iter().filter(|(key, _)| !matches!(key.as_str(), "metadata" | "status"));
    own.into_iter().any(|(key, value)| {
        target.schema.type_at(&resource.ty, &[key]).is_some_and(|ty| holds_empty(target.schema, ty, value))
    })
}

fn holds_empty(schema: &Schema, ty: &Ty, value: &Value) -> bool {
    match (ty, value) {
        (Ty::List(list), Value::Array(items)) => {
            items.is_empty() || items.iter().any(|item| holds_empty(schema, &list.item, item))
        }
        (Ty::Map(map), Value::Object(items)) => {
            items.is_empty() || items.values().any(|item| holds_empty(schema, &map.value, item))
        }
        (Ty::Named { id, .. }, Value::Object(items)) => {
            let strukt = schema.get(*id);
            let known = items.iter().filter_map(|(key, item)| Some((strukt.field(key)?, item)));
            known.into_iter().any(|(field, item)| holds_empty(schema, &field.ty, item))
        }
        _ => false,
    }
}

/// Raises the generation when what the controller must see has changed.
fn bump_generation(target: Target<'_>, live: &Value, new: &mut Value, hollow: bool) {
    let resource = target.resource;
    if !has_generation(resource) || target.subresource == "status" {
        return;
    }
    let changed = match resource.kind.as_str() {
        _ if hollow => true,
        _ if resource.custom => {
            let status = resource.has_subresource("status");
            differs_beside(live, new, if status { &["metadata", "status"] } else { &["metadata"] })
        }
        "Deployment" => changed_at(live, new, "/spec") || changed_at(live, new, "/metadata/annotations"),
        "EndpointSlice" => {
            changed_at(live, new, "/endpoints")
                || changed_at(live, new, "/ports")
                || changed_at(live, new, "/addressType")
        }
        "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" => {
            changed_at(live, new, "/webhooks")
        }
        "PriorityClass" => differs_beside(live, new, &["metadata"]),
        "PodTemplate" => changed_at(live, new, "/template"),
        _ => changed_at(live, new, "/spec"),
    };
    if changed {
        let old = live.at("/metadata/generation").and_then(Value::as_i64).unwrap_or(0);
        if let Some(meta) = metadata(new) {
            meta.insert("generation".to_owned(), Value::from(old + 1));
        }
    }
}

fn differs_beside(live: &Value, new: &Value, ignored: &[&str]) -> bool {
    let (Some(a), Some(b)) = (live.as_object(), new.as_object()) else { return true };
    let counts = |m: &Object| m.keys().filter(|k| !ignored.contains(&k.as_str())).count();
    counts(a) != counts(b)
        || a.iter()
            .filter(|(k, _)| !ignored.contains(&k.as_str()))
            .any(|(k, v)| b.get(k).is_none_or(|other| !same_value(v, other)))
}
