//! From a path to the model of everything below it: folders are packages, each is checked, nothing is run.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_diag::{Diagnostic, SourceMap};
use kcl::{About, Checked, Compiler, Disk, Entry, Manifest, Request};
use kcl_model::{Model, Package, PackageName, Program, read_package};
use kcl_syntax::program::PkgId;

use crate::files::{MAX_BYTES, too_large};
use crate::run::ErrorFormat;

/// Folders below folders, at most.
const MAX_DEPTH: u32 = 64;

/// What stands below a path.
pub(crate) struct Module {
    pub(crate) model: Model,
    /// Text of every file of the documented packages, by its path in the module.
    pub(crate) sources: BTreeMap<String, Arc<str>>,
    /// Root of the module.
    pub(crate) root: PathBuf,
    /// Links that were not followed.
    pub(crate) notes: Vec<String>,
}

/// Why there is no model.
pub(crate) enum Problems {
    /// A sentence.
    Call(String),
    /// Mistakes in files.
    Source(Vec<(Vec<Diagnostic>, SourceMap)>),
}

impl Problems {
    pub(crate) fn print(&self, format: ErrorFormat) {
        match self {
            Problems::Call(message) => eprintln!("error: {message}"),
            Problems::Source(all) => {
                for (diagnostics, sources) in all {
                    eprint!("{}", crate::run::render(diagnostics, sources, format));
                }
            }
        }
    }
}

impl Module {
    pub(crate) fn read(path: &str) -> Result<Module, Problems> {
        let here = std::env::current_dir().map_err(|e| Problems::Call(format!("the folder here: {e}")))?;
        let start = here.join(path);
        let folders = Folders::find(path, &start).map_err(Problems::Call)?;
        Module::of(here, &start, folders)
    }

    /// One package: files of a folder.
    pub(crate) fn package(here: &Path, folder: &Path, files: Vec<PathBuf>) -> Result<Module, Problems> {
        let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
        let files =
            files.iter().map(|file| fs::canonicalize(file).unwrap_or_else(|_| file.clone())).collect();
        let folders = Folders { packages: vec![(folder.clone(), files)], notes: Vec::new() };
        Module::of(here.to_path_buf(), &folder, folders)
    }

    fn of(here: PathBuf, start: &Path, folders: Folders) -> Result<Module, Problems> {
        let root = module_root(start);
        let about = about(&root).map_err(Problems::Call)?;
        let mut reader = Reader {
            compiler: Compiler::new(Disk),
            work_dir: here,
            root,
            name: about.name.clone(),
            packages: BTreeMap::new(),
            sources: BTreeMap::new(),
            wrong: Vec::new(),
        };
        for (folder, files) in &folders.packages {
            reader.package(folder, files);
        }
        if !reader.wrong.is_empty() {
            return Err(Problems::Source(reader.wrong));
        }
        let About { name, version, description } = about;
        let packages = reader.packages.into_values().collect();
        let model = Model { name, version, description, packages };
        Ok(Module { model, sources: reader.sources, root: reader.root, notes: folders.notes })
    }
}

/// The nearest folder above with a `kcl.mod`, else the folder itself.
fn module_root(start: &Path) -> PathBuf {
    let folder = if start.is_dir() { start } else { start.parent().unwrap_or(start) };
    let folder = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_path_buf());
    folder.ancestors().find(|at| at.join("kcl.mod").is_file()).unwrap_or(&folder).to_path_buf()
}

fn about(root: &Path) -> Result<About, String> {
    let path = root.join("kcl.mod");
    match fs::read_to_string(&path) {
        Ok(text) => Manifest::parse(&text).map(|manifest| manifest.package),
        Err(_) if !path.exists() => Ok(About::default()),
        Err(error) => Err(format!("{} cannot be read: {error}", path.display())),
    }
}

/// Folders with `.k` files, in order.
#[derive(Default)]
struct Folders {
    packages: Vec<(PathBuf, Vec<PathBuf>)>,
    notes: Vec<String>,
}

