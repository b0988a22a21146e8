//! What to evaluate for a stack: its entries, options and packages.
//!
//! `kcl.yaml` decides where there is one; else the entries are `base/*.k` of the project, the stack's own files, those of its
//! components, and the models' render step if any of them imports the models.

use std::path::{Path, PathBuf};

use kcl::{Entry, Files, Formats, Request};
use kusion_model::NamespaceMapping;

use crate::error::FileProblem;
use crate::locate::{StackFolder, above, components};

/// What the engine tells the program, beside what its files say.
#[derive(Clone, Debug, Default)]
pub struct Inputs {
    pub workspace: String,
    pub cluster: String,
    pub component: Option<String>,
    /// `-D`, the strongest.
    pub arguments: Vec<(String, String)>,
    /// Find out which line wrote which field.
    pub origins: bool,
    /// The folder in which `kcl mod` keeps packages.
    pub packages: Option<PathBuf>,
    /// Ends the program where it is.
    pub cancel: Option<kcl::Cancel>,
}

/// The name of our render step among the files of a program.
pub(crate) const RENDER_FILE: &str = "kusion_render.k";

/// The render step; its variables are those of `collect.rs`.
const RENDER: &str = "\
import konfig.models.frontend as kusion_frontend
import konfig.models.render as kusion_render

_kusionProvided = [kusion_frontend.Database.instances(), kusion_frontend.Storage.instances()]
kusionRenderedModels = kusion_frontend.Server.instances() + kusion_frontend.Job.instances() + sum(_kusionProvided, [])
kusionRenderedResources = kusion_render.resources(kusion_frontend.Server.instances(), kusion_frontend.Job.instances(), _kusionProvided[0], _kusionProvided[1])
";

/// The same for a copy of the models from before they knew databases.
const RENDER_BEFORE: &str = "\
import konfig.models.frontend as kusion_frontend
import konfig.models.render as kusion_render

kusionRenderedModels = kusion_frontend.Server.instances() + kusion_frontend.Job.instances()
kusionRenderedResources = kusion_render.resources(kusion_frontend.Server.instances(), kusion_frontend.Job.instances())
";

/// What only models have that know databases.
const CLOUD_MODELS: &str = "models/frontend/cloud.k";

const RENDER_ENTRY: &str = "${konfig:KCL_MOD}/render.k";

/// Puts the request for a stack together.
pub(crate) fn request(
    files: &dyn Files,
    stack: &StackFolder,
    inputs: &Inputs,
) -> Result<Request, FileProblem> {
    let mut request = Request {
        work_dir: stack.stack_dir.clone(),
        arguments: engine_options(stack, inputs),
        track_origins: inputs.origins,
        formats: Formats::DATA,
        vendor: inputs.packages.clone(),
        cancel: inputs.cancel.clone(),
        ..Request::default()
    };
    let settings = stack.stack_dir.join("kcl.yaml");
    if files.is_file(&settings) {
        let shown = stack.shown(&settings);
        let text = files.read(&settings).map_err(|e| FileProblem::new(e).place(shown.clone()))?;
        read_settings(&text, &shown, stack, &mut request)?;
        check_entries(files, stack, &request, &text, &shown)?;
    }
    check_module(files, stack)?;
    request.arguments.extend(inputs.arguments.iter().cloned());
    if request.entries.is_empty() {
        request.entries = default_entries(files, stack)?;
    }
    // Without a word about them the models are those that come with the program.
    let models = request.externals.iter().find(|(name, _)| name == "konfig").map(|(_, path)| path.clone());
    let has_cloud = models.is_none_or(|at| files.is_file(&stack.stack_dir.join(at).join(CLOUD_MODELS)));
    let render = if has_cloud { RENDER } else { RENDER_BEFORE };
    for entry in &mut request.entries {
        if matches!(entry, Entry::Path(path) if path == RENDER_ENTRY) {
            *entry = Entry::Source { path: RENDER_FILE.to_owned(), text: render.to_owned() };
        }
    }
    Ok(request)
}

/// Whether the models are rendered by our step.
pub(crate) fn renders(request: &Request) -> bool {
    request.entries.iter().any(|entry| matches!(entry, Entry::Source { path, .. } if path == RENDER_FILE))
}

fn engine_options(stack: &StackFolder, inputs: &Inputs) -> Vec<(String, String)> {
    let mut options = vec![
        ("app", stack.project.name.as_str()),
        ("env", stack.stack.name.as_str()),
        ("cluster", inputs.cluster.as_str()),
        ("workspace", inputs.workspace.as_str()),
    ];
    if let Some(component) = &inputs.component {
        options.push(("component", component));
    }
    if stack.stack.namespaces.or(stack.project.namespaces) == Some(NamespaceMapping::Component) {
        options.push(("namespaces", "component"));
    }
    let json = |value: &str| serde_json::Value::from(value).to_string();
    options.into_iter().map(|(name, value)| (name.to_owned(), json(value))).collect()
}

