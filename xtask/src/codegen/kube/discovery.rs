//! Groups, versions and resources, from the server's discovery documents.
//!
//! In: `/api`, `/apis` and one resource list per version. Out: groups in the server's order, each with its resources in
//! version order and, within a version, by plural; sub-resources hang under their resource.

use serde_json::Value;
use testenv::http::Client;

use super::{get, list, string, strings};

pub(super) struct Group {
    pub(super) name: String,
    /// Preferred first.
    pub(super) versions: Vec<String>,
    pub(super) resources: Vec<Resource>,
}

pub(super) struct Resource {
    group: String,
    version: String,
    kind: String,
    plural: String,
    singular: String,
    namespaced: bool,
    short_names: Vec<String>,
    categories: Vec<String>,
    verbs: Vec<String>,
    pub(super) subresources: Vec<Subresource>,
}

pub(super) struct Subresource {
    name: String,
    /// `group/version/Kind`.
    pub(super) gvk: String,
    verbs: Vec<String>,
}

impl Resource {
    /// `group/version/Kind`, the core group being the empty string.
    pub(super) fn gvk(&self) -> String {
        format!("{}/{}/{}", self.group, self.version, self.kind)
    }

    /// The `R` line without its last field.
    pub(super) fn line(&self) -> String {
        let subresources: Vec<String> = self
            .subresources
            .iter()
            .map(|sub| format!("{}={}={}", sub.name, sub.gvk, sub.verbs.join("+")))
            .collect();
        [
            "R",
            &self.group,
            &self.version,
            &self.kind,
            &self.plural,
            &self.singular,
            if self.namespaced { "N" } else { "C" },
            &self.short_names.join(","),
            &self.categories.join(","),
            &self.verbs.join(","),
            &subresources.join(" "),
        ]
        .join("\t")
    }
}

/// All groups, the core group first.
pub(super) fn groups(client: &mut Client) -> Result<Vec<Group>, String> {
    let mut groups = vec![group(client, "", "/api", vec!["v1".into()])?];
    for entry in list(&get(client, "/apis")?, "groups") {
        let name = string(entry, "name");
        let preferred =
            entry.get("preferredVersion").map(|version| string(version, "version")).unwrap_or_default();
        let mut versions: Vec<String> =
            list(entry, "versions").iter().map(|version| string(version, "version").to_owned()).collect();
        versions.sort_by_key(|version| version != preferred); // stable: only the preferred one moves
        groups.push(group(client, name, &format!("/apis/{name}"), versions)?);
    }
    Ok(groups)
}

fn group(client: &mut Client, name: &str, path: &str, versions: Vec<String>) -> Result<Group, String> {
    let mut resources = Vec::new();
    for version in &versions {
        let document = get(client, &format!("{path}/{version}"))?;
        resources.extend(version_resources(name, version, list(&document, "resources")));
    }
    Ok(Group { name: name.into(), versions, resources })
}

fn version_resources(group: &str, version: &str, entries: &[Value]) -> Vec<Resource> {
    let mut entries: Vec<&Value> = entries.iter().collect();
    entries.sort_by_key(|entry| string(entry, "name"));
    let mut resources: Vec<Resource> = Vec::new();
    for entry in &entries {
        let name = string(entry, "name");
        if !name.contains('/') {
            resources.push(resource(group, version, name, entry));
        }
    }
    for entry in entries {
        let Some((parent, name)) = string(entry, "name").split_once('/') else {
            continue;
        };
        let subresource = Subresource {
            name: name.into(),
            gvk: gvk(group, version, entry),
            verbs: strings(entry, "verbs"),
        };
        match resources.iter_mut().find(|resource| resource.plural == parent) {
            Some(resource) => resource.subresources.push(subresource),
            // serviceaccounts/token and the like always have a parent; a lone one would be a server without it.
            None => continue,
        }
    }
    resources
}

fn resource(group: &str, version: &str, plural: &str, entry: &Value) -> Resource {
    Resource {
        group: group.into(),
        version: version.into(),
        kind: string(entry, "kind").into(),
        plural: plural.into(),
        singular: string(entry, "singularName").into(),
        namespaced: entry.get("namespaced").and_then(Value::as_bool).unwrap_or(false),
        short_names: strings(entry, "shortNames"),
        categories: strings(entry, "categories"),
        verbs: strings(entry, "verbs"),
        subresources: Vec::new(),
    }
}

/// A sub-resource may have the kind of another group (`Scale`); absent fields are its parent's.
fn gvk(group: &str, version: &str, entry: &Value) -> String {
    let kind = string(entry, "kind");
    match string(entry, "version") {
        "" => format!("{group}/{version}/{kind}"),
        own => format!("{}/{own}/{kind}", string(entry, "group")),
    }
}
