//! Going back: recorded state as a Spec.

use std::collections::BTreeMap;

use kusion_model::{Resource, ResourceKey, ResourceRecord, SourceMap, Spec};

/// Turns the records of a release back into a Spec. Secrets whose old value was not kept come without it; those that are still live with the
/// same digest are taken from there, others make the apply refuse by name rather than send a digest.
#[must_use]
pub fn rollback_spec(records: &BTreeMap<ResourceKey, ResourceRecord>) -> Spec {
    let resource = |record: &ResourceRecord| Resource {
        id: record.key.id.clone(),
        kind: record.kind.clone(),
        attributes: record.attributes.clone(),
        depends_on: record
            .depends_on
            .iter()
            .filter(|on| records.contains_key(on))
            .map(|on| on.id.clone())
            .collect(),
        extensions: record.extensions.clone(),
        broken: Vec::new(),
        moved: Vec::new(),
        source: SourceMap::default(),
    };
    Spec { resources: records.values().map(resource).collect() }
}
