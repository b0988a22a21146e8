//! What a file is, by its name and what stands in it.

use base_yaml::{Data, Limits, Node, parse_documents, parse_json};

use crate::Mode;

/// Returns the mode for a file, if its name and contents say one.
pub fn detect(name: &str, text: &str) -> Option<Mode> {
    let ending = name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    match ending.as_str() {
        "json" => {
            Some(parse_json(text, &Limits::default()).map_or(Mode::Json, |node| of_node(&node, Mode::Json)))
        }
        "yaml" | "yml" => {
            let documents = parse_documents(text, &Limits::default()).unwrap_or_default();
            Some(documents.first().map_or(Mode::Yaml, |node| of_node(node, Mode::Yaml)))
        }
        "toml" => Some(Mode::Toml),
        "proto" => Some(Mode::Proto),
        "go" => Some(Mode::GoStruct),
        _ => None,
    }
}

fn of_node(node: &Node, other: Mode) -> Mode {
    let has = |key: &str| node.get(key).is_some();
    let kind = node.get("kind").map(|kind| &kind.value);
    if has("provider_schemas") {
        Mode::Terraform
    } else if has("swagger") || has("openapi") {
        Mode::OpenApi
    } else if matches!(kind, Some(Data::Str(kind)) if kind == "CustomResourceDefinition") {
        Mode::Crd
    } else if has("$schema") {
        Mode::JsonSchema
    } else {
        other
    }
}
