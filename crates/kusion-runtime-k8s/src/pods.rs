//! What pods need: names that a pod template mentions.

use kusion_model::{Attr, AttrMap};

/// A thing in the same namespace (or cluster-scoped) that a pod cannot run without.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Need {
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    pub(crate) why: &'static str,
}

/// Where workloads keep their pod template.
const TEMPLATES: [&str; 3] = ["/spec/template/spec", "/spec/jobTemplate/spec/template/spec", "/spec"];

/// Returns what the pods of a workload need, once each.
pub(crate) fn needs(object: &Attr) -> Vec<Need> {
    let is_pod =
        |spec: &&Attr| spec.get("containers").is_some_and(|containers| containers.as_list().is_some());
    let Some(spec) = TEMPLATES.iter().filter_map(|path| object.pointer(path)).find(is_pod) else {
        return Vec::new();
    };
    let mut needs = Vec::new();
    let mut push = |kind, value: Option<&Attr>, why| {
        if let Some(name) = value.and_then(Attr::as_str).filter(|name| !name.is_empty()) {
            let need = Need { kind, name: name.to_owned(), why };
            if !needs.contains(&need) {
                needs.push(need);
            }
        }
    };
    push("ServiceAccount", spec.get("serviceAccountName"), "runs as the service account");
    push("PriorityClass", spec.get("priorityClassName"), "has the priority class");
    push("RuntimeClass", spec.get("runtimeClassName"), "has the runtime class");
    for secret in list(spec, "imagePullSecrets") {
        push("Secret", secret.get("name"), "pulls images with the secret");
    }
    for volume in list(spec, "volumes") {
        push("ConfigMap", volume.pointer("/configMap/name"), "mounts the config map");
        push("Secret", volume.pointer("/secret/secretName"), "mounts the secret");
        push(
            "PersistentVolumeClaim",
            volume.pointer("/persistentVolumeClaim/claimName"),
            "mounts the volume",
        );
        for source in volume.pointer("/projected/sources").and_then(Attr::as_list).into_iter().flatten() {
            push("ConfigMap", source.pointer("/configMap/name"), "mounts the config map");
            push("Secret", source.pointer("/secret/name"), "mounts the secret");
        }
    }
    for container in list(spec, "initContainers").chain(list(spec, "containers")) {
        for source in list(container, "envFrom") {
            push(
                "ConfigMap",
                source.pointer("/configMapRef/name"),
                "takes its environment from the config map",
            );
            push("Secret", source.pointer("/secretRef/name"), "takes its environment from the secret");
        }
        for variable in list(container, "env") {
            let from = |pointer: &str| variable.pointer(pointer);
            push(
                "ConfigMap",
                from("/valueFrom/configMapKeyRef/name"),
                "takes a variable from the config map",
            );
            push("Secret", from("/valueFrom/secretKeyRef/name"), "takes a variable from the secret");
        }
    }
    needs
}

fn list<'v>(value: &'v Attr, key: &str) -> impl Iterator<Item = &'v Attr> {
    value.get(key).and_then(Attr::as_list).into_iter().flatten()
}

/// Returns the labels that the pods of a workload carry.
pub(crate) fn pod_labels(object: &Attr) -> Option<&AttrMap> {
    object.pointer("/spec/template/metadata/labels")?.as_map()
}
