//! OpenAPI 2 and 3: every definition becomes a file in the package that its name begins with.

use base_yaml::Node;
use kcl_model::{Attribute, Default, Model, Package, Schema, Type, Value};

use crate::names::{package_path, schema_name};
use crate::object::{entries, items, text};
use crate::refs::{Documents, Spot};
use crate::schema::Reader;
use crate::{Imported, Input, write};

pub(crate) fn import(input: &Input<'_>, package: &str) -> Result<Imported, String> {
    let mut documents = Documents::new(input)?;
    let root = documents.root().clone();
    let section = section(&root).ok_or_else(|| {
        let what = match ["openapi", "swagger"].iter().any(|word| root.get(word).is_some()) {
            true => "names no schemas (what stands in its operations has no name)",
            false => "is no OpenAPI document",
        };
        format!("{} {what}: it has neither `definitions` nor `components.schemas`", input.name)
    })?;
    let place = |_: &Documents<'_>, spot: &Spot| split_name(package, spot);
    let mut reader = Reader::new(&mut documents, &place);
    for name in names(&root) {
        let key = name.replace('~', "~0").replace('/', "~1");
        reader.spot(&Spot { document: 0, pointer: format!("{section}/{key}") })?;
    }
    reader.tell_rules();
    let (mut packages, warnings) = (reader.packages, reader.warnings);
    // Each kind of Kubernetes knows its own apiVersion.
    for (spot, reference) in &reader.known {
        let node = root_entry(&root, spot);
        let schema = packages
            .get_mut(&reference.package)
            .and_then(|all| all.iter_mut().find(|s| s.name == reference.name));
        if let (Some(node), Some(schema)) = (node, schema) {
            fix_kind(node, schema);
        }
    }
    finish(input, package, packages, warnings)
}

/// Packages to files, with a `kcl.mod` at the top.
pub(crate) fn finish(
    input: &Input<'_>,
    package: &str,
    packages: std::collections::BTreeMap<String, Vec<Schema>>,
    mut warnings: Vec<String>,
) -> Result<Imported, String> {
    let mut packages: Vec<Package> =
        packages.into_iter().map(|(path, schemas)| Package { path, schemas, ..Package::default() }).collect();
    if packages.is_empty() {
        return Err(format!("{} describes no object with properties: there is no schema in it", input.name));
    }
    name_root(&mut packages);
    cut_cycles(&mut packages, &mut warnings);
    let model = Model { packages, ..Model::default() };
    let mut files = write::write(&model, &input.name)?;
    let name = if package.is_empty() { "models" } else { package.split('.').next().unwrap_or(package) };
    files.insert(0, ("kcl.mod".into(), format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\n")));
    Ok(Imported { files, warnings })
}

/// The root of a module has no name that its packages could import: what they need of it is put into a package of its own.
fn name_root(packages: &mut [Package]) {
    let mut needed = false;
    for schema in packages.iter().filter(|package| !package.path.is_empty()).flat_map(|p| &p.schemas) {
        write::each_reference(schema, &mut |name| needed |= name.package.is_empty());
    }
    if !needed {
        return;
    }
    let mut name = "shared".to_owned();
    while packages.iter().any(|package| package.path.split('.').next() == Some(name.as_str())) {
        name.push('_');
    }
    for package in packages {
        if package.path.is_empty() {
            package.path.clone_from(&name);
        }
        for schema in &mut package.schemas {
            let types = schema.attributes.iter_mut().map(|attribute| &mut attribute.ty);
            let types = types.chain(schema.index.as_mut().map(|index| &mut index.value));
            types.for_each(|ty| put_below(ty, &name));
            let named = schema.bases.iter_mut().chain(&mut schema.mixins);
            named.filter(|base| base.package.is_empty()).for_each(|base| base.package.clone_from(&name));
        }
    }
}

/// Gives the schemas of the root that a type mentions their new package.
fn put_below(ty: &mut Type, package: &str) {
    match ty {
        Type::Schema(schema) if schema.package.is_empty() => package.clone_into(&mut schema.package),
        Type::List(item) => put_below(item, package),
        Type::Dict(key, value) => [key, value].into_iter().for_each(|ty| put_below(ty, package)),
        Type::Union(members) => members.iter_mut().for_each(|ty| put_below(ty, package)),
        _ => {}
    }
}

/// KCL packages cannot import one another: a reference that closes a circle becomes any.
fn cut_cycles(packages: &mut [Package], warnings: &mut Vec<String>) {
    use std::collections::{BTreeMap, BTreeSet};
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages {
        let path = package.path.clone();
        for schema in &mut package.schemas {
            for attribute in &mut schema.attributes {
                let mut bad = false;
                attribute.ty.each_schema(&mut |name| {
                    bad |= name.package != path && reaches(&imports, &name.package, &path);
                });
                if bad {
                    warnings.push(format!(
                        "{}.{}: packages would import one another: any",
                        schema.name, attribute.name
                    ));
                    attribute.ty = Type::Any;
                    attribute.default = None;
                }
                attribute.ty.each_schema(&mut |name| {
                    if name.package != path {
                        imports.entry(path.clone()).or_default().insert(name.package.clone());
                    }
                });
            }
        }
    }

    fn reaches(imports: &BTreeMap<String, BTreeSet<String>>, from: &str, to: &str) -> bool {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut open = vec![from];
        while let Some(at) = open.pop() {
            if at == to {
                return true;
            }
            if seen.insert(at) {
                open.extend(imports.get(at).into_iter().flatten().map(String::as_str));
            }
        }
        false
    }
}

fn section(root: &Node) -> Option<&'static str> {
    if root.get("definitions").is_some() {
        return Some("/definitions");
    }
    root.get("components")?.get("schemas").map(|_| "/components/schemas")
}

fn definitions(root: &Node) -> &[base_yaml::MapEntry] {
    match root.get("definitions") {
        Some(_) => entries(root, "definitions"),
        None => root.get("components").map_or(&[], |components| entries(components, "schemas")),
    }
}

fn names(root: &Node) -> Vec<String> {
    let mut names: Vec<String> = definitions(root).iter().map(|entry| entry.key.clone()).collect();
    names.sort();
    names
}

fn root_entry<'n>(root: &'n Node, spot: &Spot) -> Option<&'n Node> {
    let key = spot.pointer.rsplit('/').next()?.replace("~1", "/").replace("~0", "~");
    definitions(root).iter().find(|entry| entry.key == key && spot.document == 0).map(|entry| &entry.value)
}

