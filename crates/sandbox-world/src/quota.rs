//! Quota: what a namespace's ResourceQuotas allow, counted from the objects that are there.

use kube_meaning::quantity::Quantity;
use kube_meaning::reach::Reach;
use kube_meaning::status::Refusal;
use serde_json::Value;

use crate::registry::Served;
use crate::store::{ResourceKey, Store, meta_text};
use crate::write::forbidden;

/// Refuses a new object that would exceed a quota of its namespace.
pub(crate) fn check(store: &Store, served: &Served, name: &str, object: &Value) -> Result<(), Refusal> {
    let namespace = meta_text(object, "namespace");
    let counted = served.key();
    for (key, quota) in store.list(&ResourceKey::new("", "resourcequotas"), Some(namespace)) {
        // Scoped quotas count only some pods; they are not modelled and limit nothing.
        if quota.value["spec"].get("scopes").is_some() || quota.value["spec"].get("scopeSelector").is_some() {
            continue;
        }
        let hard = quota.value.at("/spec/hard").and_then(Value::as_object);
        let mut over: Vec<[String; 3]> = Vec::new();
        for (what, limit) in hard.into_iter().flatten() {
            let Some(limit) = Quantity::from_json(limit) else { continue };
            let Some(asked) = amount(&counted, object, what).filter(|asked| asked.nanos() > 0) else {
                continue;
            };
            let used = used(store, &counted, namespace, what);
            if used.plus(&asked) > limit {
                over.push([asked, used, limit].map(|quantity| format!("{what}={}", quantity.canonical())));
            }
        }
        if !over.is_empty() {
            let column = |at: usize| over.iter().map(|row| row[at].as_str()).collect::<Vec<_>>().join(",");
            let text = format!(
                "exceeded quota: {}, requested: {}, used: {}, limited: {}",
                key.name,
                column(0),
                column(1),
                column(2)
            );
            return Err(forbidden(served, name, &text));
        }
    }
    Ok(())
}

/// How much of something the objects of a resource in a namespace use together.
pub(crate) fn used(store: &Store, resource: &ResourceKey, namespace: &str, what: &str) -> Quantity {
    let objects = store.list(resource, Some(namespace));
    let amounts = objects.filter_map(|(_, object)| amount(resource, &object.value, what));
    amounts.fold(Quantity::from_nanos(0), |sum, more| sum.plus(&more))
}

/// How much of something one object uses; `None` when the quota does not count its kind.
fn amount(resource: &ResourceKey, object: &Value, what: &str) -> Option<Quantity> {
    let one = || Quantity::parse("1");
    let (group, plural) = (resource.group.as_str(), resource.plural.as_str());
    if let Some(counted) = what.strip_prefix("count/") {
        let (name, of) = counted.split_once('.').unwrap_or((counted, ""));
        return if name == plural && of == group { one() } else { None };
    }
    if !group.is_empty() {
        return None;
    }
    let kind = object.at("/spec/type").and_then(Value::as_str).unwrap_or_default();
    match (plural, what) {
        ("pods", _) if is_over(object) => None,
        ("services", "services.nodeports") if matches!(kind, "NodePort" | "LoadBalancer") => one(),
        ("services", "services.loadbalancers") if kind == "LoadBalancer" => one(),
        ("persistentvolumeclaims", "requests.storage") => {
            Quantity::from_json(object.at("/spec/resources/requests/storage")?)
        }
        ("pods", "cpu" | "requests.cpu") => Some(sum(object, "requests", "cpu")),
        ("pods", "memory" | "requests.memory") => Some(sum(object, "requests", "memory")),
        ("pods", "limits.cpu") => Some(sum(object, "limits", "cpu")),
        ("pods", "limits.memory") => Some(sum(object, "limits", "memory")),
        (plural, what) if plural == what => one(),
        _ => None,
    }
}

fn is_over(pod: &Value) -> bool {
    matches!(pod.at("/status/phase").and_then(Value::as_str), Some("Succeeded" | "Failed"))
}

fn sum(pod: &Value, list: &str, name: &str) -> Quantity {
    let containers = pod.at("/spec/containers").and_then(Value::as_array);
    let amounts = containers
        .into_iter()
        .flatten()
        .filter_map(|container| Quantity::from_json(container.get("resources")?.get(list)?.get(name)?));
    amounts.fold(Quantity::from_nanos(0), |sum, more| sum.plus(&more))
}