/// Lays `kcl.yaml` over the request. `kcl` ignores keys that nobody knows, as the reference does; here they are refused.
fn read_settings(
    text: &str,
    shown: &str,
    stack: &StackFolder,
    request: &mut Request,
) -> Result<(), FileProblem> {
    let mut settings = kcl::Settings::default();
    settings.add(text, shown, &stack.stack_dir, request).map_err(|error| {
        FileProblem::new("kcl.yaml cannot be used")
            .cause(error.message)
            .place(format!("{shown}:{}", error.line))
    })?;
    let Some(unknown) = settings.unknown.first() else { return Ok(()) };
    let names = unknown.known.join(", ");
    let next = match base_diag::nearest(unknown.known.iter().copied(), &unknown.key) {
        Some(near) => format!("did you mean `{near}`? The keys there are: {names}"),
        None => format!("the keys there are: {names}"),
    };
    Err(FileProblem::new(format!("kcl.yaml has no key `{}`", unknown.key))
        .place(format!("{shown}:{}", unknown.line))
        .next(next))
}

/// `kcl` reads of most manifests no more than where they stand; one that cannot be read is a mistake all the same.
fn check_module(files: &dyn Files, stack: &StackFolder) -> Result<(), FileProblem> {
    let Some(root) = above(files, &stack.stack_dir, "kcl.mod") else { return Ok(()) };
    let path = root.join("kcl.mod");
    let text = files.read(&path).map_err(|e| FileProblem::new(e).place(path.display().to_string()))?;
    kcl::Manifest::parse(&text).map(|_| ()).map_err(|error| {
        // `kcl.mod:3: what is wrong`, or without a line.
        let rest = error.strip_prefix("kcl.mod:").unwrap_or(&error);
        let (line, cause) = rest.split_once(": ").unwrap_or(("", rest));
        let shown = stack.shown(&path);
        let place = if line.is_empty() { shown } else { format!("{shown}:{line}") };
        FileProblem::new("kcl.mod cannot be used").cause(cause.trim()).place(place)
    })
}

/// A kcl.yaml that names a missing file is answered with its line.
fn check_entries(
    files: &dyn Files,
    stack: &StackFolder,
    request: &Request,
    text: &str,
    shown: &str,
) -> Result<(), FileProblem> {
    for entry in &request.entries {
        let Entry::Path(path) = entry else { continue };
        if path.starts_with("${") || path.contains(['*', '?']) {
            continue;
        }
        let full = normal(&stack.stack_dir.join(path));
        if files.is_file(&full) || files.is_dir(&full) {
            continue;
        }
        let line = text.lines().position(|line| line.contains(path.as_str())).map_or(0, |at| at + 1);
        return Err(FileProblem::new(format!("kcl.yaml names a file that is not there: {path}"))
            .cause(format!("{} does not exist", full.display()))
            .place(format!("{shown}:{line}"))
            .next("correct the entry, or remove it"));
    }
    Ok(())
}

fn default_entries(files: &dyn Files, stack: &StackFolder) -> Result<Vec<Entry>, FileProblem> {
    let mut found = program_files(files, &stack.project_dir.join("base"));
    found.extend(program_files(files, &stack.stack_dir));
    for folder in components(files, &stack.stack_dir) {
        found.extend(program_files(files, &folder));
    }
    if found.is_empty() {
        let what = format!("stack {} has no configuration", stack.scope("default"));
        return Err(FileProblem::new(what)
            .cause("neither its folder nor the project's base/ has a .k file")
            .place(stack.stack_dir.display().to_string())
            .next("write a main.k, or list files in kcl.yaml"));
    }
    let uses_models =
        found.iter().any(|path| files.read(path).is_ok_and(|text| kcl::imports_module(&text, "konfig")));
    let mut entries: Vec<Entry> = found.iter().map(|path| Entry::Path(path.display().to_string())).collect();
    if uses_models {
        entries.push(Entry::Path(RENDER_ENTRY.to_owned()));
    }
    Ok(entries)
}

fn program_files(files: &dyn Files, folder: &Path) -> Vec<PathBuf> {
    let mut names = files.list(folder);
    names.retain(|name| name.ends_with(".k") && !name.ends_with("_test.k"));
    names.sort();
    names.into_iter().map(|name| folder.join(name)).filter(|path| files.is_file(path)).collect()
}

/// Removes `.` and `..` without asking the disk.
pub(crate) fn normal(path: &Path) -> PathBuf {
    use std::path::Component;
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}
