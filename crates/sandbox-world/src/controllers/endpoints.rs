//! Service → EndpointSlice and Endpoints: which pods answer behind a name.

use kube_meaning::reach::Reach;
use serde_json::{Value, json};

use super::Item;
use super::read::*;
use crate::change::{Change, Reaction};
use crate::store::Event;
use crate::view::View;

const MANAGED_BY: &str = "endpointslice.kubernetes.io/managed-by";
const SERVICE: &str = "kubernetes.io/service-name";
const HEADLESS: &str = "service.kubernetes.io/headless";
const CONTROLLER: &str = "endpointslice-controller.k8s.io";

pub(crate) fn wakes(event: &Event, view: View<'_>) -> Vec<Item> {
    if is_of(event, "", "services") {
        return vec![Item::of(event)];
    }
    let namespace = event.key.namespace.as_str();
    if is_of(event, "discovery.k8s.io", "endpointslices") {
        let service = label(&event.object.value, SERVICE);
        return vec![Item::new("", "services", namespace, service)];
    }
    if !is_of(event, "", "pods") {
        return Vec::new();
    }
    let touched = |service: &Value| {
        let Some(selector) = selector(service.at("/spec/selector")).filter(|found| !found.is_empty()) else {
            return false;
        };
        let before = event.before.as_ref().is_some_and(|before| selector.matches_object(&before.value));
        before || selector.matches_object(&event.object.value)
    };
    let services = view.store.list(&crate::store::ResourceKey::new("", "services"), Some(namespace));
    services
        .filter(|(_, service)| touched(&service.value))
        .map(|(key, _)| Item::new("", "services", &key.namespace, &key.name))
        .collect()
}

pub(crate) fn reconcile(view: View<'_>, item: &Item) -> Reaction {
    let mut outcome = Reaction::default();
    let Some(service) = view.get("", "services", &item.key.namespace, &item.key.name) else { return outcome };
    let Some(selector) = selector(service.at("/spec/selector")).filter(|found| !found.is_empty()) else {
        return outcome;
    };
    if is_deleting(service) || text(service, "/spec/type") == "ExternalName" {
        return outcome;
    }
    let namespace = text(service, "/metadata/namespace");
    let pods: Vec<&Value> = view
        .store
        .list(&crate::store::ResourceKey::new("", "pods"), Some(namespace))
        .map(|(_, pod)| &*pod.value)
        .filter(|pod| {
            selector.matches_object(pod) && !text(pod, "/status/podIP").is_empty() && !is_finished(pod)
        })
        .collect();
    slice(view, service, &pods, &mut outcome);
    legacy(view, service, &pods, &mut outcome);
    outcome
}

/// The ports of a Service as these pods have them.
fn ports(service: &Value, pods: &[&Value]) -> Vec<Value> {
    let resolve = |port: &Value| match port.get("targetPort") {
        Some(Value::String(name)) => pods.iter().find_map(|pod| {
            let mut all =
                items(pod, "/spec/containers").iter().flat_map(|container| items(container, "/ports"));
            let found = all.find(|found| {
                text(found, "/name") == name && text(found, "/protocol") == text(port, "/protocol")
            });
            found.map(|found| found["containerPort"].clone())
        }),
        Some(number) => Some(number.clone()),
        None => Some(port["port"].clone()),
    };
    let of = |port: &Value| {
        let mut shown =
            json!({"name": text(port, "/name"), "port": resolve(port)?, "protocol": text(port, "/protocol")});
        if let Some(protocol) = port.get("appProtocol") {
            shown["appProtocol"] = protocol.clone();
        }
        Some(shown)
    };
    items(service, "/spec/ports").iter().filter_map(of).collect()
}

fn endpoint(service: &Value, pod: &Value) -> Value {
    let (ready, ending) = (is_ready(pod), is_deleting(pod));
    let anyway = is(service, "/spec/publishNotReadyAddresses");
    let mut endpoint = json!({
        "addresses": [text(pod, "/status/podIP")],
        "conditions": {"ready": anyway || ready && !ending, "serving": ready || anyway, "terminating": ending},
        "nodeName": text(pod, "/spec/nodeName"),
        "targetRef": {"kind": "Pod", "namespace": text(pod, "/metadata/namespace"), "name": text(pod, "/metadata/name"), "uid": text(pod, "/metadata/uid")},
    });
    let hostname = text(pod, "/spec/hostname");
    if !hostname.is_empty() && text(pod, "/spec/subdomain") == text(service, "/metadata/name") {
        endpoint["hostname"] = json!(hostname);
    }
    endpoint
}

