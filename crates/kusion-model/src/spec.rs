//! Spec and Resource: what a stack wants to exist.
//!
//! Accepted on input: a mapping with `resources:`, a bare list, and inside either a bare Kubernetes manifest (it becomes
//! a resource with the id it implies). Secrets are sealed at this door, so a `Resource` never holds one in its tree.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::write_canonical;
use crate::secret::{kubernetes_sensitivity, seal, settle_kubernetes_secret};
use crate::{
    DigestKey, FieldPath, IdError, ResourceId, ResourceKey, SecretBag, Segment, SourceMap, SourceRef,
    sha256_hex,
};

/// The runtime that a resource belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ResourceType(pub String);

impl ResourceType {
    /// The type of Kubernetes objects.
    #[must_use]
    pub fn kubernetes() -> Self {
        ResourceType("Kubernetes".to_owned())
    }
}

impl Default for ResourceType {
    fn default() -> Self {
        Self::kubernetes()
    }
}

impl fmt::Display for ResourceType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

/// One thing that shall exist.
#[derive(Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Resource {
    pub id: ResourceId,
    #[serde(rename = "type", default)]
    pub kind: ResourceType,
    /// The sealed tree of attributes (for Kubernetes: the manifest).
    #[serde(default = "empty_object")]
    pub attributes: Value,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceId>,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// The values behind the seals.
    #[serde(skip)]
    pub secrets: SecretBag,
    /// Where the fields were written.
    #[serde(skip)]
    pub source: SourceMap,
}

fn empty_object() -> Value {
    Value::Object(Map::new())
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({})", self.key())
    }
}

impl Resource {
    /// Builds a resource from attributes as evaluated, sealing what is sensitive.
    #[must_use]
    pub fn new(id: ResourceId, kind: ResourceType, mut attributes: Value, key: &DigestKey) -> Self {
        settle_kubernetes_secret(&mut attributes);
        let secrets = seal(&mut attributes, kubernetes_sensitivity, key);
        let (depends_on, extensions) = (Vec::new(), Map::new());
        Resource { id, kind, attributes, depends_on, extensions, secrets, source: SourceMap::default() }
    }

