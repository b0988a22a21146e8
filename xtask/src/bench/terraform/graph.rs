//! The same resources for both sides.

use serde_json::{Map, Value, json};

use crate::terraform_mirror::{HOST, PROVIDERS};

/// One resource: type, name, arguments. A reference is `@TYPE.NAME.ATTRIBUTE`.
type Resource = (&'static str, String, Value);

/// `n` times five resources; files go to a folder.
pub(super) fn resources(n: usize, out: &str) -> Vec<Resource> {
    (0..n).flat_map(|i| five(i, out)).collect()
}

fn five(i: usize, out: &str) -> [Resource; 5] {
    let name = format!("r{i}");
    [
        ("random_id", name.clone(), json!({"byte_length": 8, "keepers": {"number": i.to_string()}})),
        ("time_static", name.clone(), json!({"triggers": {"id": format!("@random_id.{name}.hex")}})),
        ("terraform_data", name.clone(), json!({"input": format!("@time_static.{name}.rfc3339")})),
        (
            "local_file",
            name.clone(),
            json!({"filename": format!("{out}/{i}"), "content": format!("@terraform_data.{name}.id")}),
        ),
        ("tls_private_key", name, json!({"algorithm": "ED25519"})),
    ]
}

/// As tofu reads it.
pub(super) fn main_file(resources: &[Resource]) -> String {
    let mut types = Map::new();
    for (ty, name, arguments) in resources {
        let named = types.entry(*ty).or_insert_with(|| json!({}));
        named[name] = rewritten(arguments, &|to| format!("${{{to}}}"));
    }
    let required: Map<String, Value> = PROVIDERS
        .iter()
        .filter(|(_, name, _)| resources.iter().any(|(ty, ..)| provider_of(ty) == *name))
        .map(|(namespace, name, version)| {
            ((*name).to_owned(), json!({"source": format!("{namespace}/{name}"), "version": version}))
        })
        .collect();
    json!({"terraform": {"required_providers": required}, "resource": types}).to_string()
}

/// As ours reads it.
pub(super) fn spec(resources: &[Resource]) -> String {
    let all: Vec<Value> =
        resources.iter().map(|(ty, name, arguments)| one(ty, name, arguments, None)).collect();
    json!({"resources": all}).to_string()
}

/// Texts that exist already. (Not passwords: their provider spends most of its time on a slow hash of each.)
pub(super) fn import_spec(n: usize) -> String {
    let all = (0..n).map(|i| {
        let id = format!("secret-{i:05}");
        let arguments = json!({"length": id.len()});
        one("random_string", &format!("p{i}"), &arguments, Some(&id))
    });
    json!({"resources": all.collect::<Vec<Value>>()}).to_string()
}

fn one(ty: &str, name: &str, arguments: &Value, import_id: Option<&str>) -> Value {
    let mut extensions = json!({"resourceType": ty});
    if let Some((namespace, name, version)) = PROVIDERS.iter().find(|(_, name, _)| *name == provider_of(ty)) {
        extensions["provider"] = json!(format!("{HOST}/{namespace}/{name}/{version}"));
    }
    if let Some(id) = import_id {
        extensions["kusionstack.io/import-id"] = json!(id);
    }
    let attributes = rewritten(arguments, &|to| {
        let (address, attribute) = to.rsplit_once('.').unwrap_or((to, ""));
        let (ty, name) = address.split_once('.').unwrap_or((address, ""));
        format!("$kusion_path.{}.{attribute}", id_of(ty, name))
    });
    json!({"id": id_of(ty, name), "type": "Terraform", "attributes": attributes, "extensions": extensions})
}

fn id_of(ty: &str, name: &str) -> String {
    match provider_of(ty) {
        "terraform" => format!("builtin:terraform:{ty}:{name}"),
        provider => format!("hashicorp:{provider}:{ty}:{name}"),
    }
}

fn provider_of(ty: &str) -> &str {
    ty.split('_').next().unwrap_or_default()
}

/// The arguments with references in the form of one side.
fn rewritten(value: &Value, reference: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => match text.strip_prefix('@') {
            Some(to) => json!(reference(to)),
            None => value.clone(),
        },
        Value::Object(members) => {
            members.iter().map(|(name, value)| (name.clone(), rewritten(value, reference))).collect()
        }
        Value::Array(items) => items.iter().map(|item| rewritten(item, reference)).collect(),
        other => other.clone(),
    }
}
