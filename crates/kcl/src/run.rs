//! The whole road: load, check, evaluate, manifest.

use std::sync::Arc;

use base_diag::{Diagnostic, Place, SourceMap};
use kcl_check::{CheckOptions, Edition};
use kcl_eval::{Options, Outline, Outside, STACK_BYTES, evaluate};
use kcl_syntax::program::Program;

use crate::compiler::{Compiler, Keep, make_runnable};
use crate::data::{Data, MAX_DEPTH};
use crate::disk::{Disk, DiskOutside};
use crate::echoes;
use crate::load::{Loaded, load};
use crate::mistake::Mistake;
use crate::reads::{Reads, WatchedOutside};
use crate::request::Request;
use crate::snapshot::Watched;
use crate::why::Why;

/// What came out of a run.
#[derive(Debug, Default)]
pub struct RunResult {
    /// YAML text without its final newline; empty if there are errors or [`Request::formats`] did not ask for it.
    pub yaml: String,
    /// JSON text on one line, if asked for.
    pub json: String,
    /// JSON text, indented by four spaces, if asked for.
    pub json_pretty: String,
    /// TOML or XML, if asked for.
    pub other: String,
    /// The output as plain data, one tree per document, if asked for.
    pub documents: Vec<Data>,
    /// What `print` wrote.
    pub log: String,
    /// Errors, the reference's first one first.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts for rendering them.
    pub sources: SourceMap,
    /// What the result depends on.
    pub reads: Reads,
    /// File and line of the call of `manifests.yaml_stream` that replaced the output, if there was one.
    pub stream_at: Option<(String, u32)>,
    /// Where every value came from, if [`Request::track_origins`] asked for it.
    pub why: Option<Why>,
}

impl RunResult {
    /// Returns true if the program has no error.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Runs a request on the disk, with a compiler of its own.
pub fn run(request: &Request) -> RunResult {
    let world = DiskOutside::new(&request.work_dir);
    Compiler::new(Disk).run(request, &world)
}

/// Calls a function on a deep stack, unless the caller stands on one already: many runs inside it share that stack.
pub fn deep<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_BYTES + HEAD_ROOM, STACK_BYTES + 2 * HEAD_ROOM, work)
}

/// What callers may use of a deep stack before a run begins.
const HEAD_ROOM: usize = 1 << 20;

/// A panic is a bug of ours; whoever runs a thousand programs must not lose the others.
pub(crate) fn run_guarded(
    compiler: &Compiler<'_>,
    request: &Request,
    files: &Watched<'_>,
    world: &dyn Outside,
) -> RunResult {
    let run = || deep_here(|| run_here(compiler, request, files, world));
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
        .unwrap_or_else(|_| RunResult { diagnostics: vec![internal_error()], ..RunResult::default() })
}

/// What is left of a run that somebody stopped.
fn cancelled() -> RunResult {
    let diagnostic = Diagnostic::of(&Mistake::Cancelled, Place::None);
    RunResult { diagnostics: vec![diagnostic], ..RunResult::default() }
}

pub(crate) fn internal_error() -> Diagnostic {
    Diagnostic::of(&Mistake::InternalError, Place::None)
}

/// A program that can run.
pub(crate) struct Ready {
    pub(crate) loaded: Loaded,
    pub(crate) outlines: Vec<Arc<Outline>>,
    pub(crate) edition: Edition,
}

/// Calls a function on a stack that is deep enough for one run.
pub(crate) fn deep_here<T>(work: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(STACK_BYTES, STACK_BYTES + HEAD_ROOM, work)
}

/// Loads and checks a program.
pub(crate) fn prepare_here(
    compiler: &Compiler<'_>,
    request: &Request,
    files: &Watched<'_>,
) -> Result<Ready, Box<RunResult>> {
    let mut loaded = load(compiler, request, files);
    if request.is_cancelled() {
        return Err(Box::new(cancelled()));
    }
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    let edition = request.edition.or(loaded.edition).unwrap_or_default();
    let mut units = Vec::new();
    if !diagnostics.iter().any(|d| d.id == "no-input") {
        let (checked, found) = compiler.check(&loaded, CheckOptions { edition }, request, Keep::Types);
        diagnostics.extend(found);
        units = checked;
    }
    if request.is_cancelled() {
        return Err(Box::new(cancelled()));
    }
    if !diagnostics.is_empty() {
        let diagnostics = echoes::told(diagnostics, request, &loaded.program.sources);
        let sources = loaded.program.sources;
        return Err(Box::new(RunResult { diagnostics, sources, ..RunResult::default() }));
    }
    let outlines = make_runnable(&mut loaded.program, &units);
    // What was checked is given back even by a one-shot run: evaluation uses the memory again.
    drop(units);
    Ok(Ready { loaded, outlines, edition })
}

