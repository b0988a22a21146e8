//! Going back: recorded state as a Spec.

use std::collections::BTreeMap;
use std::sync::Arc;

use kusion_model::{
    Attr, FieldPath, ReferenceUse, Resource, ResourceKey, ResourceRecord, Segment, SourceMap, Spec,
};

type Records = BTreeMap<ResourceKey, ResourceRecord>;

/// Turns the records of a release back into a Spec that asks for what it has made. Fields that were filled in from other
/// resources are filled in anew: a database gets the password that there will be, not the one that there was. Secrets whose old
/// value was not kept come without it; those that are still live with the same digest are taken from there, others make the apply
/// refuse by name rather than send a digest.
#[must_use]
pub fn rollback_spec(records: &Records) -> Spec {
    let mut spec = recorded_spec(records);
    for resource in &mut spec.resources {
        let Some(record) = records.get(&resource.key()) else { continue };
        for use_ in record.references.iter().filter(|use_| is_here(use_, records)) {
            put(&mut resource.attributes, &use_.at, Attr::Reference(Arc::new(use_.template.clone())));
        }
    }
    spec
}

/// Turns the records into a Spec of exactly what they say: every field has the value that it had.
#[must_use]
pub fn recorded_spec(records: &Records) -> Spec {
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

/// Whether everything that a field refers to is part of the release.
fn is_here(use_: &ReferenceUse, records: &Records) -> bool {
    use_.template.references().all(|reference| records.keys().any(|key| key.id == reference.id))
}

/// Puts a value at a place; a mapping on the way that is not there any more (a platform moved its fields) is made.
fn put(tree: &mut Attr, at: &FieldPath, value: Attr) {
    let Some((Segment::Key(last), parents)) = at.0.split_last() else {
        if let Some(place) = at.get_mut(tree) {
            *place = value;
        }
        return;
    };
    let mut place = tree;
    for segment in parents {
        let here = FieldPath(vec![segment.clone()]);
        if here.get(place).is_none()
            && let (Segment::Key(name), Some(map)) = (segment, place.as_map_mut())
        {
            map.insert(name.as_str().into(), Attr::map::<&str>([]));
        }
        let Some(next) = here.get_mut(place) else { return };
        place = next;
    }
    if let Some(map) = place.as_map_mut() {
        map.insert(last.as_str().into(), value);
    }
}
