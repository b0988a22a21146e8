//! Runs `scenarios/**/*.txtar`: files, commands, expected lines. Each is one test, on a backend with a kubeconfig.
//!
//! `KUSION_SCENARIOS=sandbox` runs them on the sandbox instead of the real control plane; a difference between the two is a
//! bug of the sandbox. The language of the scripts is in `scenarios/README.md`.
#![allow(clippy::unwrap_used)]

mod backend;
mod run;
mod script;
mod server;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Arguments, Failed, Trial};

use backend::Backend;
use script::Scenario;

fn main() -> std::process::ExitCode {
    let arguments = Arguments::from_args();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    let backend = if arguments.list { None } else { backend::start() };
    let trials = files.into_iter().map(|file| trial(&root, file, backend.clone())).collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "txtar") {
            files.push(path);
        }
    }
}

fn trial(root: &Path, file: PathBuf, backend: Option<Arc<dyn Backend>>) -> Trial {
    let name = file.strip_prefix(root).unwrap().with_extension("").display().to_string();
    let shown = name.clone();
    Trial::test(name, move || {
        let text = std::fs::read_to_string(&file).unwrap();
        let scenario =
            Scenario::parse(&text).map_err(|problem| Failed::from(format!("{shown}: {problem}")))?;
        if scenario.needs_cluster && backend.is_none() {
            return Ok(());
        }
        run::run(&shown, &scenario, backend.as_deref()).map_err(Failed::from)
    })
}
