//! Which object an id means to the cluster, however it is written.
//!
//! The version is a way to look at an object, not a part of its name. A few kinds are served by two groups from one store. A
//! namespaced object without a namespace lies where it was made, a new one in the context's own; a cluster-scoped one has none,
//! whatever is written.

use std::collections::BTreeMap;

use kube_meaning::id::KubeId;
use kube_meaning::schema::split_api_version;
use kusion_model::{Attr, ResourceId};
use kusion_runtime::{IdentifyAsk, RuntimeError};

use crate::runtime::{KubeRuntime, parse};

/// Groups that serve the objects of another group; the second is the one that counts.
const MOVED: [(&str, &str, &str); 7] = [
    ("extensions", "Deployment", "apps"),
    ("extensions", "DaemonSet", "apps"),
    ("extensions", "ReplicaSet", "apps"),
    ("extensions", "Ingress", "networking.k8s.io"),
    ("extensions", "NetworkPolicy", "networking.k8s.io"),
    ("extensions", "PodSecurityPolicy", "policy"),
    ("events.k8s.io", "Event", ""),
];

/// The group that serves the objects of this one by now.
pub(crate) fn later_group(group: &str, kind: &str) -> Option<&'static str> {
    let moved = MOVED.iter().find(|(from, of, _)| *from == group && *of == kind);
    moved.map(|(_, _, to)| *to)
}

impl KubeRuntime {
    pub(crate) async fn identify_all(&self, asks: &[IdentifyAsk<'_>]) -> Result<Vec<String>, RuntimeError> {
        let defined = defined_scopes(asks);
        let mut scopes: BTreeMap<(String, String), Option<bool>> = BTreeMap::new();
        let mut out = Vec::with_capacity(asks.len());
        for ask in asks {
            let id = parse(ask.key)?;
            let kind = (id.api_version.clone(), id.kind.clone());
            let namespaced = match scopes.get(&kind) {
                Some(known) => *known,
                None => {
                    let group = split_api_version(&id.api_version).0.to_owned();
                    let found = match defined.get(&(group, id.kind.clone())) {
                        Some(namespaced) => Some(*namespaced),
                        None => self.kinds.get(&self.api, &id).await?.map(|kind| kind.namespaced),
                    };
                    scopes.insert(kind, found);
                    found
                }
            };
            // What was made is where it was made; what is wanted goes where the context says.
            let own = self.home(ask.prior.filter(|_| !ask.wanted));
            out.push(identity(&id, namespaced, own));
        }
        Ok(out)
    }
}

/// Whether the kinds are namespaced that definitions among the questions bring, by group and kind.
fn defined_scopes(asks: &[IdentifyAsk<'_>]) -> BTreeMap<(String, String), bool> {
    let definitions = asks.iter().map(|ask| ask.attributes);
    let definitions = definitions
        .filter(|object| object.get("kind").and_then(Attr::as_str) == Some("CustomResourceDefinition"));
    let scope = |object: &Attr| {
        let text = |pointer: &str| object.pointer(pointer).and_then(Attr::as_str).map(str::to_owned);
        let place = (text("/spec/group")?, text("/spec/names/kind")?);
        Some((place, text("/spec/scope")? != "Cluster"))
    };
    definitions.filter_map(scope).collect()
}

/// The canonical text; where nobody knows the kind, the namespace counts as it is written.
fn identity(id: &KubeId, namespaced: Option<bool>, own: &str) -> String {
    let (group, _) = split_api_version(&id.api_version);
    let group = later_group(group, &id.kind).unwrap_or(group);
    let namespace = match namespaced {
        Some(true) => id.namespace.as_deref().unwrap_or(own),
        Some(false) => "",
        None => id.namespace.as_deref().unwrap_or(""),
    };
    ResourceId::from_parts([group, &id.kind, namespace, &id.name]).as_str().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, namespaced: bool) -> String {
        let id = KubeId::from_parts(ResourceId::parse(text).unwrap().parts()).unwrap();
        identity(&id, Some(namespaced), "default")
    }

    #[test]
    fn namespace_left_out_is_the_contexts_own() {
        assert_eq!(of("v1:ConfigMap:web", true), of("v1:ConfigMap:default:web", true));
        assert_ne!(of("v1:ConfigMap:web", true), of("v1:ConfigMap:other:web", true));
    }

    #[test]
    fn cluster_scoped_kinds_have_no_namespace() {
        let role = "rbac.authorization.k8s.io/v1:ClusterRole";
        assert_eq!(of(&format!("{role}:reader"), false), of(&format!("{role}:shop:reader"), false));
    }

    #[test]
    fn versions_and_moved_groups_are_one_object() {
        let scaler =
            |version: &str| of(&format!("autoscaling/{version}:HorizontalPodAutoscaler:n:web"), true);
        assert_eq!(scaler("v1"), scaler("v2"));
        assert_eq!(of("apps/v1:Deployment:n:web", true), of("extensions/v1beta1:Deployment:n:web", true));
        assert_eq!(of("v1:Event:n:e", true), of("events.k8s.io/v1:Event:n:e", true));
        assert_ne!(of("v1:Service:n:web", true), of("serving\\.knative\\.dev/v1:Service:n:web", true));
    }
}
