//! What is served, told to clients: version, health, discovery in both forms, OpenAPI.

use std::sync::Arc;

use data_encoding::HEXUPPER;
use kube_meaning::schema::Resource;
use kube_meaning::status::Refusal;
use serde_json::{Value, json};
use sha2::{Digest, Sha512};

use super::accept::{DiscoveryForm, discovery_form, takes_json};
use super::access::{Attributes, User};
use super::query::Query;
use super::respond::{JSON, no_resource, not_acceptable, not_allowed};
use super::route::Route;
use super::{Answer, Request, Response};
use crate::registry::{Registry, Served};
use crate::world::World;

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Documents that are made once for each state of the registry.
#[derive(Clone, Debug, Default)]
pub(crate) struct Documents {
    generation: u64,
    core: Option<Arc<Document>>,
    groups: Option<Arc<Document>>,
    pub(crate) openapi: std::collections::BTreeMap<String, Arc<Document>>,
}

/// A document and the tag of its contents.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) body: Vec<u8>,
    pub(crate) tag: String,
}

impl Document {
    pub(crate) fn new(value: &Value) -> Document {
        let body = format!("{value}\n").into_bytes();
        let tag = tag_of(&body);
        Document { body, tag }
    }
}

/// The hash by which clients keep a document.
pub(crate) fn tag_of(bytes: &[u8]) -> String {
    HEXUPPER.encode(&Sha512::digest(bytes))
}

impl World {
    /// Everything that is not a resource.
    pub(crate) fn outside(
        &mut self,
        request: &Request<'_>,
        query: &Query<'_>,
        route: &Route<'_>,
        user: &User,
    ) -> Result<Answer, Refusal> {
        let verb = match request.method {
            "GET" | "HEAD" => "get".to_owned(),
            other => other.to_lowercase(),
        };
        let wanted = Attributes { verb: &verb, path: request.path, ..Attributes::default() };
        self.authorize(user, &wanted)?;
        if *route == Route::Unknown {
            return Ok(Response::page_not_found().into());
        }
        if verb != "get" {
            return Err(not_allowed());
        }
        if self.api.documents.generation != self.registry.generation() {
            self.api.documents = Documents { generation: self.registry.generation(), ..Documents::default() };
        }
        match route {
            Route::Root => Ok(Response::json(200, &json!({"paths": self.paths()})).into()),
            Route::Version => Ok(Response::json(200, &version()).into()),
            Route::Health(name, check) => Ok(health(name, check.as_deref(), query).into()),
            Route::Core | Route::Groups => self.groups(request, *route == Route::Core),
            Route::Group(group) => self.group(group),
            Route::Resources(group, version) => self.resources(request, group, version),
            Route::OpenApi | Route::OpenApiDocument(_) | Route::OpenApiV2 => {
                self.openapi(request, query, route)
            }
            Route::Issuer(what) => Ok(Response::json(200, &issuer(what)).into()),
            Route::Resource(_) | Route::Unknown => Ok(Response::page_not_found().into()),
        }
    }

    fn paths(&self) -> Vec<String> {
        let mut out: Vec<String> = ["/api", "/api/v1", "/apis"].map(str::to_owned).to_vec();
        for (group, versions) in groups(&self.registry).into_iter().filter(|(group, _)| !group.is_empty()) {
            out.push(format!("/apis/{group}"));
            out.extend(versions.iter().map(|version| format!("/apis/{group}/{version}")));
        }
        for more in ["/healthz", "/livez", "/openapi/v3", "/readyz", "/version"] {
            out.push(more.to_owned());
        }
        out
    }

