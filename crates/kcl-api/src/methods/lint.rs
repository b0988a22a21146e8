//! `LintPath`: what is wrong or probably not meant, as sentences.

use kcl::{Analysis, Entry};
use kcl_lint::{Config, Input};

use super::{compiler, folder, request};
use crate::messages::{LintPathArgs, LintPathResult};
use crate::{Answer, Budget, Failure};

/// Judges files as one program.
///
/// # Errors
/// A `kcl.mod` whose section about lint cannot be read.
pub fn lint_path(args: &LintPathArgs, budget: &Budget) -> Answer<LintPathResult> {
    let mut request = request(folder("")?, &[], budget);
    request.entries = args.paths.iter().cloned().map(Entry::Path).collect();
    let analysis = compiler(budget).analyse(&request);
    let text = std::fs::read_to_string(analysis.root.join("kcl.mod")).unwrap_or_default();
    let config = Config::parse(&text).map_err(|why| Failure::wrong(format!("kcl.mod: {why}")))?;
    let mut results: Vec<String> = analysis.diagnostics.iter().map(|d| d.message().to_owned()).collect();
    results.extend(findings(&analysis, &config));
    Ok(LintPathResult { results })
}

fn findings(analysis: &Analysis, config: &Config) -> Vec<String> {
    let Some(index) = analysis.index.as_ref() else { return Vec::new() };
    let (program, package) = (&analysis.program, analysis.program.main);
    let (homes, errors) = (&analysis.homes, &analysis.diagnostics);
    let input = Input { program, package, index, homes, is_program: true, errors };
    kcl_lint::lint(&input, config).into_iter().map(|finding| finding.message).collect()
}
