//! `cargo xtask bench mod`: two hundred packages of the store, resolved and verified.
//!
//! Wall-clock time of the whole process on folders in memory. Every package has ten files and needs others.

use super::measure::{self, Scratch};
use super::{median, verdict};
use crate::ChoreResult;
use kcl_mod::{Content, Lock, Locked, LockedSource};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const PACKAGES: usize = 200;
/// Seconds for resolving and verifying all of them.
const LIMIT: f64 = 1.0;
const REGISTRY: &str = "registry.example.org";

pub(super) fn main(words: &[String]) -> ChoreResult {
    let samples = super::samples(words, "usage: cargo xtask bench mod [--samples N]")?;
    let scratch = Scratch::new("mod")?;
    let (module, store) = (scratch.folder.join("app"), scratch.folder.join("packages"));
    write(&module, &store)?;
    let kcl = measure::kcl_binary()?;
    let mut good = true;
    for (words, says) in [
        (&["mod", "verify", "--offline"][..], format!("{PACKAGES} packages are what kcl.mod.lock says\n")),
        (
            &["mod", "update", "--offline", "--locked"],
            format!("{PACKAGES} packages; kcl.mod.lock is as it was\n"),
        ),
    ] {
        let mut times = Vec::new();
        for _ in 0..samples {
            let begun = Instant::now();
            let mut command = Command::new(&kcl);
            command.args(words).current_dir(&module).env("KCL_PKG_PATH", &store);
            let output = command.output().map_err(|e| e.to_string())?;
            times.push(begun.elapsed().as_secs_f64());
            if !output.status.success() || output.stdout != says.as_bytes() {
                let (out, err) =
                    (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
                return Err(format!("{words:?}: {out}{err}"));
            }
        }
        let seconds = median(&mut times);
        good &= seconds <= LIMIT;
        println!(
            "kcl {}: {PACKAGES} packages in {seconds:.3} s (limit {LIMIT}): {}",
            words.join(" "),
            verdict(seconds <= LIMIT)
        );
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn name(number: usize) -> String {
    format!("p{number:03}")
}

fn need(number: usize) -> String {
    let name = name(number);
    format!("{name} = {{ oci = \"oci://{REGISTRY}/bench/{name}\", tag = \"1.0.0\" }}\n")
}

/// A module that needs the first ten packages, each of which needs three others.
fn write(module: &Path, store: &Path) -> Result<(), String> {
    let store = kcl_fetch::Store::new(store);
    let mut entries = Vec::new();
    for number in 0..PACKAGES {
        let name = name(number);
        let below = BTreeSet::from([number * 3 + 1, number * 3 + 2, number + 10]);
        let needs: String = below.into_iter().filter(|n| *n < PACKAGES).map(need).collect();
        let manifest =
            format!("[package]\nname = \"{name}\"\nversion = \"1.0.0\"\n\n[dependencies]\n{needs}");
        let file = |at: usize| (format!("part{at}.k"), format!("value{at} = \"{name}\"\n").repeat(100));
        let files = (0..9).map(file).chain([("kcl.mod".to_owned(), manifest)]);
        let content = Content::new(files.map(|(path, text)| (path, text.into_bytes())))?;
        let (sum, _) = store.keep(&content).map_err(|trouble| trouble.to_string())?;
        let source = LockedSource::Oci {
            registry: REGISTRY.to_owned(),
            repository: format!("bench/{name}"),
            tag: "1.0.0".to_owned(),
        };
        entries.push(Locked { name, version: "1.0.0".to_owned(), sum: Some(sum), signed_by: None, source });
    }
    let needs: String = (0..10).map(need).collect();
    let manifest = format!("[package]\nname = \"app\"\nversion = \"0.1.0\"\n\n[dependencies]\n{needs}");
    let problem = |e: std::io::Error| format!("{}: {e}", module.display());
    std::fs::create_dir_all(module).map_err(problem)?;
    std::fs::write(module.join("kcl.mod"), manifest).map_err(problem)?;
    std::fs::write(module.join("kcl.mod.lock"), Lock { entries }.write()).map_err(problem)
}
