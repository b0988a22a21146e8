//! Loading: entries and the closure of their imports, parsed, in the order in which they are evaluated.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base_diag::{Code, Diagnostic, FileId, Place, SourceFile, SourceMap};
use kcl_syntax::PackageParser;
use kcl_syntax::ast::{Dotted, Import, Stmt, StmtId, Str, Tree};
use kcl_syntax::lower::{self, Rewrite};
use kcl_syntax::program::{ImportLink, ImportTarget, Package, PkgId, Program};
use rustc_hash::FxHashMap;

use crate::compiler::Compiler;
use crate::dependencies::{Dependency, Unproved, dependencies, locked_version};
use crate::entries::{MainFile, main_files, main_root, module_root};
use crate::files::Files;
use crate::imports::{Found, Lost, resolve};
use crate::manifest::read_manifest;
use crate::mistake::{Member, Mistake};
use crate::packages::{PackageFile, Parsed, size};
use crate::request::Request;

/// A loaded program with what was wrong in it so far: syntax errors first, then imports.
#[derive(Debug)]
pub struct Loaded {
    /// The program; complete even where something was wrong.
    pub program: Program,
    /// Errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Root of the main module.
    pub root: PathBuf,
    /// The edition that its `kcl.mod` pins.
    pub edition: Option<kcl_check::Edition>,
    /// For each package, where it stands; the main package is nowhere.
    pub(crate) places: Vec<Option<PathBuf>>,
    /// For each package, its parsed form; the main package has none.
    pub(crate) parsed: Vec<Option<Arc<Parsed>>>,
}

impl Loaded {
    /// Returns the folders of the modules that packages came from, the main one first.
    pub(crate) fn modules(&self, files: &dyn Files) -> Vec<&Path> {
        let mut found: Vec<&Path> = vec![&self.root];
        for key in self.places.iter().flatten() {
            if found.iter().any(|root| key.starts_with(root)) {
                continue;
            }
            found.extend(key.ancestors().find(|folder| files.is_file(&folder.join("kcl.mod"))));
        }
        found
    }
}

/// Loads a program.
pub(crate) fn load(compiler: &Compiler<'_>, request: &Request, files: &dyn Files) -> Loaded {
    let main = main_files(request, files);
    let root = match &main {
        Ok(main) => main_root(files, main, &request.work_dir),
        Err(_) => request.work_dir.clone(),
    };
    let entries = main.as_deref().unwrap_or_default();
    let manifest = manifest_of(request, files, &root, entries);
    let (edition, needed) = manifest.clone().unwrap_or_default();
    // What the command line names wins over the manifest: the last of a name is taken.
    let extended = (!needed.is_empty()).then(|| {
        let found = needed.iter().map(|dependency| (dependency.name.clone(), dependency.folder.clone()));
        let externals = found.chain(request.externals.iter().cloned()).collect();
        Request { externals, ..request.clone() }
    });
    let mut loader = Loader {
        compiler,
        request: extended.as_ref().unwrap_or(request),
        files,
        sources: SourceMap::default(),
        packages: Vec::new(),
        places: Vec::new(),
        parsed: Vec::new(),
        known: FxHashMap::default(),
        resolved: FxHashMap::default(),
        open: Vec::new(),
        unproved: Unproved::new(needed),
        syntax: Vec::new(),
        imports: Vec::new(),
    };
    if let Err(mistake) = manifest {
        loader.imports.push(Diagnostic::of(&mistake, Place::None));
    }
    let main = main.unwrap_or_else(|why| {
        let hint = crate::entries::hint(request, files);
        loader.imports.push(Diagnostic::of(&Mistake::NoInput { why, hint }, Place::None));
        Vec::new()
    });
    for file in main.iter().filter(|file| file.made.is_none()) {
        loader.prove(&file.path, Place::None);
    }
    loader.load_main(&main, &root);
    let Loader { sources, packages, places, parsed, mut syntax, imports, .. } = loader;
    syntax.extend(imports);
    let main = PkgId(packages.len() as u32 - 1);
    let program = Program { sources, packages, main };
    if syntax.len() > 1 {
        in_reading_order(&program, &mut syntax);
    }
    Loaded { program, diagnostics: syntax, root, edition, places, parsed }
}

