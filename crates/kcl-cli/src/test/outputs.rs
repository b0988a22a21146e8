//! What is printed and written.

use std::collections::BTreeMap;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use base_diag::{Color, SourceMap, render_full, to_json};
use kcl::Coverage;
use kcl_test::coverage::{self, Covered};
use kcl_test::report::{self, Row};
use kcl_test::snapshots::Taken;
use kcl_test::{Case, Failure, Ran, Suite, WrongPackage};
use serde_json::json;

use super::inputs::Inputs;
use super::packages::Package;
use crate::{EXIT_BUG, EXIT_WRONG};

/// Everything that a run found out.
pub(super) struct Results {
    pub(super) rows: Vec<Row>,
    /// When it began.
    pub(super) started: SystemTime,
    /// Examples in docstrings.
    pub(super) examples: Vec<Row>,
    /// Packages that do not compile, as people name them.
    pub(super) wrong: Vec<(String, WrongPackage)>,
    /// Their folders.
    pub(super) wrong_folders: Vec<PathBuf>,
    /// What cannot be read or written.
    pub(super) problems: Vec<String>,
    pub(super) notes: Vec<String>,
    /// Folders and files of packages that have no suite.
    pub(super) watched: Vec<PathBuf>,
    /// Folders without test files, as people name them.
    pub(super) untested: Vec<(PathBuf, String)>,
    /// Snapshots with the number of their package and their case.
    pub(super) taken: Vec<(usize, String, Taken)>,
    files: BTreeMap<String, Covered>,
    texts: BTreeMap<String, std::sync::Arc<str>>,
    bug: bool,
}

impl Results {
    /// Nothing yet.
    pub(super) fn new(started: SystemTime) -> Results {
        Results {
            started,
            rows: Vec::new(),
            examples: Vec::new(),
            wrong: Vec::new(),
            wrong_folders: Vec::new(),
            problems: Vec::new(),
            notes: Vec::new(),
            watched: Vec::new(),
            untested: Vec::new(),
            taken: Vec::new(),
            files: BTreeMap::new(),
            texts: BTreeMap::new(),
            bug: false,
        }
    }

    /// Adds a case.
    pub(super) fn add(&mut self, package: &Package, case: &Case, ran: Ran, duration: Duration) {
        self.bug |= ran.failure.as_ref().is_some_and(|failure| failure.diagnostic.id == "internal-error");
        let taken = ran.snapshots.into_iter().map(|taken| (package.number, case.name.clone(), taken));
        self.taken.extend(taken);
        let folder = std::env::current_dir().unwrap_or_default();
        let file = Path::new(&case.file).strip_prefix(&folder).unwrap_or(Path::new(&case.file));
        let mut sources = package.suite.prepared.sources().clone();
        sources.show_from(folder.display().to_string());
        self.rows.push(Row {
            name: case.name.clone(),
            package: package.shown.clone(),
            file: file.display().to_string(),
            line: case.line,
            duration,
            log: ran.log,
            error: ran.failure.map_or_else(String::new, |failure| error_text(&failure, &sources)),
            is_broken: false,
        });
    }

    /// Whether a case or an example failed.
    pub(super) fn has_failed(&self) -> bool {
        self.rows.iter().chain(&self.examples).any(|row| !row.error.is_empty())
    }

    /// Whether the package of a folder was told not to compile.
    pub(super) fn is_wrong(&self, folder: &Path) -> bool {
        self.wrong_folders.iter().any(|wrong| wrong == folder)
    }

    /// Adds what ran of the files of a suite.
    pub(super) fn cover(&mut self, inputs: &Inputs, suite: &Suite, coverage: &Coverage) {
        if !inputs.coverage {
            return;
        }
        let root = inputs.request.work_dir.display().to_string();
        coverage::unite(&mut self.files, coverage::of(&suite.prepared, coverage, &root));
        let sources = super::sources(suite, inputs);
        for id in suite.prepared.program().packages.iter().flat_map(|package| &package.files) {
            if let Some(file) = sources.get(*id) {
                self.texts.insert(file.path.clone(), file.text.clone());
            }
        }
    }

