//! The façade of this repository as a runner: programs in memory, no world around them.

use crate::{Fault, Output, Program, Verdict};
use base_diag::{Diagnostic, Place, SourceMap};
use kcl::{Compiler, MemoryFiles, NoOutside, Request, RunResult};
use std::path::{Path, PathBuf};

/// Where the files of a program seem to be.
const ROOT: &str = "/program";

/// Runs a program.
pub fn run(program: &Program) -> Verdict {
    repeat(program, 1)
}

/// Runs a program with budgets that end it within a fraction of a second, whatever it does.
pub fn run_small(program: &Program) -> Verdict {
    let limits = kcl::Limits { steps: 200_000, cells: 200_000, ..kcl::Limits::default() };
    repeat_within(program, 1, limits)
}

/// Runs a program several times with one compiler, as one process that serves many, and returns the last verdict.
pub fn repeat(program: &Program, runs: u32) -> Verdict {
    repeat_within(program, runs, kcl::Limits::default())
}

fn repeat_within(program: &Program, runs: u32, limits: kcl::Limits) -> Verdict {
    let mut files = MemoryFiles::default();
    for file in &program.files {
        files.add(Path::new(ROOT).join(&file.path), file.text.as_str());
    }
    let request = match request(program) {
        Ok(request) => Request { limits, ..request },
        Err(message) => return Verdict::Broken(message),
    };
    let compiler = Compiler::new(&files);
    let mut outcome = RunResult::default();
    kcl::deep(|| {
        for _ in 0..runs {
            outcome = compiler.run(&request, &NoOutside);
        }
    });
    verdict(outcome)
}

fn request(program: &Program) -> Result<Request, String> {
    let flags = &program.flags;
    let mut request = Request::paths(program.entries().map(|file| file.path.clone()));
    request.work_dir = PathBuf::from(ROOT);
    for option in &flags.options {
        request.arguments.push(kcl::argument(option).map_err(|e| format!("{option}: {e:?}"))?);
    }
    request.overrides = flags.overrides.clone();
    request.selectors = flags.selectors.clone();
    for external in &flags.externals {
        let (name, path) = external.split_once('=').ok_or("-E name=path")?;
        request.externals.push((name.into(), Path::new(ROOT).join(path)));
    }
    request.output.disable_none = flags.disable_none;
    request.output.sort_keys = flags.sort_keys;
    request.output.show_hidden = flags.show_hidden;
    request.strict_range = flags.strict_range;
    request.debug = flags.debug;
    Ok(request)
}

fn verdict(outcome: RunResult) -> Verdict {
    match outcome.diagnostics.first() {
        None => Verdict::Output(Output { yaml: outcome.yaml, json: outcome.json, log: outcome.log }),
        Some(first) if first.id == "internal-error" => Verdict::Broken(first.message().to_string()),
        Some(first) => Verdict::Fault(fault(first, &outcome.sources)),
    }
}

fn fault(diagnostic: &Diagnostic, sources: &SourceMap) -> Fault {
    let mut fault = Fault {
        code: diagnostic.code.code.to_string(),
        kind: diagnostic.code.kind.to_string(),
        message: diagnostic.message().to_string(),
        ..Fault::default()
    };
    let file = match diagnostic.place() {
        Place::Span(file, span) => {
            let position = sources.position(file, span.start);
            fault.line = position.line;
            fault.column = Some(position.column);
            file
        }
        Place::Line(file, line) => {
            // A run-time error knows only its line; the reference writes that as column 1.
            fault.line = line;
            fault.column = Some(1);
            file
        }
        Place::None => return fault,
    };
    if let Some(source) = sources.get(file) {
        fault.file =
            source.path.strip_prefix(ROOT).map_or(source.path.as_str(), |p| p.trim_start_matches('/')).into();
    }
    fault
}
