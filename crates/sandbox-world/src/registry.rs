//! Which resources are served: the built-in tables and the custom resource definitions that are established.
//!
//! A [`Served`] is cheap to clone and stays valid while a definition is replaced under it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
use kube_meaning::reach::Reach;
use kube_meaning::schema::{Resource, Schema};
use kube_meaning::ssa::Target;
use serde_json::Value;

use crate::store::ResourceKey;

/// One served resource in one version.
#[derive(Clone, Debug)]
pub struct Served {
    schema: SchemaRef,
    at: usize,
}

#[derive(Clone, Debug)]
enum SchemaRef {
    Builtin(&'static Schema),
    Custom(Arc<Definition>),
}

/// A custom resource definition as it is served.
#[derive(Debug)]
pub struct Definition {
    schema: Schema,
    /// `spec` of the definition.
    pub spec: Value,
    /// The revision of the definition: what is older may not fit its schema.
    since: u64,
}

impl Definition {
    /// The revision at which the definition was stored.
    pub fn since(&self) -> u64 {
        self.since
    }

    /// What the definition says about a version.
    pub fn version(&self, name: &str) -> Option<&Value> {
        self.versions().find(|version| version["name"] == name)
    }

    /// The version in which objects are kept.
    pub fn storage(&self) -> &str {
        let stored = self.versions().find(|version| version["storage"] == true);
        stored.and_then(|version| version["name"].as_str()).unwrap_or_default()
    }

    fn versions(&self) -> impl Iterator<Item = &Value> {
        self.spec["versions"].as_array().into_iter().flatten()
    }
}

impl SchemaRef {
    fn get(&self) -> &Schema {
        match self {
            SchemaRef::Builtin(schema) => schema,
            SchemaRef::Custom(definition) => &definition.schema,
        }
    }
}

impl Served {
    pub fn schema(&self) -> &Schema {
        self.schema.get()
    }

    pub fn resource(&self) -> &Resource {
        &self.schema().resources()[self.at]
    }

    /// The definition of a custom resource.
    pub fn definition(&self) -> Option<&Definition> {
        match &self.schema {
            SchemaRef::Builtin(_) => None,
            SchemaRef::Custom(definition) => Some(definition),
        }
    }

    /// What the definition says about this version of a custom resource.
    pub fn custom_version(&self) -> Option<&Value> {
        self.definition()?.version(&self.resource().version)
    }

    /// Where its objects are stored: one place for all versions.
    pub fn key(&self) -> ResourceKey {
        let resource = self.resource();
        // Both groups show the same events.
        let group = match resource.group.as_str() {
            "events.k8s.io" => EcoString::new(),
            _ => resource.group.clone(),
        };
        ResourceKey { group, plural: resource.plural.clone() }
    }

    /// What a write to it goes to.
    pub fn target<'s>(&'s self, subresource: &'s str) -> Target<'s> {
        Target { schema: self.schema(), resource: self.resource(), subresource }
    }
}

/// All that is served now.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    /// By the name of the definition.
    custom: BTreeMap<EcoString, Arc<Definition>>,
    /// Raised with every change, so that what is made from it can be kept.
    generation: u64,
}

impl Registry {
    /// Serves a definition, or serves its newer form. False when it cannot be read.
    pub fn define(&mut self, crd: &Value) -> bool {
        let name = crd.at("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let Some(schema) = kube_meaning::crd::schema_of(crd) else { return false };
        let spec = crd["spec"].clone();
        let since = crate::store::meta_text(crd, "resourceVersion").parse().unwrap_or(0);
        self.custom.insert(name.into(), Arc::new(Definition { schema, spec, since }));
        self.generation += 1;
        true
    }

    /// Serves a definition no longer.
    pub fn forget(&mut self, crd_name: &str) {
        self.custom.remove(crd_name);
        self.generation += 1;
    }

    /// Changes whenever what is served changes.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// The definitions that are served, by name.
    pub fn definitions(&self) -> impl Iterator<Item = (&EcoString, &Definition)> {
        self.custom.iter().map(|(name, definition)| (name, definition.as_ref()))
    }

    /// The resource of a URL.
    pub fn by_plural(&self, group: &str, version: &str, plural: &str) -> Option<Served> {
        self.find(|schema| schema.resource_by_plural(group, version, plural))
    }

    /// The resource of a kind.
    pub fn by_kind(&self, group: &str, version: &str, kind: &str) -> Option<Served> {
        self.find(|schema| schema.resource(group, version, kind))
    }

    /// The resource that an object says it is of.
    pub fn of_object(&self, object: &Value) -> Option<Served> {
        self.find(|schema| schema.resource_of(object))
    }

    /// The resource in the version in which its objects are kept.
    pub fn stored(&self, served: &Served) -> Served {
        let resource = served.resource();
        let kept = match (&served.schema, resource.group.as_str()) {
            (SchemaRef::Builtin(_), "events.k8s.io") => self.by_kind("", "v1", "Event"),
            (SchemaRef::Builtin(_), "autoscaling") => self.by_kind("autoscaling", "v2", &resource.kind),
            (SchemaRef::Builtin(_), _) => None,
            (SchemaRef::Custom(definition), group) => match definition.storage() == resource.version {
                true => None,
                false => self.by_kind(group, definition.storage(), &resource.kind),
            },
        };
        kept.unwrap_or_else(|| served.clone())
    }

    /// The resource of stored objects, in the version in which they are kept.
    pub fn of_key(&self, key: &ResourceKey) -> Option<Served> {
        let any = self.find(|schema| {
            schema.resources().iter().find(|r| r.group == key.group && r.plural == key.plural)
        })?;
        Some(self.stored(&any))
    }

    /// Everything served, built-in first, each part in its own order.
    pub fn all(&self) -> impl Iterator<Item = Served> + '_ {
        self.schemas().flat_map(|schema| {
            let count = schema.get().resources().len();
            (0..count).map(move |at| Served { schema: schema.clone(), at })
        })
    }

    fn schemas(&self) -> impl Iterator<Item = SchemaRef> + '_ {
        std::iter::once(SchemaRef::Builtin(kube_meaning::builtin()))
            .chain(self.custom.values().map(|definition| SchemaRef::Custom(Arc::clone(definition))))
    }

    fn find(&self, pick: impl Fn(&Schema) -> Option<&Resource>) -> Option<Served> {
        self.schemas().find_map(|schema| {
            let at = {
                let schema = schema.get();
                let found = pick(schema)?;
                schema.resources().iter().position(|resource| std::ptr::eq(resource, found))?
            };
            Some(Served { schema, at })
        })
    }
}
