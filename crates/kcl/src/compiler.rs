//! The compiler: what stays between runs, so that a thousand programs over one model library pay for it once.
//!
//! Packages are addressed by content. A *parsed* package is its files: paths and texts. A *compiled* one is a parsed package under
//! a dotted path and an edition, on top of the compiled packages that it imports. So nothing has to be invalidated to be right:
//! another text is another package. [`Compiler::changed`] only tells which answers of the file system are to be asked again, and
//! drops what nobody can reach any more.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use base_diag::Diagnostic;
use kcl_check::{CheckOptions, Home, PackageTypes, check_package, index_package};
use kcl_eval::{Outline, Outside};
use kcl_syntax::program::{PkgId, Program};
use rustc_hash::FxHashSet;

use crate::files::Files;
use crate::index::{Analysis, Index, make_analysis, make_index};
use crate::load::{Loaded, load};
use crate::packages::{Address, Compiled, Packages};
use crate::reads::Reads;
use crate::request::Request;
use crate::run::{RunResult, deep, run_guarded};
use crate::snapshot::{Snapshot, Watched};

/// What a check leaves behind.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Types.
    Types,
    /// Types and the index.
    Index,
    /// Types, and the index of the main package.
    MainIndex,
}

/// Compiles and runs programs over one set of files; shared by any number of threads.
pub struct Compiler<'f> {
    files: Snapshot<'f>,
    packages: Packages,
}

impl<'f> Compiler<'f> {
    /// Makes a compiler that knows nothing yet.
    pub fn new(files: impl Files + 'f) -> Self {
        Compiler::sharing(files, Packages::default())
    }

    /// Makes a compiler that knows nothing of the files yet, but packages that others have parsed and checked. It asks for every text
    /// itself, so what it finds is of the text as it is now.
    pub fn sharing(files: impl Files + 'f, packages: Packages) -> Self {
        Compiler { files: Snapshot::new(files), packages }
    }

