//! What is known about Kubernetes objects without a cluster: ids, secrets, order.

use data_encoding::BASE64;
use kube_meaning::id::KubeId;
use kusion_model::{
    Attr, FieldPath, MeaningEdge, MovedField, Platform, Resource, ResourceId, ResourceType, Spec, SpecError,
};

use crate::edges::meaning_edges;
use crate::owner::MARKS;

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The knowledge about Kubernetes objects.
#[derive(Clone, Copy, Debug, Default)]
pub struct KubePlatform;

impl Platform for KubePlatform {
    fn kind(&self) -> ResourceType {
        ResourceType::kubernetes()
    }

    fn identify(&self, manifest: &Attr) -> Option<Result<ResourceId, SpecError>> {
        manifest.get("apiVersion")?;
        let text = |pointer: &str| manifest.pointer(pointer).and_then(Attr::as_str).filter(|t| !t.is_empty());
        let needed = |pointer: &str, field| text(pointer).ok_or(SpecError::Missing { field });
        let id = || {
            let version = needed("/apiVersion", "apiVersion")?;
            let kind = needed("/kind", "kind")?;
            let name = needed("/metadata/name", "metadata.name")?;
            let namespace = text("/metadata/namespace");
            Ok(ResourceId::from_parts([version, kind].into_iter().chain(namespace).chain([name])))
        };
        Some(id())
    }

    fn check(&self, resource: &Resource) -> Result<(), SpecError> {
        let id =
            KubeId::from_parts(resource.id.parts()).map_err(|why| SpecError::Refused(why.to_string()))?;
        let at = |pointer: &str| resource.attributes.pointer(pointer);
        let pairs = [
            ("apiVersion", Some(id.api_version.as_str()), at("/apiVersion")),
            ("kind", Some(id.kind.as_str()), at("/kind")),
            ("namespace", id.namespace.as_deref(), at("/metadata/namespace").filter(|ns| **ns != "")),
            ("name", Some(id.name.as_str()), at("/metadata/name")),
        ];
        // A reference in an identity field is filled in later; the id is what counts until then.
        let differs = |in_id: &Option<&str>, found: &Option<&Attr>| {
            !matches!(found, Some(Attr::Reference(_))) && *in_id != found.and_then(Attr::as_str)
        };
        match pairs.into_iter().find(|(_, in_id, found)| differs(in_id, found)) {
            None => Ok(()),
            Some((what, in_id, found)) => Err(SpecError::Mismatch {
                id: resource.id.clone(),
                what,
                in_id: in_id.unwrap_or("(none)").to_owned(),
                in_attributes: found.and_then(Attr::as_str).unwrap_or("(none)").to_owned(),
            }),
        }
    }

    /// Another served version is the same object; another kind, namespace or name is not.
    fn same_object(&self, one: &ResourceId, other: &ResourceId) -> bool {
        let object =
            |id: &ResourceId| KubeId::from_parts(id.parts()).ok().map(|id| (id.kind, id.namespace, id.name));
        object(one) == object(other)
    }

    fn holds(&self, id: &ResourceId, _attributes: &Attr) -> Option<&'static str> {
        match KubeId::from_parts(id.parts()).ok()?.kind.as_str() {
            "PersistentVolumeClaim" | "PersistentVolume" => Some("the data of the volume"),
            "Namespace" => Some("everything in the namespace that is not part of the stack"),
            "CustomResourceDefinition" => Some("every object of this kind that is not part of the stack"),
            _ => None,
        }
    }

    /// Moves the plain texts of a Secret into its data, as the server does: then what is wanted, recorded and live has one
    /// form, and equal secrets have equal digests. A reference stays where it is until it is filled in.
    fn settle(&self, object: &mut Attr) -> Vec<MovedField> {
        let mut moved = Vec::new();
        if is_secret(object) {
            unencode(object, &mut moved);
        }
        if !is_secret(object) || object.get("stringData").and_then(Attr::as_map).is_none() {
            return moved;
        }
        let Some(map) = object.as_map_mut() else { return moved };
        let Some(mut plain) = map.shift_remove("stringData") else { return moved };
        let mut data = map.shift_remove("data").filter(|data| data.as_map().is_some());
        if let (Some(texts), Some(data)) =
            (plain.as_map_mut(), data.get_or_insert_with(|| Attr::map::<&str>([])).as_map_mut())
        {
            texts.retain(|key, value| {
                let Some(text) = value.as_str() else { return true };
                data.insert(key.clone(), Attr::text(BASE64.encode(text.as_bytes())));
                let path = |part: &str| FieldPath::keys([part, key.as_str()]);
                moved.push(MovedField { written: path("stringData"), stands: path("data") });
                false
            });
        }
        let filled = |part: &Attr| part.as_map().is_some_and(|map| !map.is_empty());
        map.extend(data.filter(filled).map(|data| ("data".into(), data)));
        if filled(&plain) {
            map.insert("stringData".into(), plain);
        }
        moved
    }

    /// The data of a Secret, and the copy of it that kubectl keeps.
    fn sensitive(&self, _id: &ResourceId, object: &Attr) -> Vec<FieldPath> {
        sensitive_fields(object)
    }

    fn hidden(&self) -> Vec<FieldPath> {
        let marks = MARKS.map(|mark| FieldPath::keys(["metadata", "annotations", mark]));
        std::iter::once(FieldPath::keys(["metadata", "managedFields"])).chain(marks).collect()
    }

    fn edges(&self, spec: &Spec) -> Vec<MeaningEdge> {
        meaning_edges(spec)
    }
}

