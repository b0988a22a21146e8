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

/// The targets: whatever has a file in `fuzz/fuzz_targets`, so that none can be forgotten.
fn names() -> Result<Vec<String>, String> {
    let folder = root().join("fuzz/fuzz_targets");
    let unreadable = |e: std::io::Error| format!("{}: {e}", folder.display());
    let mut names = Vec::new();
    for file in std::fs::read_dir(&folder).map_err(unreadable)? {
        let path = file.map_err(unreadable)?.path();
        names.extend(path.file_stem().and_then(|stem| stem.to_str()).map(str::to_owned));
    }
    names.sort();
    Ok(names)
}

fn parse(words: &[String]) -> Result<(u64, Vec<String>), String> {
    let mut minutes = 10;
    let (known, mut targets) = (names()?, Vec::new());
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if word == "--minutes" {
            minutes = words.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?;
        } else if known.contains(word) {
            targets.push(word.clone());
        } else {
            return Err(format!("`{word}` is no target ({}); {USAGE}", known.join(", ")));
        }
    }
    let targets = if targets.is_empty() { known } else { targets };
    Ok((minutes, targets))
}
