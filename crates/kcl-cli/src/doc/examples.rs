//! `kcl doc --test`, and a part of `kcl test`: examples in docstrings are programs, and each must run.
//!
//! An example is run with its package in the same scope, so it names schemas as the package itself does. One that imports the
//! module by its name is run as another module would run it. Programs touch nothing: no files, no clock, no plugins.

use std::path::Path;
use std::process::ExitCode;

use base_diag::to_json;
use kcl::{Compiler, Disk, Entry, NoOutside, Request, RunResult};
use kcl_model::{Example, Lines, Package};
use serde_json::{Value, json};

use super::module::Module;
use crate::EXIT_WRONG;
use crate::run::ErrorFormat;

/// One example, and where it stands.
pub(crate) struct Case<'m> {
    /// `package.Schema`.
    pub(crate) name: String,
    pub(crate) file: &'m str,
    pub(crate) line: u32,
    request: Request,
}

/// Runs the examples whose names are wanted, on all cores.
pub(crate) fn tried<'m>(
    module: &'m Module,
    around: &Request,
    wanted: impl Fn(&str) -> bool,
) -> Vec<(Case<'m>, RunResult)> {
    let mut cases = cases(module, around);
    cases.retain(|case| wanted(&case.name));
    let requests: Vec<Request> = cases.iter().map(|case| case.request.clone()).collect();
    let outcomes = Compiler::new(Disk).run_many(&requests, &NoOutside);
    cases.into_iter().zip(outcomes).collect()
}

pub(super) fn run(module: &Module, as_json: bool, format: ErrorFormat) -> ExitCode {
    let tried = tried(module, &Request::default(), |_| true);
    let failed = tried.iter().filter(|(_, outcome)| !outcome.is_ok()).count();
    if as_json {
        let rows: Vec<Value> = tried.iter().map(|(case, outcome)| row(case, outcome)).collect();
        println!("{}", json!({ "passed": tried.len() - failed, "failed": failed, "examples": rows }));
    } else {
        for (case, outcome) in &tried {
            let verdict = if outcome.is_ok() { "ok" } else { "FAILED" };
            println!("{verdict:<6} {} ({}:{})", case.name, case.file, case.line);
            if !outcome.is_ok() {
                let mut sources = outcome.sources.clone();
                sources.show_from(module.root.display().to_string());
                eprint!("{}", crate::run::render(&outcome.diagnostics, &sources, format));
            }
        }
        println!("{} passed, {failed} failed", tried.len() - failed);
    }
    if failed > 0 { ExitCode::from(EXIT_WRONG) } else { ExitCode::SUCCESS }
}

fn row(case: &Case<'_>, outcome: &RunResult) -> Value {
    let errors: Vec<Value> = outcome.diagnostics.iter().map(|d| to_json(d, &outcome.sources)).collect();
    json!({ "schema": case.name, "file": case.file, "line": case.line, "ok": outcome.is_ok(), "errors": errors })
}

fn cases<'m>(module: &'m Module, around: &Request) -> Vec<Case<'m>> {
    let mut found = Vec::new();
    for package in module.model.own_packages() {
        for schema in &package.schemas {
            let Some(place) = &schema.place else { continue };
            for example in &schema.doc.examples {
                let name = match package.path.is_empty() {
                    true => schema.name.clone(),
                    false => format!("{}.{}", package.path, schema.name),
                };
                let request = request(module, around, package, place, example);
                found.push(Case { name, file: &place.file, line: example.line, request });
            }
        }
    }
    found
}

fn request(
    module: &Module,
    around: &Request,
    package: &Package,
    place: &Lines,
    example: &Example,
) -> Request {
    // Empty lines in front, so that errors have the lines of the file that the example stands in.
    let blank = "\n".repeat(example.line.saturating_sub(1) as usize);
    let text = format!("{blank}{}\n", example.code);
    let beside = |name: &str| module.root.join(&place.file).with_file_name(name).display().to_string();
    let file = Path::new(&place.file).file_name().unwrap_or_default().to_string_lossy();
    let source = Entry::Source { path: beside(&format!("{file}#{}", example.line)), text };
    let mut request = Request { work_dir: module.root.clone(), ..around.clone() };
    let name = &module.model.name;
    let foreign = !name.is_empty() && kcl::imports_module(&example.code, name);
    if foreign {
        request.externals.push((name.clone(), module.root.clone()));
    } else {
        let files =
            package.files.iter().map(|file| Entry::Path(module.root.join(file).display().to_string()));
        request.entries.extend(files);
    }
    request.entries.push(source);
    request
}
