//! Custom resources: what a CustomResourceDefinition says about its objects.
//!
//! In: a CRD object. Out: a [`Schema`] with one resource per served version (types, list keys, defaults for keys), and the
//! operations on its structural schema: pruning, null rules, defaults, value checks. CEL rules are handed to the caller.

mod check;
mod shape;

use std::sync::Arc;

use ecow::EcoString;
use serde_json::{Map, Value};

use crate::builtin::builtin;
use crate::reach::Reach;
use crate::schema::{Field, List, ListKind, MapOf, Resource, ScalarKind, Schema, Struct, Subresource, Ty};

pub use check::{RuleCheck, check_values, has_rules};
pub use shape::{drop_nulls, fill_defaults, prune, unknown_fields};

/// Builds the schema of a CRD: one resource per served version. `None` when it is not a readable CRD.
pub fn schema_of(crd: &Value) -> Option<Schema> {
    let spec = crd.get("spec")?;
    let mut schema = Schema::default();
    let meta = import_meta(&mut schema);
    let group = spec.get("group")?.as_str()?;
    let mut versions = Vec::new();
    for version in spec.get("versions")?.as_array()? {
        if version.get("served") != Some(&Value::Bool(true)) {
            continue;
        }
        let name = version.get("name")?.as_str()?;
        let empty = Value::Object(Map::new());
        let structural = version.at("/schema/openAPIV3Schema").unwrap_or(&empty);
        let ty = lower_root(&mut schema, structural, &meta, name);
        let resource = resource_of(spec, version, group, name, ty, structural)?;
        schema.add_resource(resource);
        versions.push(EcoString::from(name));
    }
    schema.groups.push((group.into(), versions));
    Some(schema)
}

fn resource_of(
    spec: &Value,
    version: &Value,
    group: &str,
    name: &str,
    ty: Ty,
    structural: &Value,
) -> Option<Resource> {
    let names = spec.get("names")?;
    let text = |key: &str| EcoString::from(names.get(key).and_then(Value::as_str).unwrap_or_default());
    let list = |key: &str| -> Vec<EcoString> {
        names
            .get(key)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .map(EcoString::from)
            .collect()
    };
    let kind = text("kind");
    let verbs = || ["get", "patch", "update"].map(EcoString::from).to_vec();
    let mut subresources = Vec::new();
    if version.at("/subresources/scale").is_some_and(|s| !s.is_null()) {
        subresources.push(Subresource {
            name: "scale".into(),
            group: "autoscaling".into(),
            version: "v1".into(),
            kind: "Scale".into(),
            verbs: verbs(),
        });
    }
    if version.at("/subresources/status").is_some_and(|s| !s.is_null()) {
        subresources.push(Subresource {
            name: "status".into(),
            group: group.into(),
            version: name.into(),
            kind: kind.clone(),
            verbs: verbs(),
        });
    }
    let singular = match text("singular") {
        empty if empty.is_empty() => kind.to_lowercase(),
        singular => singular,
    };
    Some(Resource {
        group: group.into(),
        version: name.into(),
        plural: text("plural"),
        singular,
        namespaced: spec.get("scope").and_then(Value::as_str) == Some("Namespaced"),
        short_names: list("shortNames"),
        categories: list("categories"),
        verbs: ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"]
            .map(EcoString::from)
            .to_vec(),
        subresources,
        kind,
        ty,
        custom: true,
        structural: Some(Arc::new(structural.clone())),
    })
}

/// Copies the metadata types into a schema of its own.
fn import_meta(schema: &mut Schema) -> Ty {
    let meta = builtin().type_named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta");
    meta.map_or(Ty::Any, |ty| import(schema, &ty))
}

fn import(schema: &mut Schema, ty: &Ty) -> Ty {
    match ty {
        Ty::Any => Ty::Any,
        Ty::Scalar(kind) => Ty::Scalar(*kind),
        Ty::List(list) => {
            Ty::List(Box::new(List { item: import(schema, &list.item), kind: list.kind.clone() }))
        }
        Ty::Map(map) => Ty::Map(Box::new(MapOf { value: import(schema, &map.value), atomic: map.atomic })),
        Ty::Named { id, atomic } => {
            let name = builtin().type_name(*id);
            if let Some(&id) = schema.by_name.get(name) {
                return Ty::Named { id, atomic: *atomic };
            }
            let old = builtin().get(*id);
            let fields =
                old.fields.iter().map(|f| Field { ty: import(schema, &f.ty), ..f.clone() }).collect();
            let mut copy = Struct::new(fields);
            (copy.atomic, copy.open) = (old.atomic, old.open);
            Ty::Named { id: schema.add_struct(name, copy), atomic: *atomic }
        }
    }
}

