//! What the command line means.

use std::path::PathBuf;

use kcl::Request;
use kcl_test::Trial;
use regex::Regex;

use crate::flags::Given;

/// One call.
pub(super) struct Inputs {
    pub(super) words: Vec<String>,
    /// What all packages have in common.
    pub(super) request: Request,
    pub(super) filter: Option<Regex>,
    pub(super) fail_fast: bool,
    pub(super) update: bool,
    pub(super) coverage: bool,
    pub(super) listing: bool,
    pub(super) lcov: Option<PathBuf>,
    pub(super) junit: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) errors: crate::run::ErrorFormat,
    pub(super) trial: Trial,
    pub(super) jobs: usize,
}

impl Inputs {
    /// The folders that reports are written to.
    pub(super) fn report_folders(&self) -> Vec<PathBuf> {
        let folder = |file: &PathBuf| match file.parent() {
            Some(folder) if folder.as_os_str().is_empty() => PathBuf::from(".").canonicalize().ok(),
            folder => folder?.canonicalize().ok(),
        };
        [&self.junit, &self.lcov].into_iter().flatten().filter_map(folder).collect()
    }

    pub(super) fn new(given: &Given) -> Result<Inputs, String> {
        let work_dir = std::env::current_dir().map_err(|e| format!("the working folder is gone: {e}"))?;
        let mut request = Request { work_dir, ..Request::default() };
        let externals = crate::run::pairs(given, "external")?;
        request.externals = externals.into_iter().map(|(name, path)| (name, path.into())).collect();
        for argument in given.all("argument") {
            request.arguments.push(kcl::argument(argument).map_err(|m| format!("{m}: `-D {argument}`"))?);
        }
        request.vendor = kcl::package_folder();
        crate::run::limits(given, &mut request.limits)?;
        let filter = match given.last("run") {
            None => None,
            Some(text) => Some(Regex::new(text).map_err(|e| format!("--run {text}: {e}"))?),
        };
        let file = |flag| given.last(flag).map(PathBuf::from);
        let (lcov, junit) = (file("lcov"), file("junit"));
        let coverage = given.has("coverage") || given.has("listing") || lcov.is_some();
        request.cover = coverage;
        let words = match given.rest.is_empty() {
            true => vec![".".to_owned()],
            false => given.rest.clone(),
        };
        Ok(Inputs {
            words,
            request,
            filter,
            fail_fast: given.has("fail-fast"),
            update: given.has("update"),
            coverage,
            listing: given.has("listing"),
            lcov,
            junit,
            json: given.has("json"),
            errors: crate::run::error_format(given)?,
            trial: trial(given)?,
            jobs: crate::parallel::jobs(given)?,
        })
    }
}

fn trial(given: &Given) -> Result<Trial, String> {
    let mut trial = Trial::default();
    if let Some(text) = given.last("seed") {
        trial.seed = text.parse().map_err(|_| format!("--seed {text}: write a whole number"))?;
    }
    if let Some(text) = given.last("samples") {
        let samples = text.parse().ok().filter(|samples| (1..=1_000_000).contains(samples));
        trial.samples =
            samples.ok_or_else(|| format!("--samples {text}: write a number from 1 to 1000000"))?;
    }
    Ok(trial)
}