/// Sorts what was found while loading as the reference reads files: one main file after the other, each followed by
/// everything it imports, level by level; of a file first its syntax, then its imports. Cycles and clashes are found at the end.
fn in_reading_order(program: &Program, diagnostics: &mut [Diagnostic]) {
    let mut order: Vec<FileId> = Vec::new();
    let mut seen: Vec<bool> = vec![false; program.packages.len()];
    let main = program.main_package();
    for file in 0..main.files.len() {
        let mut queue: Vec<(PkgId, usize)> = vec![(program.main, file)];
        let mut next = 0;
        while next < queue.len() {
            let (id, file) = queue[next];
            next += 1;
            let package = program.package(id);
            order.extend(package.files.get(file));
            let Some(tree) = package.tree.files.get(file) else { continue };
            for link in package.imports.iter().filter(|link| tree.body.contains(&link.stmt)) {
                if let ImportTarget::Package(target) = link.target
                    && !std::mem::replace(&mut seen[target.0 as usize], true)
                {
                    queue.extend((0..program.package(target).files.len()).map(|file| (target, file)));
                }
            }
        }
    }
    diagnostics.sort_by_key(|diagnostic| {
        let file = match diagnostic.place() {
            Place::Span(file, _) | Place::Line(file, _) => order.iter().position(|f| *f == file),
            Place::None => None,
        };
        let late = matches!(diagnostic.id, "import-cycle" | "duplicate-import-name");
        (late, file, diagnostic.code.code == Code::MODULE.code)
    });
}

type FromManifest = (Option<kcl_check::Edition>, Vec<Dependency>);

/// What the manifests of the entries' modules say; of several that name a package the main one's word counts.
fn manifest_of(
    request: &Request,
    files: &dyn Files,
    root: &Path,
    entries: &[MainFile],
) -> Result<FromManifest, Mistake> {
    let mut edition = None;
    let mut externals = Vec::new();
    let written = entries.iter().filter(|entry| entry.made.is_none());
    let mut others: Vec<PathBuf> = written.map(|entry| module_root(files, &entry.path)).collect();
    others.dedup();
    others.retain(|other| other != root);
    for module in others.iter().map(PathBuf::as_path).chain([root]) {
        if let Some(manifest) = read_manifest(files, module)? {
            edition = manifest.edition;
            externals.extend(dependencies(request, files, module)?);
        }
    }
    Ok((edition, externals))
}

/// A package whose imports are being loaded.
struct Open {
    key: PathBuf,
    /// The file whose imports are being followed: cycles are among files, since a package and one of its files
    /// (`import p` and `import p.a`, a main file and the module of its name) are loaded apart.
    file: PathBuf,
    /// The import that is being followed.
    import: Place,
}

/// What the meaning of an import depends on: the root of the module, the folder of the file if the path is relative, the path.
type Asked = (OsString, Option<OsString>, String);

struct Loader<'a> {
    compiler: &'a Compiler<'a>,
    request: &'a Request,
    files: &'a dyn Files,
    sources: SourceMap,
    packages: Vec<Package>,
    places: Vec<Option<PathBuf>>,
    parsed: Vec<Option<Arc<Parsed>>>,
    known: FxHashMap<PathBuf, PkgId>,
    /// Where imports led: the files of a package mostly import the same.
    resolved: FxHashMap<Asked, Arc<Result<Found, Lost>>>,
    /// Packages whose imports are being loaded, outermost first.
    open: Vec<Open>,
    unproved: Unproved,
    syntax: Vec<Diagnostic>,
    imports: Vec<Diagnostic>,
}

