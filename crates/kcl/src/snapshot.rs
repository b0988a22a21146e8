//! What a compiler remembers of the files: each question is asked once, until its path is told to have changed.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;

use crate::files::Files;
use crate::reads::Fact;

/// What a file says, or why it cannot be read.
type Text = Result<Arc<str>, String>;

/// What is known of one path.
struct Known {
    path: Arc<OsStr>,
    text: Option<Text>,
    is_file: Option<bool>,
    is_dir: Option<bool>,
    names: Option<Arc<Vec<String>>>,
    sources: Option<Arc<Vec<String>>>,
}

impl Known {
    fn new(path: &Path) -> Known {
        Known {
            path: path.as_os_str().into(),
            text: None,
            is_file: None,
            is_dir: None,
            names: None,
            sources: None,
        }
    }
}

#[derive(Default)]
struct Table {
    /// How often something was forgotten.
    revision: u64,
    known: FxHashMap<Arc<OsStr>, Box<Known>>,
}

impl Table {
    fn answer<T: Clone>(
        &mut self,
        path: &Path,
        slot: impl Fn(&mut Known) -> &mut Option<T>,
    ) -> Option<(Arc<OsStr>, T)> {
        let known = self.known.get_mut(path.as_os_str())?;
        let answer = slot(known).clone()?;
        Some((known.path.clone(), answer))
    }

    /// Keeps an answer to a question that was asked at a revision; the first one of that revision counts.
    fn keep<T: Clone>(
        &mut self,
        revision: u64,
        path: &Path,
        slot: impl Fn(&mut Known) -> &mut Option<T>,
        answer: T,
    ) -> (Arc<OsStr>, T) {
        // What was asked before a change was told is an answer, but not one to keep.
        if self.revision != revision {
            return (path.as_os_str().into(), answer);
        }
        if let Some(known) = self.known.get_mut(path.as_os_str()) {
            return (known.path.clone(), slot(known).get_or_insert(answer).clone());
        }
        let mut known = Box::new(Known::new(path));
        let path = known.path.clone();
        *slot(&mut known) = Some(answer.clone());
        self.known.insert(path.clone(), known);
        (path, answer)
    }
}

/// The files as they were when somebody first asked.
pub(crate) struct Snapshot<'f> {
    files: Box<dyn Files + 'f>,
    table: Mutex<Table>,
}

impl<'f> Snapshot<'f> {
    pub(crate) fn new(files: impl Files + 'f) -> Self {
        Snapshot { files: Box::new(files), table: Mutex::default() }
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns how often something was forgotten.
    pub(crate) fn revision(&self) -> u64 {
        self.table().revision
    }

    /// Answers from memory, or asks the files; the files are not asked under the lock.
    fn ask<T: Clone>(
        &self,
        path: &Path,
        slot: impl Fn(&mut Known) -> &mut Option<T>,
        ask: impl FnOnce(&dyn Files) -> T,
    ) -> (Arc<OsStr>, T) {
        let revision = {
            let mut table = self.table();
            if let Some(known) = table.answer(path, &slot) {
                return known;
            }
            table.revision
        };
        let answer = ask(&*self.files);
        self.table().keep(revision, path, slot, answer)
    }

    fn texts(&self, paths: &[PathBuf]) -> Vec<(Arc<OsStr>, Text)> {
        let (known, revision) = {
            let mut table = self.table();
            let known = paths.iter().map(|path| table.answer(path, |known| &mut known.text));
            (known.collect::<Vec<_>>(), table.revision)
        };
        let unknown = paths.iter().zip(&known).filter(|(_, known)| known.is_none());
        let unknown: Vec<PathBuf> = unknown.map(|(path, _)| path.clone()).collect();
        let mut read = self.files.read_all(&unknown).into_iter();
        let mut table = self.table();
        let mut answer = |path: &PathBuf| {
            let text = read.next().unwrap_or_else(|| Err(format!("{} was not read", path.display())));
            table.keep(revision, path, |known| &mut known.text, text)
        };
        paths.iter().zip(known).map(|(path, known)| known.unwrap_or_else(|| answer(path))).collect()
    }

    fn text(&self, path: &Path) -> (Arc<OsStr>, Text) {
        self.ask(path, |known| &mut known.text, |files| files.read(path))
    }

    fn is_file(&self, path: &Path) -> (Arc<OsStr>, bool) {
        self.ask(path, |known| &mut known.is_file, |files| files.is_file(path))
    }

    fn is_dir(&self, path: &Path) -> (Arc<OsStr>, bool) {
        self.ask(path, |known| &mut known.is_dir, |files| files.is_dir(path))
    }

    fn names(&self, path: &Path) -> (Arc<OsStr>, Arc<Vec<String>>) {
        let names = |files: &dyn Files| {
            let mut names = files.list(path);
            names.sort_unstable();
            Arc::new(names)
        };
        self.ask(path, |known| &mut known.names, names)
    }

    fn sources(&self, path: &Path) -> (Arc<OsStr>, Arc<Vec<String>>) {
        let found = self.ask(path, |known| &mut known.sources, |files| files.sources(path));
        // They are going to be read.
        self.table().known.reserve(found.1.len());
        found
    }

    /// Whether a question would be answered as it was.
    pub(crate) fn holds(&self, fact: &Fact) -> bool {
        match fact {
            Fact::Text(path, text) => self.text(Path::new(path)).1 == *text,
            Fact::IsFile(path, answer) => self.is_file(Path::new(path)).1 == *answer,
            Fact::IsDir(path, answer) => self.is_dir(Path::new(path)).1 == *answer,
            Fact::Names(path, names) => self.names(Path::new(path)).1 == *names,
            Fact::Sources(path, names) => self.sources(Path::new(path)).1 == *names,
        }
    }

    /// Asks again what is known of these paths, of what is below them, and of the lists of their folders. Returns the files whose
    /// text is another now.
    pub(crate) fn forget(&self, paths: &[PathBuf]) -> Vec<Arc<OsStr>> {
        let touched =
            |known: &Path| paths.iter().any(|path| known.starts_with(path) || path.parent() == Some(known));
        let old: Vec<Box<Known>> = {
            let mut table = self.table();
            table.revision += 1;
            let keys: Vec<_> = table.known.keys().filter(|k| touched(Path::new(k))).cloned().collect();
            keys.into_iter().filter_map(|key| table.known.remove(&key)).collect()
        };
        let read = old.into_iter().filter_map(|known| Some((known.path, known.text?)));
        read.filter(|(path, text)| self.text(Path::new(path)).1 != *text).map(|(path, _)| path).collect()
    }
}

/// The files of one run: answers of the snapshot, and a note of each.
pub(crate) struct Watched<'a> {
    snapshot: &'a Snapshot<'a>,
    /// None if nobody will ask what was read.
    facts: Option<Mutex<Vec<Fact>>>,
}