impl Folders {
    fn find(word: &str, start: &Path) -> Result<Folders, String> {
        let mut found = Folders::default();
        let problem = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::NotFound => format!("{word}: there is no such file or folder"),
            _ => format!("{word} cannot be read: {error}"),
        };
        let meta = fs::metadata(start).map_err(problem)?;
        let real = fs::canonicalize(start).map_err(problem)?;
        if meta.is_dir() {
            found.folder(&real, &real, 0)?;
        } else {
            fits(&real, meta.len())?;
            let folder = real.parent().map(Path::to_path_buf).unwrap_or_default();
            found.packages.push((folder, vec![real]));
        }
        Ok(found)
    }

    fn folder(&mut self, folder: &Path, tree: &Path, depth: u32) -> Result<(), String> {
        let problem = |error: std::io::Error| format!("{} cannot be read: {error}", folder.display());
        if depth > MAX_DEPTH {
            return Err(format!("{} is more than {MAX_DEPTH} folders deep", folder.display()));
        }
        let mut entries = Vec::new();
        for entry in fs::read_dir(folder).map_err(problem)? {
            let entry = entry.map_err(problem)?;
            entries.push((entry.path(), entry.file_type().map_err(problem)?));
        }
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        let mut files = Vec::new();
        for (path, kind) in &entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let source = name.ends_with(".k") && !name.ends_with("_test.k");
            if kind.is_symlink() {
                match fs::canonicalize(path) {
                    Ok(target) if !target.starts_with(tree) && (source || target.is_dir()) => {
                        self.notes.push(format!("{} leads out of the folder: not followed", path.display()));
                    }
                    Ok(target) if !target.starts_with(tree) => {}
                    Ok(target) if source && target.is_file() => files.push(path.clone()),
                    _ => {}
                }
            } else if kind.is_file() && source {
                fits(path, fs::metadata(path).map_err(problem)?.len())?;
                files.push(path.clone());
            }
        }
        if !files.is_empty() {
            self.packages.push((folder.to_path_buf(), files));
        }
        for (path, kind) in &entries {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            // Hidden folders and copies of other modules are not this module.
            let other = name.starts_with('.') || name == "vendor" || path.join("kcl.mod").is_file();
            if kind.is_dir() && !other {
                self.folder(path, tree, depth + 1)?;
            }
        }
        Ok(())
    }
}

fn fits(path: &Path, bytes: u64) -> Result<(), String> {
    match bytes > MAX_BYTES {
        true => Err(format!("{} {}", path.display(), too_large())),
        false => Ok(()),
    }
}

struct Reader<'f> {
    compiler: Compiler<'f>,
    work_dir: PathBuf,
    root: PathBuf,
    /// Name of the module; empty if it has none.
    name: String,
    packages: BTreeMap<String, Package>,
    sources: BTreeMap<String, Arc<str>>,
    wrong: Vec<(Vec<Diagnostic>, SourceMap)>,
}

impl Reader<'_> {
    fn package(&mut self, folder: &Path, files: &[PathBuf]) {
        let entries = files.iter().map(|path| Entry::Path(path.display().to_string())).collect();
        let request = Request { entries, work_dir: self.work_dir.clone(), ..Request::default() };
        let mut checked = self.compiler.checked(&request);
        let names = self.names(&checked, folder);
        let root = self.root.display().to_string();
        let input = Program { program: &checked.program, types: &checked.types, names: &names, root: &root };
        let main = read_package(input, checked.program.main);
        let has_schemas = main.as_ref().is_none_or(|package| !package.schemas.is_empty());
        // A stack's file is not whole without the files below it: only its syntax is judged.
        let judged = |d: &Diagnostic| has_schemas || d.code.kind == base_diag::Code::SYNTAX.kind;
        if checked.diagnostics.iter().any(judged) {
            let mut sources = std::mem::take(&mut checked.program.sources);
            sources.show_from(self.work_dir.display().to_string());
            self.wrong.push((std::mem::take(&mut checked.diagnostics), sources));
            return;
        }
        let Some(main) = main.filter(has) else { return };
        for at in 0..checked.program.packages.len() {
            let id = PkgId(at as u32);
            if id == checked.program.main {
                continue;
            }
            // Packages that are only referred to; one of this path that is documented comes or came by itself.
            let Some(mut other) = read_package(input, id).filter(has) else { continue };
            other.external = true;
            self.packages.entry(other.path.clone()).or_insert(other);
        }
        for (file, path) in checked.program.main_package().files.iter().zip(&main.files) {
            if let Some(source) = checked.program.sources.get(*file) {
                self.sources.insert(path.clone(), source.text.clone());
            }
        }
        self.packages.insert(main.path.clone(), main);
    }

    /// What each package is called: own ones as another module would import them.
    fn names(&self, checked: &Checked, folder: &Path) -> Vec<PackageName> {
        let dotted = |place: &Path| {
            let inside = place.strip_prefix(&self.root).ok()?;
            let parts: Vec<String> =
                inside.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
            let all: Vec<&str> = [self.name.as_str()]
                .into_iter()
                .filter(|n| !n.is_empty())
                .chain(parts.iter().map(String::as_str))
                .collect();
            Some(all.join("."))
        };
        let paths = checked.program.packages.iter().zip(&checked.places);
        paths
            .map(|(package, place)| match place {
                None => PackageName { path: dotted(folder).unwrap_or_default(), external: false },
                Some(place) => match dotted(place) {
                    Some(path) => PackageName { path, external: false },
                    None => PackageName { path: package.path.to_string(), external: true },
                },
            })
            .collect()
    }
}

fn has(package: &Package) -> bool {
    !package.schemas.is_empty()
}
