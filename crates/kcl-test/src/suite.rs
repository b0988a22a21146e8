//! A package with its cases.

use base_diag::{Diagnostic, FileId, SourceMap, Telling};
use kcl::{Call, Compiler, Coverage, Entry, Outside, Prepared, Reads, Request};
use kcl_syntax::ast::{ExprId, Stmt, Tree};

use crate::cases::{Case, Kind, find, is_test_file};
use crate::property::Trial;
use crate::snapshots::{self, Recorder, SNAPSHOT, Taken};

/// A package that was loaded and checked.
pub struct Suite {
    /// The program of all its cases.
    pub prepared: Prepared,
    /// Its cases, in the order of its files.
    pub cases: Vec<Case>,
}

/// What is wrong with a package: none of its cases runs.
#[derive(Debug)]
pub struct WrongPackage {
    /// What is wrong.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts for rendering.
    pub sources: SourceMap,
    /// What was read.
    pub reads: Reads,
}

/// Why a case failed.
#[derive(Debug)]
pub struct Failure {
    /// The run-time error.
    pub diagnostic: Diagnostic,
    /// What differs: both sides of an assertion, or a snapshot, as a unified diff. Empty if nothing was compared.
    pub diff: String,
}

/// What became of a case.
#[derive(Debug, Default)]
pub struct Ran {
    /// What `print` wrote.
    pub log: String,
    /// Why it failed, if it did.
    pub failure: Option<Failure>,
    /// The snapshots that it took.
    pub snapshots: Vec<Taken>,
    /// What ran, if that is recorded.
    pub coverage: Option<Coverage>,
}

impl Ran {
    /// Returns true if it passed.
    pub fn is_ok(&self) -> bool {
        self.failure.is_none()
    }
}

impl Suite {
    /// Loads and checks a package: `request` names its files, test files included.
    ///
    /// # Errors
    /// The package does not compile, or a case cannot be one.
    pub fn new(compiler: &Compiler<'_>, request: &Request) -> Result<Suite, Box<WrongPackage>> {
        let prepared = compiler.prepare(request).map_err(|outcome| {
            let kcl::RunResult { diagnostics, sources, reads, .. } = *outcome;
            let shown = |diagnostic| snapshots::without_helper(diagnostic, &sources);
            let diagnostics = diagnostics.into_iter().map(shown).collect();
            Box::new(WrongPackage { diagnostics, sources, reads })
        })?;
        match find(prepared.program()) {
            Ok(cases) => Ok(Suite { prepared, cases }),
            Err(diagnostics) => {
                let (sources, reads) = (prepared.sources().clone(), prepared.reads);
                Err(Box::new(WrongPackage { diagnostics, sources, reads }))
            }
        }
    }

    /// Runs a case as a program of its own; a property is tried with random values.
    pub fn judge(&self, case: &Case, trial: Trial, world: &dyn Outside) -> Ran {
        match case.kind {
            Kind::Test => self.run(case, world),
            Kind::Property => self.try_property(case, trial, world),
        }
    }

    /// Runs a test case as a program of its own.
    pub fn run(&self, case: &Case, world: &dyn Outside) -> Ran {
        let recorder = Recorder::new(world);
        let mut call = self.prepared.call(&case.name, &[], &recorder);
        let mut snapshots = recorder.into_taken();
        for taken in &mut snapshots {
            taken.place = snapshots::place_of(self.prepared.program(), case, &taken.name);
        }
        let coverage = call.coverage.take();
        let log = std::mem::take(&mut call.log);
        Ran { log, failure: self.failure(call), snapshots, coverage }
    }

    /// Why a call failed, if it did.
    pub(crate) fn failure(&self, call: Call) -> Option<Failure> {
        let placed = snapshots::at_the_call(call.diagnostic?, call.caller, self.prepared.sources());
        Some(Failure { diagnostic: worded(placed), diff: diff(call.sides.as_ref()) })
    }
}

/// Returns the program of all cases of a package: its files, test files last, with the function `snapshot` if one calls it.
pub fn request(base: &Request, folder: &str, files: &[(String, String)]) -> Request {
    let plugins = vec![snapshots::PLUGIN.to_owned()];
    Request { entries: entries(folder, files), plugins, ..base.clone() }
}

fn entries(folder: &str, files: &[(String, String)]) -> Vec<Entry> {
    let (tests, others): (Vec<_>, Vec<_>) = files.iter().partition(|(path, _)| is_test_file(path));
    // Most tests take no snapshot: those without the word are not parsed once more.
    let mentions = |text: &str| text.contains(SNAPSHOT);
    let uses = tests.iter().any(|(_, text)| mentions(text) && takes_snapshots(text));
    let defines = || files.iter().any(|(_, text)| mentions(text) && defines_snapshot(text));
    let helper = (uses && !defines()).then(|| snapshots::helper(folder));
    let paths = others.into_iter().chain(tests).map(|(path, _)| Entry::Path(path.clone()));
    paths.chain(helper).collect()
}

fn parsed(text: &str) -> Tree {
    let mut tree = Tree::default();
    kcl_syntax::parse_file(&mut tree, text, FileId::default());
    tree
}

/// Whether a file calls the function.
fn takes_snapshots(text: &str) -> bool {
    let tree = parsed(text);
    (0..tree.exprs.len() as u32).any(|id| snapshots::takes(&tree, ExprId(id)))
}

/// Whether a file has a variable of that name.
fn defines_snapshot(text: &str) -> bool {
    let tree = parsed(text);
    let body = tree.files.first().map(|file| file.body.as_slice()).unwrap_or_default();
    body.iter().any(|stmt| {
        matches!(tree.stmt(*stmt), Stmt::Assign { targets, .. } if targets.iter().any(|t| t.name.name == SNAPSHOT))
    })
}

/// An assertion without a message says nothing: the report needs a title.
fn worded(diagnostic: Diagnostic) -> Diagnostic {
    if !diagnostic.message().is_empty() {
        return diagnostic;
    }
    let title = "the assertion does not hold".to_owned();
    diagnostic.with_telling(Telling { title, labels: Vec::new() })
}

/// Both sides of a comparison as a diff: what was expected stands on the right of `==`.
fn diff(sides: Option<&(String, String)>) -> String {
    match sides {
        Some((left, right)) => {
            let line = |text: &str| format!("{}\n", text.trim_end());
            kcl_fmt::diff::unified("left", "right", &line(left), &line(right))
        }
        None => String::new(),
    }
}