impl<'a> Watched<'a> {
    pub(crate) fn new(snapshot: &'a Snapshot<'a>) -> Self {
        Watched { snapshot, facts: Some(Mutex::default()) }
    }

    /// As [`Watched::new`], without notes.
    pub(crate) fn without_notes(snapshot: &'a Snapshot<'a>) -> Self {
        Watched { snapshot, facts: None }
    }

    fn note(&self, fact: impl FnOnce() -> Fact) {
        if let Some(facts) = &self.facts {
            facts.lock().unwrap_or_else(PoisonError::into_inner).push(fact());
        }
    }

    /// Returns what was asked, each question once; none without notes.
    pub(crate) fn into_facts(self) -> Option<Vec<Fact>> {
        let mut facts = self.facts?.into_inner().unwrap_or_else(PoisonError::into_inner);
        facts.sort_by(|a, b| a.question().cmp(&b.question()));
        facts.dedup_by(|a, b| a.question() == b.question());
        Some(facts)
    }
}

impl Files for Watched<'_> {
    fn read(&self, path: &Path) -> Result<Arc<str>, String> {
        let (path, text) = self.snapshot.text(path);
        self.note(|| Fact::Text(path, text.clone()));
        text
    }

    fn is_file(&self, path: &Path) -> bool {
        let (path, answer) = self.snapshot.is_file(path);
        self.note(|| Fact::IsFile(path, answer));
        answer
    }

    fn is_dir(&self, path: &Path) -> bool {
        let (path, answer) = self.snapshot.is_dir(path);
        self.note(|| Fact::IsDir(path, answer));
        answer
    }

    fn list(&self, path: &Path) -> Vec<String> {
        let (path, names) = self.snapshot.names(path);
        self.note(|| Fact::Names(path, names.clone()));
        names.to_vec()
    }

    fn sources(&self, path: &Path) -> Arc<Vec<String>> {
        let (path, names) = self.snapshot.sources(path);
        self.note(|| Fact::Sources(path, names.clone()));
        names
    }

    fn read_all(&self, paths: &[PathBuf]) -> Vec<Result<Arc<str>, String>> {
        let read = self.snapshot.texts(paths).into_iter();
        let noted = read.map(|(path, text)| {
            self.note(|| Fact::Text(path, text.clone()));
            text
        });
        noted.collect()
    }

    fn prove(&self, folder: &Path, sum: &str, packages: Option<&Path>) -> Result<(), String> {
        self.snapshot.files.prove(folder, sum, packages)
    }
}