    /// Wraps a Kubernetes manifest; its id follows from its contents.
    pub fn from_manifest(manifest: Value, key: &DigestKey) -> Result<Self, SpecError> {
        let text =
            |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str).filter(|t| !t.is_empty());
        let missing = |field: &'static str| SpecError::ManifestField { field };
        let api_version = text("/apiVersion").ok_or_else(|| missing("apiVersion"))?;
        let kind = text("/kind").ok_or_else(|| missing("kind"))?;
        let name = text("/metadata/name").ok_or_else(|| missing("metadata.name"))?;
        let id = ResourceId::kubernetes(api_version, kind, text("/metadata/namespace"), name);
        Ok(Self::new(id, ResourceType::kubernetes(), manifest, key))
    }

    /// Returns the key in state and plan: the id, and the cluster that the extension `cluster` names.
    #[must_use]
    pub fn key(&self) -> ResourceKey {
        match self.extensions.get("cluster").and_then(Value::as_str) {
            Some(cluster) => ResourceKey::in_cluster(cluster, self.id.clone()),
            None => ResourceKey::new(self.id.clone()),
        }
    }

    /// Returns where a field was written; the data of a Secret may have been written as plain text.
    #[must_use]
    pub fn place_of(&self, path: &FieldPath) -> Option<&SourceRef> {
        let path = &self.positions(path);
        if let Some((Segment::Key(first), rest)) = path.0.split_first()
            && first == "data"
            && !self.secrets.is_empty()
        {
            let mut plain = FieldPath::keys(["stringData"]);
            plain.0.extend_from_slice(rest);
            if let Some(place) = self.source.get(&plain) {
                return Some(place);
            }
        }
        self.source.find(path)
    }

    /// Turns names of list entries into positions, because sources are known by position.
    fn positions(&self, path: &FieldPath) -> FieldPath {
        let mut out = FieldPath::root();
        for segment in &path.0 {
            let named = |item: &Value, name: &str| item.get("name").and_then(Value::as_str) == Some(name);
            let by_position = match segment {
                Segment::Item(name) => out
                    .get(&self.attributes)
                    .and_then(Value::as_array)
                    .and_then(|items| items.iter().position(|item| named(item, name)))
                    .map(Segment::Index),
                _ => None,
            };
            out.0.push(by_position.unwrap_or_else(|| segment.clone()));
        }
        out
    }

    /// Says how the id of a Kubernetes resource contradicts its manifest.
    pub fn check_identity(&self) -> Result<(), SpecError> {
        if self.kind != ResourceType::kubernetes() {
            return Ok(());
        }
        let id = self.id.to_kubernetes()?;
        let text = |pointer: &str| self.attributes.pointer(pointer).and_then(Value::as_str);
        let pairs = [
            ("apiVersion", Some(id.api_version.as_str()), text("/apiVersion")),
            ("kind", Some(id.kind.as_str()), text("/kind")),
            ("namespace", id.namespace.as_deref(), text("/metadata/namespace").filter(|ns| !ns.is_empty())),
            ("name", Some(id.name.as_str()), text("/metadata/name")),
        ];
        // A reference in an identity field is filled in later; the id is what counts until then.
        let differs =
            |a: &Option<&str>, b: &Option<&str>| a != b && !b.is_some_and(|t| t.contains("kusion_path"));
        match pairs.into_iter().find(|(_, in_id, in_manifest)| differs(in_id, in_manifest)) {
            None => Ok(()),
            Some((what, in_id, in_manifest)) => Err(SpecError::Mismatch {
                id: self.id.clone(),
                what,
                in_id: in_id.unwrap_or("(none)").to_owned(),
                in_manifest: in_manifest.unwrap_or("(none)").to_owned(),
            }),
        }
    }
}

/// Everything a stack wants to exist, in the order of its sources.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Spec {
    pub resources: Vec<Resource>,
}

