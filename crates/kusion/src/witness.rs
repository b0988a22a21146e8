//! The witness of a stack: where it is, what it is asked and told.
//!
//! One place per stack: its first namespace. What cannot be asked or told is a warning, never a failure: a witness is a second
//! look, and a team may not be allowed to write ConfigMaps.

use std::sync::Arc;

use kube_meaning::id::KubeId;
use kusion_model::{Head, ResourceKey, Scope, Spec, sha256_hex};
use kusion_runtime::{ErrorKind, RuntimeError, Witness, WitnessPlace};
use kusion_runtime_k8s::KubeRuntime;
use kusion_store::State;

use crate::{Clusters, platforms};

/// The places of a stack's witness: where it is kept from now on, and where it may have been kept before.
#[derive(Default)]
pub struct Stand {
    places: Vec<(Arc<KubeRuntime>, WitnessPlace)>,
}

impl Stand {
    /// Finds the places of a stack: its first namespace as configured, and as recorded.
    #[must_use]
    pub fn of(scope: &Scope, spec: &Spec, state: &State, clusters: &Clusters) -> Stand {
        let platforms = platforms();
        let wanted = spec.resources.iter().filter(|resource| platforms.lives_in_cluster(&resource.kind));
        let wanted: Vec<ResourceKey> = wanted.map(kusion_model::Resource::key).collect();
        let recorded = state.records.values().chain(state.intents.values());
        let recorded = recorded.filter(|record| platforms.lives_in_cluster(&record.kind));
        let recorded: Vec<&ResourceKey> = recorded.map(|record| &record.key).collect();
        let lists = [wanted.iter().collect(), recorded];
        let mut places: Vec<(Arc<KubeRuntime>, WitnessPlace)> = Vec::new();
        for (runtime, place) in lists.iter().filter_map(|keys| first(keys, scope, clusters)) {
            if !places.iter().any(|(_, known)| *known == place) {
                places.push((runtime, place));
            }
        }
        Stand { places }
    }

    /// Asks what is known; of several answers the furthest. The warnings say who could not be asked.
    pub async fn recall(&self) -> (Option<Head>, Vec<String>) {
        let (mut known, mut warnings) = (None::<Head>, Vec::new());
        for (runtime, place) in &self.places {
            match runtime.recall(place).await {
                Ok(Some(head)) if known.as_ref().is_none_or(|known| known.serial < head.serial) => {
                    known = Some(head);
                }
                Ok(_) => {}
                Err(error) => warnings.push(warning("read", place, &error)),
            }
        }
        (known, warnings)
    }

    /// Tells the head of the log. A stack that has made nothing is forgotten. Returns warnings.
    pub async fn tell(&self, head: &Head, is_empty: bool) -> Vec<String> {
        let mut warnings = Vec::new();
        for (number, (runtime, place)) in self.places.iter().enumerate() {
            let (verb, done) = if is_empty || number > 0 {
                ("removed", runtime.forget(place).await)
            } else {
                ("written", runtime.remember(place, head).await.map(|_| ()))
            };
            warnings.extend(done.err().map(|error| warning(verb, place, &error)));
        }
        warnings
    }
}

fn first(
    keys: &[&ResourceKey],
    scope: &Scope,
    clusters: &Clusters,
) -> Option<(Arc<KubeRuntime>, WitnessPlace)> {
    let namespace_of = |key: &&ResourceKey| {
        let id = KubeId::from_parts(key.id.parts()).ok()?;
        let is_namespace = id.kind == "Namespace" && id.api_version == "v1";
        Some((
            Arc::clone(clusters.kube(&key.cluster)?),
            if is_namespace { Some(id.name) } else { id.namespace },
        ))
    };
    let all: Vec<_> = keys.iter().filter_map(namespace_of).collect();
    let named = all.iter().find_map(|(runtime, name)| Some((Arc::clone(runtime), name.clone()?)));
    // Objects that name no namespace live in the context's own.
    let (runtime, namespace) = named
        .or_else(|| all.first().map(|(runtime, _)| (Arc::clone(runtime), runtime.namespace().to_owned())))?;
    Some((runtime, WitnessPlace { namespace, name: name_of(scope) }))
}

/// The name of a stack's witness: readable, and another for every stack.
fn name_of(scope: &Scope) -> String {
    let text = format!("{}.{}.{}", scope.project, scope.stack, scope.workspace);
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    let mut readable: String = text.to_lowercase().chars().map(plain).collect();
    readable.truncate(200);
    let parts = readable.split('.').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty());
    let digest = &sha256_hex(text.as_bytes())[..8];
    let parts: Vec<&str> = ["kusion-state"].into_iter().chain(parts).chain([digest]).collect();
    parts.join(".")
}

fn warning(verb: &str, place: &WitnessPlace, error: &RuntimeError) -> String {
    let cause = match error.kind {
        ErrorKind::Forbidden => "the cluster does not allow it",
        _ => error.message.as_str(),
    };
    format!(
        "the witness of the state (ConfigMap {}/{}) could not be {verb}: {cause}",
        place.namespace, place.name
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_names_of_objects_and_differ_for_different_stacks() {
        let name = |project: &str, stack: &str| {
            name_of(&Scope { project: project.into(), stack: stack.into(), workspace: "default".into() })
        };
        assert!(name("shop", "dev").starts_with("kusion-state.shop.dev.default."));
        assert_ne!(name("Shop", "dev"), name("shop", "dev"));
        for odd in ["_x", "ÄÖ", "a--", "-", "A.B"] {
            let name = name(odd, "dev_1");
            let good = |part: &str| {
                !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.is_ascii()
            };
            assert!(name.split('.').all(good), "{name}");
        }
    }
}
