//! `cargo xtask record WHAT`: what the real server answers, as fixtures for the tests of `kube-meaning`.
//!
//! In: generators and samples of `kube-sequences`. Out: files in `crates/kube-meaning/fixtures/`, the same on every run.
//! The server runs without controllers: only the writers of a recording touch its objects.

use std::path::Path;
use std::process::ExitCode;

use testenv::{ControlPlane, Options};

use crate::ChoreResult;

mod quantities;
mod samples;
mod ssa;
mod vault;

const FOLDER: &str = "../crates/kube-meaning/fixtures";

/// Entry point.
pub(crate) fn main(words: &[String]) -> ChoreResult {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["vault"] => return vault::main(false),
        ["vault", "--check"] => return vault::main(true),
        _ => {}
    }
    let record = match words.as_slice() {
        ["ssa"] => ssa::record,
        ["quantities"] => quantities::record,
        ["samples"] => samples::record,
        _ => return Err("usage: cargo xtask record ssa|samples|quantities|vault [--check]".into()),
    };
    let options = Options { controllers: false, build: true, ..Options::default() };
    let plane = ControlPlane::start(options).map_err(|error| error.to_string())?;
    record(&plane)?;
    Ok(ExitCode::SUCCESS)
}

fn write(name: &str, text: &str) -> Result<(), String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FOLDER).join(name);
    let folder = path.parent().unwrap_or(&path);
    std::fs::create_dir_all(folder).map_err(|error| format!("creating {}: {error}", folder.display()))?;
    std::fs::write(&path, text).map_err(|error| format!("writing {}: {error}", path.display()))
}
