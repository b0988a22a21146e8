//! What to run.

use std::path::PathBuf;
use std::sync::Arc;

use kcl_check::Edition;
use kcl_eval::Cancel;
use kcl_syntax::ast::{StmtId, Tree};
use kcl_value::OutputOptions;

/// One argument of `kcl run`.
#[derive(Clone, Debug)]
pub enum Entry {
    /// A file, a directory, or a pattern.
    Path(String),
    /// A text that need not exist anywhere; the path is its name and the place it resolves imports from.
    Source {
        /// Its name.
        path: String,
        /// Its text.
        text: String,
    },
    /// A file whose statements are made, not parsed: data that a program is about.
    Made {
        /// Its name.
        path: String,
        /// The text that the ranges of its statements are ranges of.
        text: Arc<str>,
        /// What stands in it.
        statements: Arc<dyn Statements>,
    },
}

/// The statements of a file that is not written in the language.
pub trait Statements: std::fmt::Debug + Send + Sync {
    /// Adds the statements of the file to the tree of its package and returns them in order. Ranges start at `base`.
    fn add_to(&self, tree: &mut Tree, base: u32) -> Vec<StmtId>;
}

/// Budgets of a run, in deterministic units.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Steps of work.
    pub steps: u64,
    /// Value cells.
    pub cells: u64,
    /// Nesting.
    pub depth: u32,
}

impl Default for Limits {
    fn default() -> Self {
        let defaults = kcl_eval::Options::default();
        Limits { steps: defaults.max_steps, cells: defaults.max_cells, depth: defaults.max_depth }
    }
}

/// What a run writes; each costs a walk over the result.
#[derive(Clone, Copy, Debug)]
pub struct Formats {
    /// YAML.
    pub yaml: bool,
    /// JSON on one line.
    pub json: bool,
    /// JSON, indented by four spaces.
    pub json_pretty: bool,
    /// TOML.
    pub toml: bool,
    /// XML.
    pub xml: bool,
    /// No text: [`crate::RunResult::documents`].
    pub data: bool,
}

impl Formats {
    /// Nothing.
    pub const NONE: Formats =
        Formats { yaml: false, json: false, json_pretty: false, toml: false, xml: false, data: false };

    /// No text, but data.
    pub const DATA: Formats = Formats { data: true, ..Formats::NONE };
}

impl Default for Formats {
    fn default() -> Self {
        Formats { yaml: true, json: true, ..Formats::NONE }
    }
}

/// Everything that decides the result of a run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// Files of the main package, in order.
    pub entries: Vec<Entry>,
    /// What relative paths are relative to.
    pub work_dir: PathBuf,
    /// `-D`: name and JSON text (anything that is not JSON is a string).
    pub arguments: Vec<(String, String)>,
    /// `-O`.
    pub overrides: Vec<String>,
    /// `-S`.
    pub selectors: Vec<String>,
    /// `-E`: name and path of external packages.
    pub externals: Vec<(String, PathBuf)>,
    /// Where packages without an `-E` are looked for.
    pub vendor: Option<PathBuf>,
    /// What is left out of the output.
    pub output: OutputOptions,
    /// `-r`.
    pub strict_range: bool,
    /// `-d`.
    pub debug: bool,
    /// Language edition, if the request decides it; otherwise kcl.mod does.
    pub edition: Option<Edition>,
    /// Record where values come from.
    pub track_origins: bool,
    /// Whether `import kcl_plugin.x` is legal.
    pub plugins: Vec<String>,
    /// Budgets.
    pub limits: Limits,
    /// Stops the run from another thread.
    pub cancel: Option<Cancel>,
    /// What is written.
    pub formats: Formats,
    /// Record what runs: see [`crate::Prepared`].
    pub cover: bool,
    /// Tell all rules that do not hold, not only the first.
    pub keep_going: bool,
    /// The process ends after this run: do not spend time on giving memory back, or on notes of the files that were read.
    pub one_shot: bool,
}

impl Request {
    /// Makes a request for one text.
    pub fn source(path: impl Into<String>, text: impl Into<String>) -> Self {
        let entry = Entry::Source { path: path.into(), text: text.into() };
        Request { entries: vec![entry], ..Request::default() }
    }

    /// Whether somebody stopped it.
    pub(crate) fn is_cancelled(&self) -> bool {
        self.cancel.as_ref().is_some_and(Cancel::is_cancelled)
    }

    /// Makes a request for files and directories.
    pub fn paths(paths: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let entries = paths.into_iter().map(|p| Entry::Path(p.into())).collect();
        Request { entries, ..Request::default() }
    }
}
