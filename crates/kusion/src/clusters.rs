//! The platforms that this engine serves, and the clusters that a stack needs.

use std::collections::BTreeSet;
use std::sync::Arc;

use kusion_model::{Platforms, Spec};
use kusion_runtime_k8s::KubePlatform;
use kusion_runtime_tf::TfPlatform;
use kusion_store::State;

/// What this engine knows about the platforms that it serves, without asking any.
#[must_use]
pub fn platforms() -> Platforms {
    Platforms::new(vec![Arc::new(KubePlatform), Arc::new(TfPlatform::default())])
}

/// The names of the clusters in which something is wanted or recorded; the default one has the empty name. Nothing for a stack
/// that has only resources of providers.
#[must_use]
pub fn clusters_of(spec: &Spec, state: &State) -> BTreeSet<String> {
    let platforms = platforms();
    let wanted = spec.resources.iter().filter(|resource| platforms.lives_in_cluster(&resource.kind));
    let wanted = wanted.map(|resource| resource.key().cluster.to_string());
    let recorded = state.records.values().chain(state.intents.values());
    let recorded = recorded.filter(|record| platforms.lives_in_cluster(&record.kind));
    wanted.chain(recorded.map(|record| record.key.cluster.to_string())).collect()
}