    /// What is known of the files.
    pub(crate) fn snapshot(&self) -> &Snapshot<'f> {
        &self.files
    }

    /// Tells that files or folders may have changed, appeared or gone. The next run asks for them again.
    pub fn changed(&self, paths: impl IntoIterator<Item = impl Into<PathBuf>>) {
        let paths: Vec<PathBuf> =
            paths.into_iter().map(|path| crate::files::normalise(&path.into())).collect();
        let texts: FxHashSet<Arc<OsStr>> = self.files.forget(&paths).into_iter().collect();
        if !texts.is_empty() {
            self.packages.forget(&texts);
        }
    }

    /// Loads the program of a request: its files and the closure of their imports, parsed.
    pub fn load(&self, request: &Request) -> Loaded {
        load(self, request, &Watched::new(&self.files))
    }

    /// Loads and checks the program of a request, and answers questions about its names and types. Nothing is run.
    pub fn index(&self, request: &Request) -> Index {
        deep(|| make_index(self, request))
    }

    /// As [`Compiler::index`], of the main package alone: what a rule about its text asks.
    pub fn analyse(&self, request: &Request) -> Analysis {
        deep(|| make_analysis(self, request))
    }

    /// Runs a program in a world.
    ///
    /// Evaluation is recursive, so it runs on a deep stack (reserved, not used), unless the caller stands on one already.
    pub fn run(&self, request: &Request, world: &dyn Outside) -> RunResult {
        let revision = self.files.revision();
        // A process that ends with this run asks nobody whether the result still holds.
        let files = match request.one_shot {
            true => Watched::without_notes(&self.files),
            false => Watched::new(&self.files),
        };
        let mut outcome = run_guarded(self, request, &files, world);
        outcome.reads.revision = revision;
        outcome.reads.facts = files.into_facts();
        outcome
    }

    /// Runs many programs on all cores; the results stand in the order of the requests.
    pub fn run_many(&self, requests: &[Request], world: &(dyn Outside + Sync)) -> Vec<RunResult> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        self.run_many_on(cores, requests, world)
    }

    /// As [`Compiler::run_many`], on so many threads.
    pub fn run_many_on(
        &self,
        threads: usize,
        requests: &[Request],
        world: &(dyn Outside + Sync),
    ) -> Vec<RunResult> {
        let slots: Vec<OnceLock<RunResult>> = requests.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            deep(|| {
                while let Some((request, slot)) = {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    requests.get(at).zip(slots.get(at))
                } {
                    let _ = slot.set(self.run(request, world));
                }
            });
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(requests.len()) {
                scope.spawn(work);
            }
            work();
        });
        slots.into_iter().map(|slot| slot.into_inner().unwrap_or_default()).collect()
    }

    /// Whether a result would be the same if its request ran now: everything that it asked would be answered as it was.
    ///
    /// Source files are as the compiler was last told; what the program itself asked, the world that it ran in
    /// is asked again. Of the request
    /// only its options are compared: whoever keeps a result knows which request it is of.
    pub fn still_valid(&self, reads: &Reads, request: &Request, world: &dyn Outside) -> bool {
        let same_files = || {
            reads.revision == self.files.revision()
                || reads.facts.as_ref().is_some_and(|facts| facts.iter().all(|fact| self.files.holds(fact)))
        };
        same_files() && reads.holds_around(request, world)
    }

    /// The packages that are known.
    pub(crate) fn packages(&self) -> &Packages {
        &self.packages
    }

    /// Checks a program, package by package; those that are known are not checked again. A cancelled one ends early.
    pub(crate) fn check(
        &self,
        loaded: &Loaded,
        options: CheckOptions,
        request: &Request,
        keep: Keep,
    ) -> (Vec<Arc<Compiled>>, Vec<Diagnostic>) {
        let program = &loaded.program;
        let mut units: Vec<Arc<Compiled>> = Vec::with_capacity(program.packages.len());
        let mut types: Vec<Arc<PackageTypes>> = Vec::with_capacity(program.packages.len());
        let mut diagnostics = Vec::new();
        for (at, parsed) in loaded.parsed.iter().enumerate() {
            if request.is_cancelled() {
                break;
            }
            let id = PkgId(at as u32);
            let indexed = keep == Keep::Index || keep == Keep::MainIndex && id == program.main;
            let compile = || {
                let home = Home(self.packages.number());
                if indexed {
                    let index = Arc::new(index_package(program, id, home, &types, &options));
                    let types = index.types().clone();
                    return Arc::new(Compiled { home, types, index: index.into(), runs: OnceLock::new() });
                }
                let types = check_package(program, id, home, &types, &options);
                Arc::new(Compiled { home, types, index: OnceLock::new(), runs: OnceLock::new() })
            };
            let unit = match parsed {
                Some(parsed) => {
                    let address = Address::new(parsed, program.package(id), &units, options);
                    self.packages.compiled(address, compile)
                }
                None => compile(),
            };
            if indexed {
                let make = || Arc::new(index_package(program, id, unit.home, &types, &options));
                unit.index.get_or_init(make);
            }
            types.push(unit.types.clone());
            diagnostics.extend(unit.types.diagnostics(program, &types));
            units.push(unit);
        }
        (units, diagnostics)
    }
}

/// Puts the trees that are run in the place of those that were checked, where they are others; returns the outlines.
pub(crate) fn make_runnable(program: &mut Program, units: &[Arc<Compiled>]) -> Vec<Arc<Outline>> {
    let outlines: Vec<Arc<Outline>> = program
        .packages
        .iter()
        .zip(units)
        .enumerate()
        .map(|(at, (package, unit))| {
            let make = || {
                let borrowed = unit.types.borrowed_names(program, package);
                let tree = kcl_syntax::lower::run_tree(&package.tree, &package.members, &borrowed);
                let is_main = at == program.main.0 as usize;
                Arc::new(Outline::new(unit.home.0, tree, &package.imports, is_main))
            };
            unit.runs.get_or_init(make).clone()
        })
        .collect();
    for (package, outline) in program.packages.iter_mut().zip(&outlines) {
        package.tree = outline.tree().clone();
    }
    outlines
}
