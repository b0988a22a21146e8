//! What a controller or the kubelet sees: the store at one moment, and the time.

use std::sync::Arc;

use serde_json::Value;

use crate::index::Index;
use crate::kubelet::Containers;
use crate::pace::Pace;
use crate::registry::Registry;
use crate::store::{ObjectKey, ResourceKey, Store};
use crate::time::Time;

/// A snapshot by borrow: nothing changes while a controller looks.
#[derive(Clone, Copy)]
pub struct View<'w> {
    pub store: &'w Store,
    pub registry: &'w Registry,
    pub now: Time,
    pub pace: &'w Pace,
    /// What the kubelets remember.
    pub runtime: &'w Containers,
    pub(crate) index: &'w Index,
}

impl<'w> View<'w> {
    /// One object. `plural` and `group` as in URLs: `view.get("apps", "deployments", "ns", "web")`.
    pub fn get(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Option<&'w Arc<Value>> {
        let object = self.store.get(&ResourceKey::new(group, plural), &ObjectKey::new(namespace, name));
        object.map(|object| &object.value)
    }

    /// The objects of a resource, in one namespace or in all, by name.
    pub fn list(
        &self,
        group: &str,
        plural: &str,
        namespace: Option<&'w str>,
    ) -> impl Iterator<Item = &'w Arc<Value>> + use<'w> {
        self.store.list(&ResourceKey::new(group, plural), namespace).map(|(_, object)| &object.value)
    }

    /// The objects of a resource that name this uid as an owner, by name.
    pub fn owned(&self, uid: &str, group: &str, plural: &str) -> Vec<&'w Arc<Value>> {
        let wanted = ResourceKey::new(group, plural);
        let owned = self.store.owned_by(uid).filter(|(resource, _)| *resource == wanted);
        owned.filter_map(|(resource, key)| Some(&self.store.get(resource, key)?.value)).collect()
    }
}
