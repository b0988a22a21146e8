//! Filling in the references that are known before the apply.
//!
//! A reference is known if the wanted attributes of its target say the value, or the target lives and its live
//! attributes do. A value that comes from a secret makes the field that uses it a secret.

use std::borrow::Cow;
use std::collections::BTreeMap;

use kusion_model::{
    Desired, DigestKey, FieldPath, Observed, Prior, Reference, ReferenceUse, ResourceKey, SecretBag, Segment,
    StackRef, has_seal, is_sealed, seal_like,
};
use serde_json::Value;

use crate::{Prepared, Problem};

/// Looks up an output of another stack: `None` if that stack does not offer it.
pub type OtherStacks<'a> = dyn Fn(&StackRef, &Reference) -> Option<Value> + 'a;

/// Returns what shall exist, with known references filled in, in the order of the Spec. Live fields that were or will
/// be filled from a secret are sealed on the way.
pub fn fill_known<'a>(
    prepared: &Prepared<'a>,
    prior: &Prior,
    live: &mut BTreeMap<ResourceKey, Observed>,
    others: &OtherStacks<'_>,
    key: &DigestKey,
) -> Result<Vec<Desired<'a>>, Vec<Problem>> {
    for (at, observed) in live.iter_mut() {
        if let Some(record) = prior.get(at) {
            seal_like(&mut observed.attributes, &record.attributes, key, &mut observed.secrets);
        }
    }
    let filled = fill_all(prepared, live, others, key)?;
    for desired in &filled {
        if let Some(observed) = live.get_mut(&desired.key) {
            seal_like(&mut observed.attributes, &desired.attributes, key, &mut observed.secrets);
        }
    }
    Ok(filled)
}

fn fill_all<'a>(
    prepared: &Prepared<'a>,
    live: &BTreeMap<ResourceKey, Observed>,
    others: &OtherStacks<'_>,
    key: &DigestKey,
) -> Result<Vec<Desired<'a>>, Vec<Problem>> {
    let mut filler = Filler { prepared, live, others, key, done: BTreeMap::new(), problems: Vec::new() };
    for &at in &prepared.order {
        let desired = filler.fill(at);
        filler.done.insert(at, desired);
    }
    if filler.problems.is_empty() { Ok(filler.done.into_values().collect()) } else { Err(filler.problems) }
}

struct Filler<'s, 'a> {
    prepared: &'s Prepared<'a>,
    live: &'s BTreeMap<ResourceKey, Observed>,
    others: &'s OtherStacks<'s>,
    key: &'s DigestKey,
    done: BTreeMap<usize, Desired<'a>>,
    problems: Vec<Problem>,
}

/// A value found for a reference, in clear, and whether it is a secret.
struct Found {
    value: Value,
    secret: bool,
}