impl Loader<'_> {
    /// Loads the main package. The imports of each of its files start at the root of that file's own module; those of files that
    /// were made, at the main one.
    fn load_main(&mut self, main: &[MainFile], root: &Path) {
        let mut tree = Tree::default();
        let mut ids = Vec::new();
        let mut paths = Vec::new();
        for file in main {
            let id = self.sources.add(file.path.display().to_string(), file.text.clone());
            match &file.made {
                Some(made) => {
                    kcl_syntax::add_file(&mut tree, &file.text, |tree, base| made.add_to(tree, base))
                }
                None => self.syntax.extend(kcl_syntax::parse_file(&mut tree, &file.text, id)),
            }
            ids.push(id);
            paths.push(file.path.clone());
        }
        let (tree, wrong) = lower::checked_tree(tree, &self.request.overrides);
        self.imports.extend(wrong);
        let key = main.first().map(|f| f.path.clone()).unwrap_or_default();
        self.open.push(Open { file: key.clone(), key, import: Place::None });
        let root_of = |file: &MainFile| match file.made {
            Some(_) => root.to_path_buf(),
            None => module_root(self.files, &file.path),
        };
        let roots: Vec<PathBuf> = main.iter().map(root_of).collect();
        self.finish_package("__main__", Arc::new(tree), ids, (&paths, &roots), None);
    }

    fn load_package(&mut self, path: &str, key: PathBuf, files: &[PathBuf], root: &Path) -> PkgId {
        if let Some(id) = self.known.get(&key) {
            return *id;
        }
        let texts = self.files.read_all(files);
        let texts = files.iter().zip(texts).map(|(path, text)| (path.into(), text)).collect();
        let parsed = self.compiler.packages().parsed(texts, parse_package);
        let ids: Vec<FileId> = parsed.files.iter().map(|f| self.sources.add_file(f.clone())).collect();
        for diagnostic in &parsed.diagnostics {
            self.syntax.push(relocate(diagnostic, &ids));
        }
        let file = files.first().cloned().unwrap_or_default();
        self.open.push(Open { key: key.clone(), file, import: Place::None });
        self.finish_package(
            path,
            parsed.tree.clone(),
            ids,
            (files, &[root.to_path_buf()]),
            Some((key, parsed)),
        )
    }

    /// `paths` are the files with the roots of their modules; the last root holds for the rest.
    fn finish_package(
        &mut self,
        path: &str,
        tree: Arc<Tree>,
        files: Vec<FileId>,
        (paths, roots): (&[PathBuf], &[PathBuf]),
        place: Option<(PathBuf, Arc<Parsed>)>,
    ) -> PkgId {
        let mut package = Package {
            path: path.into(),
            tree: tree.clone(),
            members: Vec::new(),
            files,
            imports: Vec::new(),
        };
        for (at, (file, file_path)) in tree.files.iter().zip(paths).enumerate() {
            let Some(root) = roots.get(at).or(roots.last()) else { break };
            if let Some(open) = self.open.last_mut() {
                open.file.clone_from(file_path);
            }
            for stmt in &file.body {
                // A path that could not be read leads nowhere.
                if let Stmt::Import(import) = tree.stmt(*stmt)
                    && !self.request.is_cancelled()
                    && import.path.iter().all(|part| !part.name.is_empty())
                {
                    self.link_import(&mut package, *stmt, import, file_path, root);
                }
            }
        }
        self.open.pop();
        self.resolve_modified_members(&mut package);
        let id = PkgId(self.packages.len() as u32);
        self.packages.push(package);
        if let Some((place, _)) = &place {
            self.known.insert(place.clone(), id);
        }
        let (place, parsed) = place.unzip();
        self.places.push(place);
        self.parsed.push(parsed);
        id
    }

    /// `pkg.x {..}` of a name that the package `pkg` unified: see [`kcl_syntax::lower::unified_names`].
    fn resolve_modified_members(&self, package: &mut Package) {
        let mut unified: FxHashMap<PkgId, Vec<(Str, Dotted)>> = FxHashMap::default();
        for link in package.imports.clone() {
            let ImportTarget::Package(id) = link.target else { continue };
            let Some(other) = self.packages.get(id.0 as usize) else { continue };
            let names = unified.entry(id).or_insert_with(|| lower::unified_names(&other.tree));
            for (name, schema) in names.iter() {
                if !lower::modifies_member(&package.tree, &link.name, name) {
                    continue;
                }
                let path = match &schema[..] {
                    [schema] => [link.name.clone(), schema.name.clone()],
                    [pkg, schema] => {
                        let Some(far) = other.imports.iter().find(|l| l.name == pkg.name) else { continue };
                        let hidden: Str = format!("@{}.{}", link.name, far.name).into();
                        let target = far.target.clone();
                        package.imports.push(ImportLink { stmt: link.stmt, name: hidden.clone(), target });
                        [hidden, schema.name.clone()]
                    }
                    _ => continue,
                };
                let (name, pkg) = (name.clone(), link.name.clone());
                package.members.push(Rewrite::Member { package: pkg, name, path });
            }
        }
    }

    fn link_import(
        &mut self,
        package: &mut Package,
        stmt: StmtId,
        import: &Import,
        importer: &Path,
        root: &Path,
    ) {
        let place = package.place(package.tree.stmt_span(stmt));
        let target = match &*self.resolve(root, importer, import) {
            Ok(Found::System(name)) => ImportTarget::System(name.as_str().into()),
            Ok(Found::Plugin(name)) => ImportTarget::Plugin(name.as_str().into()),
            Ok(Found::Package { path, place: key, files, root }) => {
                self.link_package(place, path, key, files, root)
            }
            Err(lost) => {
                self.report_lost(place, lost, root);
                ImportTarget::Missing
            }
        };
        let name = import.bound_name();
        if let Some(other) = package.imports.iter().find(|l| l.name == name)
            && other.target != target
            && other.target != ImportTarget::Missing
            && target != ImportTarget::Missing
        {
            let mistake = Mistake::DuplicateImportName { name: name.to_string() };
            self.imports.push(Diagnostic::of(&mistake, place));
        }
        package.imports.push(ImportLink { stmt, name, target });
    }

    fn resolve(&mut self, root: &Path, importer: &Path, import: &Import) -> Arc<Result<Found, Lost>> {
        let folder = if import.dots > 0 { importer.parent() } else { None };
        let asked = (root.into(), folder.map(OsString::from), import.raw_path());
        let found = self
            .resolved
            .entry(asked)
            .or_insert_with(|| Arc::new(resolve(self.request, self.files, root, importer, import)));
        found.clone()
    }

    fn link_package(
        &mut self,
        place: Place,
        path: &str,
        key: &Path,
        files: &[PathBuf],
        root: &Path,
    ) -> ImportTarget {
        // Paths are normalised, so that bytes tell; and files stand in the order of their names.
        let holds =
            |file: &Path| files.binary_search_by(|known| known.as_os_str().cmp(file.as_os_str())).is_ok();
        let is_open = |open: &Open| open.key.as_os_str() == key.as_os_str() || holds(&open.file);
        let cycle = self.open.iter().position(is_open);
        if let Some(open) = self.open.last_mut() {
            open.import = place;
        }
        match cycle {
            Some(start) => {
                self.report_cycle(start);
                ImportTarget::Missing
            }
            None if !self.prove(root, place) => ImportTarget::Missing,
            None => ImportTarget::Package(self.load_package(path, key.to_path_buf(), files, root)),
        }
    }

    /// Whether the package that a path is in is what the lock says; else that is told.
    fn prove(&mut self, path: &Path, place: Place) -> bool {
        let proof = self.unproved.prove(path, self.files, self.request.vendor.as_deref());
        proof.map_err(|mistake| self.imports.push(Diagnostic::of(&mistake, place))).is_ok()
    }

    fn report_cycle(&mut self, start: usize) {
        let cycle = &self.open[start..];
        let mut files: Vec<Member> =
            cycle.iter().map(|open| Member::new(&open.file, &self.request.work_dir)).collect();
        let (mistake, place) = match files.as_slice() {
            [one] => (Mistake::SelfImport { file: one.clone() }, cycle[0].import),
            _ if start > 0 => (Mistake::ImportCycle { files }, cycle[0].import),
            _ => {
                files.rotate_left(1);
                (Mistake::EntryCycle { files }, cycle[1].import)
            }
        };
        self.imports.push(Diagnostic::of(&mistake, place));
    }

    fn report_lost(&mut self, place: Place, lost: &Lost, root: &Path) {
        let mistake = match lost {
            Lost::Missing { path, looked_at } => Mistake::ModuleNotFound {
                path: path.clone(),
                looked_at: looked_at.display().to_string(),
                hint: self.where_to_put(path, looked_at, root),
            },
            Lost::AboveRoot { raw } => {
                Mistake::AboveRoot { raw: raw.clone(), root: root.display().to_string() }
            }
            Lost::Twice { path } => Mistake::FoundTwice { path: path.clone() },
            Lost::NoPlugin { path } => Mistake::PluginNotEnabled { path: path.clone() },
        };
        self.imports.push(Diagnostic::of(&mistake, place));
    }

    /// What to do about a package that is not there.
    fn where_to_put(&self, path: &str, looked_at: &Path, root: &Path) -> String {
        let name = path.trim_start_matches('.').split('.').next().unwrap_or_default();
        let has_manifest =
            |folder: &Path| self.files.is_file(&self.request.work_dir.join(folder).join("kcl.mod"));
        match self.request.externals.iter().rev().find(|(n, _)| n == name) {
            _ if path.starts_with('.') => {
                format!("there is neither a folder {} nor a file of that name with .k", looked_at.display())
            }
            Some((_, folder)) if has_manifest(folder) => {
                format!("the package {name} stands in {}, but has no such folder or file", folder.display())
            }
            Some((_, folder)) => {
                format!("{name} is to stand in {}, but there is no kcl.mod", folder.display())
            }
            None => self.not_fetched(name, root),
        }
    }

    fn not_fetched(&self, name: &str, root: &Path) -> String {
        match locked_version(self.files, root, name) {
            Some(version) => format!(
                "kcl.mod.lock names {name} {version}, but it is neither in vendor nor among the packages that were fetched: \
                 `kcl mod update --locked` fetches it"
            ),
            None => format!(
                "`kcl mod add {name}` fetches it, `kcl mod update` what kcl.mod names; or say where it is: -E {name}=PATH"
            ),
        }
    }
}

