//! Spec and Resource: what a stack wants to exist.
//!
//! Accepted on input: a mapping with `resources:`, a bare list, and inside either a bare document of a platform (a Kubernetes
//! manifest becomes a resource with the id it implies). At this door texts become references and secrets are sealed.

use std::collections::BTreeMap;
use std::fmt;

use base_secret::SecretValue;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::{write_attr, write_canonical};
use crate::secret::seal;
use crate::{
    Attr, DigestKey, FieldPath, IdError, MovedField, Platforms, RefError, ResourceId, ResourceKey, Secret,
    SecretRef, Segment, SourceMap, SourceRef, references_in, sha256_hex,
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

    /// The type of resources of Terraform providers.
    #[must_use]
    pub fn terraform() -> Self {
        ResourceType("Terraform".to_owned())
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
#[derive(Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    pub id: ResourceId,
    #[serde(rename = "type")]
    pub kind: ResourceType,
    /// For Kubernetes: the manifest.
    pub attributes: Attr,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<ResourceId>,
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub extensions: Map<String, Value>,
    /// References in the attributes that cannot be read.
    #[serde(skip)]
    pub broken: Vec<RefError>,
    /// Fields that do not stand where they were written.
    #[serde(skip)]
    pub moved: Vec<MovedField>,
    /// Where the fields were written.
    #[serde(skip)]
    pub source: SourceMap,
}

/// What a document says about a resource, beside its attributes.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Head {
    id: ResourceId,
    #[serde(rename = "type", default)]
    kind: ResourceType,
    #[serde(default)]
    depends_on: Vec<ResourceId>,
    #[serde(default)]
    extensions: Map<String, Value>,
}

impl fmt::Debug for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Resource({})", self.key())
    }
}

impl Resource {
    /// Builds a resource from attributes as evaluated, sealing what is sensitive.
    #[must_use]
    pub fn new(
        id: ResourceId,
        kind: ResourceType,
        attributes: Value,
        platforms: &Platforms,
        key: &DigestKey,
    ) -> Self {
        let mut broken = Vec::new();
        let attributes = Attr::read(attributes, &mut broken);
        Self::settled(id, kind, attributes, broken, platforms, key)
    }

    fn settled(
        id: ResourceId,
        kind: ResourceType,
        mut attributes: Attr,
        mut broken: Vec<RefError>,
        platforms: &Platforms,
        key: &DigestKey,
    ) -> Self {
        let mut moved = Vec::new();
        if let Some(platform) = platforms.get(&kind) {
            moved = platform.settle(&mut attributes);
            let sensitive = platform.sensitive(&id, &attributes);
            seal(&mut attributes, &sensitive, key, &mut broken);
        }
        let (depends_on, extensions, source) = (Vec::new(), Map::new(), SourceMap::default());
        Resource { id, kind, attributes, depends_on, extensions, broken, moved, source }
    }

    /// Wraps a document of a platform; its id follows from its contents.
    ///
    /// # Errors
    /// A document that no platform knows, or that does not say enough.
    pub fn from_document(document: Value, platforms: &Platforms, key: &DigestKey) -> Result<Self, SpecError> {
        let mut broken = Vec::new();
        let attributes = Attr::read(document, &mut broken);
        match platforms.identify(&attributes) {
            None => Err(SpecError::NoPlatform),
            Some((kind, id)) => Ok(Self::settled(id?, kind, attributes, broken, platforms, key)),
        }
    }

