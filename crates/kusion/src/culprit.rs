//! Which field of a resource a cause is about: the one that the text names, or whose value it repeats; else none.

use kusion_model::{Attr, FieldPath};

/// Finds the field.
pub(crate) fn culprit(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    named(attributes, cause).or_else(|| repeated(attributes, cause)).or_else(|| namespace(attributes, cause))
}

/// `namespaces "x" not found`
fn namespace(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    let name = attributes["metadata"]["namespace"].as_str()?;
    cause.contains(&format!("namespaces \"{name}\"")).then(|| FieldPath::keys(["metadata", "namespace"]))
}

/// A path in the words of a server: `spec.schedule: Invalid value`.
fn named(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    let is_part = |c: char| c.is_alphanumeric() || "._[]-/".contains(c);
    let words = cause.split(|c: char| !is_part(c)).map(|word| word.trim_matches(['.', '-', '/']));
    let paths = words.filter(|word| word.contains('.')).filter_map(|word| FieldPath::parse(word).ok());
    let mut found: Vec<FieldPath> = paths
        .filter_map(|path| {
            // What is missing has no line of its own: the nearest thing around it has.
            let known = (2..=path.0.len()).rev().map(|n| FieldPath(path.0[..n].to_vec()));
            known.into_iter().find(|path| path.get(attributes).is_some())
        })
        .collect();
    found.sort_by_key(|path| path.0.len());
    found.pop()
}

/// The longest text of the resource that the cause repeats; what every message repeats (kind, own name) does not count.
fn repeated(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    let mut best: Option<(usize, FieldPath)> = None;
    let own = |name: &str| attributes["metadata"][name].as_str();
    let common =
        [attributes["kind"].as_str(), attributes["apiVersion"].as_str(), own("name"), own("namespace")];
    let top = attributes.as_map()?;
    for (key, value) in top.iter().filter(|(key, _)| key.as_str() != "metadata") {
        value.for_each_leaf(&mut |below, leaf| {
            let Attr::Text(text) = leaf else { return };
            let counts =
                text.len() >= 4 && !common.contains(&Some(text.as_str())) && cause.contains(text.as_str());
            if counts && best.as_ref().is_none_or(|(len, _)| *len < text.len()) {
                let mut path = FieldPath::root().key(key);
                path.0.extend_from_slice(&below.0);
                best = Some((text.len(), path));
            }
        });
    }
    best.map(|(_, path)| path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_field_that_the_cause_is_about_or_none() {
        let object = Attr::from(json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "shop-dev"},
            "spec": {"replicas": 1, "schedule": "now", "template": {"spec": {"containers": [
                {"name": "main", "image": "registry.example/shop:v3"},
            ], "volumes": [{"secret": {"secretName": "shop-tls"}}]}}},
        }));
        let of = |cause: &str| culprit(&object, cause).map(|path| path.to_string());
        let image = "spec.template.spec.containers[0].image";
        assert_eq!(of("image registry.example/shop:v3 cannot be pulled: not found").as_deref(), Some(image));
        assert_eq!(of("spec.schedule: Invalid value: \"now\"").as_deref(), Some("spec.schedule"));
        let secret = "spec.template.spec.volumes[0].secret.secretName";
        assert_eq!(of("secret \"shop-tls\" not found").as_deref(), Some(secret));
        assert_eq!(of("namespaces \"shop-dev\" not found").as_deref(), Some("metadata.namespace"));
        assert_eq!(of("Deployment shop: 0 of 1 pods are ready"), None);
    }
}
