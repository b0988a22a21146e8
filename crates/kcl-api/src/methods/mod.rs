//! The methods, one file per family: a message and a budget in, a message out.

pub mod dependencies;
pub mod exec;
pub mod format;
pub mod generate;
pub mod lint;
pub mod options;
pub mod overrides;
pub mod package;
pub mod parse;
pub mod rename;
pub mod schema_types;
pub mod service;
pub mod settings;
pub mod symbol;
pub mod test;
mod tree;
pub mod validate;
pub mod variables;

use std::path::{Path, PathBuf};

use base_diag::{Diagnostic, SourceMap};
use kcl::{Compiler, Disk, Entry, Request};

use crate::messages::{ExternalPkg, ParseProgramArgs};
use crate::{Budget, Failure, texts};

/// The folder that relative paths of a question start from.
fn folder(given: &str) -> Result<PathBuf, Failure> {
    let path = if given.is_empty() { Path::new(".") } else { Path::new(given) };
    match given.is_empty() {
        true => std::env::current_dir(),
        false => std::path::absolute(path),
    }
    .map_err(|error| Failure::wrong(format!("the folder `{given}` cannot be used: {error}")))
}

/// A compiler of the files as they are now, over the packages that other calls with this budget have compiled.
fn compiler(budget: &Budget) -> Compiler<'static> {
    budget.packages.trim(MAX_PACKAGES);
    Compiler::sharing(Disk, budget.packages.clone())
}

/// Bytes of packages that are kept between calls, parsed and checked: half a dozen times the models of Kubernetes.
const MAX_PACKAGES: u64 = 16 << 20;

/// A request without entries.
fn request(work_dir: PathBuf, externals: &[ExternalPkg], budget: &Budget) -> Request {
    let externals = externals.iter().map(|p| (p.pkg_name.clone(), PathBuf::from(&p.pkg_path))).collect();
    Request {
        work_dir,
        externals,
        vendor: kcl::package_folder(),
        limits: budget.limits,
        cancel: Some(budget.cancel.clone()),
        ..Request::default()
    }
}

/// Names with texts: a text that is given stands for the file of the same number.
fn entries(names: &[String], texts: &[String]) -> Vec<Entry> {
    let entry = |(at, name): (usize, &String)| match texts.get(at) {
        Some(text) => Entry::Source { path: name.clone(), text: text.clone() },
        None => Entry::Path(name.clone()),
    };
    names.iter().enumerate().map(entry).collect()
}

/// The request of `paths` and `sources`.
fn parse_request(args: &ParseProgramArgs, budget: &Budget) -> Result<Request, Failure> {
    let mut request = request(folder("")?, &args.external_pkgs, budget);
    request.entries = entries(&args.paths, &args.sources);
    Ok(request)
}

/// A question about no files, or files that are not there, has no answer.
fn refuse_no_input(diagnostics: &[Diagnostic], sources: &SourceMap) -> Result<(), Failure> {
    match diagnostics.iter().find(|diagnostic| diagnostic.id == "no-input") {
        Some(missing) => Err(Failure::wrong(texts::pretty(std::slice::from_ref(missing), sources))),
        None => Ok(()),
    }
}
