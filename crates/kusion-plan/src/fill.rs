//! Filling in the references that are known before the apply, in waves.
//!
//! A reference is known if the planned state of its target says the value, or else its wanted attributes, or else the target
//! lives and its live attributes do. What is planned of a target is only known when its runtime has proposed it, so whoever
//! refers to a resource is filled in a later wave than that resource. A value that comes from a secret makes the field that
//! uses it a secret.

use std::collections::{BTreeMap, BTreeSet};

use kusion_model::{
    Attr, Desired, DigestKey, Observed, Platforms, Prior, Proposal, Proposed, Reference, ReferenceUse,
    ResourceKey, StackRef, adopt, seal_like,
};

use crate::{Prepared, Problem, Via};

/// Looks up an output of another stack: `None` if that stack does not offer it.
pub type OtherStacks<'a> = dyn Fn(&StackRef, &Reference) -> Option<Attr> + Sync + 'a;

/// What filling needs beside the Spec.
pub struct FillInput<'s> {
    pub platforms: &'s Platforms,
    pub prior: &'s Prior,
    pub others: &'s OtherStacks<'s>,
    pub key: &'s DigestKey,
}

/// The wanted resources on their way from the Spec to the plan.
pub struct Filling<'s, 'a> {
    prepared: &'s Prepared<'a>,
    input: FillInput<'s>,
    done: BTreeMap<usize, Desired<'a>>,
    /// What runtimes have planned, by index.
    planned: BTreeMap<usize, Attr>,
    replaced: BTreeSet<usize>,
}

/// Returns the resources in waves: each in a later one than those it refers to, and in no earlier one than those it depends
/// on. Within a wave they are in the order of the graph. Without references there is one wave.
#[must_use]
pub fn waves(prepared: &Prepared<'_>) -> Vec<Vec<usize>> {
    let mut before: Vec<Vec<(usize, bool)>> = vec![Vec::new(); prepared.keys.len()];
    for edge in &prepared.edges {
        let refers = matches!(edge.via, Via::Reference(_))
            || refers_to(prepared, edge.after, edge.before)
            // What is only looked at is looked at when it is known whether what it depends on changes.
            || prepared.looks[edge.after];
        before[edge.after].push((edge.before, refers));
    }
    let mut number = vec![0; prepared.keys.len()];
    let mut waves: Vec<Vec<usize>> = Vec::new();
    for &at in &prepared.order {
        number[at] =
            before[at].iter().map(|&(on, refers)| number[on] + usize::from(refers)).max().unwrap_or(0);
        if waves.len() <= number[at] {
            waves.resize(number[at] + 1, Vec::new());
        }
        waves[number[at]].push(at);
    }
    waves
}

/// An edge has one reason, the first that was found; a reference may stand behind another one.
fn refers_to(prepared: &Prepared<'_>, from: usize, to: usize) -> bool {
    let id = &prepared.resources[to].id;
    let references = prepared.uses[from].iter().flat_map(|use_| use_.template.references());
    references.filter(|reference| reference.stack.is_none()).any(|reference| reference.id == *id)
}

impl<'s, 'a> Filling<'s, 'a> {
    /// Begins. Live fields that were filled from a secret are sealed.
    pub fn new(
        prepared: &'s Prepared<'a>,
        live: &mut BTreeMap<ResourceKey, Observed>,
        input: FillInput<'s>,
    ) -> Self {
        for (at, observed) in live.iter_mut() {
            if let Some(record) = input.prior.get(at) {
                seal_live(observed, &record.attributes, input.key);
            }
        }
        let (done, planned, replaced) = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
        Filling { prepared, input, done, planned, replaced }
    }

    /// Fills the resources of a wave. Live fields that will be filled from a secret are sealed on the way.
    ///
    /// # Errors
    /// References that cannot be filled in, all of them.
    pub fn fill(
        &mut self,
        wave: &[usize],
        live: &mut BTreeMap<ResourceKey, Observed>,
    ) -> Result<(), Vec<Problem>> {
        let mut problems = Vec::new();
        for &at in wave {
            let desired = self.fill_one(at, live, &mut problems);
            if let Some(observed) = live.get_mut(&desired.key) {
                seal_live(observed, &desired.attributes, self.input.key);
            }
            self.done.insert(at, desired);
        }
        if problems.is_empty() { Ok(()) } else { Err(problems) }
    }