    /// Prints and writes the reports, and says how the command ends.
    pub(super) fn print(&mut self, inputs: &Inputs) -> ExitCode {
        for (_, wrong) in &mut self.wrong {
            wrong.sources.show_from(inputs.request.work_dir.display().to_string());
        }
        if let Some(path) = &inputs.junit {
            let mut all: Vec<Row> = self.rows.iter().chain(&self.examples).cloned().collect();
            all.extend(self.broken());
            self.write(path, &report::junit(&all, self.started.into()));
        }
        if let Some(path) = &inputs.lcov {
            self.write(path, &coverage::lcov(&self.files));
        }
        let out = if inputs.json { self.json(inputs) } else { self.text(inputs) };
        for (_, wrong) in &self.wrong {
            eprint!("{}", crate::run::render(&wrong.diagnostics, &wrong.sources, inputs.errors));
        }
        self.notes.iter().for_each(|note| eprintln!("warning: {note}"));
        self.problems.iter().for_each(|problem| eprintln!("error: {problem}"));
        if let Err(message) = crate::say::result(&out) {
            eprintln!("error: {message}");
            return ExitCode::from(EXIT_WRONG);
        }
        match self.has_failed() || !self.wrong.is_empty() || !self.problems.is_empty() {
            _ if self.bug => ExitCode::from(EXIT_BUG),
            true => ExitCode::from(EXIT_WRONG),
            false => ExitCode::SUCCESS,
        }
    }

    /// What was not tried at all, as cases: who reads only those must not take the rest for everything.
    fn broken(&self) -> Vec<Row> {
        let row = |package: &str, name: &str, error: String| Row {
            name: name.to_owned(),
            package: package.to_owned(),
            file: package.to_owned(),
            error,
            is_broken: true,
            ..Row::default()
        };
        let full = crate::run::ErrorFormat::Full;
        let wrong = self.wrong.iter().map(|(package, wrong)| {
            let error = crate::run::render_in(&wrong.diagnostics, &wrong.sources, full, Color::Never);
            row(package, "compile", error)
        });
        wrong.chain(self.problems.iter().map(|problem| row(".", "read", problem.clone()))).collect()
    }

    fn write(&mut self, path: &Path, text: &str) {
        if let Err(error) = base_file::replace(path, text.as_bytes(), base_file::How::Plain) {
            self.problems.push(format!("{} cannot be written: {error}", path.display()));
        }
    }

    fn text(&self, inputs: &Inputs) -> String {
        let told = !(self.wrong.is_empty() && self.problems.is_empty() && self.examples.is_empty());
        let quiet = self.rows.is_empty() && told;
        let mut out = if quiet { String::new() } else { report::text(&self.rows) };
        out.push_str(&report::examples(&self.examples));
        if inputs.listing {
            let colour = colour() == Color::Always;
            for file in self.files.values() {
                let text = self.texts.get(&file.path).map_or("", |text| text);
                let shown = Path::new(&file.path).strip_prefix(&inputs.request.work_dir);
                let shown = shown.unwrap_or(Path::new(&file.path)).display().to_string();
                out.push_str(&coverage::listing(file, text, &shown, colour));
            }
        }
        if inputs.coverage {
            out.push_str(&coverage::summary(&self.files));
        }
        out
    }

    fn json(&self, inputs: &Inputs) -> String {
        let mut all = report::json(&self.rows);
        all["examples"] = report::json(&self.examples);
        let wrong = self.wrong.iter().flat_map(|(_, wrong)| {
            wrong.diagnostics.iter().map(|diagnostic| to_json(diagnostic, &wrong.sources)).collect::<Vec<_>>()
        });
        all["errors"] =
            wrong.chain(self.problems.iter().map(|problem| json!({ "message": problem }))).collect();
        all["notes"] = json!(self.notes);
        if inputs.coverage {
            let ratio = |ratio: coverage::Ratio| json!({ "covered": ratio.covered, "all": ratio.all });
            let file = |file: &Covered| {
                json!({
                    "path": file.path, "lines": ratio(file.line_ratio()), "branches": ratio(file.branch_ratio()),
                    "rules": ratio(file.rule_ratio()), "hits": file.lines,
                })
            };
            all["coverage"] = self.files.values().map(file).collect();
        }
        format!("{all}\n")
    }
}

/// The report goes to standard output.
pub(super) fn colour() -> Color {
    let plain = std::env::var_os("NO_COLOR").is_some() || !std::io::stdout().is_terminal();
    if plain { Color::Never } else { Color::Always }
}

/// The error of a case as people read it, with what differs.
fn error_text(failure: &Failure, sources: &SourceMap) -> String {
    let mut out = render_full(&failure.diagnostic, sources, colour());
    if !failure.diff.is_empty() {
        out.push_str(&format!("{}\n", failure.diff.trim_end()));
    }
    out
}