/// A Spec document that cannot be used.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SpecError {
    #[error("a Spec is a mapping with `resources:` or a list of resources, found {found}")]
    NotASpec { found: &'static str },
    #[error("resource number {number}: {message}")]
    Resource { number: usize, message: String },
    #[error("a manifest has no `{field}`")]
    ManifestField { field: &'static str },
    #[error("id `{id}` says {what} `{in_id}`, its manifest says `{in_manifest}`")]
    Mismatch { id: ResourceId, what: &'static str, in_id: String, in_manifest: String },
    #[error(transparent)]
    Id(#[from] IdError),
}

impl Spec {
    /// Reads a Spec document; null is an empty Spec.
    pub fn from_value(document: Value, key: &DigestKey) -> Result<Self, SpecError> {
        let items = match document {
            Value::Null => Vec::new(),
            Value::Array(items) => items,
            Value::Object(mut map) => match map.remove("resources") {
                Some(Value::Array(items)) => items,
                Some(Value::Null) => Vec::new(),
                Some(_) => return Err(SpecError::NotASpec { found: "`resources` that is not a list" }),
                None => return Err(SpecError::NotASpec { found: "a mapping without `resources`" }),
            },
            _ => return Err(SpecError::NotASpec { found: "a scalar" }),
        };
        let numbered = items.into_iter().enumerate();
        let resources = numbered.map(|(at, item)| {
            read_resource(item, key).map_err(|message| SpecError::Resource { number: at + 1, message })
        });
        Ok(Spec { resources: resources.collect::<Result<_, _>>()? })
    }

    /// Returns the digest of the sealed Spec.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut text = Vec::new();
        for resource in &self.resources {
            let rest = (&resource.id, &resource.kind, &resource.depends_on, &resource.extensions);
            write_canonical(&serde_json::to_value(rest).unwrap_or_default(), &mut text);
            // The attributes are most of it: written as they stand, not copied into a document first.
            write_canonical(&resource.attributes, &mut text);
            text.push(b'\n');
        }
        sha256_hex(&text)
    }
}

fn read_resource(item: Value, key: &DigestKey) -> Result<Resource, String> {
    if item.get("id").is_none() && item.get("apiVersion").is_some() {
        return Resource::from_manifest(item, key).map_err(|e| e.to_string());
    }
    // serde's message may quote a value, and a value may be a secret: only known messages are passed on.
    let id = item.get("id").and_then(Value::as_str).unwrap_or("?").to_owned();
    let mut resource: Resource =
        serde_json::from_value(item).map_err(|e| format!("`{id}`: {}", without_values(&e.to_string())))?;
    if !resource.attributes.is_object() {
        return Err(format!("`{id}`: `attributes` is not a mapping"));
    }
    settle_kubernetes_secret(&mut resource.attributes);
    resource.secrets = seal(&mut resource.attributes, kubernetes_sensitivity, key);
    Ok(resource)
}

/// Cuts quoted literals out of an error text: `invalid type: string "…", expected …`.
fn without_values(message: &str) -> String {
    let mut out = String::new();
    for (at, piece) in message.split('"').enumerate() {
        out.push_str(if at % 2 == 0 { piece } else { "…" });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const KEY: DigestKey = DigestKey([1; 32]);

    #[test]
    fn mapping_list_and_bare_manifest_read_the_same() {
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}});
        let resource = json!({"id": "v1:Namespace:shop", "type": "Kubernetes", "attributes": manifest});
        let specs = [
            Spec::from_value(json!({"resources": [resource]}), &KEY).unwrap(),
            Spec::from_value(json!([resource]), &KEY).unwrap(),
            Spec::from_value(json!([manifest]), &KEY).unwrap(),
        ];
        assert_eq!(specs[0], specs[1]);
        assert_eq!(specs[1], specs[2]);
        assert_eq!(specs[0].digest(), specs[2].digest());
    }

    #[test]
    fn written_spec_reads_back() {
        let text = json!({"resources": [{
            "id": "v1:Service:shop:web", "type": "Kubernetes", "attributes": {"kind": "Service"},
            "dependsOn": ["v1:Namespace:shop"], "extensions": {"cluster": "east"}}]});
        let spec = Spec::from_value(text.clone(), &KEY).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), text);
        assert_eq!(spec.resources[0].key().to_string(), "v1:Service:shop:web@east");
    }

    #[test]
    fn unknown_fields_and_odd_shapes_are_named() {
        let error = Spec::from_value(json!([{"id": "v1:A:b", "atributes": {}}]), &KEY).unwrap_err();
        assert!(error.to_string().contains("resource number 1") && error.to_string().contains("`atributes`"));
        assert!(Spec::from_value(json!(3), &KEY).is_err());
        assert!(Spec::from_value(json!({"resource": []}), &KEY).is_err());
        assert_eq!(Spec::from_value(Value::Null, &KEY).unwrap().resources.len(), 0);
    }

    #[test]
    fn secrets_are_sealed_at_the_door_and_errors_do_not_quote_values() {
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a"}, "data": {"k": "Y2FuYXJ5"}});
        let spec = Spec::from_value(json!([secret]), &KEY).unwrap();
        let shown = format!("{spec:?} {}", serde_json::to_string(&spec).unwrap());
        assert!(!shown.contains("Y2FuYXJ5"));
        let odd = json!([{"id": "v1:Secret:a", "attributes": {}, "dependsOn": "Y2FuYXJ5"}]);
        assert!(!Spec::from_value(odd, &KEY).unwrap_err().to_string().contains("Y2FuYXJ5"));
    }

    #[test]
    fn id_must_agree_with_the_manifest() {
        let manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}});
        let id = ResourceId::parse("v1:ConfigMap:y:a").unwrap();
        let resource = Resource::new(id, ResourceType::kubernetes(), manifest, &KEY);
        let error = resource.check_identity().unwrap_err().to_string();
        assert_eq!(error, "id `v1:ConfigMap:y:a` says namespace `y`, its manifest says `x`");
    }
}
