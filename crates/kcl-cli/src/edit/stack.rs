//! From a target to the files of a stack, and which of them are its own.

use std::fs;
use std::path::{Path, PathBuf};

use kcl::{Disk, Entry, Request, entry_files};

/// A file of a stack.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct StackFile {
    /// Where it really is.
    pub(super) place: PathBuf,
    /// How messages call it.
    pub(super) shown: String,
    /// Whether it may be written.
    pub(super) own: bool,
}

/// Finds the files of a target: a file alone, or what the folder of a stack runs.
pub(super) fn files_of(target: &str) -> Result<Vec<StackFile>, String> {
    let path = Path::new(target);
    let meta = fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("there is no file or folder {target}"),
        _ => format!("{target} cannot be read: {error}"),
    })?;
    if !meta.is_dir() && !meta.is_file() {
        return Err(format!("{target} is neither a file nor a folder"));
    }
    if meta.is_file() {
        let folder = match path.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            _ => Path::new("."),
        };
        return Ok(vec![inside(path, &real(folder)?, target.to_owned())?]);
    }
    let request = request(path)?;
    let tree = real(path)?;
    let mut found = Vec::new();
    for file in entry_files(&request, &Disk) {
        // What the stack takes from elsewhere may need a package that nobody asked for here.
        let Ok(file) = file else { continue };
        let written = normal(path).is_ok_and(|folder| file.starts_with(folder));
        found.push(match written {
            true => inside(&file, &tree, shown(&file))?,
            false => {
                let place = real(&file)?;
                let own = place.starts_with(&tree);
                StackFile { place, shown: shown(&file), own }
            }
        });
    }
    if found.is_empty() { Err(format!("the folder {target} has no .k files")) } else { Ok(found) }
}

/// The files of a run, as far as they are below its working folder.
pub(super) fn files_of_request(request: &Request) -> Result<Vec<StackFile>, String> {
    let tree = real(&request.work_dir)?;
    let mut found = Vec::new();
    for file in entry_files(request, &Disk) {
        let file = file?;
        let place = real(&file)?;
        let own = place.starts_with(&tree);
        found.push(StackFile { place, shown: shown(&file), own });
    }
    Ok(found)
}

/// A file that is written where it is named; a link out of the tree is not followed.
fn inside(file: &Path, tree: &Path, shown: String) -> Result<StackFile, String> {
    let place = real(file)?;
    match place.starts_with(tree) {
        true => Ok(StackFile { place, shown, own: true }),
        false => Err(format!(
            "{shown} is a link that leads out of its folder, to {}: name that file",
            place.display()
        )),
    }
}

pub(super) fn real(path: &Path) -> Result<PathBuf, String> {
    fs::canonicalize(path).map_err(|error| format!("{} cannot be read: {error}", path.display()))
}

fn here() -> Result<PathBuf, String> {
    std::env::current_dir().map_err(|error| format!("the working folder is gone: {error}"))
}

/// The absolute path without `.` and `..`, links kept: as the loader names files.
fn normal(path: &Path) -> Result<PathBuf, String> {
    let mut out = PathBuf::new();
    for part in here()?.join(path).components() {
        match part {
            std::path::Component::CurDir => {}
            std::path::Component::ParentDir => _ = out.pop(),
            part => out.push(part),
        }
    }
    Ok(out)
}

/// As seen from the working folder.
pub(super) fn shown(path: &Path) -> String {
    let here = here().unwrap_or_default();
    path.strip_prefix(&here).unwrap_or(path).display().to_string()
}

/// What a folder runs: its `kcl.yaml`, the files of a Kusion stack, the profile of its `kcl.mod`, its own files.
pub(super) fn request(folder: &Path) -> Result<Request, String> {
    let folder = normal(folder)?;
    let mut request = Request { work_dir: folder.clone(), ..Request::default() };
    let settings = folder.join("kcl.yaml");
    if let Ok(text) = fs::read_to_string(&settings) {
        let name = shown(&settings);
        kcl::Settings::default()
            .add(&text, &name, &folder, &mut request)
            .map_err(|error| error.to_string())?;
    }
    if request.entries.is_empty() && folder.join("stack.yaml").is_file() {
        let project = folder.ancestors().find(|above| above.join("project.yaml").is_file());
        let base = project.map(|project| project.join("base")).filter(|base| base.is_dir());
        let folders = base.into_iter().chain([folder.clone()]).chain(components(&folder));
        request.entries = folders.map(|folder| Entry::Path(folder.display().to_string())).collect();
    }
    if request.entries.is_empty() {
        request.entries.push(Entry::Path(".".into()));
        crate::run::apply_profile(&mut request).map_err(|wrong| wrong.message().to_owned())?;
    }
    Ok(request)
}

/// Folders of a stack that have a `component.yaml`.
fn components(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found: Vec<PathBuf> = entries.filter(|path| path.join("component.yaml").is_file()).collect();
    found.sort();
    found
}
