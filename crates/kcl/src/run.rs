//! The whole road: load, check, evaluate, manifest.

use std::sync::Arc;

use base_diag::{Diagnostic, Place, SourceMap};
use kcl_check::{CheckOptions, Edition, PackageTypes};
use kcl_eval::{Options, STACK_BYTES, World, evaluate};
use kcl_syntax::program::Program;

use crate::disk::{Disk, DiskWorld};
use crate::echoes;
use crate::files::Files;
use crate::load::load;
use crate::request::Request;
use crate::session::Session;
use crate::why::Why;

/// What came out of a run.
#[derive(Debug, Default)]
pub struct Outcome {
    /// YAML text without its final newline; empty if there are errors or [`Request::formats`] did not ask for it.
    pub yaml: String,
    /// JSON text on one line, if asked for.
    pub json: String,
    /// JSON text, indented by four spaces, if asked for.
    pub json_pretty: String,
    /// TOML or XML, if asked for.
    pub other: String,
    /// What `print` wrote.
    pub log: String,
    /// Errors, the reference's first one first.
    pub diagnostics: Vec<Diagnostic>,
    /// Texts for rendering them.
    pub sources: SourceMap,
    /// Where every value came from, if [`Request::track_origins`] asked for it.
    pub why: Option<Why>,
}

impl Outcome {
    /// Returns true if the program has no error.
    pub fn is_ok(&self) -> bool {
        self.diagnostics.is_empty()
    }
}

/// Runs a request on the disk, in a session of its own.
pub fn run(request: &Request) -> Outcome {
    let world = DiskWorld::new(&request.work_dir);
    run_in(&Session::new(), request, &Disk, &world)
}

/// Runs a request in a session, on given files and in a given world.
///
/// Evaluation is recursive, so it runs on a deep stack (reserved, not used), unless the caller stands on one already.
pub fn run_in(
    session: &Session,
    request: &Request,
    files: &dyn Files,
    world: &(dyn World + Sync),
) -> Outcome {
    let run = || {
        stacker::maybe_grow(STACK_BYTES - HEAD_ROOM, STACK_BYTES, || run_here(session, request, files, world))
    };
    // A panic is a bug of ours; whoever runs a thousand programs must not lose the others.
    std::panic::catch_unwind(std::panic::AssertUnwindSafe(run))
        .unwrap_or_else(|_| Outcome { diagnostics: vec![internal_error()], ..Outcome::default() })
}

/// What the caller may have used of a deep stack.
const HEAD_ROOM: usize = 1 << 20;

fn internal_error() -> Diagnostic {
    let message = "internal error: the evaluator stopped unexpectedly; please report this program";
    Diagnostic::error(base_diag::Code::EVALUATION, "internal-error", base_diag::Place::None, message)
}

fn run_here(session: &Session, request: &Request, files: &dyn Files, world: &dyn World) -> Outcome {
    let mut loaded = load(session, request, files);
    let mut diagnostics = std::mem::take(&mut loaded.diagnostics);
    let edition = request.edition.or(loaded.edition).unwrap_or_default();
    let options = CheckOptions { edition };
    if !diagnostics.iter().any(|d| d.id == "no-input") {
        let checked = session.check(&loaded, &options);
        use_rewritten_trees(&mut loaded.program, &checked.packages);
        // The rest is given back even by a one-shot run: evaluation uses the memory again.
        diagnostics.extend(checked.diagnostics);
    }
    if !diagnostics.is_empty() {
        let diagnostics = echoes::told(diagnostics, request, &loaded.program.sources);
        return Outcome { diagnostics, sources: loaded.program.sources, ..Outcome::default() };
    }
    let options = eval_options(request, edition, &loaded.root);
    world.enter(&loaded.modules(files));
    let evaluation = evaluate(&loaded.program, &options, world);
    let mut outcome = Outcome { log: evaluation.log, ..Outcome::default() };
    match evaluation.result {
        Ok(output) => {
            write(request, &options, &output, &mut outcome);
            outcome.why =
                output.origins.as_ref().map(|o| crate::why::collect(&loaded.program, o, output.shown()));
            release(request, output);
        }
        Err(fault) => {
            let diagnostic = fault.into_diagnostic(&loaded.program);
            let traced = if options.debug { with_backtrace(diagnostic, &loaded.program) } else { diagnostic };
            outcome.diagnostics.push(traced);
        }
    }
    outcome.sources = std::mem::take(&mut loaded.program.sources);
    release(request, loaded);
    outcome
}

/// `-d`: the frames that were running. There is one: calls have put the line back by the time an error is told.
fn with_backtrace(diagnostic: Diagnostic, program: &Program) -> Diagnostic {
    let place = diagnostic.labels.last().map_or(Place::None, |label| label.place);
    let (file, line) = match place {
        Place::Span(file, span) => (file, program.sources.position(file, span.start).line),
        Place::Line(file, line) => (file, line),
        Place::None => return diagnostic,
    };
    let path = program.sources.get(file).map_or("", |source| &source.path);
    diagnostic.with_note(format!("backtrace:\n\t0: kcl_main\n\t\tat {path}:{line}"))
}

/// Puts the trees that are run in the place of those that were checked, where they are others.
fn use_rewritten_trees(program: &mut Program, types: &[Arc<PackageTypes>]) {
    let borrowed: Vec<_> = program
        .packages
        .iter()
        .zip(types)
        .map(|(package, types)| {
            let tree = package.rewritten.as_ref().unwrap_or(&package.tree);
            types.rewritten(program, package, tree).map(Arc::new)
        })
        .collect();
    let mut borrowed = borrowed.into_iter();
    for package in &mut program.packages {
        if let Some(tree) = package.rewritten.take() {
            package.tree = tree;
        }
        if let Some(tree) = borrowed.next().flatten() {
            package.tree = tree;
        }
    }
}

fn write(request: &Request, options: &Options, output: &kcl_eval::Output, outcome: &mut Outcome) {
    if request.formats.yaml {
        outcome.yaml = output.yaml(options);
    }
    if request.formats.json {
        outcome.json = output.json(options, 0);
    }
    if request.formats.json_pretty {
        outcome.json_pretty = output.json(options, 4);
    }
    if request.formats.toml || request.formats.xml {
        let json = output.json(options, 0);
        let documents: Vec<kcl_value::Value> =
            json.lines().filter_map(|line| kcl_std::value_from_json(line).ok()).collect();
        let text = match request.formats.toml {
            true => crate::formats::toml_text(&documents),
            false => Ok(crate::formats::xml_text(&documents)),
        };
        match text {
            Ok(text) => outcome.other = text,
            Err(message) => outcome.diagnostics.push(Diagnostic::error(
                base_diag::Code::EVALUATION,
                "format",
                base_diag::Place::None,
                message,
            )),
        }
    }
}

/// Drops what a run no longer needs; a process that ends with this run leaves that to the operating system.
fn release<T>(request: &Request, value: T) {
    if request.one_shot {
        std::mem::forget(value);
    }
}

fn eval_options(request: &Request, edition: Edition, root: &std::path::Path) -> Options {
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
        module_root: root.to_path_buf(),
        work_dir: request.work_dir.clone(),
        one_shot: request.one_shot,
    }
}