fn run_here(
    compiler: &Compiler<'_>,
    request: &Request,
    files: &Watched<'_>,
    world: &dyn Outside,
) -> RunResult {
    let Ready { mut loaded, outlines, edition } = match prepare_here(compiler, request, files) {
        Ok(ready) => ready,
        Err(outcome) => return *outcome,
    };
    let options = eval_options(request, edition, &loaded.root);
    let world = WatchedOutside::new(world);
    world.enter(&loaded.modules(files));
    let evaluation = evaluate(&loaded.program, &outlines, &options, &world);
    let mut outcome = RunResult { log: evaluation.log, ..RunResult::default() };
    match evaluation.result {
        Ok(mut output) => {
            write(request, &options, &output, &mut outcome);
            outcome.stream_at = line_of(output.replaced_at, &loaded.program);
            let origins = output.origins.take();
            outcome.why = origins.map(|rows| crate::why::collect(&loaded.program, rows, output.shown()));
            release(request, output);
        }
        Err(fault) => {
            let diagnostic = fault.into_diagnostic(&loaded.program);
            let traced = if options.debug { with_backtrace(diagnostic, &loaded.program) } else { diagnostic };
            outcome.diagnostics.push(traced);
        }
    }
    let others = evaluation.others.into_iter().map(|fault| fault.into_diagnostic(&loaded.program));
    outcome.diagnostics.extend(others);
    world.into_reads(&mut outcome.reads);
    outcome.reads.set_options(&evaluation.asked, request);
    outcome.sources = std::mem::take(&mut loaded.program.sources);
    release(request, (loaded, outlines));
    outcome
}

/// `-d`: the frames that were running. There is one: calls have put the line back by the time an error is told.
fn with_backtrace(diagnostic: Diagnostic, program: &Program) -> Diagnostic {
    let place = diagnostic.labels.last().map_or(Place::None, |label| label.place);
    match line_of(place, program) {
        Some((path, line)) => {
            diagnostic.with_note(format!("backtrace:\n\t0: kcl_main\n\t\tat {path}:{line}"))
        }
        None => diagnostic,
    }
}

/// The file and the line of a place.
fn line_of(place: Place, program: &Program) -> Option<(String, u32)> {
    let (file, line) = match place {
        Place::Span(file, span) => (file, program.sources.position(file, span.start).line),
        Place::Line(file, line) => (file, line),
        Place::None => return None,
    };
    Some((program.sources.get(file).map_or_else(String::new, |source| source.path.clone()), line))
}

fn write(request: &Request, options: &Options, output: &kcl_eval::Output, outcome: &mut RunResult) {
    if request.formats.yaml {
        outcome.yaml = output.yaml(options);
    }
    if request.formats.json {
        outcome.json = output.json(options, 0);
    }
    if request.formats.json_pretty {
        outcome.json_pretty = output.json(options, 4);
    }
    if request.formats.data || request.formats.toml || request.formats.xml {
        match documents(options, output) {
            Ok(documents) => outcome.documents = documents,
            Err(diagnostic) => outcome.diagnostics.push(*diagnostic),
        }
    }
    if request.formats.toml || request.formats.xml {
        let text = match request.formats.toml {
            true => crate::formats::toml_text(&outcome.documents),
            false => Ok(crate::formats::xml_text(&outcome.documents)),
        };
        match text {
            Ok(text) => outcome.other = text,
            Err(mistake) => outcome.diagnostics.push(Diagnostic::of(&mistake, Place::None)),
        }
    }
}

fn documents(options: &Options, output: &kcl_eval::Output) -> Result<Vec<Data>, Box<Diagnostic>> {
    if output.replaced.is_none() && output.value.is_undefined() {
        return Ok(vec![Data::Map(Vec::new())]);
    }
    let (values, written) = output.documents(options);
    values
        .into_iter()
        .map(|value| Data::of(value, &written))
        .collect::<Option<_>>()
        .ok_or_else(|| Box::new(Diagnostic::of(&Mistake::OutputTooDeep { levels: MAX_DEPTH }, Place::None)))
}

/// Drops what a run no longer needs; a process that ends with this run leaves that to the operating system.
fn release<T>(request: &Request, value: T) {
    if request.one_shot {
        std::mem::forget(value);
    }
}

pub(crate) fn eval_options(request: &Request, edition: Edition, root: &std::path::Path) -> Options {
    let arguments = request
        .arguments
        .iter()
        .map(|(name, json)| {
            let value = kcl_std::value_from_json(json).unwrap_or_else(|_| json.as_str().into());
            (name.as_str().into(), value)
        })
        .collect();
    Options {
        arguments,
        strict_range: request.strict_range,
        debug: request.debug,
        selectors: request.selectors.clone(),
        output: request.output,
        track_origins: request.track_origins,
        edition_013: edition == Edition::V0_13,
        max_steps: request.limits.steps,
        max_cells: request.limits.cells,
        max_depth: request.limits.depth,
        cancel: request.cancel.clone(),
        module_root: root.to_path_buf(),
        work_dir: request.work_dir.clone(),
        cover: request.cover,
        keep_going: request.keep_going,
        one_shot: request.one_shot,
    }
}
