//! Evaluating a stack and reading its output as a Spec.

use std::path::{Path, PathBuf};

use kcl::{Compiler, DiskWorld, Files, Why, WhyAt, WhyStep};
use kusion_model::{DigestKey, FieldPath, Resource, Segment, SourceRef, Spec};
use serde_json::Value;

use crate::documents::read_documents;
use crate::embedded::{EMBEDDED_KONFIG, Overlay};
use crate::error::{FileProblem, GenerateError};
use crate::locate::StackFolder;
use crate::program::{Inputs, RENDERED, request};
use crate::world::ReadOnly;

/// What a stack's files say.
pub struct Generated {
    pub spec: Spec,
    /// Where every value of the program came from, if [`Inputs::origins`] asked for it.
    pub why: Option<Why>,
    /// For each resource of the Spec, the path of its attributes in the program's output.
    pub paths: Vec<String>,
    /// What `print` wrote.
    pub log: String,
}

/// Evaluates a stack.
///
/// # Errors
/// Files that do not fit, or the program's diagnostics.
pub fn generate(
    files: &dyn Files,
    stack: &StackFolder,
    inputs: &Inputs,
    key: &DigestKey,
) -> Result<Generated, GenerateError> {
    let overlay = Overlay::new(files);
    let request = request(&overlay, stack, inputs)?;
    let mut world = DiskWorld::new(&stack.stack_dir);
    world.allow(&stack.project_dir);
    let outcome = Compiler::new(&overlay).run(&request, &ReadOnly(world));
    if !outcome.is_ok() {
        let sources = Box::new(outcome.sources);
        return Err(GenerateError::Program { diagnostics: outcome.diagnostics, sources });
    }
    let mut items = Vec::new();
    let documents = outcome.documents.into_iter().map(crate::documents::value_of_data).enumerate();
    for (at, document) in documents {
        let stream = outcome.why.as_ref().is_none_or(kcl::Why::is_stream);
        let prefix = if stream { format!("[{at}]") } else { String::new() };
        collect(document, prefix, 0, &mut items).map_err(|found| not_a_spec(stack, at + 1, &found))?;
    }
    let (values, paths): (Vec<Value>, Vec<String>) = items.into_iter().unzip();
    let mut spec = Spec::from_value(Value::Array(values), key).map_err(|e| {
        FileProblem::new(e.to_string())
            .place(stack.stack_dir.display().to_string())
            .next("a resource has id, type and attributes; a manifest has apiVersion, kind and metadata.name")
    })?;
    if let Some(why) = &outcome.why {
        for (resource, path) in spec.resources.iter_mut().zip(&paths) {
            name_sources(resource, path, why, stack);
        }
    }
    crate::crds::append(files, stack, key, &mut spec)?;
    Ok(Generated { spec, why: outcome.why, paths, log: outcome.log })
}

/// The files that a stack's program is made of, imported ones too; the embedded models are not among them.
///
/// # Errors
/// Files that do not fit together.
pub fn source_files(
    files: &dyn Files,
    stack: &StackFolder,
    inputs: &Inputs,
) -> Result<Vec<PathBuf>, GenerateError> {
    let overlay = Overlay::new(files);
    let request = request(&overlay, stack, inputs)?;
    let loaded = Compiler::new(&overlay).load(&request);
    let sources = (0..).map_while(|n| loaded.program.sources.get(base_diag::FileId(n)));
    let paths = sources.map(|source| stack.stack_dir.join(&source.path));
    let own = |path: &PathBuf| !path.starts_with(EMBEDDED_KONFIG) && !path.ends_with("kusion_render.k");
    Ok(paths.filter(own).collect())
}

/// Reads a Spec from the text of a file.
///
/// # Errors
/// What is wrong with the text.
pub fn read_spec(text: &str, shown: &str, key: &DigestKey) -> Result<Spec, FileProblem> {
    let documents = read_documents(text).map_err(|e| {
        FileProblem::new("the Spec file is not YAML").cause(e.message).place(format!("{shown}:{}", e.line))
    })?;
    let mut items = Vec::new();
    for document in documents {
        collect(document, String::new(), 0, &mut items)
            .map_err(|found| FileProblem::new(format!("this is no Spec: {found}")).place(shown))?;
    }
    let values = items.into_iter().map(|(value, _)| value).collect();
    Spec::from_value(Value::Array(values), key).map_err(|e| FileProblem::new(e.to_string()).place(shown))
}

