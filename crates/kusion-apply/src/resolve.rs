//! Filling in the references that became known during the apply.

use std::collections::BTreeMap;

use kusion_model::{Attr, DigestKey, Observed, Platforms, Reference, ResourceKey, Secret, Step};

/// The attributes to send, with no reference left in them.
pub(crate) fn resolve(
    step: &Step,
    outputs: &BTreeMap<ResourceKey, Observed>,
    platforms: &Platforms,
    key: &DigestKey,
) -> Result<Attr, String> {
    let mut attributes = step.desired.clone().unwrap_or_default();
    let mut values = Vec::new();
    for use_ in &step.unknown {
        let mut found: BTreeMap<&Reference, Attr> = BTreeMap::new();
        for reference in use_.template.references() {
            let Some(target) = find(step, reference, outputs) else {
                return Err(format!("`{reference}` has no value: its resource was not applied"));
            };
            let Some(value) = reference.path.get(target.attributes.tree()) else {
                return Err(format!("`{reference}` has no value after the apply"));
            };
            found.insert(reference, value.clone());
        }
        let filled = use_.template.fill(key, |reference| found.get(reference).cloned());
        let Some(value) = filled.map_err(|e| e.to_string())? else {
            return Err(format!("`{}` has no value after the apply", use_.template.source()));
        };
        let value = if use_.secret { Attr::Secret(Secret::new(&value, key)) } else { value };
        if use_.at.get(&attributes).is_none() {
            return Err(format!("field `{}` is gone", use_.at));
        }
        values.push((use_.at.clone(), value));
    }
    let of = (&step.kind, &step.key.id, &step.extensions);
    platforms.fill(of, &mut attributes, values, key).map_err(|e| e.to_string())?;
    Ok(attributes)
}

/// Finds the target of a reference: in the same cluster, else in the default one, else wherever it is.
fn find<'o>(
    step: &Step,
    reference: &Reference,
    outputs: &'o BTreeMap<ResourceKey, Observed>,
) -> Option<&'o Observed> {
    let here = ResourceKey { cluster: step.key.cluster.clone(), id: reference.id.clone() };
    let default = ResourceKey::new(reference.id.clone());
    let anywhere = || outputs.iter().find(|(key, _)| key.id == reference.id).map(|(_, observed)| observed);
    outputs.get(&here).or_else(|| outputs.get(&default)).or_else(anywhere)
}
