//! What comes before what because of what objects mean, instead of an order of kinds.
//!
//! In: a Spec. Out: edges for the planner, each with a reason a person understands. Only edges between resources of the
//! same Spec and cluster; everything else is somebody else's.

use std::collections::BTreeMap;

use kube_meaning::id::KubeId;
use kusion_model::{Attr, MeaningEdge, Resource, ResourceKey, ResourceType, Spec, Wait};

use crate::pods::{needs, pod_labels};

/// A Kubernetes resource of the Spec.
struct Item<'a> {
    key: ResourceKey,
    id: KubeId,
    object: &'a Attr,
}

/// Finds items by kind, namespace and name.
struct Index<'a> {
    items: Vec<Item<'a>>,
    by_name: BTreeMap<(String, String, String, String), usize>,
}

/// Returns the edges of meaning of a Spec.
pub(crate) fn meaning_edges(spec: &Spec) -> Vec<MeaningEdge> {
    let index = Index::new(spec);
    let mut out = Vec::new();
    let webhooks: Vec<usize> =
        (0..index.items.len()).filter(|&at| is_webhook(&index.items[at].id.kind)).collect();
    let definitions = index.definitions();
    for item in &index.items {
        index.home(item, &mut out);
        index.kind(item, &definitions, &mut out);
        index.owners(item, &mut out);
        index.pods(item, &mut out);
        index.bindings(item, &mut out);
        index.targets(item, &mut out);
    }
    for &at in &webhooks {
        index.webhook(&index.items[at], &definitions, &mut out);
    }
    out
}

fn is_webhook(kind: &str) -> bool {
    matches!(kind, "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration")
}