    /// Returns a resource of a wave that was filled.
    #[must_use]
    pub fn desired(&self, at: usize) -> Option<&Desired<'a>> {
        self.done.get(&at)
    }

    /// Takes in what a runtime proposes, for those that refer to the resource.
    pub fn learn(&mut self, at: usize, proposal: &Proposal) {
        if let Some(planned) = &proposal.planned {
            self.planned.insert(at, planned.clone());
        }
        if matches!(proposal.what, Proposed::Replace { .. }) {
            self.replaced.insert(at);
        }
    }

    /// Returns what shall exist, in the order of the Spec.
    #[must_use]
    pub fn finish(self) -> Vec<Desired<'a>> {
        self.done.into_values().collect()
    }

    fn fill_one(
        &self,
        at: usize,
        live: &BTreeMap<ResourceKey, Observed>,
        problems: &mut Vec<Problem>,
    ) -> Desired<'a> {
        let resource = self.prepared.resources[at];
        let mut desired = Desired {
            key: self.prepared.keys[at].clone(),
            kind: resource.kind.clone(),
            attributes: resource.attributes.clone(),
            unknown: Vec::new(),
            extensions: &resource.extensions,
        };
        let of = (&resource.kind, &resource.id);
        let sensitive = self.input.platforms.sensitive(of.0, of.1, &resource.attributes);
        let mut values = Vec::new();
        for use_ in &self.prepared.uses[at] {
            match self.value_of(at, use_, live) {
                Err(problem) => problems.push(problem),
                Ok(Some(value)) => values.push((use_.at.clone(), value)),
                Ok(None) => {
                    let secret = sensitive.iter().any(|path| path.covers(&use_.at));
                    desired.unknown.push(ReferenceUse { secret, ..use_.clone() });
                }
            }
        }
        self.input.platforms.fill(of, &mut desired.attributes, values, self.input.key);
        // A recorded Spec knows its secrets by digest only; those that live unchanged have their values there.
        let nameless = |leaf: &Attr| matches!(leaf, Attr::Secret(secret) if !secret.is_known());
        if desired.attributes.any(&nameless)
            && let Some(observed) = live.get(&desired.key)
        {
            adopt(&mut desired.attributes, observed.attributes.tree());
        }
        desired
    }

    /// The value of a field that refers to others; `None` if it is not known yet.
    fn value_of(
        &self,
        at: usize,
        use_: &ReferenceUse,
        live: &BTreeMap<ResourceKey, Observed>,
    ) -> Result<Option<Attr>, Problem> {
        let mut found: BTreeMap<&Reference, Attr> = BTreeMap::new();
        for reference in use_.template.references() {
            if let Some(value) = self.look_up(at, reference, live)? {
                found.insert(reference, value);
            }
        }
        let filled = use_.template.fill(self.input.key, |reference| found.get(reference).cloned());
        filled.map_err(|error| Problem::Reference { at: self.prepared.keys[at].clone(), error })
    }

    fn look_up(
        &self,
        at: usize,
        reference: &Reference,
        live: &BTreeMap<ResourceKey, Observed>,
    ) -> Result<Option<Attr>, Problem> {
        if let Some(stack) = &reference.stack {
            let value = (self.input.others)(stack, reference).ok_or_else(|| Problem::NotAnOutput {
                at: self.prepared.keys[at].clone(),
                reference: reference.to_string(),
                stack: format!("{}/{}", stack.project, stack.stack),
            })?;
            return Ok(Some(value));
        }
        let before = self.prepared.graph.predecessors(at);
        let Some(target) = before.into_iter().find(|&b| self.prepared.resources[b].id == reference.id) else {
            return Ok(None);
        };
        if let Some(planned) = self.planned.get(&target) {
            return Ok(reference.path.get(planned).cloned());
        }
        let wanted = self.done.get(&target).and_then(|desired| {
            let waits =
                desired.unknown.iter().any(|u| u.at.covers(&reference.path) || reference.path.covers(&u.at));
            if waits { None } else { reference.path.get(&desired.attributes).cloned() }
        });
        let live = || {
            let observed = live.get(&self.prepared.keys[target])?;
            // What is on its way out says nothing about what takes its place.
            if observed.terminating.is_some() || self.replaced.contains(&target) {
                return None;
            }
            reference.path.get(observed.attributes.tree()).cloned()
        };
        Ok(wanted.or_else(live))
    }
}