    fn groups(&mut self, request: &Request<'_>, core: bool) -> Result<Answer, Refusal> {
        if discovery_form(request.header("accept"))? == DiscoveryForm::Legacy {
            let value = match core {
                true => json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs":
                    [{"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1"}]}),
                false => {
                    let groups = groups(&self.registry).into_iter().filter(|(group, _)| !group.is_empty());
                    let groups: Vec<Value> =
                        groups.map(|(group, versions)| api_group(&group, &versions)).collect();
                    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
                }
            };
            return Ok(Response::json(200, &value).header("vary", "Accept").into());
        }
        let slot = if core { &self.api.documents.core } else { &self.api.documents.groups };
        let document = match slot {
            Some(document) => Arc::clone(document),
            None => {
                let made = Arc::new(Document::new(&aggregated(&self.registry, core)));
                let slot = if core { &mut self.api.documents.core } else { &mut self.api.documents.groups };
                Arc::clone(slot.insert(made))
            }
        };
        let response = kept(request, &document, AGGREGATED);
        Ok(response.header("cache-control", "public").into())
    }

    fn group(&self, group: &str) -> Result<Answer, Refusal> {
        let found = groups(&self.registry).into_iter().find(|(name, _)| name == group && !group.is_empty());
        match found {
            Some((group, versions)) => {
                let mut value = api_group(&group, &versions);
                value["kind"] = json!("APIGroup");
                value["apiVersion"] = json!("v1");
                Ok(Response::json(200, &value).into())
            }
            None => Ok(Response::page_not_found().into()),
        }
    }

    fn resources(&self, request: &Request<'_>, group: &str, version: &str) -> Result<Answer, Refusal> {
        let known = groups(&self.registry).into_iter().find(|(name, _)| name == group);
        let Some((_, versions)) = known else { return Ok(Response::page_not_found().into()) };
        if !versions.iter().any(|known| known == version) {
            return match group {
                "" => Ok(Response::page_not_found().into()),
                _ => Err(no_resource()),
            };
        }
        if !takes_json(request.header("accept")) {
            return Err(not_acceptable(&[JSON]));
        }
        let all = self.registry.all().filter(|served| is_of(served, group, version));
        let resources: Vec<Value> = all.flat_map(|served| legacy(served.resource())).collect();
        let value = json!({"kind": "APIResourceList", "apiVersion": "v1",
            "groupVersion": kube_meaning::schema::api_version(group, version).as_str(), "resources": resources});
        Ok(Response::json(200, &value).into())
    }
}

/// A document with its tag; nothing but the tag when the client has it.
pub(crate) fn kept(request: &Request<'_>, document: &Document, content_type: &str) -> Response {
    let tag = format!("\"{}\"", document.tag);
    let has = request.header("if-none-match").is_some_and(|known| known == tag);
    let response = match has {
        true => Response { status: 304, ..Response::default() },
        false => Response::of(200, content_type, document.body.clone()),
    };
    response.header("etag", tag).header("vary", "Accept")
}

fn is_of(served: &Served, group: &str, version: &str) -> bool {
    let resource = served.resource();
    resource.group == group && resource.version == version
}

/// Groups with their versions, preferred first; built-in groups in the server's order, then custom ones by name.
pub(crate) fn groups(registry: &Registry) -> Vec<(String, Vec<String>)> {
    let mut out: Vec<(String, Vec<String>)> = Vec::new();
    for (group, versions) in kube_meaning::builtin().groups() {
        out.push((group.to_string(), versions.iter().map(ToString::to_string).collect()));
    }
    let built_in = out.len();
    for served in registry.all().filter(|served| served.resource().custom) {
        let resource = served.resource();
        let version = resource.version.to_string();
        match out.iter_mut().find(|(group, _)| *group == resource.group.as_str()) {
            Some((_, versions)) if versions.contains(&version) => {}
            Some((_, versions)) => versions.push(version),
            None => out.push((resource.group.to_string(), vec![version])),
        }
    }
    out[built_in..].sort();
    for (_, versions) in &mut out[built_in..] {
        versions.sort_by(|a, b| version_rank(b).cmp(&version_rank(a)).then(a.cmp(b)));
    }
    out
}

/// `v2` before `v1` before `v2beta1` before `v1alpha1` before anything else.
fn version_rank(version: &str) -> (u8, u64, u64) {
    let parse = || -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..digits].parse().ok()?;
        let tail = &rest[digits..];
        if tail.is_empty() {
            return Some((3, major, 0));
        }
        let (stage, minor) = match tail.strip_prefix("beta") {
            Some(minor) => (2, minor),
            None => (1, tail.strip_prefix("alpha")?),
        };
        Some((stage, major, minor.parse().ok()?))
    };
    parse().unwrap_or((0, 0, 0))
}

fn api_group(group: &str, versions: &[String]) -> Value {
    let one = |version: &String| json!({"groupVersion": format!("{group}/{version}"), "version": version});
    let all: Vec<Value> = versions.iter().map(one).collect();
    json!({"name": group, "versions": all, "preferredVersion": all.first()})
}