fn parse_package(files: &[PackageFile], number: u64) -> Parsed {
    let lengths = files.iter().map(|(_, text)| text.as_ref().map_or(0, |text| text.len()));
    let mut parser = PackageParser::new(lengths);
    let mut sources = SourceMap::default();
    let mut diagnostics = Vec::new();
    let mut parsed_files: Vec<Arc<SourceFile>> = Vec::new();
    for (path, text) in files {
        let text = match text {
            Ok(text) => text.clone(),
            Err(why) => {
                let mistake = Mistake::UnreadableFile { why: why.clone() };
                diagnostics.push(Diagnostic::of(&mistake, Place::None));
                Arc::from("")
            }
        };
        let shown = path.to_str().map_or_else(|| path.to_string_lossy().into_owned(), str::to_owned);
        let id = sources.add(shown, text.clone());
        diagnostics.extend(parser.add(&text, id));
        parsed_files.extend(sources.get(id).cloned());
    }
    Parsed { number, size: size(files), tree: Arc::new(parser.finish()), files: parsed_files, diagnostics }
}

// Diagnostics of a cached package count its files from 0; give them the ids of this program.
fn relocate(diagnostic: &Diagnostic, ids: &[FileId]) -> Diagnostic {
    let mut diagnostic = diagnostic.clone();
    let real = |file: FileId| ids.get(file.0 as usize).copied().unwrap_or(file);
    for label in &mut diagnostic.labels {
        label.place = match label.place {
            Place::Span(file, span) => Place::Span(real(file), span),
            Place::Line(file, line) => Place::Line(real(file), line),
            Place::None => Place::None,
        };
    }
    diagnostic
}