fn seal_live(observed: &mut Observed, like: &Attr, key: &DigestKey) {
    if like.has_secret() {
        observed.attributes.change_tree(|tree| seal_like(tree, like, key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prepare;
    use crate::testing::{KEY, platforms, spec};
    use kusion_model::{FieldPath, ResourceId, Spec, Unknowns};
    use serde_json::{Value, json};

    fn object(kind: &str, name: &str, data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "ns"}, "data": data})
    }

    fn key(kind: &str, name: &str) -> ResourceKey {
        ResourceKey::new(ResourceId::from_parts(["v1", kind, "ns", name]))
    }

    fn fill_with<'a>(
        spec: &'a Spec,
        live: &BTreeMap<ResourceKey, Observed>,
        others: &OtherStacks<'_>,
    ) -> Result<Vec<Desired<'a>>, Vec<Problem>> {
        let prepared = prepare(spec, &platforms()).unwrap();
        let (platforms, prior) = (platforms(), Prior::default());
        let input = FillInput { platforms: &platforms, prior: &prior, others, key: &KEY };
        let mut live = live.clone();
        let mut filling = Filling::new(&prepared, &mut live, input);
        filling.fill(&prepared.order, &mut live)?;
        Ok(filling.finish())
    }

    fn fill<'a>(spec: &'a Spec, live: &BTreeMap<ResourceKey, Observed>) -> Vec<Desired<'a>> {
        fill_with(spec, live, &|_, _| None).unwrap()
    }

    #[test]
    fn chains_of_references_are_filled_from_what_is_wanted() {
        let spec = spec(json!([
            object("ConfigMap", "c", json!({"v": "$kusion_path.v1:ConfigMap:ns:b.data.v"})),
            object("ConfigMap", "b", json!({"v": "$kusion_path.v1:ConfigMap:ns:a.metadata.name"})),
            object("ConfigMap", "a", json!({})),
        ]));
        assert_eq!(fill(&spec, &BTreeMap::new())[0].attributes["data"]["v"], "a");
    }

    #[test]
    fn values_of_the_platform_come_from_the_live_object_or_stay_unknown() {
        let reference = "$kusion_path.v1:Service:ns:web.spec.clusterIP";
        let spec = spec(json!([
            object("Service", "web", json!({})),
            object("ConfigMap", "c", json!({"ip": reference}))
        ]));
        let unknown = fill(&spec, &BTreeMap::new());
        assert!(unknown[1].is_unknown(&FieldPath::keys(["data", "ip"])));
        assert!(matches!(unknown[1].attributes["data"]["ip"], Attr::Reference(_)));
        let service =
            Observed { attributes: json!({"spec": {"clusterIP": "10.0.0.7"}}).into(), ..Observed::default() };
        let known = fill(&spec, &BTreeMap::from([(key("Service", "web"), service)]));
        assert_eq!(known[1].attributes["data"]["ip"], "10.0.0.7");
    }

    #[test]
    fn a_value_taken_from_a_secret_is_a_secret() {
        let text = r#"pw=${kusion_path["v1:Secret:ns:s"].data.pw};"#;
        let spec = spec(json!([
            object("Secret", "s", json!({"pw": "Y2FuYXJ5"})),
            object("ConfigMap", "c", json!({"dsn": text}))
        ]));
        let desired = fill(&spec, &BTreeMap::new());
        assert!(desired[1].attributes["data"]["dsn"].is_secret());
        assert!(!format!("{desired:?}").contains("Y2FuYXJ5"));
        let clear = desired[1].attributes.expose(Unknowns::Refuse).unwrap();
        assert_eq!(clear["data"]["dsn"], "pw=Y2FuYXJ5;");
    }

    #[test]
    fn other_stacks_answer_or_the_reference_is_a_problem() {
        let reference = r#"$kusion_path["net/prod#v1:Service:ns:dns"].spec.clusterIP"#;
        let spec = spec(json!([object("ConfigMap", "c", json!({"ip": reference}))]));
        let live = BTreeMap::new();
        let filled = fill_with(&spec, &live, &|_, _| Some(Attr::text("10.0.0.9"))).unwrap();
        assert_eq!(filled[0].attributes["data"]["ip"], "10.0.0.9");
        let problems = fill_with(&spec, &live, &|_, _| None).unwrap_err();
        assert_eq!(problems[0].id(), "not-an-output");
    }

    #[test]
    fn recorded_secret_is_taken_from_the_live_object_if_it_is_the_same() {
        let clear = object("Secret", "s", json!({"pw": "Y2FuYXJ5"}));
        let full = spec(json!([clear]));
        let mut recorded = full.clone();
        let stored = full.resources[0].attributes.to_shown();
        recorded.resources[0].attributes = serde_json::from_value(stored).unwrap();
        let live = full.resources[0].attributes.clone();
        let observed = Observed { attributes: live.into(), ..Observed::default() };
        let desired = fill(&recorded, &BTreeMap::from([(key("Secret", "s"), observed)]));
        assert_eq!(desired[0].attributes.expose(Unknowns::Refuse), Ok(clear));
    }

    #[test]
    fn a_field_of_a_secret_that_is_known_only_later_stays_secret() {
        let reference = "$kusion_path.v1:Service:ns:web.spec.clusterIP";
        let spec = spec(json!([
            object("Service", "web", json!({})),
            object("Secret", "s", json!({"ip": reference})),
        ]));
        let desired = fill(&spec, &BTreeMap::new());
        assert!(desired[1].unknown[0].secret);
    }

    #[test]
    fn who_refers_comes_in_a_later_wave_and_nobody_before_what_it_depends_on() {
        let refers = |name: &str| json!({"v": format!("$kusion_path.v1:ConfigMap:ns:{name}.data.v")});
        let mut last = object("ConfigMap", "d", json!({}));
        last = json!({"id": "v1:ConfigMap:ns:d", "attributes": last, "dependsOn": ["v1:ConfigMap:ns:c"]});
        let spec = spec(json!([
            last,
            object("ConfigMap", "c", refers("b")),
            object("ConfigMap", "b", refers("a")),
            object("ConfigMap", "a", json!({})),
            object("ConfigMap", "e", json!({})),
        ]));
        let prepared = prepare(&spec, &platforms()).unwrap();
        let names = |wave: &Vec<usize>| -> Vec<String> {
            wave.iter()
                .map(|&at| prepared.keys[at].id.as_str().rsplit(':').next().unwrap().to_owned())
                .collect()
        };
        let waves: Vec<Vec<String>> = waves(&prepared).iter().map(names).collect();
        assert_eq!(waves, [vec!["a", "e"], vec!["b"], vec!["c", "d"]]);
    }

    #[test]
    fn planned_state_speaks_for_its_resource_and_a_replaced_one_says_nothing() {
        let spec = spec(json!([
            object(
                "ConfigMap",
                "user",
                json!({
                "id": "$kusion_path.v1:Db:ns:db.id", "size": "$kusion_path.v1:Db:ns:db.size",
                "ip": "$kusion_path.v1:Service:ns:web.ip"})
            ),
            object("Db", "db", json!({})),
            object("Service", "web", json!({})),
        ]));
        let (platforms, prior) = (platforms(), Prior::default());
        let prepared = prepare(&spec, &platforms).unwrap();
        let old = Observed { attributes: json!({"ip": "10.0.0.7"}).into(), ..Observed::default() };
        let mut live = BTreeMap::from([(key("Service", "web"), old)]);
        let input = FillInput { platforms: &platforms, prior: &prior, others: &|_, _| None, key: &KEY };
        let mut filling = Filling::new(&prepared, &mut live, input);
        filling.fill(&[1, 2], &mut live).unwrap();
        let planned = Attr::map([("id", Attr::Unknown), ("size", 3.into())]);
        filling.learn(1, &Proposal { planned: Some(planned), ..Proposal::create() });
        let what = Proposed::Replace { because: Vec::new(), lost: None, create_first: false };
        filling.learn(2, &Proposal { what, ..Proposal::same() });
        filling.fill(&[0], &mut live).unwrap();
        let user = filling.desired(0).unwrap();
        assert_eq!(user.attributes["data"]["size"], json!(3));
        assert!(user.is_unknown(&FieldPath::keys(["data", "id"])));
        assert!(user.is_unknown(&FieldPath::keys(["data", "ip"])));
    }
}