/// Moves the secrets of stores from `data` to the plain texts: a store has the value, and the server encodes it.
fn unencode(object: &mut Attr, moved: &mut Vec<MovedField>) {
    let is_stored = |value: &Attr| matches!(value, Attr::Reference(template) if template.stored().is_some());
    let Some(data) = object.get_mut("data").and_then(Attr::as_map_mut) else { return };
    let stored: Vec<_> =
        data.iter().filter(|(_, value)| is_stored(value)).map(|(key, _)| key.clone()).collect();
    for key in stored {
        let value =
            object.get_mut("data").and_then(Attr::as_map_mut).and_then(|data| data.shift_remove(&key));
        let (Some(value), Some(map)) = (value, object.as_map_mut()) else { continue };
        let plain = map.entry("stringData".into()).or_insert_with(|| Attr::map::<&str>([]));
        let path = |part: &str| FieldPath::keys([part, key.as_str()]);
        if let Some(plain) = plain.as_map_mut() {
            plain.insert(key.clone(), value);
            moved.push(MovedField { written: path("data"), stands: path("stringData") });
        }
    }
}

/// The secret parts of an object.
pub(crate) fn sensitive_fields(object: &Attr) -> Vec<FieldPath> {
    if is_secret(object) { secret_fields() } else { Vec::new() }
}

fn is_secret(object: &Attr) -> bool {
    object["kind"] == "Secret" && object["apiVersion"] == "v1"
}

fn secret_fields() -> Vec<FieldPath> {
    vec![
        FieldPath::keys(["data"]),
        FieldPath::keys(["stringData"]),
        FieldPath::keys(["metadata", "annotations", LAST_APPLIED]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use kusion_model::{DigestKey, Platforms, Unknowns};
    use serde_json::{Value, json};
    use std::sync::Arc;

    const KEY: DigestKey = DigestKey::new([1; 32]);

    fn read(document: Value) -> Result<Spec, SpecError> {
        Spec::from_value(document, &Platforms::new(vec![Arc::new(KubePlatform)]), &KEY)
    }

    #[test]
    fn plain_texts_become_data_and_references_wait() {
        let object = json!({"apiVersion": "v1", "kind": "Secret", "data": {"a": "eA=="},
            "stringData": {"b": "canary", "c": "$kusion_path.v1:Secret:ns:s.data.x", "n": 1}});
        let mut object = Attr::read(object, &mut Vec::new());
        let moved = KubePlatform.settle(&mut object);
        assert_eq!(object["data"], json!({"a": "eA==", "b": "Y2FuYXJ5"}));
        assert!(matches!(object["stringData"]["c"], Attr::Reference(_)));
        assert_eq!(object["stringData"]["n"], json!(1));
        assert_eq!((moved.len(), moved[0].stands.to_string().as_str()), (1, "data.b"));
        let mut other =
            Attr::from(json!({"apiVersion": "v1", "kind": "ConfigMap", "stringData": {"b": "x"}}));
        let before = other.clone();
        KubePlatform.settle(&mut other);
        assert_eq!(other, before);
    }

    #[test]
    fn data_of_secrets_and_its_copy_are_sealed_and_nothing_else() {
        let canary = "Y2FuYXJ5LTQyMTc=";
        let secret = json!({"apiVersion": "v1", "kind": "Secret",
            "metadata": {"name": "db", "annotations": {LAST_APPLIED: canary, "note": "plain"}},
            "data": {"a.b": canary}});
        let spec = read(json!([secret])).unwrap();
        let shown = format!("{spec:?} {}", serde_json::to_string(&spec).unwrap());
        assert!(!shown.contains(canary), "{shown}");
        let attributes = &spec.resources[0].attributes;
        assert_eq!(attributes["metadata"]["annotations"]["note"], "plain");
        assert_eq!(attributes.expose(Unknowns::Refuse).unwrap(), secret);
        let map =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"a": "b"}});
        assert_eq!(read(json!([map])).unwrap().resources[0].attributes["data"]["a"], "b");
    }

    #[test]
    fn id_must_agree_with_the_manifest() {
        let manifest =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "x"}});
        let spec = read(json!([{"id": "v1:ConfigMap:y:a", "attributes": manifest}])).unwrap();
        let error = KubePlatform.check(&spec.resources[0]).unwrap_err().to_string();
        assert_eq!(error, "id `v1:ConfigMap:y:a` says namespace `y`, its attributes say `x`");
        let incomplete = read(json!([{"apiVersion": "v1", "kind": "ConfigMap"}])).unwrap_err();
        assert!(incomplete.to_string().contains("metadata.name"));
    }
}
