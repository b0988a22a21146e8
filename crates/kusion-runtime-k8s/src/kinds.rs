//! Kinds of objects: where they live in the API and what their fields mean.
//!
//! Built-in kinds are known without a request. Others are learnt once: from a definition in the same plan, else from the
//! server's discovery and its CustomResourceDefinition.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube_meaning::builtin;
use kube_meaning::crd::schema_of;
use kube_meaning::schema::{Schema, split_api_version};
use kube_meaning::ssa::Target;
use kusion_model::KubeId;
use kusion_runtime::RuntimeError;
use serde_json::Value;

use crate::api::{Api, segment};
use crate::failure::is_absent;

/// One kind in one version.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    /// What its fields mean; absent for aggregated APIs.
    schema: Option<Meaning>,
}

#[derive(Clone, Debug)]
enum Meaning {
    Builtin,
    Custom(Arc<Schema>),
}

impl Kind {
    /// The schema and resource for `kube-meaning`.
    pub(crate) fn target(&self) -> Option<Target<'_>> {
        let schema = match self.schema.as_ref()? {
            Meaning::Builtin => builtin(),
            Meaning::Custom(schema) => schema,
        };
        let (group, version) = split_api_version(&self.api_version);
        schema.resource(group, version, &self.kind).map(|resource| Target::main(schema, resource))
    }

    /// The path of all objects in a namespace, or of all cluster-scoped ones.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let (api_version, plural) = (&self.api_version, &self.plural);
        if self.namespaced {
            return format!("{root}/{api_version}/namespaces/{}/{plural}", segment(namespace));
        }
        format!("{root}/{api_version}/{plural}")
    }

    /// The path of one object.
    pub(crate) fn object(&self, namespace: &str, name: &str) -> String {
        format!("{}/{}", self.collection(namespace), segment(name))
    }
}

/// What has been learnt, by apiVersion and kind.
#[derive(Default)]
pub(crate) struct Kinds {
    learnt: Mutex<BTreeMap<(String, String), Arc<Kind>>>,
}

impl Kinds {
    /// Returns a kind; `None` if neither the plan nor the server knows it.
    pub(crate) async fn get(&self, api: &Api, id: &KubeId) -> Result<Option<Arc<Kind>>, RuntimeError> {
        let key = (id.api_version.clone(), id.kind.clone());
        if let Some(known) = self.lock().get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let found = match builtin_kind(&id.api_version, &id.kind) {
            Some(kind) => Some(Arc::new(kind)),
            None => discover(api, &id.api_version, &id.kind).await?.map(Arc::new),
        };
        // What is missing now may come: only what was found is remembered.
        if let Some(kind) = &found {
            self.lock().insert(key, Arc::clone(kind));
        }
        Ok(found)
    }

    /// Learns the kinds of a definition that the same plan brings; says which are new to the server.
    pub(crate) fn learn(&self, crd: &Value) -> Vec<(String, String)> {
        let text = |pointer: &str| crd.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let Some(schema) = schema_of(crd).map(Arc::new) else { return Vec::new() };
        let versions = crd.pointer("/spec/versions").and_then(Value::as_array).cloned().unwrap_or_default();
        let names = versions.iter().filter_map(|version| version.get("name").and_then(Value::as_str));
        let mut new = Vec::new();
        for version in names {
            let api_version = format!("{}/{version}", text("/spec/group"));
            let key = (api_version.clone(), text("/spec/names/kind").to_owned());
            let mut learnt = self.lock();
            if !learnt.contains_key(&key) {
                new.push(key.clone());
            }
            learnt.insert(
                key,
                Arc::new(Kind {
                    api_version,
                    kind: text("/spec/names/kind").to_owned(),
                    plural: text("/spec/names/plural").to_owned(),
                    namespaced: text("/spec/scope") != "Cluster",
                    schema: Some(Meaning::Custom(Arc::clone(&schema))),
                }),
            );
        }
        new
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<(String, String), Arc<Kind>>> {
        self.learnt.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn builtin_kind(api_version: &str, kind: &str) -> Option<Kind> {
    let (group, version) = split_api_version(api_version);
    let resource = builtin().resource(group, version, kind)?;
    Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: resource.plural.to_string(),
        namespaced: resource.namespaced,
        schema: Some(Meaning::Builtin),
    })
}

async fn discover(api: &Api, api_version: &str, kind: &str) -> Result<Option<Kind>, RuntimeError> {
    let root = if api_version.contains('/') { "/apis" } else { "/api" };
    let list = match api.get(&format!("{root}/{api_version}")).await?.ok() {
        Ok(list) => list,
        Err(error) if is_absent(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let resources = list.get("resources").and_then(Value::as_array).cloned().unwrap_or_default();
    let is_it = |r: &&Value| r["kind"] == kind && r["name"].as_str().is_some_and(|name| !name.contains('/'));
    let Some(found) = resources.iter().find(is_it) else { return Ok(None) };
    let plural = found["name"].as_str().unwrap_or_default().to_owned();
    let (group, _) = split_api_version(api_version);
    let crd = format!("/apis/apiextensions.k8s.io/v1/customresourcedefinitions/{plural}.{group}");
    // Without the right to read definitions, or without one, the server decides what changes.
    let schema = api.get(&crd).await?.ok().ok().and_then(|crd| schema_of(&crd));
    Ok(Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural,
        namespaced: found["namespaced"].as_bool().unwrap_or(true),
        schema: schema.map(|schema| Meaning::Custom(Arc::new(schema))),
    }))
}