/// `io.k8s.api.core.v1.Pod` is `Pod` of the package `k8s.api.core.v1`.
fn split_name(prefix: &str, spot: &Spot) -> (String, String) {
    let last = spot.pointer.rsplit('/').next().unwrap_or_default().replace("~1", "/").replace("~0", "~");
    let full = last.strip_prefix("io.").filter(|rest| rest.starts_with("k8s.")).unwrap_or(&last);
    let (package, name) = full.rsplit_once('.').unwrap_or(("", full));
    let path = match (prefix.is_empty(), package.is_empty()) {
        (true, _) => package_path(package),
        (false, true) => package_path(prefix),
        (false, false) => package_path(&format!("{prefix}.{package}")),
    };
    (path, schema_name(name))
}

/// `apiVersion` and `kind` of a kind that has one version are what they are.
fn fix_kind(node: &Node, schema: &mut Schema) {
    let [one] = items(node, "x-kubernetes-group-version-kind") else { return };
    let (Some(version), Some(kind)) = (text(one, "version"), text(one, "kind")) else { return };
    let api = match text(one, "group") {
        Some(group) if !group.is_empty() => format!("{group}/{version}"),
        _ => version.to_owned(),
    };
    fix(&mut schema.attributes, "apiVersion", &api);
    fix(&mut schema.attributes, "kind", kind);
}

/// Makes an attribute a literal with that default.
pub(crate) fn fix(attributes: &mut Vec<Attribute>, name: &str, text: &str) {
    let value = Value::Str(text.to_owned());
    let fixed = |doc: String| Attribute {
        name: name.to_owned(),
        ty: Type::Literal(value.clone()),
        default: Some(Default { source: value.to_kcl(), value: Some(value.clone()) }),
        doc,
        ..Attribute::default()
    };
    match attributes.iter_mut().find(|attribute| attribute.name == name) {
        Some(attribute) => *attribute = fixed(std::mem::take(&mut attribute.doc)),
        None => attributes.push(fixed(String::new())),
    }
}
