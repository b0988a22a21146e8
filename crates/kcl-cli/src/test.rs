//! `kcl test`: the cases of packages, in parallel.

mod examples;
mod inputs;
mod kept;
mod outputs;
mod packages;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use kcl::{Compiler, Coverage, Disk, DiskOutside};
use kcl_test::{Case, Suite};

use crate::EXIT_WRONG;
use crate::flags::{Flag, flags, help, opened};
use crate::parallel::on_all;
use inputs::Inputs;
use outputs::Results;
use packages::Package;

pub(crate) const FLAGS: &[Flag] = flags! {
    "run" None, "REGEX" "only the cases whose name matches";
    "fail-fast" None, "" "stop at the first case that fails";
    "update" Some('u'), "" "keep the snapshots that the cases take, remove those that none takes";
    "coverage" None, "" "tell how much of the tested files ran: lines, branches, check rules";
    "listing" None, "" "with --coverage: print the tested files with how often each line ran";
    "lcov" None, "FILE" "write the coverage in the LCOV format";
    "junit" None, "FILE" "write the results as JUnit XML";
    "json" None, "" "print one JSON object with the result of every case";
    "external" Some('E'), "NAME=PATH" "the folder of an external package";
    "argument" Some('D'), "KEY=VALUE" "a value for option()";
    "seed" None, "N" "the values that properties are tried with (default: 1)";
    "samples" None, "N" "how many values each property is tried with (default: 100)";
    "watch" Some('w'), "" "run again whenever a file changes";
    "error-format" None, "full|short|json" "form of the errors of packages that do not compile";
    "max-steps" None, "N" "stop after N steps of work";
    "max-memory" None, "N" "stop after N value cells";
    "max-depth" None, "N" "stop at N levels of nesting";
    "jobs" Some('j'), "N" "how many cases at a time (default: one per processor)";
    "help" Some('h'), "" "print this";
};

/// How far the time of a change may be behind.
const CLOCK: Duration = Duration::from_millis(25);

pub(crate) fn main(words: &[String]) -> ExitCode {
    let given = match opened("test", FLAGS, words, usage) {
        Ok(given) => given,
        Err(code) => return code,
    };
    let inputs = match Inputs::new(&given) {
        Ok(inputs) => inputs,
        Err(message) => return wrong_call(&message),
    };
    if !given.has("watch") {
        return run(&inputs).0;
    }
    watch(&inputs)
}

fn watch(inputs: &Inputs) -> ! {
    loop {
        let started = SystemTime::now();
        let (_, watched) = run(inputs);
        // A report that was just written has changed its folder.
        let reports: Vec<PathBuf> = inputs.report_folders();
        eprintln!("watching {} files and folders; Ctrl-C ends", watched.len());
        let seen: Vec<_> =
            watched.into_iter().map(|path| (path.clone(), crate::watch::stamp(&path))).collect();
        // What changed while the cases ran was stamped too late. The clock of files is a few milliseconds behind the other.
        let begun = started.checked_sub(CLOCK).unwrap_or(started);
        let late = seen.iter().filter(|(_, stamp)| stamp.is_some_and(|(changed, _)| changed >= begun));
        match late.filter_map(|(path, _)| path.canonicalize().ok()).any(|path| !reports.contains(&path)) {
            true => std::thread::sleep(CLOCK),
            false => drop(crate::watch::next_change(&seen)),
        }
        eprintln!("--- changed, running again");
    }
}

fn usage() -> String {
    format!(
        "Runs the test cases of packages.\n\nExamples:\n  kcl test                       the package of this folder\n  kcl test \
         ./...                 all packages here and below\n  kcl test --run '^test_add'     some cases\n  kcl test --coverage \
         --listing  what the tests did not reach\n  kcl test ./... --junit out.xml --lcov out.info\n\nUsage: kcl test \
         [FOLDER|FOLDER/...]… [flags]\n\n{}\nA case is a top-level `test_NAME = lambda {{..}}` in a file that ends in _test.k; it \
         passes if it runs\nwithout an error. Examples in docstrings are run, too. Exit codes: 0 all pass, 1 one fails or does not compile, 70 a bug of ours.\n",
        help(FLAGS)
    )
}

fn wrong_call(message: &str) -> ExitCode {
    eprintln!("error: {message}\nhelp: `kcl test --help` lists the flags");
    ExitCode::from(EXIT_WRONG)
}

/// Runs everything once; returns what is worth watching, too.
fn run(inputs: &Inputs) -> (ExitCode, Vec<PathBuf>) {
    let compiler = Compiler::new(Disk);
    let (packages, documented, mut results) = packages::load(inputs, &compiler);
    let mut watched: Vec<PathBuf> = results.watched.clone();
    for package in &packages {
        watched.extend(crate::watch::watched(&package.suite.prepared.reads));
        watched.push(package.folder.clone());
    }
    run_cases(inputs, &packages, &mut results);
    watched.extend(kept::files(&packages, &results));
    examples::run(inputs, &documented, &mut results);
    (results.print(inputs), watched)
}

fn run_cases(inputs: &Inputs, packages: &[Package], results: &mut Results) {
    let jobs: Vec<(&Package, &Case)> = packages
        .iter()
        .flat_map(|package| package.suite.cases.iter().map(move |case| (package, case)))
        .filter(|(_, case)| inputs.filter.as_ref().is_none_or(|filter| filter.is_match(&case.name)))
        .collect();
    let first_failed = AtomicUsize::new(usize::MAX);
    let done = on_all(inputs.jobs, jobs.len(), |at| {
        if inputs.fail_fast && first_failed.load(Ordering::Relaxed) < at {
            return None;
        }
        let (package, case) = jobs.get(at)?;
        let world = DiskOutside::new(&inputs.request.work_dir);
        let started = Instant::now();
        let mut ran = package.suite.judge(case, inputs.trial, &world);
        let duration = started.elapsed();
        kept::compare(inputs, package, case, &mut ran);
        if !ran.is_ok() {
            first_failed.fetch_min(at, Ordering::Relaxed);
        }
        Some((ran, duration))
    });
    let end = if inputs.fail_fast { first_failed.into_inner() } else { usize::MAX };
    let mut coverage: Vec<Coverage> = packages.iter().map(|_| Coverage::default()).collect();
    for (at, ((package, case), done)) in jobs.iter().zip(done).enumerate() {
        let Some((ran, duration)) = done.filter(|_| at <= end) else { continue };
        if let (Some(covered), Some(total)) = (&ran.coverage, coverage.get_mut(package.number)) {
            total.add(covered);
        }
        results.add(package, case, ran, duration);
    }
    for (package, coverage) in packages.iter().zip(&coverage) {
        results.cover(inputs, &package.suite, coverage);
    }
    if inputs.filter.is_none() && end == usize::MAX {
        kept::tell_stale(inputs, packages, results);
    }
}

/// The texts of a suite, shown from where one stands.
fn sources(suite: &Suite, inputs: &Inputs) -> base_diag::SourceMap {
    let mut sources = suite.prepared.sources().clone();
    sources.show_from(inputs.request.work_dir.display().to_string());
    sources
}
