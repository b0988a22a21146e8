//! Evaluating a stack and reading its output as a Spec.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kcl::{
    Compiler, DiskOutside, EMBEDDED_KONFIG, Files, Overlay, ReadOnly, Request, RunResult, Why, WhyAt, WhyStep,
};
use kusion_model::{
    Attr, DigestKey, FieldPath, MovedField, Platforms, Resource, Segment, SourceRef, Spec, SpecError,
};
use serde_json::Value;

use crate::collect::{Collected, Lost};
use crate::documents::{read_documents, value_of_data};
use crate::error::{FileProblem, GenerateError};
use crate::locate::StackFolder;
use crate::program::{Inputs, RENDER_FILE, renders, request};

/// What a stack's files say.
pub struct Generated {
    pub spec: Spec,
    /// Where every value of the program came from, if [`Inputs::origins`] asked for it.
    pub why: Option<Why>,
    /// For each resource of the Spec, the path of its attributes in the program's output.
    pub paths: Vec<String>,
    /// What `print` wrote.
    pub log: String,
    /// Names of [`Inputs::arguments`] that the program never asked for.
    pub unused: Vec<String>,
    /// The names that it asked for.
    pub options: BTreeSet<String>,
    /// Digests of what was evaluated, by package.
    pub models: BTreeMap<String, String>,
}

/// Evaluates stacks over one set of files; what several of them import is read and checked once.
pub struct Generator<'f> {
    files: &'f dyn Files,
    compiler: Compiler<'f>,
}

impl<'f> Generator<'f> {
    /// Makes a generator that has read nothing yet.
    #[must_use]
    pub fn new(files: &'f dyn Files) -> Self {
        Generator { files, compiler: Compiler::new(Overlay(files)) }
    }

    /// Evaluates a stack.
    ///
    /// # Errors
    /// Files that do not fit, or the program's diagnostics; that it was cancelled is one of them.
    pub fn generate(
        &self,
        stack: &StackFolder,
        inputs: &Inputs,
        platforms: &Platforms,
        key: &DigestKey,
    ) -> Result<Generated, GenerateError> {
        let request = request(&Overlay(self.files), stack, inputs)?;
        let mut outcome = run(&self.compiler, stack, &request)?;
        refuse_stream_beside_models(stack, &request, &outcome)?;
        let collected = collect(&mut outcome);
        let collected = collected.map_err(|lost| told(&self.compiler, stack, &request, &outcome, &lost))?;
        let (values, paths): (Vec<Value>, Vec<String>) = collected.items.into_iter().unzip();
        let mut spec = Spec::from_value(Value::Array(values), platforms, key)
            .map_err(|e| misfit(&self.compiler, stack, &request, &e))?;
        if let Some(why) = &outcome.why {
            for (resource, path) in spec.resources.iter_mut().zip(&paths) {
                name_sources(resource, path, why, stack);
            }
        }
        crate::crds::append(self.files, stack, platforms, key, &mut spec)?;
        let options: BTreeSet<String> = outcome.reads.options().map(|(name, _)| name.to_owned()).collect();
        let names = inputs.arguments.iter().map(|(name, _)| name);
        let unused = names.filter(|name| !options.contains(*name)).cloned().collect();
        let models = crate::digests::digests(&outcome.reads, stack);
        Ok(Generated { spec, why: outcome.why, paths, log: outcome.log, unused, options, models })
    }

    /// The files that a stack's program is made of, imported ones too; the embedded models are not among them.
    ///
    /// # Errors
    /// Files that do not fit together.
    pub fn source_files(&self, stack: &StackFolder, inputs: &Inputs) -> Result<Vec<PathBuf>, GenerateError> {
        let request = request(&Overlay(self.files), stack, inputs)?;
        let loaded = self.compiler.load(&request);
        let sources = (0..).map_while(|n| loaded.program.sources.get(base_diag::FileId(n)));
        let paths = sources.map(|source| stack.stack_dir.join(&source.path));
        let own = |path: &PathBuf| !path.starts_with(EMBEDDED_KONFIG) && !path.ends_with(RENDER_FILE);
        Ok(paths.filter(own).collect())
    }
}