    /// The same resource with the secrets of stores in it. A reference whose value is missing stays one.
    #[must_use]
    pub fn with_secrets(
        &self,
        values: &BTreeMap<SecretRef, SecretValue>,
        platforms: &Platforms,
        key: &DigestKey,
    ) -> Self {
        let mut resource = self.clone();
        let platform = platforms.get(&self.kind);
        let sensitive =
            platform.map(|platform| platform.sensitive(&self.id, &self.attributes)).unwrap_or_default();
        let mut changed = false;
        for use_ in references_in(&self.attributes) {
            let value = use_.template.stored().and_then(|stored| values.get(stored)?.expose_text());
            let (Some(text), Some(place)) = (value, use_.at.get_mut(&mut resource.attributes)) else {
                continue;
            };
            // What the platform knows to be secret is sealed below, in the form that the platform gives it.
            *place = match sensitive.iter().any(|path| path.covers(&use_.at)) {
                true => Attr::text(text),
                false => Attr::Secret(Secret::new(&Attr::text(text), key)),
            };
            changed = true;
        }
        if let Some(platform) = platform.filter(|_| changed) {
            for mut moved in platform.settle(&mut resource.attributes) {
                let before = self.moved.iter().find(|before| before.stands == moved.written);
                moved.written = before.map_or(moved.written, |before| before.written.clone());
                resource.moved.push(moved);
            }
            let sensitive = platform.sensitive(&self.id, &resource.attributes);
            seal(&mut resource.attributes, &sensitive, key, &mut resource.broken);
        }
        resource
    }

    /// Returns the key in state and plan: the id, and the cluster that the extension `cluster` names.
    #[must_use]
    pub fn key(&self) -> ResourceKey {
        match self.extensions.get("cluster").and_then(Value::as_str) {
            Some(cluster) => ResourceKey::in_cluster(cluster, self.id.clone()),
            None => ResourceKey::new(self.id.clone()),
        }
    }

    /// Returns where a field was written, which may be another place than where it stands.
    #[must_use]
    pub fn place_of(&self, path: &FieldPath) -> Option<&SourceRef> {
        let path = &self.positions(path);
        let written = self.moved.iter().find(|moved| moved.stands == *path).map(|moved| &moved.written);
        self.source.find(written.unwrap_or(path))
    }

