//! Where a value of the output came from: the chain of steps for each path.
//!
//! A run leaves rows (each step, and which steps it came from) and, for every value of the output, its row. A chain of places is
//! put together only for the value that somebody asks about.

use std::collections::BTreeSet;
use std::path::Path;

use base_diag::{FileId, SourceMap};
use indexmap::IndexMap;

use kcl_eval::{OriginKind, Origins};
use kcl_syntax::program::{Package, Program};
use kcl_value::{OriginId, Str, Value};
use rustc_hash::FxBuildHasher;

/// Package of the user's own files.
const MAIN: &str = "__main__";

/// One step of a chain, newest first.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WhyStep {
    /// File as it was loaded.
    pub file: String,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1.
    pub column: u32,
    /// The source line, trimmed.
    pub text: String,
    /// What happened there.
    pub kind: OriginKind,
    /// Package of the file; models are imported packages, the user's own files are `__main__`.
    pub package: String,
}

/// Where every value of an output came from. Paths are written `app.spec.replicas`, `list[0].name`.
#[derive(Clone, Debug, Default)]
pub struct Why {
    top: Slot,
    stream: bool,
    rows: Origins,
    packages: Vec<Package>,
    sources: SourceMap,
}

/// The row of a value, and those of the values in it.
#[derive(Clone, Debug, Default)]
struct Slot {
    origin: OriginId,
    inner: Inner,
}

#[derive(Clone, Debug, Default)]
enum Inner {
    #[default]
    Nothing,
    Items(Vec<Slot>),
    Entries(IndexMap<Str, Slot, FxBuildHasher>),
}

/// A value of the output, to ask where it came from.
#[derive(Clone, Copy)]
pub struct WhyAt<'w> {
    why: &'w Why,
    slot: &'w Slot,
}

impl<'w> WhyAt<'w> {
    /// Returns an entry of a map.
    pub fn key(self, key: &str) -> Option<WhyAt<'w>> {
        match &self.slot.inner {
            Inner::Entries(entries) => entries.get(key).map(|slot| WhyAt { slot, ..self }),
            _ => None,
        }
    }

    /// Returns an item of a list.
    pub fn index(self, index: usize) -> Option<WhyAt<'w>> {
        match &self.slot.inner {
            Inner::Items(items) => items.get(index).map(|slot| WhyAt { slot, ..self }),
            _ => None,
        }
    }

    /// Returns the newest step that a test accepts.
    pub fn find(self, mut accept: impl FnMut(&WhyStep) -> bool) -> Option<WhyStep> {
        let mut found = None;
        self.why.chain(self.slot.origin, |step| {
            let hit = accept(&step);
            found = hit.then_some(step);
            !hit
        });
        found
    }

    /// Returns the steps, newest first.
    pub fn steps(self) -> Vec<WhyStep> {
        let mut steps = Vec::new();
        self.why.chain(self.slot.origin, |step| {
            steps.push(step);
            true
        });
        steps
    }
}

