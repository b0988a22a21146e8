//! Manifests: documents of YAML files that name a kind, and the verdict of `kcl vet` about them.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value};

use super::sources::walk;

/// One manifest.
#[derive(Clone)]
pub(super) struct Manifest {
    /// The file it stands in, and its number there.
    pub(super) from: String,
    pub(super) value: Value,
}

impl Manifest {
    /// Its `apiVersion` and `kind`.
    pub(super) fn kind(&self) -> Option<(String, String)> {
        let text = |key: &str| self.value.get(key).and_then(Value::as_str).map(str::to_owned);
        Some((text("apiVersion")?, text("kind")?))
    }
}

/// Reads the manifests of files; what is a template or no YAML is none.
pub(super) fn read(files: &[PathBuf]) -> Vec<Manifest> {
    let mut found = Vec::new();
    for file in files {
        let Ok(text) = std::fs::read_to_string(file) else { continue };
        let Ok(nodes) = base_yaml::parse_documents(&text, &base_yaml::Limits::default()) else { continue };
        for (at, node) in nodes.iter().enumerate() {
            found.push(Manifest { from: format!("{}#{}", file.display(), at + 1), value: json(node) });
        }
    }
    found.retain(|manifest| manifest.kind().is_some());
    found
}

/// A document as JSON.
pub(crate) fn json(node: &base_yaml::Node) -> Value {
    use base_yaml::Data;
    match &node.value {
        Data::Null => Value::Null,
        Data::Bool(b) => Value::Bool(*b),
        Data::Int(i) => Value::from(*i),
        Data::Float(f) => Value::from(*f),
        Data::Str(text) => Value::String(text.clone()),
        Data::List(items) => Value::Array(items.iter().map(json).collect()),
        Data::Map(entries) => {
            Value::Object(entries.iter().map(|e| (e.key.clone(), json(&e.value))).collect::<Map<_, _>>())
        }
    }
}

/// The kinds of a folder of models, with the package of each.
pub(super) fn kinds(models: &Path) -> Result<BTreeMap<(String, String), String>, String> {
    let mut files = Vec::new();
    walk(models, &mut files)?;
    let mut found = BTreeMap::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|e| e == "k")) {
        let text = std::fs::read_to_string(file).map_err(|e| e.to_string())?;
        let literal = |line: &str, name: &str| {
            let rest = line.trim().strip_prefix(name)?.strip_prefix(": \"")?;
            rest.split_once("\" = ").map(|(word, _)| word.to_owned())
        };
        let mut api = None;
        for line in text.lines() {
            api = literal(line, "apiVersion").or(api);
            if let (Some(kind), Some(api)) = (literal(line, "kind"), &api) {
                let folder = file.parent().and_then(|folder| folder.strip_prefix(models).ok());
                let package = folder.map(|folder| folder.display().to_string().replace('/', "."));
                found.insert((api.clone(), kind), package.unwrap_or_default());
            }
        }
    }
    Ok(found)
}

/// What `kcl vet` says about each manifest: nothing, or its first complaint.
pub(super) fn vet(
    kcl: &Path,
    models: &Path,
    packages: &[String],
    manifests: &[Manifest],
) -> Result<Vec<Option<String>>, String> {
    if manifests.is_empty() {
        return Ok(Vec::new());
    }
    let file = models.with_extension("manifests.yaml");
    // JSON is YAML; a stream keeps the numbers of the documents.
    let texts: Vec<String> = manifests.iter().map(|manifest| format!("---\n{}\n", manifest.value)).collect();
    std::fs::write(&file, texts.concat()).map_err(|e| e.to_string())?;
    let mut command = Command::new(kcl);
    command.arg("vet").arg(&file).args(["-k", "--json"]).current_dir(models);
    for package in packages {
        command.args(["-p", package]);
    }
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let answer: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("{command:?}: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let documents = answer.pointer("/files/0/documents").and_then(Value::as_array);
    let documents = documents.ok_or_else(|| format!("{command:?}: {answer}"))?;
    if documents.len() != manifests.len() {
        return Err(format!("{} manifests, {} verdicts", manifests.len(), documents.len()));
    }
    Ok(documents
        .iter()
        .map(|document| match document.get("status").and_then(Value::as_str) {
            Some("ok") => None,
            _ => Some(
                document.pointer("/errors/0/message").and_then(Value::as_str).unwrap_or("refused").to_owned(),
            ),
        })
        .collect())
}
