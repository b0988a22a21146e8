//! `cargo xtask oracle --fmt|--vet|--lint|--test N [SEED]`: what commands of `kcl` say beside the wheel's parser, `ValidateCode`,
//! `LintPath` and `Test`, on generated programs, packages and data. Scripts make them and compare.

use crate::ChoreResult;
use std::path::Path;
use std::process::{Command, ExitCode};

/// The flag, the script under `xtask/oracle`, and its first words.
const COMMANDS: &[(&str, &str, &[&str])] = &[
    ("--fmt", "fmt.py", &[]),
    ("--vet", "vet.py", &[]),
    ("--lint", "authors.py", &["lint"]),
    ("--test", "authors.py", &["test"]),
];

/// Runs the comparison that a flag names; none if it is no such flag.
pub(super) fn main(flag: &str, words: &[String]) -> Option<ChoreResult> {
    let (_, script, first) = COMMANDS.iter().find(|(name, _, _)| *name == flag)?;
    Some(compare(script, first, words))
}

fn compare(script: &str, first: &[&str], words: &[String]) -> ChoreResult {
    let usage = "usage: cargo xtask oracle --fmt|--vet|--lint|--test N [SEED]";
    let (count, seed) = match words {
        [count] => (count.as_str(), "1"),
        [count, seed] => (count.as_str(), seed.as_str()),
        _ => return Err(usage.into()),
    };
    if count.parse::<u32>().is_err() || seed.parse::<u32>().is_err() {
        return Err(usage.into());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle").join(script);
    let python = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let kcl = crate::bench::kcl_binary()?;
    let status = Command::new(python).arg(script).args(first).arg(kcl).args([count, seed]).status();
    let status = status.map_err(|e| format!("the wheel cannot be asked: {e}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