impl<'a> Index<'a> {
    fn new(spec: &'a Spec) -> Self {
        let kubernetes = spec.resources.iter().filter(|resource| resource.kind == ResourceType::kubernetes());
        let item = |resource: &'a Resource| {
            Some(Item {
                key: resource.key(),
                id: KubeId::from_parts(resource.id.parts()).ok()?,
                object: &resource.attributes,
            })
        };
        let items: Vec<Item<'a>> = kubernetes.filter_map(item).collect();
        let mut by_name = BTreeMap::new();
        for (at, item) in items.iter().enumerate() {
            let namespace = item.id.namespace.clone().unwrap_or_default();
            by_name.insert(
                (item.key.cluster.to_string(), item.id.kind.clone(), namespace, item.id.name.clone()),
                at,
            );
        }
        Index { items, by_name }
    }

    fn find(&self, near: &Item<'_>, kind: &str, namespace: &str, name: &str) -> Option<&Item<'a>> {
        let place = (near.key.cluster.to_string(), kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.by_name.get(&place).map(|&at| &self.items[at])
    }

    /// In the namespace of the item, or cluster-scoped.
    fn find_near(&self, near: &Item<'_>, kind: &str, name: &str) -> Option<&Item<'a>> {
        let namespace = near.id.namespace.as_deref().unwrap_or_default();
        self.find(near, kind, namespace, name).or_else(|| self.find(near, kind, "", name))
    }

    /// The definitions of the Spec, by cluster, group and kind.
    fn definitions(&self) -> BTreeMap<(String, String, String), usize> {
        let of_kind = |at: &usize| self.items[*at].id.kind == "CustomResourceDefinition";
        let definitions = (0..self.items.len()).filter(of_kind).map(|at| {
            let text = |pointer: &str| {
                self.items[at].object.pointer(pointer).and_then(Attr::as_str).unwrap_or_default()
            };
            let cluster = self.items[at].key.cluster.to_string();
            ((cluster, text("/spec/group").to_owned(), text("/spec/names/kind").to_owned()), at)
        });
        definitions.collect()
    }

    fn home(&self, item: &Item<'_>, out: &mut Vec<MeaningEdge>) {
        let Some(namespace) = &item.id.namespace else { return };
        if let Some(home) = self.find(item, "Namespace", "", namespace) {
            push(out, home, item, Wait::Ready, "lives in the namespace");
        }
    }

    fn kind(
        &self,
        item: &Item<'_>,
        definitions: &BTreeMap<(String, String, String), usize>,
        out: &mut Vec<MeaningEdge>,
    ) {
        if let Some(definition) = self.definition_of(item, definitions) {
            push(out, definition, item, Wait::Ready, "is of the kind that it defines");
        }
    }

    fn definition_of(
        &self,
        item: &Item<'_>,
        definitions: &BTreeMap<(String, String, String), usize>,
    ) -> Option<&Item<'a>> {
        let group = item.id.api_version.split_once('/')?.0.to_owned();
        let place = (item.key.cluster.to_string(), group, item.id.kind.clone());
        definitions.get(&place).map(|&at| &self.items[at])
    }

    fn owners(&self, item: &Item<'_>, out: &mut Vec<MeaningEdge>) {
        for owner in array(item.object, "/metadata/ownerReferences") {
            let text = |key: &str| owner.get(key).and_then(Attr::as_str).unwrap_or_default();
            if let Some(owner) = self.find_near(item, text("kind"), text("name")) {
                push(out, owner, item, Wait::Applied, "is owned by it");
            }
        }
    }

    fn pods(&self, item: &Item<'_>, out: &mut Vec<MeaningEdge>) {
        for need in needs(item.object) {
            if let Some(needed) = self.find_near(item, need.kind, &need.name) {
                push(out, needed, item, Wait::Applied, need.why);
            }
        }
    }

    fn bindings(&self, item: &Item<'_>, out: &mut Vec<MeaningEdge>) {
        if !matches!(item.id.kind.as_str(), "RoleBinding" | "ClusterRoleBinding") {
            return;
        }
        let text = |pointer: &str| item.object.pointer(pointer).and_then(Attr::as_str).unwrap_or_default();
        if let Some(role) = self.find_near(item, text("/roleRef/kind"), text("/roleRef/name")) {
            push(out, role, item, Wait::Applied, "binds the role");
        }
        for subject in array(item.object, "/subjects").filter(|subject| subject["kind"] == "ServiceAccount") {
            let text = |key: &str| subject.get(key).and_then(Attr::as_str).unwrap_or_default();
            if let Some(account) = self.find(item, "ServiceAccount", text("namespace"), text("name")) {
                push(out, account, item, Wait::Applied, "binds the service account");
            }
        }
    }

    /// Single names in known places: scale targets, services of stateful sets, classes, backends.
    fn targets(&self, item: &Item<'_>, out: &mut Vec<MeaningEdge>) {
        let text = |pointer: &str| item.object.pointer(pointer).and_then(Attr::as_str).unwrap_or_default();
        let mut link = |kind: &str, name: &str, why| {
            if let Some(target) = self.find_near(item, kind, name).filter(|_| !name.is_empty()) {
                push(out, target, item, Wait::Applied, why);
            }
        };
        match item.id.kind.as_str() {
            "HorizontalPodAutoscaler" => {
                link(text("/spec/scaleTargetRef/kind"), text("/spec/scaleTargetRef/name"), "scales it");
            }
            "StatefulSet" => link("Service", text("/spec/serviceName"), "is governed by the service"),
            "PersistentVolumeClaim" => {
                link("StorageClass", text("/spec/storageClassName"), "has the storage class");
                link("PersistentVolume", text("/spec/volumeName"), "claims the volume");
            }
            "Ingress" => {
                link("IngressClass", text("/spec/ingressClassName"), "has the ingress class");
                link("Service", text("/spec/defaultBackend/service/name"), "routes to the service");
                for rule in array(item.object, "/spec/rules") {
                    for path in array(rule, "/http/paths") {
                        let name = path.pointer("/backend/service/name").and_then(Attr::as_str);
                        link("Service", name.unwrap_or_default(), "routes to the service");
                    }
                }
            }
            _ => {}
        }
    }

    /// A webhook is switched on when somebody answers; custom resources that it looks at come after it.
    fn webhook(
        &self,
        item: &Item<'_>,
        definitions: &BTreeMap<(String, String, String), usize>,
        out: &mut Vec<MeaningEdge>,
    ) {
        for hook in array(item.object, "/webhooks") {
            let text = |pointer: &str| hook.pointer(pointer).and_then(Attr::as_str).unwrap_or_default();
            let namespace = text("/clientConfig/service/namespace");
            if let Some(service) = self.find(item, "Service", namespace, text("/clientConfig/service/name")) {
                push(out, service, item, Wait::Applied, "calls the service");
                for workload in self.items.iter().filter(|other| serves(service, other)) {
                    push(out, workload, item, Wait::Ready, "is answered by it");
                }
            }
            let groups: Vec<&str> = array(hook, "/rules")
                .flat_map(|rule| array(rule, "/apiGroups"))
                .filter_map(Attr::as_str)
                .collect();
            for other in &self.items {
                let group = other.id.api_version.split_once('/').map_or("", |(group, _)| group);
                let custom = self.definition_of(other, definitions).is_some();
                if custom && groups.iter().any(|wanted| *wanted == group || *wanted == "*") {
                    push(out, item, other, Wait::Applied, "is looked at by the webhook");
                }
            }
        }
    }
}

/// Whether the pods of a workload are behind a service.
fn serves(service: &Item<'_>, workload: &Item<'_>) -> bool {
    let selector = service.object.pointer("/spec/selector").and_then(Attr::as_map);
    let same_place =
        service.key.cluster == workload.key.cluster && service.id.namespace == workload.id.namespace;
    match (selector, pod_labels(workload.object)) {
        (Some(selector), Some(labels)) if same_place && !selector.is_empty() => {
            selector.iter().all(|(key, value)| labels.get(key) == Some(value))
        }
        _ => false,
    }
}

fn array<'v>(value: &'v Attr, pointer: &str) -> impl Iterator<Item = &'v Attr> {
    value.pointer(pointer).and_then(Attr::as_list).into_iter().flatten()
}

