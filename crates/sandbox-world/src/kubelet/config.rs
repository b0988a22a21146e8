//! What a pod needs from the cluster before its containers can start: ConfigMaps and Secrets, in variables and volumes.

use kube_meaning::reach::Reach;
use serde_json::Value;

use crate::controllers::read::{is, items, text};
use crate::view::View;

/// The first thing a container's variables miss, in the kubelet's words.
pub(crate) fn missing_in_env(view: View<'_>, namespace: &str, container: &Value) -> Option<String> {
    for source in items(container, "/envFrom") {
        for (key, kind) in [("configMapRef", "configmap"), ("secretRef", "secret")] {
            let Some(wanted) = source.get(key).filter(|wanted| !is(wanted, "/optional")) else { continue };
            let name = text(wanted, "/name");
            if find(view, kind, namespace, name).is_none() {
                return Some(format!("{kind} \"{name}\" not found"));
            }
        }
    }
    items(container, "/env").iter().find_map(|entry| {
        let from = entry.get("valueFrom")?;
        let keyed = [("configMapKeyRef", "configmap", "ConfigMap"), ("secretKeyRef", "secret", "Secret")];
        keyed.iter().find_map(|(key, kind, title)| {
            let wanted = from.get(*key).filter(|wanted| !is(wanted, "/optional"))?;
            let (name, entry) = (text(wanted, "/name"), text(wanted, "/key"));
            match find(view, kind, namespace, name) {
                None => Some(format!("{kind} \"{name}\" not found")),
                Some(found) if !has_key(found, entry) => {
                    Some(format!("couldn't find key {entry} in {title} {namespace}/{name}"))
                }
                Some(_) => None,
            }
        })
    })
}

/// The first volume that cannot be mounted: its name and why.
pub(crate) fn missing_in_volumes(view: View<'_>, namespace: &str, pod: &Value) -> Option<(String, String)> {
    items(pod, "/spec/volumes").iter().find_map(|volume| {
        let problem = missing_source(view, namespace, volume).or_else(|| {
            items(volume, "/projected/sources")
                .iter()
                .find_map(|source| missing_source(view, namespace, source))
        })?;
        Some((text(volume, "/name").to_owned(), problem))
    })
}

fn missing_source(view: View<'_>, namespace: &str, source: &Value) -> Option<String> {
    let wanted = [
        (source.get("configMap"), "name", "configmap"),
        (
            source.get("secret"),
            if source.at("/secret/secretName").is_some() { "secretName" } else { "name" },
            "secret",
        ),
    ];
    wanted.into_iter().find_map(|(wanted, key, kind)| {
        let wanted = wanted.filter(|wanted| !is(wanted, "/optional"))?;
        let name = wanted.get(key).and_then(Value::as_str).unwrap_or_default();
        let Some(found) = find(view, kind, namespace, name) else {
            return Some(format!("{kind} \"{name}\" not found"));
        };
        let absent = items(wanted, "/items").iter().find(|item| !has_key(found, text(item, "/key")))?;
        Some(format!("references non-existent {kind} key: {}", text(absent, "/key")))
    })
}

pub(super) fn find<'w>(view: View<'w>, kind: &str, namespace: &str, name: &str) -> Option<&'w Value> {
    let plural = if kind == "secret" { "secrets" } else { "configmaps" };
    view.get("", plural, namespace, name).map(|found| &**found)
}

fn has_key(object: &Value, key: &str) -> bool {
    ["data", "binaryData", "stringData"]
        .iter()
        .any(|part| object.get(*part).is_some_and(|data| data.get(key).is_some()))
}
