//! A tiny description of a situation: what is wanted, recorded and live.

use std::collections::BTreeMap;

use kusion_model::{
    MeaningEdge, Observed, OwnerRules, Plan, Prior, Proposal, ReleaseNo, ResourceId, ResourceKey,
    ResourceRecord, ResourceType, Scope, Spec, Step,
};
use kusion_plan::{FillInput, Filling, Identities, PlanInput, Problem, United, plan, prepare, unite};
use serde_json::{Value, json};

use crate::toy::{KEY, platforms_with};

#[derive(Default)]
pub(crate) struct Situation {
    pub(crate) wanted: Vec<Value>,
    pub(crate) prior: Prior,
    pub(crate) live: BTreeMap<ResourceKey, Observed>,
    pub(crate) proposals: BTreeMap<ResourceKey, Proposal>,
    pub(crate) meaning: Vec<MeaningEdge>,
    /// What keys mean to the platform; nothing where it does not say.
    pub(crate) identities: Identities,
}

pub(crate) fn key(name: &str) -> ResourceKey {
    ResourceKey::new(ResourceId::from_parts(["v1", "ConfigMap", "ns", name]))
}

pub(crate) fn manifest(name: &str, value: i32) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"},
           "data": {"v": value}})
}

impl Situation {
    /// Wants a config map that depends on others.
    pub(crate) fn want(mut self, name: &str, value: i32, depends_on: &[&str]) -> Self {
        let depends_on: Vec<String> = depends_on.iter().map(|on| key(on).to_string()).collect();
        self.wanted.push(json!({"id": key(name).to_string(), "type": "Kubernetes",
                                "attributes": manifest(name, value), "dependsOn": depends_on}));
        self
    }

    pub(crate) fn record(mut self, name: &str, value: i32, depends_on: &[&str]) -> Self {
        let record = record(name, value, depends_on);
        std::sync::Arc::make_mut(&mut self.prior.records).insert(key(name), record);
        self
    }

    pub(crate) fn intend(mut self, name: &str, value: i32) -> Self {
        std::sync::Arc::make_mut(&mut self.prior.intents).insert(key(name), record(name, value, &[]));
        self
    }

    pub(crate) fn live(mut self, name: &str, value: i32) -> Self {
        let observed = Observed {
            attributes: manifest(name, value).into(),
            version: Some("7".into()),
            uid: Some(format!("uid-{name}")),
            ..Observed::default()
        };
        self.live.insert(key(name), observed);
        self
    }

    pub(crate) fn plan(&self) -> Plan {
        self.try_plan().unwrap()
    }

    pub(crate) fn try_plan(&self) -> Result<Plan, Vec<Problem>> {
        let platforms = platforms_with(self.meaning.clone());
        let spec = Spec::from_value(json!(self.wanted), &platforms, &KEY).unwrap();
        let prepared = prepare(&spec, &platforms).unwrap();
        let mut live = self.live.clone();
        let United { prior, aliases } = unite(&prepared, &self.prior, &self.identities, &mut live)?;
        let input = FillInput { platforms: &platforms, prior: &prior, others: &|_, _| None, key: &KEY };
        let mut filling = Filling::new(&prepared, &mut live, input);
        filling.fill(&prepared.order, &mut live).unwrap();
        let desired = filling.finish();
        let plan = plan(&PlanInput {
            scope: Scope { project: "shop".into(), stack: "dev".into(), workspace: "default".into() },
            engine: "test",
            spec_digest: spec.digest(),
            prepared: &prepared,
            desired: &desired,
            prior: &prior,
            aliases: &aliases,
            live: &live,
            proposals: &self.proposals,
            rules: &[],
            owners: &OwnerRules::default(),
            platforms: &platforms,
            destroy: false,
        });
        Ok(plan.unwrap())
    }

    pub(crate) fn step(&self, name: &str) -> Step {
        self.plan().step(&key(name)).unwrap().clone()
    }
}

fn record(name: &str, value: i32, depends_on: &[&str]) -> ResourceRecord {
    ResourceRecord {
        key: key(name),
        kind: ResourceType::kubernetes(),
        attributes: manifest(name, value).into(),
        depends_on: depends_on.iter().map(|on| key(on)).collect(),
        extensions: serde_json::Map::new(),
        references: Vec::new(),
        uid: Some(format!("uid-{name}")),
        release: ReleaseNo(3),
        imported: false,
        kept: None,
        deposed: Vec::new(),
    }
}
