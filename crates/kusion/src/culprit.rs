//! Which field of a resource a cause is about, and where that is written: the one that the text names, or whose value it repeats;
//! else none.

use std::path::Path;

use kusion_model::{Attr, FieldPath, Resource, SourceRef};

/// The place of the field that a cause is about.
#[must_use]
pub fn culprit<'r>(resource: &'r Resource, cause: &str) -> Option<&'r SourceRef> {
    resource.source.find(&field(&resource.attributes, cause)?)
}

/// The place of the argument that a sentence begins with (`lenght: there is no argument with this name`), or else of the
/// whole resource.
pub(crate) fn argument<'r>(resource: &'r Resource, cause: &str) -> Option<&'r SourceRef> {
    let (first, _) = cause.split_once(": ").unwrap_or_default();
    let path = FieldPath::parse(first).ok().filter(|path| path.get(&resource.attributes).is_some());
    resource.place_of(&path.unwrap_or_else(FieldPath::root))
}

/// A place with the text of its line: `dev/main.k:7   port = 99999`.
#[must_use]
pub fn with_line(resource: Option<&Resource>, source: &SourceRef, project_dir: &Path) -> String {
    // A line of something that has secrets may hold one.
    let silent = resource.is_none_or(|resource| resource.attributes.has_secret());
    let text = if silent { None } else { line_of(project_dir, source) };
    text.map_or_else(|| source.to_string(), |text| format!("{source}   {text}"))
}

/// The text of a source line, if it is short enough to help.
fn line_of(project_dir: &Path, source: &SourceRef) -> Option<String> {
    let text = std::fs::read_to_string(project_dir.join(&*source.file)).ok()?;
    let line = text.lines().nth(usize::try_from(source.line).ok()?.checked_sub(1)?)?.trim();
    (!line.is_empty() && line.chars().count() <= 80).then(|| line.to_owned())
}

fn field(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    named(attributes, cause).or_else(|| repeated(attributes, cause)).or_else(|| namespace(attributes, cause))
}

/// `namespaces "x" not found`
fn namespace(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    let name = attributes["metadata"]["namespace"].as_str()?;
    cause.contains(&format!("namespaces \"{name}\"")).then(|| FieldPath::keys(["metadata", "namespace"]))
}

/// A path in the words of a server: `spec.schedule: Invalid value`, `.dat: field not declared in schema`.
fn named(attributes: &Attr, cause: &str) -> Option<FieldPath> {
    let is_part = |c: char| c.is_alphanumeric() || "._[]-/".contains(c);
    let words = cause.split(|c: char| !is_part(c)).filter_map(|word| {
        // A dot before it says that even a single name is a path.
        let (path, least) = (word.trim_matches(['.', '-', '/']), if word.starts_with('.') { 1 } else { 2 });
        (path.contains('.') || least == 1).then_some((path, least))
    });
    let paths = words.filter_map(|(word, least)| Some((FieldPath::parse(word).ok()?, least)));
    let mut found: Vec<FieldPath> = paths
        .filter_map(|(path, least)| {
            // What is missing has no line of its own: the nearest thing around it has.
            let known = (least..=path.0.len()).rev().map(|n| FieldPath(path.0[..n].to_vec()));
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
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "shop", "namespace": "shop-dev"}, "dat": 1,
            "spec": {"replicas": 1, "schedule": "now", "template": {"spec": {"containers": [
                {"name": "main", "image": "registry.example/shop:v3"},
            ], "volumes": [{"secret": {"secretName": "shop-tls"}}]}}},
        }));
        let of = |cause: &str| field(&object, cause).map(|path| path.to_string());
        let image = "spec.template.spec.containers[0].image";
        assert_eq!(of("image registry.example/shop:v3 cannot be pulled: not found").as_deref(), Some(image));
        assert_eq!(of("spec.schedule: Invalid value: \"now\"").as_deref(), Some("spec.schedule"));
        let unknown = "failed to create typed patch object (shop-dev/shop; apps/v1, Kind=Deployment): .dat: field not declared in schema";
        assert_eq!(of(unknown).as_deref(), Some("dat"));
        let secret = "spec.template.spec.volumes[0].secret.secretName";
        assert_eq!(of("secret \"shop-tls\" not found").as_deref(), Some(secret));
        assert_eq!(of("namespaces \"shop-dev\" not found").as_deref(), Some("metadata.namespace"));
        assert_eq!(of("Deployment shop: 0 of 1 pods are ready"), None);
    }
}