    /// Turns names of list entries into positions, because sources are known by position.
    fn positions(&self, path: &FieldPath) -> FieldPath {
        let mut out = FieldPath::root();
        for segment in &path.0 {
            let named = |item: &Attr, name: &str| item.get("name").and_then(Attr::as_str) == Some(name);
            let by_position = match segment {
                Segment::Item(name) => out
                    .get(&self.attributes)
                    .and_then(Attr::as_list)
                    .and_then(|items| items.iter().position(|item| named(item, name)))
                    .map(Segment::Index),
                _ => None,
            };
            out.0.push(by_position.unwrap_or_else(|| segment.clone()));
        }
        out
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
    #[error("a document has no `{field}`")]
    Missing { field: &'static str },
    #[error("a resource without an id is of no known platform")]
    NoPlatform,
    #[error("id `{id}` says {what} `{in_id}`, its attributes say `{in_attributes}`")]
    Mismatch { id: ResourceId, what: &'static str, in_id: String, in_attributes: String },
    #[error(transparent)]
    Id(#[from] IdError),
    /// What the platform of a resource says against it.
    #[error("{0}")]
    Refused(String),
}

impl Spec {
    /// Reads a Spec document; null is an empty Spec.
    ///
    /// # Errors
    /// The first resource that cannot be read.
    pub fn from_value(document: Value, platforms: &Platforms, key: &DigestKey) -> Result<Self, SpecError> {
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
            read_resource(item, platforms, key)
                .map_err(|message| SpecError::Resource { number: at + 1, message })
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
            write_attr(&resource.attributes, &mut text);
            text.push(b'\n');
        }
        sha256_hex(&text)
    }
}

fn read_resource(mut item: Value, platforms: &Platforms, key: &DigestKey) -> Result<Resource, String> {
    let Some(id) = item.get("id") else {
        return match Resource::from_document(item, platforms, key) {
            Err(SpecError::NoPlatform) => Err("`?`: missing field `id`".to_owned()),
            read => read.map_err(|e| e.to_string()),
        };
    };
    let id = id.as_str().unwrap_or("?").to_owned();
    let attributes = item.as_object_mut().and_then(|map| map.shift_remove("attributes"));
    // serde's message may quote a value, and a value may be a secret: only known messages are passed on.
    let head: Head =
        serde_json::from_value(item).map_err(|e| format!("`{id}`: {}", without_values(&e.to_string())))?;
    let attributes = attributes.unwrap_or_else(|| Value::Object(Map::new()));
    if !attributes.is_object() {
        return Err(format!("`{id}`: `attributes` is not a mapping"));
    }
    let Head { id, kind, depends_on, extensions } = head;
    Ok(Resource { depends_on, extensions, ..Resource::new(id, kind, attributes, platforms, key) })
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
    use crate::Platform;
    use serde_json::json;
    use std::sync::Arc;

    const KEY: DigestKey = DigestKey::new([1; 32]);

    /// Documents with a `title`; their `pin` is secret, and may be written as `code`.
    struct Toy;

    impl Platform for Toy {
        fn kind(&self) -> ResourceType {
            ResourceType("Toy".to_owned())
        }

        fn identify(&self, document: &Attr) -> Option<Result<ResourceId, SpecError>> {
            let title = document.get("title")?.as_str()?;
            Some(Ok(ResourceId::from_parts(["toy", title])))
        }

        fn settle(&self, attributes: &mut Attr) -> Vec<MovedField> {
            let Some(code) = attributes.as_map_mut().and_then(|map| map.shift_remove("code")) else {
                return Vec::new();
            };
            if let Some(map) = attributes.as_map_mut() {
                map.insert("pin".into(), code);
            }
            vec![MovedField { written: FieldPath::keys(["code"]), stands: FieldPath::keys(["pin"]) }]
        }

        fn sensitive(&self, _id: &ResourceId, _attributes: &Attr) -> Vec<FieldPath> {
            vec![FieldPath::keys(["pin"])]
        }
    }

    fn read(document: Value) -> Result<Spec, SpecError> {
        Spec::from_value(document, &Platforms::new(vec![Arc::new(Toy)]), &KEY)
    }

    #[test]
    fn mapping_list_and_bare_document_read_the_same() {
        let document = json!({"title": "shop", "size": 3});
        let resource = json!({"id": "toy:shop", "type": "Toy", "attributes": document});
        let specs = [
            read(json!({"resources": [resource]})).unwrap(),
            read(json!([resource])).unwrap(),
            read(json!([document])).unwrap(),
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
        let spec = read(text.clone()).unwrap();
        assert_eq!(serde_json::to_value(&spec).unwrap(), text);
        assert_eq!(spec.resources[0].key().to_string(), "v1:Service:shop:web@east");
    }

    #[test]
    fn unknown_fields_and_odd_shapes_are_named() {
        let error = read(json!([{"id": "v1:A:b", "atributes": {}}])).unwrap_err();
        assert!(error.to_string().contains("resource number 1") && error.to_string().contains("`atributes`"));
        assert!(read(json!(3)).is_err());
        assert!(read(json!({"resource": []})).is_err());
        assert!(read(json!([{"apiVersion": "v1"}])).unwrap_err().to_string().contains("missing field `id`"));
        assert_eq!(read(Value::Null).unwrap().resources.len(), 0);
    }

    #[test]
    fn secrets_are_sealed_at_the_door_and_errors_do_not_quote_values() {
        let mut spec = read(json!([{"title": "a", "code": "canary"}])).unwrap();
        let shown = format!("{spec:?} {}", serde_json::to_string(&spec).unwrap());
        assert!(!shown.contains("canary") && spec.resources[0].attributes["pin"].is_secret());
        let place = SourceRef { file: "main.k".into(), line: 7, col: 1 };
        spec.resources[0].source.insert(FieldPath::keys(["code"]), place.clone());
        assert_eq!(spec.resources[0].place_of(&FieldPath::keys(["pin"])), Some(&place));
        let odd = json!([{"id": "toy:a", "attributes": {}, "dependsOn": "canary"}]);
        assert!(!read(odd).unwrap_err().to_string().contains("canary"));
    }
}
