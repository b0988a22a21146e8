//! Runs `scenarios/**/*.txtar`: files, commands, expected lines. Each is one test, on a backend with a kubeconfig.
//!
//! Each runs on the real control plane and on the sandbox; a difference between the two is a bug of the sandbox.
//! `KUSION_SCENARIOS=real|sandbox|offline` narrows it; `UPDATE=1` rewrites expectations. The language of the scripts is in `scenarios/README.md`.
#![allow(clippy::unwrap_used)]

mod backend;
mod run;
mod script;
mod server;
mod terminal;
mod update;

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
    let backends = if arguments.list { vec![("listed", None)] } else { backend::start() };
    let mut trials =
        vec![Trial::test("expectations_are_rewritten", || update::check().map_err(Failed::from))];
    for (name, backend) in backends {
        trials.extend(files.iter().map(|file| trial(&root, name, file.clone(), backend.clone())));
    }
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

fn trial(root: &Path, on: &str, file: PathBuf, backend: Option<Arc<dyn Backend>>) -> Trial {
    let name = format!("{on}/{}", file.strip_prefix(root).unwrap().with_extension("").display());
    let shown = name.clone();
    Trial::test(name, move || {
        let text = std::fs::read_to_string(&file).unwrap();
        let scenario =
            Scenario::parse(&text).map_err(|problem| Failed::from(format!("{shown}: {problem}")))?;
        if scenario.needs_cluster && backend.is_none() {
            return Ok(());
        }
        if scenario.needs_helm && run::helm().is_none() {
            testenv::skip(&format!("{shown}: Helm is not built (cargo xtask testenv build helm)"));
            return Ok(());
        }
        if scenario.needs_providers && run::providers().is_none() {
            testenv::skip(&format!(
                "{shown}: the providers are not built (cargo xtask testenv build providers)"
            ));
            return Ok(());
        }
        let rewritten = run::run(&shown, &scenario, backend.as_deref()).map_err(Failed::from)?;
        if !rewritten.is_empty() {
            std::fs::write(&file, update::rewrite(&text, &rewritten)).unwrap();
        }
        Ok(())
    })
}
