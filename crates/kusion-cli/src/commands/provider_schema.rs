//! `kusion provider schema`: what a provider can make, asked of the provider itself, as KCL or as JSON.

use std::path::Path;

use serde_json::{Map, Value, json};
use tf_host::{Launch, Provider, SchemaCache, Schemas};
use tf_install::{Address, Installed};
use tf_schema::{Attribute, AttributeKind, Block, BlockNesting, ObjectNesting, Schema};

use crate::input::cluster::tokio;
use crate::input::planned::warn;
use crate::views::failure::{Exit, Failure};

/// Starts a provider and asks what it can make; the answer is kept beside the packages.
pub(crate) fn ask(address: &Address, found: &Installed, cache: &Path) -> Result<Value, Failure> {
    let name = address.to_string();
    let launch = Launch::new(&name, &found.executable);
    let cache = SchemaCache::new(cache.join(".schemas"));
    tokio()?.block_on(async {
        let failed = |error: tf_host::HostError| {
            Failure::new(Exit::Remote, "the provider does not say what it can make")
                .cause(error.to_string())
                .place(found.executable.display().to_string())
        };
        let provider = Provider::start(&launch, Some(&cache)).await.map_err(failed)?;
        let told = document(&name, provider.schemas()).map_err(failed);
        provider.end().await;
        told
    })
}

/// The document that `tofu providers schema -json` prints for a provider.
fn document(name: &str, schemas: &Schemas) -> Result<Value, tf_host::HostError> {
    let (mut resources, mut data) = (Map::new(), Map::new());
    for of in schemas.resource_names() {
        resources.insert(of.to_owned(), schema(&schemas.resource(name, of)?.schema));
    }
    for of in schemas.data_names() {
        data.insert(of.to_owned(), schema(&schemas.data_source(name, of)?.schema));
    }
    let told = json!({
        "provider": schema(&schemas.provider().0), "resource_schemas": resources, "data_source_schemas": data,
    });
    let mut providers = Map::new();
    providers.insert(name.to_owned(), told);
    Ok(json!({"format_version": "1.0", "provider_schemas": providers}))
}

/// Typed KCL models of such a document.
pub(crate) fn models(name: &str, document: &Value) -> Result<String, Failure> {
    let load = |path: &str| Err(format!("there is no {path}"));
    let input = kcl_import::Input { name: name.to_owned(), text: document.to_string(), load: &load };
    let made = kcl_import::import(&input, kcl_import::Mode::Terraform, "")
        .map_err(|e| Failure::new(Exit::Usage, "the provider's schema cannot be said in KCL").cause(e))?;
    made.warnings.iter().for_each(|text| warn(text));
    Ok(made.files.into_iter().map(|(_, text)| text).collect())
}

fn schema(schema: &Schema) -> Value {
    json!({"version": schema.version, "block": block(&schema.block)})
}

fn block(of: &Block) -> Value {
    let mut out = Map::new();
    if !of.attributes.is_empty() {
        let all = of.attributes.iter().map(|(name, it)| (name.clone(), attribute(it)));
        out.insert("attributes".to_owned(), Value::Object(all.collect()));
    }
    let mut blocks = Map::new();
    for (name, nested) in &of.blocks {
        let mode = match nested.nesting {
            BlockNesting::Single => "single",
            BlockNesting::Group => "group",
            BlockNesting::List => "list",
            BlockNesting::Set => "set",
            BlockNesting::Map => "map",
        };
        let mut it = Map::new();
        it.insert("nesting_mode".to_owned(), mode.into());
        it.insert("block".to_owned(), block(&nested.block));
        let limits = [("min_items", nested.min_items), ("max_items", nested.max_items)];
        limits
            .iter()
            .filter(|(_, n)| *n > 0)
            .for_each(|(key, n)| drop(it.insert((*key).to_owned(), (*n).into())));
        blocks.insert(name.clone(), Value::Object(it));
    }
    if !blocks.is_empty() {
        out.insert("block_types".to_owned(), Value::Object(blocks));
    }
    text(&mut out, "description", &of.description);
    set(&mut out, "deprecated", of.deprecated);
    Value::Object(out)
}

fn attribute(of: &Attribute) -> Value {
    let mut out = Map::new();
    match &of.kind {
        AttributeKind::Plain(ty) => {
            // A type is stored as its JSON text.
            let ty = serde_json::from_str(&ty.0.to_json()).unwrap_or_default();
            out.insert("type".to_owned(), ty);
        }
        AttributeKind::Nested(nested) => {
            let mode = match nested.nesting {
                ObjectNesting::Single => "single",
                ObjectNesting::List => "list",
                ObjectNesting::Set => "set",
                ObjectNesting::Map => "map",
            };
            let all = nested.attributes.iter().map(|(name, it)| (name.clone(), attribute(it)));
            let all: Map<String, Value> = all.collect();
            out.insert("nested_type".to_owned(), json!({"attributes": all, "nesting_mode": mode}));
        }
    }
    text(&mut out, "description", &of.description);
    let flags = [
        ("required", of.required),
        ("optional", of.optional),
        ("computed", of.computed),
        ("sensitive", of.sensitive),
        ("write_only", of.write_only),
        ("deprecated", of.deprecated),
    ];
    flags.into_iter().for_each(|(name, on)| set(&mut out, name, on));
    Value::Object(out)
}

fn text(out: &mut Map<String, Value>, name: &str, text: &str) {
    if !text.is_empty() {
        out.insert(name.to_owned(), text.into());
    }
}

fn set(out: &mut Map<String, Value>, name: &str, on: bool) {
    if on {
        out.insert(name.to_owned(), true.into());
    }
}
