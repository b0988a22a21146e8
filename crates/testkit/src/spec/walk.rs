//! Finds the spec files and runs them as ordinary tests.

use super::{Case, check, parse, rewrite};
use crate::{Program, Verdict};
use libtest_mimic::{Arguments, Failed, Trial};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

/// A spec file that was read.
pub struct SpecFile {
    /// Path below the spec root, without `.md`.
    pub name: String,
    /// Where it is.
    pub path: PathBuf,
    /// Its cases.
    pub cases: Vec<Case>,
}

/// Reads all `*.md` below a folder, in order of their path; `README.md` is prose.
///
/// # Errors
/// A folder or file that cannot be read, or does not follow the format.
pub fn load(root: &Path) -> Result<Vec<SpecFile>, String> {
    let mut paths = Vec::new();
    gather(root, &mut paths)?;
    paths.sort();
    let mut files = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let cases = parse(&text).map_err(|e| format!("{}: {e}", path.display()))?;
        let name = path.strip_prefix(root).unwrap_or(&path).with_extension("");
        files.push(SpecFile { name: name.to_string_lossy().into_owned(), path, cases });
    }
    Ok(files)
}

fn gather(folder: &Path, out: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            gather(&path, out)?;
        } else if path.extension().is_some_and(|e| e == "md") && !path.ends_with("README.md") {
            out.push(path);
        }
    }
    Ok(())
}

/// Names of cases that are known to be wrong still. Such a case must fail; once it holds, its line has to go.
const KNOWN_OPEN: &str = "known-open.txt";

/// Runs every case below `root` as a test of its own and reports in the format of `cargo test`.
/// With `UPDATE=1` in the environment the expectations are rewritten first.
pub fn run_as_tests(root: &Path, runner: fn(&Program) -> Verdict) -> ExitCode {
    let arguments = Arguments::from_args();
    let files = match prepare(root, runner) {
        Ok(files) => files,
        Err(message) => {
            let trial = Trial::test("spec files parse", move || Err(Failed::from(message)));
            return libtest_mimic::run(&arguments, vec![trial]).exit_code();
        }
    };
    let open: Vec<String> = std::fs::read_to_string(root.join(KNOWN_OPEN))
        .unwrap_or_default()
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(str::to_owned)
        .collect();
    let mut trials = Vec::new();
    for file in files {
        let file = Arc::new(file);
        for index in 0..file.cases.len() {
            let file = Arc::clone(&file);
            let name = format!("{} > {}", file.name, file.cases[index].name);
            let known_open = open.contains(&name);
            trials.push(Trial::test(name, move || {
                let case = &file.cases[index];
                let verdict = runner(&case.program);
                let judged = check(case, &verdict);
                if known_open {
                    let mended = format!("this case holds now: take it out of spec/{KNOWN_OPEN}");
                    return if judged.is_err() { Ok(()) } else { Err(Failed::from(mended)) };
                }
                judged.map_err(|e| Failed::from(format!("{}:{}\n{e}", file.path.display(), case.line)))
            }));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn prepare(root: &Path, runner: fn(&Program) -> Verdict) -> Result<Vec<SpecFile>, String> {
    let files = load(root)?;
    if std::env::var_os("UPDATE").is_none_or(|value| value != "1") {
        return Ok(files);
    }
    for file in &files {
        let text = std::fs::read_to_string(&file.path).map_err(|e| e.to_string())?;
        let mut runner = runner;
        let new = rewrite(&text, &mut runner)?;
        if new != text {
            std::fs::write(&file.path, new).map_err(|e| format!("{}: {e}", file.path.display()))?;
        }
    }
    load(root)
}