impl<'a> Filler<'_, 'a> {
    fn fill(&mut self, at: usize) -> Desired<'a> {
        let resource = self.prepared.resources[at];
        let mut desired = Desired {
            key: self.prepared.keys[at].clone(),
            kind: resource.kind.clone(),
            attributes: Cow::Borrowed(&resource.attributes),
            secrets: resource.secrets.clone(),
            unknown: Vec::new(),
            extensions: &resource.extensions,
        };
        for use_ in &self.prepared.uses[at] {
            self.fill_use(at, use_, &mut desired);
        }
        if let Some(observed) = self.live.get(&desired.key) {
            adopt_secrets(&mut desired, observed);
        }
        desired
    }

    fn fill_use(&mut self, at: usize, use_: &ReferenceUse, desired: &mut Desired<'_>) {
        let mut found: BTreeMap<&Reference, Found> = BTreeMap::new();
        for reference in use_.template.references() {
            match self.look_up(at, reference) {
                Ok(Some(value)) => {
                    found.insert(reference, value);
                }
                Ok(None) => {}
                Err(problem) => self.problems.push(problem),
            }
        }
        let secret = found.values().any(|value| value.secret)
            || kusion_model::kubernetes_sensitivity(&desired.attributes).iter().any(|p| p.covers(&use_.at));
        match use_.template.fill(|reference| found.get(reference).map(|f| &f.value)) {
            Ok(None) => desired.unknown.push(use_.clone()),
            Ok(Some(value)) => {
                let value =
                    if secret { desired.secrets.put(use_.at.clone(), value, self.key) } else { value };
                if let Some(place) = use_.at.get_mut(desired.attributes.to_mut()) {
                    *place = value;
                }
            }
            Err(error) => {
                self.problems.push(Problem::Reference { at: self.prepared.keys[at].clone(), error });
            }
        }
    }

    fn look_up(&self, at: usize, reference: &Reference) -> Result<Option<Found>, Problem> {
        if let Some(stack) = &reference.stack {
            let value = (self.others)(stack, reference).ok_or_else(|| Problem::NotAnOutput {
                at: self.prepared.keys[at].clone(),
                reference: reference.to_string(),
                stack: format!("{}/{}", stack.project, stack.stack),
            })?;
            return Ok(Some(Found { value, secret: false }));
        }
        let before = self.prepared.graph.predecessors(at);
        let Some(target) = before.into_iter().find(|&b| self.prepared.resources[b].id == reference.id) else {
            return Ok(None);
        };
        let wanted = self.done.get(&target).and_then(|desired| {
            let waits =
                desired.unknown.iter().any(|u| u.at.covers(&reference.path) || reference.path.covers(&u.at));
            if waits { None } else { read(&desired.attributes, &desired.secrets, &reference.path) }
        });
        let live = || {
            let observed = self.live.get(&self.prepared.keys[target])?;
            if observed.terminating.is_some() {
                return None;
            }
            read(&observed.attributes, &observed.secrets, &reference.path)
        };
        Ok(wanted.or_else(live))
    }
}

fn read(attributes: &Value, secrets: &SecretBag, path: &FieldPath) -> Option<Found> {
    let value = path.get(attributes)?;
    if !is_sealed(value) {
        return Some(Found { value: value.clone(), secret: false });
    }
    secrets.get(path).map(|secret| Found { value: secret.expose().clone(), secret: true })
}

/// Takes from the live object the value of a secret that is wanted by digest only (a recorded Spec has no values).
fn adopt_secrets(desired: &mut Desired<'_>, observed: &Observed) {
    if !has_seal(&desired.attributes) {
        return;
    }
    let mut sealed = Vec::new();
    collect_sealed(&desired.attributes, &FieldPath::root(), &mut sealed);
    for path in sealed {
        let same = path.get(&desired.attributes) == path.get(&observed.attributes);
        if let (None, Some(value), true) = (desired.secrets.get(&path), observed.secrets.get(&path), same) {
            desired.secrets.keep(path, value.clone());
        }
    }
}

