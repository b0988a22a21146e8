//! What library functions may ask of the evaluator, and how they fail.

use std::any::Any;
use std::path::{Path, PathBuf};

use kcl_value::{OutputOptions, Str, Value};

use crate::mistake::Mistake;
use crate::patterns::Patterns;
use crate::reason::Reason;

/// Why a library function failed.
#[derive(Debug)]
pub enum Error {
    /// A mistake at the current line, with its facts. It is boxed: a call that succeeds does not move room for them.
    Mistake(Box<Mistake>),
    /// An error of the evaluator that passes through unchanged (a lambda that failed).
    Raised(Box<dyn Any>),
}

impl<T: Into<Mistake>> From<T> for Error {
    fn from(mistake: T) -> Self {
        Error::Mistake(Box::new(mistake.into()))
    }
}

/// Arguments of a call, already evaluated.
#[derive(Clone, Copy, Debug)]
pub struct Args<'a> {
    /// Positional arguments.
    pub positional: &'a [Value],
    /// Keyword arguments.
    pub keyword: &'a [(Str, Value)],
}

impl<'a> Args<'a> {
    /// Returns a parameter by position or keyword (the keyword wins).
    pub fn get(&self, position: usize, name: &str) -> Option<&'a Value> {
        let by_name = self.keyword.iter().find(|(k, _)| k == name).map(|(_, v)| v);
        by_name.or_else(|| self.positional.get(position))
    }

    /// Returns a keyword argument.
    pub fn keyword(&self, name: &str) -> Option<&'a Value> {
        self.keyword.iter().find(|(k, _)| k == name).map(|(_, v)| v)
    }
}

/// The body of a function: `receiver` is the string of a method, Undefined otherwise.
pub type Body = fn(&mut dyn Host, receiver: &Value, args: Args<'_>) -> Result<Value, Error>;

/// The evaluator as a library function sees it.
pub trait Host {
    /// Calls a function value.
    fn call(&mut self, func: &Value, args: &[Value]) -> Result<Value, Error>;
    /// Returns (number of parameters, declared type text of the first parameter) of a lambda, for `reduce`.
    fn lambda_shape(&self, func: &Value) -> Option<(usize, Option<Str>)>;
    /// Merges two values as `|` does.
    fn union(&mut self, left: Value, right: Value) -> Result<Value, Error>;
    /// Returns the text that `runtime.catch` sees of a failed call.
    fn error_text(&self, error: &Error) -> String;
    /// Whether a failed call ends the program, whoever catches: a budget is used up, or the run was cancelled.
    fn is_fatal(&self, error: &Error) -> bool;
    /// Appends to the log (`print`).
    fn print(&mut self, text: &str);
    /// Returns a top-level argument (`-D`).
    fn option(&self, key: &str) -> Option<Value>;
    /// Replaces the program's output (`manifests.yaml_stream`) by the text of a list of documents.
    fn set_output(&mut self, text: String, documents: &Value, written: OutputOptions);
    /// Charges cost units before a body makes many cells or bytes; fails when the budget is used up.
    fn charge(&mut self, cells: u64) -> Result<(), Error>;
    /// Charges for a value that is about to be written out: shared parts count each time.
    fn charge_whole(&mut self, value: &Value) -> Result<(), Error> {
        self.charge(kcl_value::added_weight(value))
    }
    /// Returns the regular expressions that were compiled so far.
    fn patterns(&mut self) -> &mut Patterns;
    /// Returns true if 64-bit overflow must be an error (`-d`) where it would otherwise saturate.
    fn debug_mode(&self) -> bool;
    /// Returns true if results of arithmetic must fit 32 bits (`-r`).
    fn strict_range(&self) -> bool {
        false
    }
    /// Returns the module root (`file.modpath`).
    fn module_root(&self) -> PathBuf;
    /// Returns the working directory (`file.workdir`).
    fn work_dir(&self) -> PathBuf;
    /// Returns the file that is being evaluated (`file.current`).
    fn current_file(&self) -> PathBuf;
    /// Reads a file.
    fn read_file(&mut self, path: &Path) -> Result<Vec<u8>, Reason>;
    /// Writes (or appends to) a file.
    fn write_file(&mut self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason>;
    /// Other file operations by name (`exists`, `mkdir`, `delete`, `cp`, `mv`, `size`, `glob`, `abs`), as the module needs.
    fn file_op(&mut self, op: FileOp<'_>) -> Result<FileAnswer, Reason>;
    /// Reads an environment variable (`file.read_env`).
    fn env(&self, name: &str) -> Option<String>;
    /// Returns seconds and nanoseconds since 1970, and the local offset in seconds.
    fn now(&self) -> (i64, u32, i32);
    /// Returns 16 random bytes (`crypto.uuid`).
    fn random(&mut self) -> Result<[u8; 16], Reason>;
}

/// Charges for a text while it grows: one that grows without end is stopped before it fills the memory.
#[derive(Debug, Default)]
pub(crate) struct Growing {
    charged: usize,
}

impl Growing {
    /// Charges whenever the length has doubled since the last time.
    pub(crate) fn reach(&mut self, host: &mut dyn Host, length: usize) -> Result<(), Error> {
        const FIRST: usize = 1 << 16;
        while length >= (self.charged * 2).max(FIRST) {
            self.charged = (self.charged * 2).max(FIRST);
            host.charge(self.charged as u64 / 16)?;
        }
        Ok(())
    }
}

/// A file operation.
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs)]
pub enum FileOp<'a> {
    Exists(&'a Path),
    Size(&'a Path),
    Mkdir(&'a Path, bool),
    Delete(&'a Path),
    Copy(&'a Path, &'a Path),
    Move(&'a Path, &'a Path),
    Glob(&'a str),
    Absolute(&'a Path),
}

/// What a file operation answers.
#[derive(Clone, PartialEq, Eq, Debug)]
#[allow(missing_docs)]
pub enum FileAnswer {
    Done,
    Bool(bool),
    Size(u64),
    Paths(Vec<PathBuf>),
}
