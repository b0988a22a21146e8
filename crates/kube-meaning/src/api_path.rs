//! Names of kinds and objects: group, version, kind; and the URL path of an object.

use ecow::EcoString;
use serde_json::Value;

use crate::schema::{Resource, Schema, split_api_version};

/// Group, version and kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Gvk {
    pub group: EcoString,
    pub version: EcoString,
    pub kind: EcoString,
}

impl Gvk {
    /// From an apiVersion and a kind.
    pub fn new(api_version: &str, kind: &str) -> Gvk {
        let (group, version) = split_api_version(api_version);
        Gvk { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Of an object; `None` when it says neither.
    pub fn of(object: &Value) -> Option<Gvk> {
        Some(Gvk::new(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?))
    }

    /// The resource in a schema.
    pub fn resource<'s>(&self, schema: &'s Schema) -> Option<&'s Resource> {
        schema.resource(&self.group, &self.version, &self.kind)
    }
}

/// `/api/v1/namespaces/ns/configmaps` or `/apis/apps/v1/deployments`; the namespace only counts for namespaced kinds.
pub fn collection_path(resource: &Resource, namespace: Option<&str>) -> String {
    let Resource { group, version, plural, .. } = resource;
    let root = match group.as_str() {
        "" => format!("/api/{version}"),
        _ => format!("/apis/{group}/{version}"),
    };
    match namespace.filter(|_| resource.namespaced) {
        Some(namespace) => format!("{root}/namespaces/{namespace}/{plural}"),
        None => format!("{root}/{plural}"),
    }
}

/// The path of one object.
pub fn object_path(resource: &Resource, namespace: Option<&str>, name: &str) -> String {
    format!("{}/{name}", collection_path(resource, namespace))
}

/// A request path taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiPath<'p> {
    pub group: &'p str,
    pub version: &'p str,
    pub namespace: Option<&'p str>,
    pub plural: &'p str,
    pub name: Option<&'p str>,
    pub subresource: Option<&'p str>,
}

/// Takes a resource path apart; `None` for anything else (discovery, health, …). Segments are returned as they are.
pub fn parse_path(path: &str) -> Option<ApiPath<'_>> {
    let mut parts = path.trim_matches('/').split('/').peekable();
    let group = match parts.next()? {
        "api" => "",
        "apis" => parts.next()?,
        _ => return None,
    };
    let mut out = ApiPath { group, version: parts.next()?, ..ApiPath::default() };
    let first = parts.next()?;
    let rest: Vec<&str> = parts.collect();
    // `namespaces/x` and `namespaces/x/status` are the Namespace itself; longer paths are inside of it.
    match (first, rest.as_slice()) {
        ("namespaces", [namespace, plural, tail @ ..])
            if !(group.is_empty() && tail.is_empty() && matches!(*plural, "status" | "finalize")) =>
        {
            out.namespace = Some(namespace);
            out.plural = plural;
            out.name = tail.first().copied();
            out.subresource = tail.get(1).copied();
        }
        (plural, tail) => {
            out.plural = plural;
            out.name = tail.first().copied();
            out.subresource = tail.get(1).copied();
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::builtin::builtin;

    #[test]
    fn paths_are_built_and_taken_apart() {
        let deployment = builtin().resource("apps", "v1", "Deployment").unwrap();
        let path = object_path(deployment, Some("ns"), "d");
        assert_eq!(path, "/apis/apps/v1/namespaces/ns/deployments/d");
        let status = format!("{path}/status");
        let parsed = parse_path(&status).unwrap();
        assert_eq!(
            (parsed.group, parsed.namespace, parsed.plural, parsed.name, parsed.subresource),
            ("apps", Some("ns"), "deployments", Some("d"), Some("status"))
        );
        let namespace = parse_path("/api/v1/namespaces/x/finalize").unwrap();
        assert_eq!(
            (namespace.plural, namespace.name, namespace.subresource),
            ("namespaces", Some("x"), Some("finalize"))
        );
        assert_eq!(parse_path("/api/v1/namespaces/x").unwrap().name, Some("x"));
        assert!(
            parse_path("/healthz").is_none() && parse_path("/apis").is_none() && parse_path("").is_none()
        );
    }

    #[test]
    fn every_table_row_is_found_by_kind_and_by_plural() {
        let schema = builtin();
        assert!(schema.resources().len() > 60);
        for r in schema.resources() {
            assert!(schema.resource(&r.group, &r.version, &r.kind).is_some(), "{}", r.kind);
            assert!(schema.resource_by_plural(&r.group, &r.version, &r.plural).is_some(), "{}", r.plural);
        }
        assert!(Gvk::new("v1", "ConfigMap").resource(schema).is_some());
    }
}
