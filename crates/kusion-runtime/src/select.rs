//! Which runtime serves a resource.

use std::collections::BTreeMap;
use std::sync::Arc;

use kusion_model::{ResourceKey, ResourceType};

use crate::{Runtime, RuntimeKey};

/// The runtimes of one operation, by resource type and cluster; the empty cluster name is the default one.
#[derive(Clone, Default)]
pub struct Runtimes {
    places: BTreeMap<RuntimeKey, Arc<dyn Runtime>>,
}

/// Nobody serves this resource.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no runtime for type `{kind}`{} (known: {known})", if .cluster.is_empty() { String::new() } else { format!(" in cluster `{}`", .cluster) })]
pub struct NoRuntime {
    pub kind: ResourceType,
    pub cluster: String,
    pub known: String,
}

impl Runtimes {
    /// Adds the runtime of a type in a cluster.
    pub fn insert(&mut self, kind: ResourceType, cluster: &str, runtime: Arc<dyn Runtime>) {
        self.places.insert(RuntimeKey { kind, cluster: cluster.into() }, runtime);
    }

    /// Returns the runtime of a resource.
    pub fn get(&self, kind: &ResourceType, key: &ResourceKey) -> Result<&Arc<dyn Runtime>, NoRuntime> {
        let place = RuntimeKey { kind: kind.clone(), cluster: Arc::clone(&key.cluster) };
        self.places.get(&place).ok_or_else(|| NoRuntime {
            kind: place.kind,
            cluster: place.cluster.to_string(),
            known: self.names().join(", "),
        })
    }

    /// Returns all runtimes with their places.
    pub fn iter(&self) -> impl Iterator<Item = (&RuntimeKey, &Arc<dyn Runtime>)> {
        self.places.iter()
    }

    fn names(&self) -> Vec<String> {
        let name = |place: &RuntimeKey| match &*place.cluster {
            "" => place.kind.to_string(),
            cluster => format!("{}@{cluster}", place.kind),
        };
        self.places.keys().map(name).collect()
    }
}
