//! `cargo xtask bench lint`: `kcl lint` on four million lines: stacks of several files over one model package.

use super::{measure, median, verdict};
use crate::ChoreResult;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Folders, files in each, and lines in each file.
const FOLDERS: usize = 400;
const FILES: usize = 10;
const LINES: usize = 1_000;
/// Seconds on two cores, and megabytes.
const SECONDS: f64 = 10.0;
const MEGABYTES: u64 = 1_024;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let samples = super::samples(words, "usage: cargo xtask bench lint [--samples N]")?;
    let mut pass = true;
    // Clean text, and text with something to find in one line of fifty, which is mostly the cost of the report.
    for with_findings in [false, true] {
        pass &= judged(samples, with_findings)?;
    }
    Ok(if pass { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn judged(samples: usize, with_findings: bool) -> Result<bool, String> {
    let folder = Folder::new()?;
    let lines = folder.write(with_findings)?;
    let (mut walls, mut cpus, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..samples {
        let begun = Instant::now();
        let sample = measure::whole_process(&folder.0, &["lint", "--jobs", "2", "--format", "short", "..."])?;
        walls.push(begun.elapsed().as_secs_f64());
        cpus.push(sample.cpu);
        peak = peak.max(sample.peak_kib);
    }
    let (wall, cpu, peak) = (median(&mut walls), median(&mut cpus), peak / 1024);
    let pass = wall <= SECONDS && peak <= MEGABYTES;
    println!(
        "{lines} lines in {} files{}, two threads: {wall:.2} s (limit {SECONDS}), {cpu:.2} s CPU, {peak} MB (limit {MEGABYTES}): {}",
        FOLDERS * FILES,
        if with_findings { ", a finding in one of fifty" } else { "" },
        verdict(pass)
    );
    Ok(pass)
}

/// A folder that goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let base = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        Ok(Folder(base.join(format!("kcl-bench-lint-{}", std::process::id()))))
    }

    /// Writes all files; returns how many lines they have.
    fn write(&self, with_findings: bool) -> Result<usize, String> {
        let problem = |e: std::io::Error| format!("{}: {e}", self.0.display());
        let put = |path: PathBuf, text: &str| {
            std::fs::create_dir_all(path.parent().unwrap_or(&self.0))
                .and_then(|()| std::fs::write(&path, text))
        };
        // Remarks: a run that is measured ends with 0.
        let module = "[package]\nname = \"bench\"\n\n[lint.rules]\nunused-variable = \"info\"\n";
        put(self.0.join("kcl.mod"), module).map_err(problem)?;
        put(self.0.join("models/server.k"), MODEL).map_err(problem)?;
        let mut lines = MODEL.lines().count();
        for folder in 0..FOLDERS {
            for file in 0..FILES {
                let text = stack(file, with_findings);
                lines += text.lines().count();
                put(self.0.join(format!("stacks/s{folder:04}/f{file}.k")), &text).map_err(problem)?;
            }
        }
        Ok(lines)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const MODEL: &str = "schema Server:\n    \"\"\"A server.\"\"\"\n    name: str\n    port?: int = 80\n    replicas?: int = 1\n    \
                     labels?: {str:str}\n    ports?: [int]\n";

/// A file of a stack, as people write them: nothing in it is more than a remark, unless findings are wanted.
fn stack(number: usize, with_findings: bool) -> String {
    let mut text = String::from("import models\n\n");
    let _ = writeln!(text, "_env_{number} = option(\"env\") or \"dev\"");
    for i in 0..LINES / 10 {
        if with_findings && i % 5 == 0 {
            let _ = writeln!(text, "_unused_{number}_{i} = {i}");
        }
        let _ = write!(
            text,
            "server_{number}_{i} = models.Server {{\n    name = \"server-{i}\" # name\n    port = 8000 + {i} % 100\n    labels = {{\n        \
             app = \"shop\"\n        tier = \"web-${{_env_{number}}}\"\n    }}\n    ports = [p + {i} for p in [80, 443]]\n    replicas = \
             3 if _env_{number} == \"prod\" else 1\n}}\n"
        );
    }
    text
}
