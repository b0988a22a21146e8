//! `cargo xtask ci`: everything that judges a change, in one command; `.ci/run` calls it.
//!
//! The long runs have short forms here: 2,000 generated programs against the wheel; 300 random write sequences against
//! the real server are a test of kube-sequences. The stages of the wheel fail without it; tests that need Go's control plane or
//! Helm are skipped loudly where these are not built, and fail with `KUSION_REQUIRE_TESTENV=1`.

use std::process::{Command, ExitCode};
use std::time::Instant;

use crate::ChoreResult;
use crate::build::clean;

/// Name, and the words after `cargo`.
type Stage = (&'static str, &'static [&'static str]);

const STAGES: &[Stage] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("real control plane", &["xtask", "testenv", "build"]),
    (
        "other programs that tests talk to",
        &[
            "xtask",
            "testenv",
            "build",
            "helm",
            "kustomize",
            "terraform-provider-random",
            "terraform-provider-lab",
            "versitygw",
            "moto",
            "oidc-provider",
            "fake-gcs-server",
            "azurite",
            "age",
        ],
    ),
    ("tests", &["test", "--workspace", "--locked"]),
    ("tidy", &["xtask", "tidy"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"]),
    ("documentation", &["doc", "--workspace", "--no-deps", "--lib", "--locked"]),
    ("fuzz targets compile", &["check", "--manifest-path", "fuzz/Cargo.toml", "--bins", "--locked"]),
    ("imports of real documents", &["xtask", "import-proof", "--short"]),
    ("bindings of other languages", &["xtask", "bindings"]),
    ("wheels: every method of the API, over every carrier", &["xtask", "oracle", "rpc"]),
    ("documents, by other people's validators", &["xtask", "documents"]),
    ("wheel: every spec program", &["xtask", "oracle", "--spec", "--self-check"]),
    // The ratchet: so many generated programs may still differ. docs/status.md has the count; it only goes down.
    (
        "wheel: generated programs",
        &["xtask", "oracle", "--generated", "2000", "--seed", "1", "--no-shrink", "--allow", "0"],
    ),
    // Every new spec changes which programs these are, and about one of a thousand still differs.
    (
        "wheel: mutated specs, library calls, faulty programs",
        &[
            "xtask",
            "oracle",
            "--mutate",
            "500",
            "--calls",
            "300",
            "--faulty",
            "500",
            "--seed",
            "1",
            "--no-shrink",
            "--allow",
            "4",
        ],
    ),
];

pub(crate) fn main(words: &[String]) -> ChoreResult {
    if let Some(word) = words.first() {
        return Err(format!("`ci` takes no words, got `{word}`"));
    }
    let start = Instant::now();
    let mut failed = Vec::new();
    for (name, words) in STAGES {
        eprintln!("== {name}: cargo {}", words.join(" "));
        let begun = Instant::now();
        let status = clean(&mut Command::new("cargo"))
            .args(*words)
            .env("RUSTDOCFLAGS", "-D warnings")
            .status()
            .map_err(|e| format!("cannot run cargo: {e}"))?;
        eprintln!(
            "== {name}: {} in {} s",
            if status.success() { "ok" } else { "FAILED" },
            begun.elapsed().as_secs()
        );
        if !status.success() {
            failed.push(*name);
        }
    }
    eprintln!("== ci took {} s", start.elapsed().as_secs());
    if failed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    Err(format!("failed: {}", failed.join(", ")))
}