/// Takes the resources out of one document, each with its path in the output.
fn collect(document: Value, path: String, depth: u8, items: &mut Vec<(Value, String)>) -> Result<(), String> {
    let list = |values: Vec<Value>, path: String, items: &mut Vec<(Value, String)>| {
        values
            .into_iter()
            .enumerate()
            .try_for_each(|(at, value)| collect(value, format!("{path}[{at}]"), depth + 1, items))
    };
    if depth > 4 {
        return Err("lists in lists in lists".to_owned());
    }
    match document {
        Value::Null => Ok(()),
        Value::Array(values) => list(values, path, items),
        Value::Object(mut map) => {
            let under = |key: &str| if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") };
            if let Some(Value::Array(values)) = map.get_mut(RENDERED) {
                return list(std::mem::take(values), under(RENDERED), items);
            }
            let manifest = map.contains_key("apiVersion") && map.contains_key("kind");
            if manifest && map.get("kind").and_then(Value::as_str) == Some("List") {
                let values = map.get_mut("items").and_then(Value::as_array_mut).map(std::mem::take);
                return list(values.unwrap_or_default(), under("items"), items);
            }
            if manifest {
                items.push((Value::Object(map), path));
                return Ok(());
            }
            if map.contains_key("id") {
                let attributes = under("attributes");
                items.push((Value::Object(map), attributes));
                return Ok(());
            }
            match map.get_mut("resources") {
                Some(Value::Array(values)) => return list(std::mem::take(values), under("resources"), items),
                Some(Value::Null) => return Ok(()),
                _ => {}
            }
            // Variables that are manifests, or lists of them, count; helpers beside them do not.
            if map.is_empty() || map.values().any(is_manifests) {
                let manifests = map.into_iter().filter(|(_, value)| is_manifests(value));
                return manifests
                    .map(|(key, value)| (under(&key), value))
                    .try_for_each(|(path, value)| collect(value, path, depth + 1, items));
            }
            let keys: Vec<&str> = map.keys().take(6).map(String::as_str).collect();
            Err(format!("a mapping with the keys {}", keys.join(", ")))
        }
        other => Err(format!("a {}", if other.is_string() { "text" } else { "scalar" })),
    }
}

/// Whether a value is a manifest, a resource, or a list of them.
fn is_manifests(value: &Value) -> bool {
    match value {
        Value::Object(map) => {
            (map.contains_key("apiVersion") && map.contains_key("kind"))
                || (map.contains_key("id") && map.contains_key("attributes"))
        }
        Value::Array(items) => {
            !items.is_empty() && items.iter().all(|item| item.is_object() && is_manifests(item))
        }
        _ => false,
    }
}

fn not_a_spec(stack: &StackFolder, number: usize, found: &str) -> FileProblem {
    FileProblem::new(format!("the stack's output is no Spec: document {number} is {found}"))
        .cause("a stack gives `resources:`, Kubernetes manifests, or resources with id and attributes")
        .place(stack.stack_dir.display().to_string())
        .next("with the models of konfig, let kcl.yaml end with ${konfig:KCL_MOD}/render.k")
}

/// Remembers for each field the line that a person would change.
fn name_sources(resource: &mut Resource, prefix: &str, why: &Why, stack: &StackFolder) {
    let attributes = std::mem::take(&mut resource.attributes);
    visit(&attributes, &FieldPath::root(), why.at(prefix), &mut |path, at| {
        if let Some(step) = at.find(is_own) {
            let file = stack.shown(Path::new(&step.file)).into();
            resource.source.insert(path.clone(), SourceRef { file, line: step.line, col: step.column });
        }
    });
    resource.attributes = attributes;
}

fn visit(value: &Value, path: &FieldPath, at: Option<WhyAt<'_>>, see: &mut dyn FnMut(&FieldPath, WhyAt<'_>)) {
    let Some(at) = at else { return };
    see(path, at);
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                visit(value, &path.key(key), at.key(key), see);
            }
        }
        Value::Array(items) => {
            for (index, value) in items.iter().enumerate() {
                visit(value, &path.child(Segment::Index(index)), at.index(index), see);
            }
        }
        _ => {}
    }
}

/// Whether a step stands in the user's own files: what a person would edit. Models come only in `kusion why`.
fn is_own(step: &WhyStep) -> bool {
    step.package == "__main__"
        && !step.file.starts_with(EMBEDDED_KONFIG)
        && !step.file.ends_with("kusion_render.k")
}
