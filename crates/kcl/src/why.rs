//! Where a value of the output came from: the chain of steps for each path.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use kcl_eval::{OriginKind, Origins};
use kcl_syntax::program::Program;
use kcl_value::{OriginId, Value};

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

/// Chains by output path (`app.spec.replicas`, `list[0].name`).
#[derive(Clone, Debug, Default)]
pub struct Why {
    chains: BTreeMap<String, Vec<WhyStep>>,
    stream: bool,
}

impl Why {
    /// Returns the chain of a path.
    pub fn get(&self, path: &str) -> Option<&[WhyStep]> {
        self.chains.get(path).map(Vec::as_slice)
    }

    /// Returns the line that a person would change for a path: the newest step outside of the model packages.
    pub fn place(&self, path: &str) -> Option<&WhyStep> {
        let steps = self.get(path)?;
        steps.iter().find(|step| step.package == MAIN).or(steps.first())
    }

    /// Whether the output is a stream: paths begin with the number of a document (`[0].kind`).
    pub fn is_stream(&self) -> bool {
        self.stream
    }

    /// Walks all chains in path order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[WhyStep])> {
        self.chains.iter().map(|(path, steps)| (path.as_str(), steps.as_slice()))
    }

    /// Renders the chain of one path as aligned columns, or says which paths there are. Files below a folder are shown without it.
    pub fn render(&self, path: &str, folder: &Path) -> String {
        let Some(steps) = self.get(path) else {
            let near: Vec<&str> =
                self.chains.keys().map(String::as_str).filter(|p| p.starts_with(path)).take(8).collect();
            let top = || self.chains.keys().filter(|p| !p.contains(['.', '['])).map(String::as_str);
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
}

/// Collects the chains of every path of a value.
pub(crate) fn collect(program: &Program, origins: &Origins, (value, stream): (&Value, bool)) -> Why {
    let mut why = Why { stream, ..Why::default() };
    let mut collector = Collector { program, origins, why: &mut why };
    collector.value(value, String::new(), OriginId::default());
    why
}

struct Collector<'a> {
    program: &'a Program,
    origins: &'a Origins,
    why: &'a mut Why,
}

/// Longest chain that is kept.
const MAX_STEPS: usize = 64;

impl Collector<'_> {
    // What a function made has no origins inside: there the one of the whole holds.
    fn value(&mut self, value: &Value, path: String, whole: OriginId) {
        let known = |origin: OriginId| if origin == OriginId::default() { whole } else { origin };
        match value {
            Value::Dict(_) | Value::Schema(_) => {
                for (key, entry) in value.as_dict().into_iter().flat_map(|d| d.iter()) {
                    let at = if path.is_empty() { key.to_string() } else { format!("{path}.{key}") };
                    let origin = known(entry.origin);
                    self.slot(&at, origin);
                    self.value(&entry.value, at, origin);
                }
            }
            Value::List(list) => {
                for (i, item) in list.items.iter().enumerate() {
                    let at = format!("{path}[{i}]");
                    let origin = known(list.origin(i));
                    self.slot(&at, origin);
                    self.value(item, at, origin);
                }
            }
            _ => {}
        }
    }

    fn slot(&mut self, path: &str, origin: OriginId) {
        let mut steps = Vec::new();
        self.chain(origin, &mut steps);
        if !steps.is_empty() {
            self.why.chains.insert(path.to_owned(), steps);
        }
    }

    // Newest first: the step itself, then where its value came from, then what it was laid over; last who made it happen.
    fn chain(&self, origin: OriginId, steps: &mut Vec<WhyStep>) {
        let mut pending = vec![origin];
        let mut frames = Vec::new();
        let mut next = 0;
        // Steps share their past: without this a chain of merges would be walked again at every fork.
        let mut seen = BTreeSet::new();
        while let Some(id) = pending.pop().or_else(|| {
            next += 1;
            frames.get(next - 1).copied()
        }) {
            let Some(row) = self.origins.get(id).filter(|_| seen.insert(id.0)) else { continue };
            if steps.len() >= MAX_STEPS {
                break;
            }
            if let Some(step) = self.step(row)
                && !steps.iter().any(|s| s.file == step.file && s.line == step.line)
            {
                steps.push(step);
            }
            if !frames.contains(&row.frame) {
                frames.push(row.frame);
            }
            pending.push(row.previous);
            pending.push(row.source);
        }
    }

    fn step(&self, row: &kcl_eval::Origin) -> Option<WhyStep> {
        let package = self.program.packages.get(row.package as usize)?;
        let (file, offset) = package.locate(row.span.start);
        let at = self.program.sources.position(file, offset);
        let source = self.program.sources.get(file)?;
        let start = source.lines().line_start(at.line) as usize;
        let text = source.text.get(start..)?.lines().next().unwrap_or("").trim().to_owned();
        let file = source.path.clone();
        let package = package.path.to_string();
        Some(WhyStep { file, line: at.line, column: at.column, text, kind: row.kind, package })
    }
}
