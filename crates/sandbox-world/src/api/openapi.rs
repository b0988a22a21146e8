//! OpenAPI v3: an index with a hash per group version, and documents made from the tables.

use std::sync::Arc;

use kube_meaning::schema::{List, ListKind, Resource, ScalarKind, Schema, Ty, TypeId};
use kube_meaning::status::Refusal;
use serde_json::{Map, Value, json};

use super::discovery::{Document, groups, tag_of};
use super::query::Query;
use super::respond::JSON;
use super::route::Route;
use super::{Answer, Request, Response};
use crate::registry::{Registry, Served};
use crate::world::World;

impl World {
    pub(crate) fn openapi(
        &mut self,
        request: &Request<'_>,
        query: &Query<'_>,
        route: &Route<'_>,
    ) -> Result<Answer, Refusal> {
        match route {
            Route::OpenApi => {
                let document = self.document("", index);
                Ok(super::discovery::kept(request, &document, JSON).into())
            }
            Route::OpenApiDocument(name) => {
                let Some((group, version)) = group_version(&self.registry, name) else {
                    return Ok(Response::page_not_found().into());
                };
                let hash = hash_of(&self.registry, &group, &version);
                match query.get("hash") {
                    Some(asked) if asked != hash => {
                        let to = format!("/openapi/v3/{name}?hash={hash}");
                        let response = Response { status: 301, ..Response::default() };
                        return Ok(response.header("location", to).into());
                    }
                    _ => {}
                }
                let document = self.document(name, |registry| document(registry, &group, &version));
                let cache =
                    if query.get("hash").is_some() { "public, immutable" } else { "no-cache, private" };
                let tag = format!("\"{hash}\"");
                let has = request.header("if-none-match").is_some_and(|known| known == tag);
                let response = match has {
                    true => Response { status: 304, ..Response::default() },
                    false => Response::of(200, JSON, document.body.clone()),
                };
                Ok(response
                    .header("etag", tag)
                    .header("vary", "Accept")
                    .header("cache-control", cache)
                    .into())
            }
            _ => Ok(Response::page_not_found().into()),
        }
    }

    fn document(&mut self, name: &str, make: impl FnOnce(&Registry) -> Value) -> Arc<Document> {
        if let Some(found) = self.api.documents.openapi.get(name) {
            return Arc::clone(found);
        }
        let made = Arc::new(Document::new(&make(&self.registry)));
        self.api.documents.openapi.insert(name.to_owned(), Arc::clone(&made));
        made
    }
}

fn path_of(group: &str, version: &str) -> String {
    match group {
        "" => format!("api/{version}"),
        _ => format!("apis/{group}/{version}"),
    }
}

fn group_version(registry: &Registry, name: &str) -> Option<(String, String)> {
    groups(registry).into_iter().find_map(|(group, versions)| {
        let version = versions.into_iter().find(|version| path_of(&group, version) == name)?;
        Some((group, version))
    })
}

fn index(registry: &Registry) -> Value {
    let mut paths = Map::new();
    for (group, versions) in groups(registry) {
        for version in versions {
            let path = path_of(&group, &version);
            let url = format!("/openapi/v3/{path}?hash={}", hash_of(registry, &group, &version));
            paths.insert(path, json!({"serverRelativeURL": url}));
        }
    }
    json!({"paths": paths})
}

/// The hash of a document, from what it is made of: the document itself need not be made for the index.
fn hash_of(registry: &Registry, group: &str, version: &str) -> String {
    let mut text = format!("v1.36.3 1 {group}/{version}");
    for (name, definition) in registry.definitions().filter(|(_, d)| d.spec["group"] == group) {
        text.push_str(&format!("\n{name} {}", definition.spec));
    }
    tag_of(text.as_bytes())
}

/// The document of a group version.
fn document(registry: &Registry, group: &str, version: &str) -> Value {
    let (mut paths, mut schemas) = (Map::new(), Map::new());
    let here = |served: &Served| served.resource().group == group && served.resource().version == version;
    for served in registry.all().filter(here) {
        let resource = served.resource();
        add_paths(resource, &mut paths);
        match &resource.structural {
            Some(structural) => {
                let name = format!("{}.{}.{}", reversed(group), version, resource.kind);
                let mut schema = Value::clone(structural);
                schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
                schema["properties"]["metadata"] = json!({"allOf": [{"$ref": reference("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")}]});
                add_type(
                    kube_meaning::builtin(),
                    "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
                    &mut schemas,
                );
                schemas.insert(name, schema);
            }
            None => {
                if let Ty::Named { id, .. } = &resource.ty {
                    let name = served.schema().type_name(*id).to_owned();
                    add_type(served.schema(), &name, &mut schemas);
                    if let Some(schema) = schemas.get_mut(&name) {
                        schema["x-kubernetes-group-version-kind"] = json!([gvk(resource)]);
                    }
                }
            }
        }
    }
    json!({"openapi": "3.0.0", "info": {"title": "Kubernetes", "version": "v1.36.3"}, "paths": paths,
        "components": {"schemas": schemas}})
}

fn reversed(group: &str) -> String {
    let mut parts: Vec<&str> = group.split('.').collect();
    parts.reverse();
    parts.join(".")
}

fn gvk(resource: &Resource) -> Value {
    json!({"group": resource.group.as_str(), "version": resource.version.as_str(), "kind": resource.kind.as_str()})
}

