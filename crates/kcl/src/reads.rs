//! What a result depends on: everything that a run asked, with the answers.
//!
//! Files that were read, folders that were listed, files that were looked for (and were there, or not), options, and what the
//! program itself asked of the world while it ran. [`crate::Compiler::still_valid`] compares them with what holds now.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use kcl_eval::Outside;
use kcl_std::{FileAnswer, FileOp, Reason};
use rustc_hash::FxHashMap;

use crate::request::Request;

/// A question about source files, and its answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Fact {
    Text(Arc<OsStr>, Result<Arc<str>, String>),
    IsFile(Arc<OsStr>, bool),
    IsDir(Arc<OsStr>, bool),
    /// Sorted.
    Names(Arc<OsStr>, Arc<Vec<String>>),
    /// The `.k` files of a folder; sorted.
    Sources(Arc<OsStr>, Arc<Vec<String>>),
}

impl Fact {
    pub(crate) fn question(&self) -> (&OsStr, u8) {
        match self {
            Fact::Text(path, _) => (path, 0),
            Fact::IsFile(path, _) => (path, 1),
            Fact::IsDir(path, _) => (path, 2),
            Fact::Names(path, _) => (path, 3),
            Fact::Sources(path, _) => (path, 4),
        }
    }
}

/// A question of the running program that the world can be asked again.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Asked {
    Read(PathBuf, Result<Arc<[u8]>, Reason>),
    Exists(PathBuf, Result<FileAnswer, Reason>),
    Size(PathBuf, Result<FileAnswer, Reason>),
    Glob(String, Result<FileAnswer, Reason>),
    Absolute(PathBuf, Result<FileAnswer, Reason>),
    Env(String, Option<String>),
}

impl Asked {
    fn question(&self) -> (u8, OsString) {
        match self {
            Asked::Read(path, _) => (0, path.into()),
            Asked::Exists(path, _) => (1, path.into()),
            Asked::Size(path, _) => (2, path.into()),
            Asked::Glob(pattern, _) => (3, pattern.into()),
            Asked::Absolute(path, _) => (4, path.into()),
            Asked::Env(name, _) => (5, name.into()),
        }
    }

    fn holds(&self, world: &dyn Outside) -> bool {
        match self {
            Asked::Read(path, answer) => world.read_file(path).as_deref() == answer.as_deref(),
            Asked::Exists(path, answer) => world.file_op(FileOp::Exists(path)) == *answer,
            Asked::Size(path, answer) => world.file_op(FileOp::Size(path)) == *answer,
            Asked::Glob(pattern, answer) => world.file_op(FileOp::Glob(pattern)) == *answer,
            Asked::Absolute(path, answer) => world.file_op(FileOp::Absolute(path)) == *answer,
            Asked::Env(name, answer) => world.env(name) == *answer,
        }
    }
}

/// Everything that a run asked.
#[derive(Clone, Debug, Default)]
pub struct Reads {
    /// Revision of the compiler's files when the run began.
    pub(crate) revision: u64,
    /// None if nobody noted them: then only the revision tells whether they still hold.
    pub(crate) facts: Option<Vec<Fact>>,
    asked: Vec<Asked>,
    /// Name of each option that was asked for, and its text if it was given.
    options: Vec<(String, Option<String>)>,
    /// The program asked the clock or for chance, called a plugin, or changed files.
    unrepeatable: bool,
}

impl Reads {
    fn facts(&self) -> &[Fact] {
        self.facts.as_deref().unwrap_or_default()
    }