fn collect_sealed(value: &Value, path: &FieldPath, found: &mut Vec<FieldPath>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, item)| collect_sealed(item, &path.key(key), found)),
        Value::Array(items) => items
            .iter()
            .enumerate()
            .for_each(|(at, item)| collect_sealed(item, &path.child(Segment::Index(at)), found)),
        leaf if is_sealed(leaf) => found.push(path.clone()),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare;
    use kusion_model::{ResourceId, Spec};
    use serde_json::json;

    const KEY: DigestKey = DigestKey([1; 32]);

    fn object(kind: &str, name: &str, data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ns"}, "data": data})
    }

    fn key(kind: &str, name: &str) -> ResourceKey {
        ResourceKey::new(ResourceId::kubernetes("v1", kind, Some("ns"), name))
    }

    fn fill<'a>(spec: &'a Spec, live: &BTreeMap<ResourceKey, Observed>) -> Vec<Desired<'a>> {
        let prepared = prepare(spec, &[]).unwrap();
        fill_known(&prepared, &Prior::default(), &mut live.clone(), &|_, _| None, &KEY).unwrap()
    }

    #[test]
    fn chains_of_references_are_filled_from_what_is_wanted() {
        let spec = Spec::from_value(
            json!([
                object("ConfigMap", "c", json!({"v": "$kusion_path.v1:ConfigMap:ns:b.data.v"})),
                object("ConfigMap", "b", json!({"v": "$kusion_path.v1:ConfigMap:ns:a.metadata.name"})),
                object("ConfigMap", "a", json!({})),
            ]),
            &KEY,
        )
        .unwrap();
        assert_eq!(fill(&spec, &BTreeMap::new())[0].attributes["data"]["v"], "a");
    }

    #[test]
    fn values_of_the_platform_come_from_the_live_object_or_stay_unknown() {
        let reference = "$kusion_path.v1:Service:ns:web.spec.clusterIP";
        let spec = Spec::from_value(
            json!([object("Service", "web", json!({})), object("ConfigMap", "c", json!({"ip": reference}))]),
            &KEY,
        )
        .unwrap();
        let unknown = fill(&spec, &BTreeMap::new());
        assert!(unknown[1].is_unknown(&FieldPath::keys(["data", "ip"])));
        assert_eq!(unknown[1].attributes["data"]["ip"], reference);
        let service =
            Observed { attributes: json!({"spec": {"clusterIP": "10.0.0.7"}}), ..Observed::default() };
        let known = fill(&spec, &BTreeMap::from([(key("Service", "web"), service)]));
        assert_eq!(known[1].attributes["data"]["ip"], "10.0.0.7");
    }

    #[test]
    fn a_value_taken_from_a_secret_is_a_secret() {
        let text = r#"pw=${kusion_path["v1:Secret:ns:s"].data.pw};"#;
        let spec = Spec::from_value(
            json!([
                object("Secret", "s", json!({"pw": "Y2FuYXJ5"})),
                object("ConfigMap", "c", json!({"dsn": text}))
            ]),
            &KEY,
        )
        .unwrap();
        let desired = fill(&spec, &BTreeMap::new());
        assert!(is_sealed(&desired[1].attributes["data"]["dsn"]));
        assert!(!format!("{desired:?}").contains("Y2FuYXJ5"));
        let mut clear = desired[1].attributes.clone().into_owned();
        desired[1].secrets.unseal(&mut clear).unwrap();
        assert_eq!(clear["data"]["dsn"], "pw=Y2FuYXJ5;");
    }

    #[test]
    fn other_stacks_answer_or_the_reference_is_a_problem() {
        let reference = r#"$kusion_path["net/prod#v1:Service:ns:dns"].spec.clusterIP"#;
        let spec =
            Spec::from_value(json!([object("ConfigMap", "c", json!({"ip": reference}))]), &KEY).unwrap();
        let prepared = prepare(&spec, &[]).unwrap();
        let (prior, mut live) = (Prior::default(), BTreeMap::new());
        let filled = fill_known(&prepared, &prior, &mut live, &|_, _| Some(json!("10.0.0.9")), &KEY).unwrap();
        assert_eq!(filled[0].attributes["data"]["ip"], "10.0.0.9");
        let problems = fill_known(&prepared, &prior, &mut live, &|_, _| None, &KEY).unwrap_err();
        assert_eq!(problems[0].id(), "not-an-output");
    }

    #[test]
    fn recorded_secret_is_taken_from_the_live_object_if_it_is_the_same() {
        let clear = object("Secret", "s", json!({"pw": "Y2FuYXJ5"}));
        let full = Spec::from_value(json!([clear]), &KEY).unwrap();
        let mut recorded = full.clone();
        recorded.resources[0].secrets = SecretBag::default();
        let observed = Observed {
            attributes: full.resources[0].attributes.clone(),
            secrets: full.resources[0].secrets.clone(),
            ..Observed::default()
        };
        let desired = fill(&recorded, &BTreeMap::from([(key("Secret", "s"), observed)]));
        let mut attributes = desired[0].attributes.clone().into_owned();
        desired[0].secrets.unseal(&mut attributes).unwrap();
        assert_eq!(attributes, clear);
    }
}
