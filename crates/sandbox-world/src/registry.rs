//! Which resources are served: the built-in tables and the custom resource definitions that are established.
//!
//! A [`Served`] is cheap to clone and stays valid while a definition is replaced under it.

use std::collections::BTreeMap;
use std::sync::Arc;

use ecow::EcoString;
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
    Custom(Arc<Schema>),
}

impl Served {
    pub fn schema(&self) -> &Schema {
        match &self.schema {
            SchemaRef::Builtin(schema) => schema,
            SchemaRef::Custom(schema) => schema,
        }
    }

    pub fn resource(&self) -> &Resource {
        &self.schema().resources()[self.at]
    }

    /// Where its objects are stored: one place for all versions.
    pub fn key(&self) -> ResourceKey {
        ResourceKey { group: self.resource().group.clone(), plural: self.resource().plural.clone() }
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
    custom: BTreeMap<EcoString, Arc<Schema>>,
}

impl Registry {
    /// Serves a definition, or serves its newer form. False when it cannot be read.
    pub fn define(&mut self, crd: &Value) -> bool {
        let name = crd.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
        let Some(schema) = kube_meaning::crd::schema_of(crd) else { return false };
        self.custom.insert(name.into(), Arc::new(schema));
        true
    }

    /// Serves a definition no longer.
    pub fn forget(&mut self, crd_name: &str) {
        self.custom.remove(crd_name);
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

    /// Everything served, built-in first, each part in its own order.
    pub fn all(&self) -> impl Iterator<Item = Served> + '_ {
        self.schemas().flat_map(|schema| {
            let count = match &schema {
                SchemaRef::Builtin(schema) => schema.resources().len(),
                SchemaRef::Custom(schema) => schema.resources().len(),
            };
            (0..count).map(move |at| Served { schema: schema.clone(), at })
        })
    }

    fn schemas(&self) -> impl Iterator<Item = SchemaRef> + '_ {
        std::iter::once(SchemaRef::Builtin(kube_meaning::builtin()))
            .chain(self.custom.values().map(|schema| SchemaRef::Custom(Arc::clone(schema))))
    }

    fn find(&self, pick: impl Fn(&Schema) -> Option<&Resource>) -> Option<Served> {
        self.schemas().find_map(|schema| {
            let at = {
                let schema = match &schema {
                    SchemaRef::Builtin(schema) => schema,
                    SchemaRef::Custom(schema) => schema.as_ref(),
                };
                let found = pick(schema)?;
                schema.resources().iter().position(|resource| std::ptr::eq(resource, found))?
            };
            Some(Served { schema, at })
        })
    }
}