fn texts(list: &[ecow::EcoString]) -> Vec<&str> {
    list.iter().map(|text| text.as_str()).collect()
}

/// A resource and its sub-resources in the legacy form.
fn legacy(resource: &Resource) -> Vec<Value> {
    let mut own = json!({"name": resource.plural.as_str(), "singularName": resource.singular.as_str(),
        "namespaced": resource.namespaced, "kind": resource.kind.as_str(), "verbs": texts(&resource.verbs)});
    if !resource.short_names.is_empty() {
        own["shortNames"] = json!(texts(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        own["categories"] = json!(texts(&resource.categories));
    }
    if resource.verbs.len() > 1 {
        own["storageVersionHash"] = json!(storage_hash(resource));
    }
    let mut out = vec![own];
    for sub in &resource.subresources {
        let mut value = json!({"name": format!("{}/{}", resource.plural, sub.name), "singularName": "",
            "namespaced": resource.namespaced, "kind": sub.kind.as_str(), "verbs": texts(&sub.verbs)});
        if sub.group != resource.group || sub.version != resource.version {
            value["group"] = json!(sub.group.as_str());
            value["version"] = json!(sub.version.as_str());
        }
        out.push(value);
    }
    out
}

fn storage_hash(resource: &Resource) -> String {
    let text = format!("{}/{}/{}", resource.group, resource.version, resource.kind);
    data_encoding::BASE64.encode(&Sha512::digest(text.as_bytes())[..8])
}

/// Aggregated discovery of the core group, or of all others.
fn aggregated(registry: &Registry, core: bool) -> Value {
    let mut items = Vec::new();
    for (group, versions) in groups(registry).into_iter().filter(|(group, _)| group.is_empty() == core) {
        let mut shown = Vec::new();
        for version in versions {
            let all = registry.all().filter(|served| is_of(served, &group, &version));
            let resources: Vec<Value> = all.map(|served| aggregated_resource(served.resource())).collect();
            shown.push(json!({"version": version, "resources": resources, "freshness": "Current"}));
        }
        let meta = if core { json!({}) } else { json!({"name": group}) };
        items.push(json!({"metadata": meta, "versions": shown}));
    }
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn aggregated_resource(resource: &Resource) -> Value {
    let kind =
        |group: &str, version: &str, kind: &str| json!({"group": group, "version": version, "kind": kind});
    let mut out = json!({
        "resource": resource.plural.as_str(),
        "responseKind": kind(&resource.group, &resource.version, &resource.kind),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": resource.singular.as_str(),
        "verbs": texts(&resource.verbs),
    });
    if !resource.short_names.is_empty() {
        out["shortNames"] = json!(texts(&resource.short_names));
    }
    if !resource.categories.is_empty() {
        out["categories"] = json!(texts(&resource.categories));
    }
    if !resource.subresources.is_empty() {
        let one = |sub: &kube_meaning::schema::Subresource| {
            json!({"subresource": sub.name.as_str(), "verbs": texts(&sub.verbs),
                "responseKind": kind(&sub.group, &sub.version, &sub.kind)})
        };
        out["subresources"] = resource.subresources.iter().map(one).collect();
    }
    out
}

fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36",
        "minCompatibilityMajor": "1", "minCompatibilityMinor": "35",
        "gitVersion": "v1.36.3+kusion-sandbox", "gitCommit": "", "gitTreeState": "clean", "buildDate": "",
        "goVersion": "", "compiler": "rustc", "platform": "sandbox",
    })
}

fn health(name: &str, check: Option<&str>, query: &Query<'_>) -> Response {
    let checks = ["ping", "log", "etcd", "informer-sync"];
    match check {
        Some(check) if !checks.contains(&check) => Response::page_not_found(),
        Some(_) => Response::text(200, "ok"),
        None if query.flag("verbose").ok().flatten() == Some(true) => {
            let lines: String = checks.iter().map(|check| format!("[+]{check} ok\n")).collect();
            Response::text(200, &format!("{lines}{name} check passed\n"))
        }
        None => Response::text(200, "ok"),
    }
}

fn issuer(what: &str) -> Value {
    let issuer = "https://kubernetes.default.svc.cluster.local";
    match what {
        "jwks" => json!({"keys": []}),
        _ => json!({"issuer": issuer, "jwks_uri": format!("{issuer}/openid/v1/jwks"),
            "response_types_supported": ["id_token"], "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["HS256"]}),
    }
}
