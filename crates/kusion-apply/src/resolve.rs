//! Filling in the references that became known during the apply.

use std::collections::BTreeMap;

use kusion_model::{
    DigestKey, Observed, Reference, ResourceKey, SecretBag, Step, is_sealed, kubernetes_sensitivity,
};
use serde_json::Value;

/// The attributes to send: no reference left, still sealed, with the secrets beside it.
pub(crate) fn resolve(
    step: &Step,
    secrets: Option<&SecretBag>,
    outputs: &BTreeMap<ResourceKey, Observed>,
    key: &DigestKey,
) -> Result<(Value, SecretBag), String> {
    let mut attributes = step.desired.clone().unwrap_or_default();
    let mut bag = secrets.cloned().unwrap_or_default();
    for use_ in &step.unknown {
        let mut found: BTreeMap<&Reference, Value> = BTreeMap::new();
        let mut secret = kubernetes_sensitivity(&attributes).iter().any(|path| path.covers(&use_.at));
        for reference in use_.template.references() {
            let Some(target) = find(step, reference, outputs) else {
                return Err(format!("`{reference}` has no value: its resource was not applied"));
            };
            let Some(value) = reference.path.get(&target.attributes) else {
                return Err(format!("`{reference}` has no value after the apply"));
            };
            secret |= is_sealed(value);
            let clear = target.secrets.get(&reference.path).map_or(value, |secret| secret.expose());
            found.insert(reference, clear.clone());
        }
        let filled = use_.template.fill(|reference| found.get(reference)).map_err(|e| e.to_string())?;
        let value = filled.unwrap_or_default();
        let value = if secret { bag.put(use_.at.clone(), value, key) } else { value };
        match use_.at.get_mut(&mut attributes) {
            Some(place) => *place = value,
            None => return Err(format!("field `{}` is gone", use_.at)),
        }
    }
    Ok((attributes, bag))
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