fn run(compiler: &Compiler<'_>, stack: &StackFolder, request: &Request) -> Result<RunResult, GenerateError> {
    let mut world = DiskOutside::new(&stack.stack_dir);
    world.allow(&stack.project_dir);
    let outcome = compiler.run(request, &ReadOnly(world));
    if outcome.is_ok() {
        return Ok(outcome);
    }
    Err(GenerateError::Program { diagnostics: outcome.diagnostics, sources: Box::new(outcome.sources) })
}

/// The resources of an output, or what would be lost.
fn collect(outcome: &mut RunResult) -> Result<Collected, Lost> {
    let stream = outcome.why.as_ref().is_none_or(kcl::Why::is_stream);
    let mut collected = Collected::default();
    let documents = std::mem::take(&mut outcome.documents).into_iter().map(value_of_data);
    for (at, document) in documents.enumerate() {
        let prefix = if stream { format!("[{at}]") } else { String::new() };
        collected.document(document, prefix)?;
    }
    Ok(collected)
}

/// A stream replaces the output, and with it what the models' render step has made.
fn refuse_stream_beside_models(
    stack: &StackFolder,
    request: &Request,
    outcome: &RunResult,
) -> Result<(), FileProblem> {
    let Some((file, line)) = outcome.stream_at.as_ref().filter(|_| renders(request)) else { return Ok(()) };
    let place = stack.stack_dir.join(file);
    Err(FileProblem::new(
        "the objects of the models would be lost: manifests.yaml_stream replaces the whole output",
    )
    .cause("the stack uses the models of konfig, and their objects are part of the output")
    .place(format!("{}:{line}", stack.shown(&place)))
    .next(
        "give its list to a variable instead: `extra = [..]`; manifests in variables stand beside the models",
    ))
}

/// Reads a Spec from the text of a file.
///
/// # Errors
/// What is wrong with the text.
pub fn read_spec(
    text: &str,
    shown: &str,
    platforms: &Platforms,
    key: &DigestKey,
) -> Result<Spec, FileProblem> {
    let documents = read_documents(text).map_err(|e| {
        FileProblem::new("the Spec file is not YAML").cause(e.message).place(format!("{shown}:{}", e.line))
    })?;
    let mut collected = Collected::default();
    for document in documents {
        collected.document(document, String::new()).map_err(|lost| lost_problem(&lost).place(shown))?;
    }
    let values = collected.items.into_iter().map(|(value, _)| value).collect();
    Spec::from_value(Value::Array(values), platforms, key)
        .map_err(|e| FileProblem::new(e.to_string()).place(shown))
}

/// What would be lost, with its line.
fn told(
    compiler: &Compiler<'_>,
    stack: &StackFolder,
    request: &Request,
    outcome: &RunResult,
    lost: &Lost,
) -> FileProblem {
    let again = with_lines(compiler, stack, request);
    let again = again.and_then(|(collected, why)| Some((collected.err()?, why)));
    let (lost, why) = match &again {
        Some((lost, why)) => (lost, Some(why)),
        None => (lost, None),
    };
    let problem = lost_problem(lost).place(place(stack, why, &lost.path));
    match uses_models(&outcome.sources) && !renders(request) {
        true => problem.next(
            "the models of konfig are rendered by the last file of kcl.yaml: ${konfig:KCL_MOD}/render.k",
        ),
        false => problem,
    }
}

/// What is no resource although it looks like one, with its line.
fn misfit(compiler: &Compiler<'_>, stack: &StackFolder, request: &Request, error: &SpecError) -> FileProblem {
    let at = match error {
        SpecError::Resource { number, .. } => with_lines(compiler, stack, request).and_then(|found| {
            let (collected, why) = found;
            let (_, path) = collected.ok()?.items.into_iter().nth(number.checked_sub(1)?)?;
            Some((why, path))
        }),
        _ => None,
    };
    let (why, path) = at.map_or((None, String::new()), |(why, path)| (Some(why), path));
    FileProblem::new(error.to_string())
        .place(place(stack, why.as_ref(), &path))
        .next("a resource has id, type and attributes; a manifest has apiVersion, kind and metadata.name")
}