fn slice(view: View<'_>, service: &Value, pods: &[&Value], outcome: &mut Reaction) {
    let (namespace, name) = (text(service, "/metadata/namespace"), text(service, "/metadata/name"));
    let endpoints: Vec<Value> = pods.iter().map(|pod| endpoint(service, pod)).collect();
    let ports = if pods.is_empty() { Vec::new() } else { ports(service, pods) };
    let mut labels = meta_map(service, "labels");
    labels.insert(MANAGED_BY.into(), json!(CONTROLLER));
    labels.insert(SERVICE.into(), json!(name));
    if text(service, "/spec/clusterIP") == "None" {
        labels.insert(HEADLESS.into(), json!(""));
    }
    let uid = text(service, "/metadata/uid");
    let owned = view.owned(uid, "discovery.k8s.io", "endpointslices");
    let known = owned.into_iter().find(|slice| label(slice, MANAGED_BY) == CONTROLLER && !is_deleting(slice));
    let wanted = |key: &str, list: &[Value]| match list.is_empty() {
        true => (key.to_owned(), Value::Null),
        false => (key.to_owned(), json!(list)),
    };
    let Some(known) = known else {
        let mut object = json!({
            "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
            "metadata": {"generateName": format!("{name}-"), "namespace": namespace, "labels": labels, "ownerReferences": [reference(service)]},
            "addressType": "IPv4",
        });
        for (key, value) in [wanted("endpoints", &endpoints), wanted("ports", &ports)] {
            object[key] = value;
        }
        outcome.changes.push(Change::Create { object, note: None });
        return;
    };
    let mut change = json!({});
    if items(known, "/endpoints") != endpoints.as_slice() {
        change["endpoints"] = if endpoints.is_empty() { Value::Null } else { json!(endpoints) };
    }
    if items(known, "/ports") != ports.as_slice() {
        change["ports"] = if ports.is_empty() { Value::Null } else { json!(ports) };
    }
    if meta_map(known, "labels") != labels {
        let mut new = json!(labels);
        for old in meta_map(known, "labels").keys().filter(|old| !labels.contains_key(*old)) {
            new[old] = Value::Null;
        }
        change["metadata"] = json!({"labels": new});
    }
    if change != json!({}) {
        outcome.changes.push(patch("discovery.k8s.io", "endpointslices", known, "", change));
    }
}

/// The older form of the same.
fn legacy(view: View<'_>, service: &Value, pods: &[&Value], outcome: &mut Reaction) {
    let (namespace, name) = (text(service, "/metadata/namespace"), text(service, "/metadata/name"));
    let address = |pod: &&&Value| {
        json!({"ip": text(pod, "/status/podIP"), "nodeName": text(pod, "/spec/nodeName"),
            "targetRef": {"kind": "Pod", "namespace": namespace, "name": text(pod, "/metadata/name"), "uid": text(pod, "/metadata/uid")}})
    };
    let anyway = is(service, "/spec/publishNotReadyAddresses");
    let up = |pod: &&&Value| anyway || is_ready(pod);
    let live: Vec<&Value> = pods.iter().copied().filter(|pod| !is_deleting(pod)).collect();
    let ready: Vec<Value> = live.iter().filter(up).map(|pod| address(&pod)).collect();
    let not: Vec<Value> = live.iter().filter(|pod| !up(pod)).map(|pod| address(&pod)).collect();
    let mut subset = json!({});
    for (key, list) in [("addresses", ready), ("notReadyAddresses", not)] {
        if !list.is_empty() {
            subset[key] = json!(list);
        }
    }
    let mut named = ports(service, pods);
    for port in &mut named {
        if text(port, "/name").is_empty()
            && let Some(map) = port.as_object_mut()
        {
            map.shift_remove("name");
        }
    }
    if !named.is_empty() {
        subset["ports"] = json!(named);
    }
    let subsets = if live.is_empty() { Vec::new() } else { vec![subset] };
    let mut labels = meta_map(service, "labels");
    labels.insert("endpoints.kubernetes.io/managed-by".into(), json!("endpoint-controller"));
    if text(service, "/spec/clusterIP") == "None" {
        labels.insert(HEADLESS.into(), json!(""));
    }
    let Some(known) = view.get("", "endpoints", namespace, name) else {
        let mut object = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name, "namespace": namespace, "labels": labels}});
        if !subsets.is_empty() {
            object["subsets"] = json!(subsets);
        }
        outcome.changes.push(Change::Create { object, note: None });
        return;
    };
    if items(known, "/subsets") != subsets.as_slice() {
        let value = if subsets.is_empty() { Value::Null } else { json!(subsets) };
        outcome.changes.push(patch("", "endpoints", known, "", json!({"subsets": value})));
    }
}
