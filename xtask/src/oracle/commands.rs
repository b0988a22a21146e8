//! `cargo xtask oracle --vet N [SEED]`: verdicts of `kcl vet` beside the wheel's `ValidateCode`, on generated schemas and data.

use crate::ChoreResult;
use std::path::Path;
use std::process::{Command, ExitCode};

pub(super) fn main(words: &[String]) -> ChoreResult {
    let usage = "usage: cargo xtask oracle --vet N [SEED]";
    let (count, seed) = match words {
        [count] => (count.as_str(), "1"),
        [count, seed] => (count.as_str(), seed.as_str()),
        _ => return Err(usage.into()),
    };
    if count.parse::<u32>().is_err() || seed.parse::<u32>().is_err() {
        return Err(usage.into());
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle/vet.py");
    let python = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let kcl = crate::bench::kcl_binary()?;
    let status = Command::new(python).arg(script).arg(kcl).args([count, seed]).status();
    let status = status.map_err(|e| format!("the wheel cannot be asked: {e}"))?;
    Ok(if status.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