/// Runs the program once more, for the lines of what it gives.
fn with_lines(
    compiler: &Compiler<'_>,
    stack: &StackFolder,
    request: &Request,
) -> Option<(Result<Collected, Lost>, Why)> {
    let again = Request { track_origins: true, ..request.clone() };
    let mut outcome = run(compiler, stack, &again).ok()?;
    let collected = collect(&mut outcome);
    Some((collected, outcome.why?))
}

/// The line of what stands at a path of the output, or of what is around it; else the folder.
fn place(stack: &StackFolder, why: Option<&Why>, path: &str) -> String {
    let step = why.and_then(|why| parents(path).find_map(|path| why.at(path)?.find(is_own)));
    match step {
        Some(step) => format!("{}:{}", stack.shown(Path::new(&step.file)), step.line),
        None => stack.stack_dir.display().to_string(),
    }
}

/// A path and what is around it: `a.b[0]`, `a.b`, `a`.
fn parents(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |path| path.rfind(['.', '[']).map(|at| &path[..at]))
}

fn lost_problem(lost: &Lost) -> FileProblem {
    let name = lost.path.split(['.', '[']).next().unwrap_or_default();
    let problem = match lost.path.as_str() {
        "" => FileProblem::new("the output is not made of resources")
            .cause(format!("it is {}; {RESOURCE}", lost.what)),
        path => FileProblem::new(format!("`{path}` is not a resource and would be lost"))
            .cause(format!("it is {}; {RESOURCE}", lost.what)),
    };
    match name {
        "" | "resources" => {
            problem.next("correct it; resources stand in variables, in lists or in mappings of them")
        }
        name => problem.next(format!(
            "correct it; or, if it only helps other values, begin its name with `_`: `_{name}`"
        )),
    }
}

const RESOURCE: &str =
    "a resource has apiVersion, kind and metadata (a Kubernetes manifest), or id, type and attributes";

/// Whether the program has read the models of konfig.
fn uses_models(sources: &base_diag::SourceMap) -> bool {
    let paths = (0..).map_while(|n| sources.get(base_diag::FileId(n)));
    paths.into_iter().any(|source| source.path.contains("models/frontend/"))
}

/// Remembers for each field the line that a person would change.
fn name_sources(resource: &mut Resource, prefix: &str, why: &Why, stack: &StackFolder) {
    let place = |at: WhyAt<'_>| {
        let step = at.find(is_own)?;
        let file = stack.shown(Path::new(&step.file)).into();
        Some(SourceRef { file, line: step.line, col: step.column })
    };
    let Resource { attributes, moved, source, .. } = resource;
    visit(attributes, &FieldPath::root(), why.at(prefix), &mut |path, at| {
        if let Some(place) = place(at) {
            source.insert(path.clone(), place);
        }
    });
    // What moved is known to the program by the place where it was written.
    for MovedField { written, .. } in moved.iter() {
        let Some(root) = why.at(prefix) else { continue };
        let at = written.0.iter().try_fold(root, |at, segment| match segment {
            Segment::Key(key) => at.key(key),
            Segment::Index(index) => at.index(*index),
            Segment::Item(_) => None,
        });
        if let Some(place) = at.and_then(place) {
            source.insert(written.clone(), place);
        }
    }
}

fn visit(attr: &Attr, path: &FieldPath, at: Option<WhyAt<'_>>, see: &mut dyn FnMut(&FieldPath, WhyAt<'_>)) {
    let Some(at) = at else { return };
    see(path, at);
    match attr {
        Attr::Map(map) => {
            for (key, item) in map.iter() {
                visit(item, &path.key(key), at.key(key), see);
            }
        }
        Attr::List(items) => {
            for (index, item) in items.iter().enumerate() {
                visit(item, &path.child(Segment::Index(index)), at.index(index), see);
            }
        }
        _ => {}
    }
}

/// Whether a step stands in the user's own files: what a person would edit. Models come only in `kusion why`.
fn is_own(step: &WhyStep) -> bool {
    step.package == "__main__" && !step.file.starts_with(EMBEDDED_KONFIG) && !step.file.ends_with(RENDER_FILE)
}