fn reference(name: &str) -> String {
    format!("#/components/schemas/{name}")
}

/// The operations that kubectl looks for: it asks whether the PATCH of a kind takes `fieldValidation` and `dryRun`.
fn add_paths(resource: &Resource, paths: &mut Map<String, Value>) {
    let namespace = resource.namespaced.then_some("{namespace}");
    let collection = kube_meaning::api_path::collection_path(resource, namespace);
    let parameters: Vec<Value> = ["dryRun", "fieldManager", "fieldValidation", "force", "pretty"]
        .iter()
        .map(|name| json!({"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": true}}))
        .collect();
    let operation = |action: &str, verb: &str| {
        json!({"operationId": format!("{verb}{}{}", resource.version, resource.kind), "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": gvk(resource), "parameters": parameters,
            "responses": {"200": {"description": "OK"}, "401": {"description": "Unauthorized"}}})
    };
    let has = |verb: &str| resource.verbs.iter().any(|own| own == verb);
    let mut many = Map::new();
    let mut one = Map::new();
    for (verb, method, action, alone) in [
        ("list", "get", "list", false),
        ("create", "post", "post", false),
        ("deletecollection", "delete", "deletecollection", false),
        ("get", "get", "get", true),
        ("update", "put", "put", true),
        ("patch", "patch", "patch", true),
        ("delete", "delete", "delete", true),
    ] {
        if has(verb) {
            let target = if alone { &mut one } else { &mut many };
            target.insert(method.to_owned(), operation(action, verb));
        }
    }
    paths.insert(collection.clone(), Value::Object(many));
    if !one.is_empty() {
        paths.insert(format!("{collection}/{{name}}"), Value::Object(one));
    }
}

/// Adds a type and all it refers to.
fn add_type(schema: &Schema, name: &str, out: &mut Map<String, Value>) {
    let mut todo: Vec<String> = vec![name.to_owned()];
    while let Some(name) = todo.pop() {
        if out.contains_key(&name) {
            continue;
        }
        let Some(Ty::Named { id, .. }) = schema.type_named(&name) else { continue };
        let shown = type_schema(schema, id, &mut todo);
        out.insert(name, shown);
    }
}

fn type_schema(schema: &Schema, id: TypeId, todo: &mut Vec<String>) -> Value {
    let strukt = schema.get(id);
    let mut properties = Map::new();
    let mut required = Vec::new();
    for field in &strukt.fields {
        let mut shown = ty_schema(schema, &field.ty, todo);
        if field.patch.merge {
            let word = if field.patch.retain_keys { "merge,retainKeys" } else { "merge" };
            shown["x-kubernetes-patch-strategy"] = json!(word);
        }
        if let Some(key) = &field.patch.merge_key {
            shown["x-kubernetes-patch-merge-key"] = json!(key.as_str());
        }
        if !field.allowed.is_empty() {
            shown["enum"] = json!(field.allowed);
        }
        if field.required {
            required.push(field.name.as_str());
        }
        properties.insert(field.name.to_string(), shown);
    }
    let mut out = json!({"type": "object"});
    if !properties.is_empty() {
        out["properties"] = Value::Object(properties);
    }
    if !required.is_empty() {
        out["required"] = json!(required);
    }
    if strukt.atomic {
        out["x-kubernetes-map-type"] = json!("atomic");
    }
    out
}

fn ty_schema(schema: &Schema, ty: &Ty, todo: &mut Vec<String>) -> Value {
    match ty {
        Ty::Any => json!({"x-kubernetes-preserve-unknown-fields": true}),
        Ty::Scalar(kind) => scalar(*kind),
        Ty::Named { id, .. } => {
            let name = schema.type_name(*id).to_owned();
            let out = json!({"allOf": [{"$ref": reference(&name)}]});
            todo.push(name);
            out
        }
        Ty::List(list) => {
            let List { item, kind } = list.as_ref();
            let mut out = json!({"type": "array", "items": ty_schema(schema, item, todo)});
            match kind {
                ListKind::Atomic => out["x-kubernetes-list-type"] = json!("atomic"),
                ListKind::Set => out["x-kubernetes-list-type"] = json!("set"),
                ListKind::Map(keys) => {
                    out["x-kubernetes-list-type"] = json!("map");
                    let keys: Vec<&str> = keys.iter().map(|key| key.as_str()).collect();
                    out["x-kubernetes-list-map-keys"] = json!(keys);
                }
            }
            out
        }
        Ty::Map(map) => {
            json!({"type": "object", "additionalProperties": ty_schema(schema, &map.value, todo)})
        }
    }
}

fn scalar(kind: ScalarKind) -> Value {
    match kind {
        ScalarKind::String | ScalarKind::Quantity => json!({"type": "string"}),
        ScalarKind::Bytes => json!({"type": "string", "format": "byte"}),
        ScalarKind::Time | ScalarKind::MicroTime => json!({"type": "string", "format": "date-time"}),
        ScalarKind::Int32 => json!({"type": "integer", "format": "int32"}),
        ScalarKind::Int64 => json!({"type": "integer", "format": "int64"}),
        ScalarKind::Number => json!({"type": "number", "format": "double"}),
        ScalarKind::Bool => json!({"type": "boolean"}),
        ScalarKind::IntOrString => json!({"type": "string", "format": "int-or-string"}),
    }
}