fn lower_root(schema: &mut Schema, structural: &Value, meta: &Ty, name: &str) -> Ty {
    let mut fields = vec![
        Field::new("apiVersion", Ty::Scalar(ScalarKind::String)),
        Field::new("kind", Ty::Scalar(ScalarKind::String)),
        Field::new("metadata", meta.clone()),
    ];
    for (key, property) in properties(structural) {
        if !matches!(key.as_str(), "apiVersion" | "kind" | "metadata") {
            fields.push(lower_field(schema, key, property, &format!("{name}.{key}"), 0));
        }
    }
    let mut root = Struct::new(fields);
    root.open = preserves(structural);
    Ty::Named { id: schema.add_struct(name, root), atomic: false }
}

/// Depth at which schemas are cut off as unknown.
const MAX_SCHEMA_DEPTH: usize = 64;

fn lower(schema: &mut Schema, structural: &Value, name: &str, depth: usize) -> Ty {
    if depth > MAX_SCHEMA_DEPTH {
        return Ty::Any;
    }
    if structural.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return Ty::Scalar(ScalarKind::IntOrString);
    }
    match structural.get("type").and_then(Value::as_str) {
        Some("string") => Ty::Scalar(ScalarKind::String),
        Some("integer") => Ty::Scalar(ScalarKind::Int64),
        Some("number") => Ty::Scalar(ScalarKind::Number),
        Some("boolean") => Ty::Scalar(ScalarKind::Bool),
        Some("array") => {
            let item = structural
                .get("items")
                .map_or(Ty::Any, |i| lower(schema, i, &format!("{name}.*"), depth + 1));
            Ty::List(Box::new(List { item, kind: list_kind(structural) }))
        }
        Some("object") => lower_object(schema, structural, name, depth),
        _ => Ty::Any,
    }
}

fn lower_object(schema: &mut Schema, structural: &Value, name: &str, depth: usize) -> Ty {
    let atomic = structural.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
    let embedded = structural.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    if let Some(values @ Value::Object(_)) = structural.get("additionalProperties") {
        let value = lower(schema, values, &format!("{name}.*"), depth + 1);
        return Ty::Map(Box::new(MapOf { value, atomic }));
    }
    if properties(structural).next().is_none() && preserves(structural) && !embedded {
        return match atomic {
            true => Ty::Map(Box::new(MapOf { value: Ty::Any, atomic })),
            false => Ty::Any,
        };
    }
    let fields: Vec<Field> = properties(structural)
        .map(|(key, p)| lower_field(schema, key, p, &format!("{name}.{key}"), depth + 1))
        .collect();
    let mut strukt = Struct::new(fields);
    strukt.atomic = atomic;
    strukt.open = preserves(structural) || embedded;
    Ty::Named { id: schema.add_struct(name, strukt), atomic: false }
}

fn lower_field(schema: &mut Schema, key: &str, property: &Value, name: &str, depth: usize) -> Field {
    let mut field = Field::new(key, lower(schema, property, name, depth));
    field.default = property.get("default").cloned();
    field.nullable = property.get("nullable") == Some(&Value::Bool(true));
    field
}

fn list_kind(structural: &Value) -> ListKind {
    match structural.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => ListKind::Set,
        Some("map") => {
            let keys = structural.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            ListKind::Map(keys.into_iter().flatten().filter_map(Value::as_str).map(EcoString::from).collect())
        }
        _ => ListKind::Atomic,
    }
}

pub(crate) fn preserves(structural: &Value) -> bool {
    structural.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true))
}

pub(crate) fn properties(structural: &Value) -> impl Iterator<Item = (&String, &Value)> {
    structural.get("properties").and_then(Value::as_object).into_iter().flatten()
}

#[cfg(test)]
mod tests;