fn push(out: &mut Vec<MeaningEdge>, before: &Item<'_>, after: &Item<'_>, wait: Wait, why: &str) {
    if before.key != after.key {
        out.push(MeaningEdge {
            before: before.key.clone(),
            after: after.key.clone(),
            wait,
            why: why.to_owned(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::platform::KubePlatform;
    use kusion_model::{DigestKey, Platforms};
    use serde_json::{Value, json};
    use std::sync::Arc;

    fn edges(objects: Value) -> Vec<String> {
        let spec = Spec::from_value(
            objects,
            &Platforms::new(vec![Arc::new(KubePlatform)]),
            &DigestKey::new([1; 32]),
        )
        .unwrap();
        let name = |key: &ResourceKey| {
            KubeId::from_parts(key.id.parts()).map(|id| format!("{}/{}", id.kind, id.name)).unwrap()
        };
        let text = |edge: &MeaningEdge| format!("{} {} {}", name(&edge.after), edge.why, name(&edge.before));
        meaning_edges(&spec).iter().map(text).collect()
    }

    fn object(api_version: &str, kind: &str, name: &str, rest: Value) -> Value {
        let mut object =
            json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": "ns"}});
        for (key, value) in rest.as_object().unwrap() {
            object[key] = value.clone();
        }
        object
    }

    #[test]
    fn workload_comes_after_what_its_pods_need() {
        let pod = json!({"serviceAccountName": "sa", "imagePullSecrets": [{"name": "pull"}],
            "volumes": [{"name": "v", "configMap": {"name": "cm"}}, {"name": "w", "persistentVolumeClaim": {"claimName": "pvc"}}],
            "containers": [{"name": "c", "env": [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}]}]});
        let found = edges(json!([
            object("apps/v1", "Deployment", "web", json!({"spec": {"template": {"spec": pod}}})),
            object("v1", "ServiceAccount", "sa", json!({})),
            object("v1", "ConfigMap", "cm", json!({})),
            object("v1", "Secret", "s", json!({})),
            object("v1", "Secret", "pull", json!({})),
            object("v1", "PersistentVolumeClaim", "pvc", json!({})),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "ns"}},
        ]));
        for wanted in [
            "Deployment/web lives in the namespace Namespace/ns",
            "Deployment/web runs as the service account ServiceAccount/sa",
            "Deployment/web mounts the config map ConfigMap/cm",
            "Deployment/web mounts the volume PersistentVolumeClaim/pvc",
            "Deployment/web takes a variable from the secret Secret/s",
            "Deployment/web pulls images with the secret Secret/pull",
            "ConfigMap/cm lives in the namespace Namespace/ns",
        ] {
            assert!(found.iter().any(|edge| edge == wanted), "{wanted} not in {found:#?}");
        }
    }

    #[test]
    fn custom_resource_comes_after_its_definition_and_its_webhook() {
        let found = edges(json!([
            {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "foos.example.com"},
             "spec": {"group": "example.com", "names": {"kind": "Foo", "plural": "foos"}, "scope": "Namespaced", "versions": []}},
            object("example.com/v1", "Foo", "f", json!({})),
            {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration", "metadata": {"name": "hook"},
             "webhooks": [{"clientConfig": {"service": {"namespace": "ns", "name": "svc"}}, "rules": [{"apiGroups": ["example.com"]}]}]},
            object("v1", "Service", "svc", json!({"spec": {"selector": {"app": "hook"}}})),
            object("apps/v1", "Deployment", "server", json!({"spec": {"template": {"metadata": {"labels": {"app": "hook"}}}}})),
        ]));
        assert_eq!(
            found,
            [
                "Foo/f is of the kind that it defines CustomResourceDefinition/foos.example.com",
                "ValidatingWebhookConfiguration/hook calls the service Service/svc",
                "ValidatingWebhookConfiguration/hook is answered by it Deployment/server",
                "Foo/f is looked at by the webhook ValidatingWebhookConfiguration/hook",
            ]
        );
    }

    #[test]
    fn bindings_targets_and_owners() {
        let found = edges(json!([
            object("rbac.authorization.k8s.io/v1", "RoleBinding", "b", json!({"roleRef": {"kind": "Role", "name": "r"},
                "subjects": [{"kind": "ServiceAccount", "namespace": "ns", "name": "sa"}]})),
            object("rbac.authorization.k8s.io/v1", "Role", "r", json!({})),
            object("v1", "ServiceAccount", "sa", json!({})),
            object("autoscaling/v2", "HorizontalPodAutoscaler", "h", json!({"spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}})),
            object("apps/v1", "Deployment", "web", json!({})),
            {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "child", "namespace": "ns",
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "u"}]}},
        ]));
        assert_eq!(
            found,
            [
                "RoleBinding/b binds the role Role/r",
                "RoleBinding/b binds the service account ServiceAccount/sa",
                "HorizontalPodAutoscaler/h scales it Deployment/web",
                "ConfigMap/child is owned by it Deployment/web",
            ]
        );
    }
}
