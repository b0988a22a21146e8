//! What a run is given from outside.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use kcl_std::{FileAnswer, FileOp, Reason};
use kcl_value::{OutputOptions, Str, Value};

/// Stops a run from another thread. Its clones stop together.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Makes one that is not cancelled.
    pub fn new() -> Cancel {
        Cancel::default()
    }

    /// Stops every run that has it, within milliseconds, and those that begin later at once.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns whether it was cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Settings of a run.
#[derive(Debug)]
pub struct Options {
    /// Values for `option()`.
    pub arguments: Vec<(Str, Value)>,
    /// `-r`: 32-bit checks.
    pub strict_range: bool,
    /// `-d`.
    pub debug: bool,
    /// `-S`.
    pub selectors: Vec<String>,
    /// What is left out of the output.
    pub output: OutputOptions,
    /// Record where values come from.
    pub track_origins: bool,
    /// Follow 0.13 where meaning changed.
    pub edition_013: bool,
    /// Steps of work.
    pub max_steps: u64,
    /// Value cells.
    pub max_cells: u64,
    /// Nesting of expressions and calls.
    pub max_depth: u32,
    /// Stops the run.
    pub cancel: Option<Cancel>,
    /// Root of the main module.
    pub module_root: PathBuf,
    /// Working directory.
    pub work_dir: PathBuf,
    /// Record what runs.
    pub cover: bool,
    /// Go on after a rule that does not hold, and look for all attributes that are missing.
    pub keep_going: bool,
    /// The process ends after this run: memory is not given back piece by piece.
    pub one_shot: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            arguments: Vec::new(),
            strict_range: false,
            debug: false,
            selectors: Vec::new(),
            output: OutputOptions::default(),
            track_origins: false,
            edition_013: false,
            max_steps: 1_000_000_000,
            max_cells: 50_000_000,
            max_depth: 8_000,
            cancel: None,
            module_root: PathBuf::from("."),
            work_dir: PathBuf::from("."),
            cover: false,
            keep_going: false,
            one_shot: false,
        }
    }
}

/// The outside world as a running program may see it. Everything is refused by default.
pub trait Outside {
    /// Says which modules the program that is about to run consists of: their folders.
    fn enter(&self, _modules: &[&Path]) {}

    /// Reads a file.
    fn read_file(&self, _path: &Path) -> Result<Vec<u8>, Reason> {
        Err(Reason::NotHere)
    }

    /// Writes (or appends to) a file.
    fn write_file(&self, _path: &Path, _data: &[u8], _append: bool) -> Result<(), Reason> {
        Err(Reason::NotHere)
    }

    /// Other file operations.
    fn file_op(&self, _op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        Err(Reason::NotHere)
    }

    /// Reads an environment variable.
    fn env(&self, _name: &str) -> Option<String> {
        None
    }

    /// Returns seconds and nanoseconds since 1970, and the local offset in seconds.
    fn now(&self) -> (i64, u32, i32) {
        (0, 0, 0)
    }

    /// Returns random bytes; never something else instead.
    fn random(&self) -> Result<[u8; 16], Reason> {
        Err(Reason::NotHere)
    }

    /// Calls a plugin function: module, function, JSON of `{"args": [..], "kwargs": {..}}`; returns JSON.
    fn call_plugin(&self, module: &str, function: &str, _arguments: &str) -> Result<String, String> {
        Err(format!("the plugin `kcl_plugin.{module}` with the function `{function}` is not available"))
    }
}

/// A world in which nothing is allowed.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoOutside;

impl Outside for NoOutside {}
