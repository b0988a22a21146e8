//! Kubernetes CustomResourceDefinitions: each served version of a kind is a file in the package of its group and version.

use base_yaml::{Data, Limits, Node, parse_documents};
use kcl_model::{Attribute, IndexSignature, Lines, Schema, SchemaRef, Type};

use crate::names::{file_name, package_path, schema_name};
use crate::object::{entries, finite, is_true, items, text};
use crate::openapi::{finish, fix};
use crate::refs::{Documents, Spot};
use crate::schema::{Reader, Site, doc};
use crate::{Imported, Input};

/// Where the schema of metadata stands.
const META: &str = "k8s.apimachinery.pkg.apis.meta.v1";

pub(crate) fn import(input: &Input<'_>, package: &str) -> Result<Imported, String> {
    let body = input.text.strip_prefix('\u{feff}').unwrap_or(&input.text);
    let nodes = parse_documents(body, &Limits::default()).map_err(|e| format!("{}: {e}", input.name))?;
    nodes.iter().try_for_each(|node| finite(&input.name, node))?;
    let mut documents = Documents::of(input, Node { value: Data::Null, span: Default::default() });
    let place = |_: &Documents<'_>, _: &Spot| (String::new(), String::new());
    let mut reader = Reader::new(&mut documents, &place);
    reader.structural = true;
    let meta = path(package, META);
    let mut found = 0;
    for node in nodes.iter().flat_map(each) {
        if text(node, "kind") == Some("CustomResourceDefinition") {
            definition(&mut reader, node, package, &meta)?;
            found += 1;
        }
    }
    if found == 0 {
        return Err(format!("{} has no CustomResourceDefinition", input.name));
    }
    reader.tell_rules();
    let (packages, warnings) = (reader.packages, reader.warnings);
    let mut imported = finish(input, package, packages, warnings)?;
    let file = format!("{}/object_meta.k", meta.replace('.', "/"));
    imported.files.push((file, include_str!("object_meta.k").to_owned()));
    imported.files.sort();
    Ok(imported)
}

/// A document, or the items of a list.
fn each(node: &Node) -> Vec<&Node> {
    match text(node, "kind") {
        Some("List" | "CustomResourceDefinitionList") => items(node, "items").iter().collect(),
        _ => vec![node],
    }
}

fn path(package: &str, rest: &str) -> String {
    if package.is_empty() { package_path(rest) } else { package_path(&format!("{package}.{rest}")) }
}

fn definition(reader: &mut Reader<'_, '_>, node: &Node, package: &str, meta: &str) -> Result<(), String> {
    let line = node.span.line;
    let spec = node.get("spec").ok_or_else(|| format!("line {line}: a definition without `spec`"))?;
    let group =
        text(spec, "group").ok_or_else(|| format!("line {line}: a definition without `spec.group`"))?;
    let kind = spec.get("names").and_then(|names| text(names, "kind"));
    let kind = kind.ok_or_else(|| format!("line {line}: a definition without `spec.names.kind`"))?;
    // v1beta1 may have one schema for all versions.
    let shared = spec.get("validation").and_then(|validation| validation.get("openAPIV3Schema"));
    let versions = items(spec, "versions");
    let single = text(spec, "version").filter(|_| versions.is_empty());
    let mut read = |version: &str, schema: Option<&Node>| {
        let site = Site {
            document: 0,
            package: path(package, &format!("{}.{version}", group.replace('.', "_"))),
            name: schema_name(kind),
        };
        kind_schema(reader, schema, site, &format!("{group}/{version}"), kind, meta)
    };
    for version in versions {
        let Some(name) = text(version, "name") else { continue };
        let served = version.get("served").is_none_or(|_| is_true(version, "served"));
        let own = version.get("schema").and_then(|schema| schema.get("openAPIV3Schema")).or(shared);
        if served {
            read(name, own)?;
        }
    }
    single.map_or(Ok(()), |version| read(version, shared))
}

fn kind_schema(
    reader: &mut Reader<'_, '_>,
    node: Option<&Node>,
    mut site: Site,
    api: &str,
    kind: &str,
    meta: &str,
) -> Result<(), String> {
    let Some(node) = node else {
        reader.warnings.push(format!("{kind} of {api} has no schema: left out"));
        return Ok(());
    };
    // Metadata is not what the definition says, but what every object has.
    const OF_ALL: [&str; 3] = ["metadata", "apiVersion", "kind"];
    let mut node = node.clone();
    if let Data::Map(all) = &mut node.value {
        for entry in all {
            match (entry.key.as_str(), &mut entry.value.value) {
                ("properties", Data::Map(all)) => all.retain(|entry| !OF_ALL.contains(&entry.key.as_str())),
                ("required", Data::List(all)) => all.retain(
                    |name| !matches!(&name.value, Data::Str(name) if OF_ALL.contains(&name.as_str())),
                ),
                _ => {}
            }
        }
    }
    site.name = reader.names.entry(site.package.clone()).or_default().unique(&site.name);
    reader.file = file_name(&site.name);
    match entries(&node, "properties").is_empty() {
        true => {
            let open = is_true(&node, "x-kubernetes-preserve-unknown-fields").then(|| IndexSignature {
                key: Type::Str,
                value: Type::Any,
                any_other: true,
                ..IndexSignature::default()
            });
            let place = Some(Lines { file: reader.file.clone(), ..Lines::default() });
            let empty =
                Schema { name: site.name.clone(), doc: doc(&node), index: open, place, ..Schema::default() };
            reader.packages.entry(site.package.clone()).or_default().push(empty);
        }
        false => reader.add(&node, &site)?,
    }
    let schema =
        reader.packages.get_mut(&site.package).and_then(|all| all.iter_mut().find(|s| s.name == site.name));
    if let Some(schema) = schema {
        let own = std::mem::take(&mut schema.attributes);
        fix(&mut schema.attributes, "apiVersion", api);
        fix(&mut schema.attributes, "kind", kind);
        let ty = Type::Schema(SchemaRef { package: meta.to_owned(), name: "ObjectMeta".into() });
        schema.attributes.push(Attribute {
            name: "metadata".into(),
            ty,
            optional: true,
            ..Attribute::default()
        });
        schema.attributes.extend(own);
    }
    Ok(())
}
