//! `Test` and `FormatTestReport`: the cases of packages.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use kcl::{Coverage, DiskOutside, Request, sources};
use kcl_test::coverage::{Covered, Ratio};
use kcl_test::report::{Row, text};
use kcl_test::snapshots::{self, FOLDER};
use kcl_test::{Suite, Trial};
use regex::Regex;

use super::compiler;
use super::exec::run_request;
use crate::messages::{
    CoverageSummary, FileCoverage, FormatTestReportArgs, FormatTestReportResult, TestArgs, TestCaseInfo,
    TestCoverageReport, TestResult,
};
use crate::{Answer, Budget, Failure, texts};

/// Runs the cases of packages: `FOLDER`, or `FOLDER/...` for everything below.
///
/// # Errors
/// A folder that is not there, a package that does not compile, or a filter that is no regular expression.
pub fn test(args: &TestArgs, budget: &Budget) -> Answer<TestResult> {
    let exec = args.exec_args.clone().unwrap_or_default();
    let mut request = run_request(&exec, budget)?;
    request.cover = args.coverage;
    let filter = match args.run_regexp.as_str() {
        "" => None,
        pattern => Some(Regex::new(pattern).map_err(|e| Failure::wrong(format!("run_regexp: {e}")))?),
    };
    let mut job = Job { budget, request: &request, filter, args, info: Vec::new(), covered: BTreeMap::new() };
    for (folder, files) in packages(args, &request.work_dir)? {
        if job.package(&folder, &files)? {
            break;
        }
    }
    let coverage = args.coverage.then(|| report(&job.covered));
    Ok(TestResult { info: job.info, coverage })
}

/// The folders with test files.
fn packages(args: &TestArgs, work_dir: &Path) -> Answer<BTreeMap<PathBuf, Vec<PathBuf>>> {
    let words: Vec<String> =
        args.pkg_list.iter().map(|word| work_dir.join(word).display().to_string()).collect();
    let mut found = sources::find(&words);
    if let Some((path, why)) = found.errors.first() {
        return Err(Failure::wrong(format!("{path} {why}")));
    }
    let mut folders = found.folders();
    folders.retain(|_, files| files.iter().any(|file| kcl_test::is_test_file(&file.to_string_lossy())));
    Ok(folders)
}

struct Job<'a> {
    budget: &'a Budget,
    request: &'a Request,
    filter: Option<Regex>,
    args: &'a TestArgs,
    info: Vec<TestCaseInfo>,
    covered: BTreeMap<String, Covered>,
}

impl Job<'_> {
    /// Runs the cases of one package; true if that is enough.
    fn package(&mut self, folder: &Path, files: &[PathBuf]) -> Answer<bool> {
        let texts_of = sources::texts(files).map_err(Failure::wrong)?;
        let compiler = compiler(self.budget);
        let request = kcl_test::request(self.request, &folder.display().to_string(), &texts_of);
        let suite = Suite::new(&compiler, &request)
            .map_err(|wrong| Failure::wrong(texts::pretty(&wrong.diagnostics, &wrong.sources)))?;
        let mut total = Coverage::default();
        let mut enough = false;
        for case in &suite.cases {
            if self.filter.as_ref().is_some_and(|filter| !filter.is_match(&case.name)) {
                continue;
            }
            let world = DiskOutside::new(&self.request.work_dir);
            let started = Instant::now();
            let mut ran = suite.judge(case, Trial::default(), &world);
            let kept = |file: &str| std::fs::read_to_string(folder.join(FOLDER).join(file)).ok();
            snapshots::compare(case, &mut ran, kept);
            let duration = started.elapsed().as_micros() as u64;
            if let Some(covered) = &ran.coverage {
                total.add(covered);
            }
            let told = |f: &kcl_test::Failure| {
                texts::pretty(std::slice::from_ref(&f.diagnostic), suite.prepared.sources())
            };
            let error = ran.failure.as_ref().map(told).unwrap_or_default();
            enough = self.args.fail_fast && !error.is_empty();
            let name = case.name.to_string();
            self.info.push(TestCaseInfo {
                name,
                error,
                duration,
                log_message: ran.log,
                ..Default::default()
            });
            if enough || self.request.cancel.as_ref().is_some_and(kcl::Cancel::is_cancelled) {
                break;
            }
        }
        if self.args.coverage {
            let root = folder.display().to_string();
            kcl_test::coverage::unite(
                &mut self.covered,
                kcl_test::coverage::of(&suite.prepared, &total, &root),
            );
        }
        Ok(enough)
    }
}

fn report(covered: &BTreeMap<String, Covered>) -> TestCoverageReport {
    let mut all = Ratio::default();
    let mut files = BTreeMap::new();
    for (path, file) in covered {
        all.add(file.line_ratio());
        let ran = file.lines.iter().filter(|(_, hits)| **hits > 0);
        files.insert(
            path.clone(),
            FileCoverage {
                filename: path.clone(),
                covered_lines: ran.clone().map(|(line, _)| u64::from(*line)).collect(),
                executable_lines: file.lines.keys().map(|line| u64::from(*line)).collect(),
                line_hits: ran.map(|(line, hits)| (u64::from(*line), *hits)).collect(),
            },
        );
    }
    let (covered, executable, percent) = (all.covered as u64, all.all as u64, all.percent());
    TestCoverageReport { files, summary: Some(CoverageSummary { covered, executable, percent }) }
}

/// Writes the results of cases as the reference's report.
///
/// # Errors
/// None.
pub fn format_test_report(args: &FormatTestReportArgs, _: &Budget) -> Answer<FormatTestReportResult> {
    let info = args.result.as_ref().map(|result| result.info.as_slice()).unwrap_or_default();
    let row = |case: &TestCaseInfo| Row {
        name: case.name.clone(),
        duration: Duration::from_micros(case.duration),
        log: case.log_message.clone(),
        error: case.error.clone(),
        ..Row::default()
    };
    Ok(FormatTestReportResult { report: text(&info.iter().map(row).collect::<Vec<_>>()) })
}
