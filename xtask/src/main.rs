//! Chores of the repository: one sub-command per module, listed in `CHORES`.
//!
//! In: command line words. Out: an exit code. A chore never leaves processes behind.

use std::process::ExitCode;

mod bench;
mod bindings;
mod build;
mod ci;
mod codegen;
mod dist;
mod documents;
mod format;
mod fuzz;
mod import_proof;
mod oracle;
mod record;
mod ssa_diff;
mod terraform_mirror;
mod testenv;
mod tidy;

/// What every chore returns: the exit code to leave with, or a message for stderr (exit 1).
pub(crate) type ChoreResult = Result<ExitCode, String>;

/// Name, one-line help, entry point. To add a chore: a module beside this file and a row here.
type Chore = (&'static str, &'static str, fn(&[String]) -> ChoreResult);

const CHORES: &[Chore] = &[
    ("ci", "everything that judges a change, in one command", ci::main),
    (
        "bench",
        "kcl|fmt|edit|languages|engine|terraform: ours beside the released wheel, other languages, kubectl, Helm, tofu",
        bench::main,
    ),
    (
        "bindings",
        "[c] [python] [node] [go]: what other languages use, built, installed and tested",
        bindings::main,
    ),
    ("codegen", "kube|protobuf: fact tables, from the real API server and from its Go types", codegen::main),
    ("record", "ssa|samples|quantities: the real server's answers, for kube-meaning's tests", record::main),
    ("ssa-diff", "[--sequences N]: random writes on the real server and on kube-meaning", ssa_diff::main),
    ("documents", "what `kcl doc` writes, judged by other people's validators", documents::main),
    (
        "dist",
        "[--quick] [--twice]: archives, a .deb, checksums, a bill of materials; installed and removed",
        dist::main,
    ),
    (
        "fmt",
        "[--generated N] [--files FOLDER]…: the promises of the formatter on many programs",
        format::main,
    ),
    ("fuzz", "[--minutes N] [TARGET…]: the fuzz targets, each for some minutes", fuzz::main),
    (
        "import-proof",
        "[--short] [--wheel] [FILE…]: real OpenAPI documents and CRDs become KCL that judges as the real server does",
        import_proof::main,
    ),
    ("oracle", "--spec | --generated N: ours beside the released wheel, differences shrunk", oracle::main),
    ("testenv", "build|start|stop|status|run -- CMD…: the real control plane on loopback", testenv::main),
    ("tidy", "rules that no compiler checks: layers, purity, sizes, spec files", tidy::main),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let chore = words.first().and_then(|name| CHORES.iter().find(|chore| chore.0 == name));
    let Some((_, _, run)) = chore else {
        usage();
        return ExitCode::from(2);
    };
    match run(&words[1..]) {
        Ok(code) => code,
        Err(message) => {
            eprintln!("xtask: {message}");
            ExitCode::FAILURE
        }
    }
}

fn usage() {
    eprintln!("usage: cargo xtask <chore> …");
    for (name, help, _) in CHORES {
        eprintln!("  {name:<10} {help}");
    }
}