impl Why {
    /// Returns the whole output.
    pub fn top(&self) -> WhyAt<'_> {
        WhyAt { why: self, slot: &self.top }
    }

    /// Returns the value at a path.
    pub fn at(&self, path: &str) -> Option<WhyAt<'_>> {
        find(&self.top, path).map(|slot| WhyAt { why: self, slot })
    }

    /// Returns the chain of a path.
    pub fn get(&self, path: &str) -> Option<Vec<WhyStep>> {
        self.at(path).filter(|_| !path.is_empty()).map(WhyAt::steps).filter(|steps| !steps.is_empty())
    }

    /// Returns the line that a person would change for a path: the newest step outside of the model packages.
    pub fn place(&self, path: &str) -> Option<WhyStep> {
        let at = self.at(path)?;
        at.find(|step| step.package == MAIN).or_else(|| at.find(|_| true))
    }

    /// Whether the output is a stream: paths begin with the number of a document (`[0].kind`).
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// Returns the paths of all values that have a chain, sorted.
    fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        list(&self.top, String::new(), &mut |path, slot| {
            if self.rows.get(slot.origin).is_some() {
                paths.push(path.to_owned());
            }
        });
        paths.sort();
        paths.dedup();
        paths
    }

    /// Renders the chain of one path as aligned columns, or says which paths there are. Files below a folder are shown without it.
    pub fn render(&self, path: &str, folder: &Path) -> String {
        let Some(steps) = self.get(path) else {
            let paths = self.paths();
            let near: Vec<&str> =
                paths.iter().map(String::as_str).filter(|p| p.starts_with(path)).take(8).collect();
            let top = || paths.iter().filter(|p| !p.contains(['.', '['])).map(String::as_str);
            return match near.is_empty() {
                true => {
                    let known: Vec<&str> = top().take(8).collect();
                    format!("the output has no value at `{path}`\nhelp: there is: {}\n", known.join(", "))
                }
                false => {
                    format!("the output has no value at `{path}` itself; try one of: {}\n", near.join(", "))
                }
            };
        };
        let shown = |file: &str| {
            let path = Path::new(file);
            path.strip_prefix(folder).unwrap_or(path).display().to_string()
        };
        let places: Vec<String> = steps.iter().map(|s| format!("{}:{}", shown(&s.file), s.line)).collect();
        let place_width = places.iter().map(String::len).max().unwrap_or(0);
        let text_width = steps.iter().map(|s| s.text.chars().count()).max().unwrap_or(0);
        let mut out = String::new();
        for (step, place) in steps.iter().zip(&places) {
            let pad = " ".repeat(text_width - step.text.chars().count());
            out.push_str(&format!("{place:place_width$}  {}{pad}  {}\n", step.text, step.kind.words()));
        }
        out
    }

    // Newest first: the step itself, then where its value came from, then what it was laid over; last who made it happen. Ends
    // when nobody wants more.
    fn chain(&self, origin: OriginId, mut tell: impl FnMut(WhyStep) -> bool) {
        let mut told: Vec<(FileId, u32)> = Vec::new();
        let mut pending = vec![origin];
        let mut frames = Vec::new();
        let mut next = 0;
        // Steps share their past: without this a chain of merges would be walked again at every fork.
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop().or_else(|| {
            next += 1;
            frames.get(next - 1).copied()
        }) {
            let Some(row) = self.rows.get(id).filter(|_| seen.insert(id.0)) else { continue };
            if told.len() >= MAX_STEPS {
                break;
            }
            if let Some((file, step)) = self.step(row)
                && !told.contains(&(file, step.line))
            {
                told.push((file, step.line));
                if !tell(step) {
                    break;
                }
            }
            if !frames.contains(&row.frame) {
                frames.push(row.frame);
            }
            pending.push(row.previous);
            pending.push(row.source);
        }
    }

    fn step(&self, row: &kcl_eval::Origin) -> Option<(FileId, WhyStep)> {
        let package = self.packages.get(row.package as usize)?;
        let (file, offset) = package.locate(row.span.start);
        let at = self.sources.position(file, offset);
        let source = self.sources.get(file)?;
        let start = source.lines().line_start(at.line) as usize;
        let text = source.text.get(start..)?.lines().next().unwrap_or("").trim().to_owned();
        let (path, package) = (source.path.clone(), package.path.to_string());
        let step = WhyStep { file: path, line: at.line, column: at.column, text, kind: row.kind, package };
        Some((file, step))
    }
}

/// Values that nest deeper have no origins of their own.
const MAX_DEPTH: usize = 1000;

/// Longest chain that is kept.
const MAX_STEPS: usize = 64;

/// Takes from a run what is needed to answer later.
pub(crate) fn collect(program: &Program, rows: Origins, (value, stream): (&Value, bool)) -> Why {
    let packages = program.packages.iter().map(|package| Package { imports: Vec::new(), ..package.clone() });
    Why {
        top: slot(value, OriginId::default(), 0),
        stream,
        rows,
        packages: packages.collect(),
        sources: program.sources.clone(),
    }
}

// What a function made has no origins inside: there the one of the whole holds.
fn slot(value: &Value, origin: OriginId, depth: usize) -> Slot {
    let known = |inner: OriginId| if inner == OriginId::default() { origin } else { inner };
    let inner = match value {
        _ if depth >= MAX_DEPTH => Inner::Nothing,
        Value::Dict(_) | Value::Schema(_) => {
            let entries = value.as_dict().into_iter().flat_map(|dict| dict.iter());
            let entries =
                entries.map(|(key, entry)| (key.clone(), slot(&entry.value, known(entry.origin), depth + 1)));
            Inner::Entries(entries.collect())
        }
        Value::List(list) => {
            let items = list.items.iter().enumerate();
            Inner::Items(items.map(|(i, item)| slot(item, known(list.origin(i)), depth + 1)).collect())
        }
        _ => Inner::Nothing,
    };
    Slot { origin, inner }
}

/// Finds a path. A key may have dots and brackets itself, so every key that the path can begin with is tried.
fn find<'s>(slot: &'s Slot, path: &str) -> Option<&'s Slot> {
    if path.is_empty() {
        return Some(slot);
    }
    match &slot.inner {
        Inner::Nothing => None,
        Inner::Items(items) => {
            let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
            find(items.get(index.parse::<usize>().ok()?)?, rest)
        }
        Inner::Entries(entries) => {
            let path = path.strip_prefix('.').unwrap_or(path);
            let mut ends = path.match_indices(['.', '[']).map(|(at, _)| at).chain([path.len()]).rev();
            ends.find_map(|end| find(entries.get(&path[..end])?, &path[end..]))
        }
    }
}

fn list(slot: &Slot, path: String, see: &mut dyn FnMut(&str, &Slot)) {
    if !path.is_empty() {
        see(&path, slot);
    }
    match &slot.inner {
        Inner::Nothing => {}
        Inner::Items(items) => {
            items.iter().enumerate().for_each(|(i, item)| list(item, format!("{path}[{i}]"), see));
        }
        Inner::Entries(entries) => {
            for (key, entry) in entries {
                let path = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                list(entry, path, see);
            }
        }
    }
}
