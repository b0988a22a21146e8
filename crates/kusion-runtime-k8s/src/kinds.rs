//! Kinds of objects: where they live in the API and what their fields mean.
//!
//! Built-in kinds are known without a request. Others are learnt once: from a definition in the same plan, else from the
//! server's discovery and its CustomResourceDefinition.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube_meaning::builtin;
use kube_meaning::crd::schema_of;
use kube_meaning::id::KubeId;
use kube_meaning::schema::{Schema, split_api_version};
use kube_meaning::ssa::Target;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::{Api, segment};
use crate::elsewhere::Unserved;

/// One kind in one version.
#[derive(Clone, Debug)]
pub(crate) struct Kind {
    pub(crate) api_version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) namespaced: bool,
    /// What its lists call themselves, where that is known.
    pub(crate) list_kind: Option<String>,
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

    /// Its group; empty for the oldest kinds.
    pub(crate) fn group(&self) -> &str {
        split_api_version(&self.api_version).0
    }

    /// The path of all objects in a namespace, or of all cluster-scoped ones; without a namespace that of all namespaces.
    pub(crate) fn collection(&self, namespace: &str) -> String {
        let root = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let (api_version, plural) = (&self.api_version, &self.plural);
        if self.namespaced && !namespace.is_empty() {
            return format!("{root}/{api_version}/namespaces/{}/{plural}", segment(namespace));
        }
        format!("{root}/{api_version}/{plural}")
    }

    /// A cluster-scoped object has no namespace, whatever is written.
    pub(crate) fn settle(&self, object: &mut Cow<'_, Value>) {
        if !self.namespaced && object.pointer("/metadata/namespace").is_some() {
            let metadata = object.to_mut().get_mut("metadata").and_then(Value::as_object_mut);
            metadata.and_then(|metadata| metadata.shift_remove("namespace"));
        }
    }

    /// One object of this kind.
    pub(crate) fn one<'a>(&'a self, namespace: &'a str, name: &'a str) -> Asked<'a> {
        Asked { kind: self, namespace, name }
    }
}

/// One object that the server is asked about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) kind: &'a Kind,
    /// Not looked at for kinds that live outside of namespaces.
    pub(crate) namespace: &'a str,
    pub(crate) name: &'a str,
}

impl Asked<'_> {
    pub(crate) fn path(&self) -> String {
        format!("{}/{}", self.kind.collection(self.namespace), segment(self.name))
    }
}

/// What has been learnt, by apiVersion and kind.
#[derive(Default)]
pub(crate) struct Kinds {
    learnt: Mutex<BTreeMap<(String, String), Arc<Kind>>>,
    /// Kinds that are not served as records name them, and where their objects are.
    moved: Mutex<BTreeMap<(String, String), Arc<Kind>>>,
}

impl Kinds {
    /// Returns a kind; `None` if the plan does not bring it and the server's discovery proves that it has none.
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

    /// Returns the kind in which recorded objects can be reached; `None` if it is proved that there are none.
    pub(crate) async fn reachable(&self, api: &Api, id: &KubeId) -> Result<Option<Arc<Kind>>, RuntimeError> {
        let key = (id.api_version.clone(), id.kind.clone());
        let moved = self.moved.lock().unwrap_or_else(PoisonError::into_inner).get(&key).map(Arc::clone);
        match moved {
            Some(kind) => Ok(Some(kind)),
            None => match self.get(api, id).await? {
                Some(kind) => Ok(Some(kind)),
                None => self.elsewhere(api, &id.api_version, &id.kind).await,
            },
        }
    }

    /// Finds the kind in which the objects of one are that is not served, and remembers it.
    pub(crate) async fn elsewhere(
        &self,
        api: &Api,
        api_version: &str,
        kind: &str,
    ) -> Result<Option<Arc<Kind>>, RuntimeError> {
        let Unserved::As(found) = api.elsewhere(api_version, kind).await? else { return Ok(None) };
        let (found, key) = (Arc::new(*found), (api_version.to_owned(), kind.to_owned()));
        self.moved.lock().unwrap_or_else(PoisonError::into_inner).insert(key, Arc::clone(&found));
        Ok(Some(found))
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
                    list_kind: Some(list_kind(crd, text("/spec/names/kind"))),
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

/// A kind that every server of this age has.
pub(crate) fn builtin_kind(api_version: &str, kind: &str) -> Option<Kind> {
    let (group, version) = split_api_version(api_version);
    let resource = builtin().resource(group, version, kind)?;
    Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: resource.plural.to_string(),
        namespaced: resource.namespaced,
        list_kind: Some(format!("{kind}List")),
        schema: Some(Meaning::Builtin),
    })
}

/// What a definition calls the lists of its kind.
fn list_kind(crd: &Value, kind: &str) -> String {
    let said = crd.pointer("/spec/names/listKind").and_then(Value::as_str).filter(|said| !said.is_empty());
    said.map_or_else(|| format!("{kind}List"), str::to_owned)
}

/// The kind of the definitions of kinds.
pub(crate) fn definitions() -> Option<Kind> {
    builtin_kind("apiextensions.k8s.io/v1", "CustomResourceDefinition")
}

pub(crate) async fn discover(api: &Api, api_version: &str, kind: &str) -> Result<Option<Kind>, RuntimeError> {
    let Some(found) = api.served(api_version, kind).await? else { return Ok(None) };
    let (group, _) = split_api_version(api_version);
    let name = format!("{}.{group}", found.plural);
    let crd = match definitions() {
        Some(definitions) => api.object(&definitions.one("", &name)).await,
        None => Ok(None),
    };
    let crd = match crd {
        // Without the right to read definitions, or without one, the server decides what changes.
        Err(error) if error.kind == ErrorKind::Forbidden => None,
        other => other?,
    };
    let schema = crd.as_ref().and_then(schema_of);
    Ok(Some(Kind {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        plural: found.plural,
        namespaced: found.namespaced,
        list_kind: crd.as_ref().map(|crd| list_kind(crd, kind)),
        schema: schema.map(|schema| Meaning::Custom(Arc::new(schema))),
    }))
}