    /// Returns the source files that were read.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.facts().iter().filter_map(|fact| match fact {
            Fact::Text(path, Ok(_)) => Some(Path::new(path)),
            _ => None,
        })
    }

    /// Returns what was read and what stood in it: source files, and files that the program itself read while it ran.
    pub fn contents(&self) -> impl Iterator<Item = (&Path, &[u8])> {
        let sources = self.facts().iter().filter_map(|fact| match fact {
            Fact::Text(path, Ok(text)) => Some((Path::new(path), text.as_bytes())),
            _ => None,
        });
        let data = self.asked.iter().filter_map(|asked| match asked {
            Asked::Read(path, Ok(bytes)) => Some((path.as_path(), &**bytes)),
            _ => None,
        });
        sources.chain(data)
    }

    /// Returns the folders that were listed.
    pub fn folders(&self) -> impl Iterator<Item = &Path> {
        self.facts().iter().filter_map(|fact| match fact {
            Fact::Names(path, _) | Fact::Sources(path, _) => Some(Path::new(path)),
            _ => None,
        })
    }

    /// Returns what was looked for, as a file or as a folder, and was not there.
    pub fn absent(&self) -> impl Iterator<Item = &Path> {
        self.facts().iter().filter_map(|fact| match fact {
            Fact::IsFile(path, false) | Fact::IsDir(path, false) | Fact::Text(path, Err(_)) => {
                Some(Path::new(path))
            }
            _ => None,
        })
    }

    /// Returns the options that were asked for, each with its text if it was given.
    pub fn options(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.options.iter().map(|(name, text)| (name.as_str(), text.as_deref()))
    }

    /// Returns the variables of the environment that the program asked for.
    pub fn environment(&self) -> impl Iterator<Item = &str> {
        self.asked.iter().filter_map(|asked| match asked {
            Asked::Env(name, _) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Returns the files that the program itself read while it ran.
    pub fn data_files(&self) -> impl Iterator<Item = &Path> {
        self.asked.iter().filter_map(|asked| match asked {
            Asked::Read(path, _) => Some(path.as_path()),
            _ => None,
        })
    }

    /// Returns false if the program asked the clock or for chance, called a plugin, or changed files: then it must run again.
    pub fn is_repeatable(&self) -> bool {
        !self.unrepeatable
    }

    pub(crate) fn set_options(&mut self, names: &[kcl_value::Str], request: &Request) {
        self.options = names.iter().map(|name| (name.to_string(), given(request, name))).collect();
    }

    /// Whether options and world still say what they said.
    pub(crate) fn holds_around(&self, request: &Request, world: &dyn Outside) -> bool {
        self.is_repeatable()
            && self.options.iter().all(|(name, text)| given(request, name) == *text)
            && self.asked.iter().all(|asked| asked.holds(world))
    }
}

/// The text of an option; the last of a name counts.
fn given(request: &Request, name: &str) -> Option<String> {
    request.arguments.iter().rev().find(|(n, _)| n == name).map(|(_, text)| text.clone())
}

/// A world that notes what it is asked.
pub(crate) struct WatchedOutside<'a> {
    world: &'a dyn Outside,
    notes: Mutex<Notes>,
}

#[derive(Default)]
struct Notes {
    asked: Vec<Asked>,
    /// The last answer to each question.
    last: FxHashMap<(u8, OsString), Asked>,
    unrepeatable: bool,
}

impl<'a> WatchedOutside<'a> {
    pub(crate) fn new(world: &'a dyn Outside) -> Self {
        WatchedOutside { world, notes: Mutex::default() }
    }

    pub(crate) fn into_reads(self, reads: &mut Reads) {
        let notes = self.notes.into_inner().unwrap_or_else(PoisonError::into_inner);
        (reads.asked, reads.unrepeatable) = (notes.asked, notes.unrepeatable);
    }

    fn note(&self, asked: Asked) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        // What is asked twice was answered twice: the second answer may be of another moment, so both are kept.
        if notes.last.get(&asked.question()) != Some(&asked) {
            notes.last.insert(asked.question(), asked.clone());
            notes.asked.push(asked);
        }
    }

    fn unrepeatable(&self) {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner).unrepeatable = true;
    }
}

impl Outside for WatchedOutside<'_> {
    fn enter(&self, modules: &[&Path]) {
        self.world.enter(modules);
    }

    fn read_file(&self, path: &Path) -> Result<Vec<u8>, Reason> {
        let answer = self.world.read_file(path);
        let copy = answer.as_ref().map(|data| data.as_slice().into()).map_err(Clone::clone);
        self.note(Asked::Read(path.to_path_buf(), copy));
        answer
    }

    fn write_file(&self, path: &Path, data: &[u8], append: bool) -> Result<(), Reason> {
        self.unrepeatable();
        self.world.write_file(path, data, append)
    }

    fn file_op(&self, op: FileOp<'_>) -> Result<FileAnswer, Reason> {
        let answer = self.world.file_op(op);
        match op {
            FileOp::Exists(path) => self.note(Asked::Exists(path.to_path_buf(), answer.clone())),
            FileOp::Size(path) => self.note(Asked::Size(path.to_path_buf(), answer.clone())),
            FileOp::Glob(pattern) => self.note(Asked::Glob(pattern.to_owned(), answer.clone())),
            FileOp::Absolute(path) => self.note(Asked::Absolute(path.to_path_buf(), answer.clone())),
            FileOp::Mkdir(..) | FileOp::Delete(_) | FileOp::Copy(..) | FileOp::Move(..) => {
                self.unrepeatable();
            }
        }
        answer
    }

    fn env(&self, name: &str) -> Option<String> {
        let answer = self.world.env(name);
        self.note(Asked::Env(name.to_owned(), answer.clone()));
        answer
    }

    fn now(&self) -> (i64, u32, i32) {
        self.unrepeatable();
        self.world.now()
    }

    fn random(&self) -> Result<[u8; 16], Reason> {
        self.unrepeatable();
        self.world.random()
    }

    fn call_plugin(&self, module: &str, function: &str, arguments: &str) -> Result<String, String> {
        self.unrepeatable();
        self.world.call_plugin(module, function, arguments)
    }
}
