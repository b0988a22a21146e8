//! `cargo xtask fuzz`: builds the targets of `fuzz/` with coverage and runs each for some minutes.
//!
//! Needs a C++ compiler and the nightly toolchain, or the stable one with `RUSTC_BOOTSTRAP=1`. No cargo-fuzz: its flags are below.

use crate::ChoreResult;
use crate::oracle::root;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

const USAGE: &str = "usage: cargo xtask fuzz [--minutes N] [TARGET…]";

/// What cargo-fuzz passes to the compiler, without a sanitizer: our code has no unsafe.
const FLAGS: &str = "--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table -Ccodegen-units=1";

pub(crate) fn main(words: &[String]) -> ChoreResult {
    let (minutes, targets) = parse(words)?;
    let folder = root().join("fuzz");
    let target_dir = std::env::var_os("CARGO_TARGET_DIR")
        .map_or_else(|| folder.join("target"), |d| PathBuf::from(d).join("fuzz"));
    let triple = "x86_64-unknown-linux-gnu";
    let built = Command::new("cargo")
        .args(["build", "--release", "--bins", "--target", triple])
        .current_dir(&folder)
        .env("RUSTFLAGS", FLAGS)
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_DIR", &target_dir)
        .status()
        .map_err(|e| e.to_string())?;
    if !built.success() {
        return Err("the fuzz targets do not build".into());
    }
    let mut failed = Vec::new();
    for target in &targets {
        let artifacts = target_dir.join("artifacts").join(target);
        let grown = target_dir.join("corpus").join(target);
        for made in [&artifacts, &grown] {
            std::fs::create_dir_all(made).map_err(|e| e.to_string())?;
        }
        let corpus = folder.join("corpus").join(target);
        if !std::fs::read_dir(&corpus).is_ok_and(|mut files| files.next().is_some()) {
            return Err(format!("{target} has no corpus: {}", corpus.display()));
        }
        println!("== {target}, {minutes} min");
        let status = Command::new(target_dir.join(triple).join("release").join(target))
            .arg(&grown)
            .arg(&corpus)
            .args([
                format!("-max_total_time={}", minutes * 60),
                format!("-artifact_prefix={}/", artifacts.display()),
            ])
            .args([
                "-timeout=20",
                "-rss_limit_mb=3000",
                "-max_len=4096",
                "-print_final_stats=1",
                "-verbosity=0",
            ])
            .status()
            .map_err(|e| e.to_string())?;
        if !status.success() {
            failed.push(target.as_str());
        }
    }
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    println!("findings in: {} (see {})", failed.join(", "), target_dir.join("artifacts").display());
    Ok(ExitCode::FAILURE)
}

/// The language's targets, then those of the Kubernetes half.
fn names() -> impl Iterator<Item = &'static str> {
    let targets = testkit::fuzz::TARGETS.iter().chain(testkit::fuzz_kube::TARGETS);
    let targets = targets.chain(testkit::fuzz_state::TARGETS);
    targets.chain(testkit::fuzz_install::TARGETS).map(|(name, _)| *name)
}

fn parse(words: &[String]) -> Result<(u64, Vec<String>), String> {
    let mut minutes = 10;
    let mut targets = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--minutes" {
            minutes = words.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?;
        } else if names().any(|name| name == word) {
            targets.push(word.clone());
        } else {
            return Err(USAGE.into());
        }
    }
    if targets.is_empty() {
        targets = names().map(str::to_owned).collect();
    }
    Ok((minutes, targets))
}
