//! A made-up platform for tests: its documents look like manifests, the `data` of a `Secret` is secret.

use std::sync::Arc;

use kusion_model::{
    Attr, DigestKey, FieldPath, MeaningEdge, Platform, Platforms, ResourceId, ResourceType, Spec, SpecError,
};

pub(crate) const KEY: DigestKey = DigestKey::new([1; 32]);

struct Toy(Vec<MeaningEdge>);

impl Platform for Toy {
    fn kind(&self) -> ResourceType {
        ResourceType::default()
    }

    fn identify(&self, document: &Attr) -> Option<Result<ResourceId, SpecError>> {
        let text = |pointer: &str| document.pointer(pointer).and_then(Attr::as_str);
        let (version, kind) = (text("/apiVersion")?, text("/kind")?);
        Some(Ok(ResourceId::from_parts([
            version,
            kind,
            text("/metadata/namespace")?,
            text("/metadata/name")?,
        ])))
    }

    fn sensitive(&self, _id: &ResourceId, attributes: &Attr) -> Vec<FieldPath> {
        let secret = attributes["kind"] == "Secret";
        if secret { vec![FieldPath::keys(["data"]), FieldPath::keys(["stringData"])] } else { Vec::new() }
    }

    fn edges(&self, _spec: &Spec) -> Vec<MeaningEdge> {
        self.0.clone()
    }
}

pub(crate) fn platforms_with(edges: Vec<MeaningEdge>) -> Platforms {
    Platforms::new(vec![Arc::new(Toy(edges))])
}
