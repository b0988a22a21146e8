//! `cargo xtask bench edit`: image updates in a generated repository of 1,500 projects, by one batch and one by one.
//!
//! Wall-clock time of the whole process on a folder in memory, reading, planning and writing included.

use super::measure::{self, Scratch};
use super::{median, verdict};
use crate::ChoreResult;
use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const PROJECTS: usize = 1_500;
/// Changes of the batch, and seconds for all of them.
const CHANGES: usize = 1_000;
const LIMIT: f64 = 1.0;
/// Seconds for one change.
const ONE: f64 = 0.005;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let samples = super::samples(words, "usage: cargo xtask bench edit [--samples N]")?;
    let repository = Repository::new()?;
    let kcl = measure::kcl_binary()?;
    let (mut batches, mut singles) = (Vec::new(), Vec::new());
    for round in 0..samples {
        repository.batch(round)?;
        batches.push(timed(&kcl, &repository.scratch.folder, &["edit", "--batch", "batch.json"])?);
        repository.holds(round)?;
        let stack = format!("apps/p{:04}/dev", PROJECTS - 1);
        let change = format!("app.image=\"pay:single-{round}\"");
        singles.push(timed(&kcl, &repository.scratch.folder, &["edit", "set", &stack, &change])?);
    }
    let (batch, single) = (median(&mut batches), median(&mut singles));
    let good = batch <= LIMIT && single <= ONE;
    println!(
        "{CHANGES} changes in one batch, {PROJECTS} projects: {batch:.3} s (limit {LIMIT}): {}",
        verdict(batch <= LIMIT)
    );
    println!("one change: {:.2} ms (limit {}): {}", single * 1e3, ONE * 1e3, verdict(single <= ONE));
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn timed(kcl: &Path, folder: &Path, words: &[&str]) -> Result<f64, String> {
    let begun = Instant::now();
    let output = Command::new(kcl).args(words).current_dir(folder).output().map_err(|e| e.to_string())?;
    let seconds = begun.elapsed().as_secs_f64();
    match output.status.success() {
        true => Ok(seconds),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    }
}

/// A repository that goes away with this value.
struct Repository {
    scratch: Scratch,
}

impl Repository {
    fn new() -> Result<Repository, String> {
        let made = Repository { scratch: Scratch::new("edit")? };
        made.write("kcl.mod", "[package]\nname = \"apps\"\n")?;
        made.write(
            "models/app.k",
            "schema App:\n    image: str\n    replicas: int = 1\n    labels?: {str:str}\n",
        )?;
        for number in 0..PROJECTS {
            let folder = format!("apps/p{number:04}");
            made.write(&format!("{folder}/project.yaml"), &format!("name: p{number}\n"))?;
            made.write(&format!("{folder}/base/base.k"), &base_text(number))?;
            made.write(&format!("{folder}/dev/stack.yaml"), "name: dev\n")?;
            made.write(&format!("{folder}/dev/main.k"), &stack_text(number))?;
        }
        Ok(made)
    }

    fn write(&self, path: &str, text: &str) -> Result<(), String> {
        let path = self.scratch.folder.join(path);
        let problem = |e: std::io::Error| format!("{}: {e}", path.display());
        std::fs::create_dir_all(path.parent().unwrap_or(&self.scratch.folder)).map_err(problem)?;
        std::fs::write(&path, text).map_err(problem)
    }

    fn batch(&self, round: usize) -> Result<(), String> {
        let mut rows = String::new();
        for number in 0..CHANGES {
            let _ = writeln!(
                rows,
                "{{\"op\":\"set\",\"target\":\"apps/p{number:04}/dev\",\"path\":\"app.image\",\"text\":\"pay:v{round}-{number}\"}}"
            );
        }
        self.write("batch.json", &rows)
    }

    /// A fast answer that did nothing would be no answer.
    fn holds(&self, round: usize) -> Result<(), String> {
        for number in 0..CHANGES {
            let path = self.scratch.folder.join(format!("apps/p{number:04}/dev/main.k"));
            let text = std::fs::read_to_string(&path).map_err(|e| e.to_string())?;
            let wanted = stack_text(number).replace("pay:v41", &format!("pay:v{round}-{number}"));
            if text != wanted {
                return Err(format!("{} is not what it should be:\n{text}", path.display()));
            }
        }
        Ok(())
    }
}

fn base_text(number: usize) -> String {
    format!(
        "import models as m\n\napp: m.App {{\n    image = \"base:{number}\"\n    labels: {{team = \"t{number}\"}}\n}}\n"
    )
}

/// About sixty lines, as a stack has them.
fn stack_text(number: usize) -> String {
    let mut text = String::from("# What this stack has of its own.\nimport models as m\n\napp: m.App {\n");
    text.push_str("    image = \"pay:v41\"  # bumped by the bot\n    replicas = 2\n    labels: {\n");
    for i in 0..50 {
        let _ = writeln!(text, "        \"example.com/label-{i}\" = \"value {number} ${{app.replicas}}\"");
    }
    text.push_str("    }\n}\n");
    text
}
