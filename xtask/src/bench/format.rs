//! `cargo xtask bench fmt`: `kcl fmt` beside the wheel's format call on the same files, and on four million lines.
//!
//! Ours is the CPU time of the whole process, which reads, formats and writes every file; of the wheel only the calls are timed.

use super::{measure, median, verdict};
use crate::ChoreResult;
use crate::oracle::root;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

/// The wheel may take so many times what ours takes, at least.
const TIMES: f64 = 20.0;
/// Files of the long row, and lines in each.
const FILES: usize = 400;
const LINES: usize = 10_000;
/// Seconds for the long row on two cores.
const LIMIT: f64 = 5.0;

pub(super) fn main(words: &[String]) -> ChoreResult {
    let samples = super::samples(words, "usage: cargo xtask bench fmt [--samples N]")?;
    let folder = Folder::new()?;
    let good = beside_the_wheel(&folder, samples)? & long_row(&folder, samples.min(3))?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A folder that goes away with this value.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Result<Folder, String> {
        let base = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        Ok(Folder(base.join(format!("kcl-bench-fmt-{}", std::process::id()))))
    }

    fn write(&self, texts: &[String]) -> Result<(), String> {
        let problem = |e: std::io::Error| format!("{}: {e}", self.0.display());
        let _ = std::fs::remove_dir_all(&self.0);
        std::fs::create_dir_all(&self.0).map_err(problem)?;
        for (i, text) in texts.iter().enumerate() {
            std::fs::write(self.0.join(format!("{i:05}.k")), text).map_err(problem)?;
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The programs of the specs that parse, and larger ones.
fn programs() -> Result<Vec<String>, String> {
    let specs = testkit::spec::load(&root().join("spec"))?;
    let files = specs.into_iter().flat_map(|file| file.cases).flat_map(|case| case.program.files);
    let sources = files.filter(|file| file.path.ends_with(".k")).map(|file| file.text);
    let mut texts: Vec<String> = sources.filter(|t| testkit::format::judge(t) == Ok(true)).collect();
    texts.extend((0..20).map(|i| stack(i, 2_000)));
    Ok(texts)
}

/// A file of so many lines, as people write them.
fn stack(number: usize, lines: usize) -> String {
    let mut text = String::from("import math\nschema Server:\n  name: str\n  port?: int=80\n");
    for i in 0..lines / 10 {
        let _ = write!(
            text,
            "server_{number}_{i} = Server {{\n  name = \"server-{i}\" # name\n  port = 8000+{i}%100\n  labels: {{\n    app = 'shop', \
             tier = \"web-${{env}}\"\n  }}\n  ports = [80,443,{i}]\n  if env == 'prod':\n    replicas = 3 if {i}>10 else 1\n}}\n"
        );
    }
    text
}

fn beside_the_wheel(folder: &Folder, samples: usize) -> Result<bool, String> {
    let texts = programs()?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..samples {
        folder.write(&texts)?;
        theirs.push(wheel(&folder.0)?);
        ours.push(measure::whole_process(&folder.0, &["fmt", "..."])?.cpu);
    }
    let (ours, theirs) = (median(&mut ours), median(&mut theirs));
    let pass = theirs / ours >= TIMES;
    println!(
        "{} files: ours {ours:.3} s CPU, the wheel {theirs:.3} s, {:.0} times (limit {TIMES}): {}",
        texts.len(),
        theirs / ours,
        verdict(pass)
    );
    Ok(pass)
}

/// CPU seconds of the wheel's format calls on all files of a folder.
fn wheel(folder: &Path) -> Result<f64, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/format.py");
    let python = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let output = Command::new(python).arg(script).arg(folder).output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().map_err(|_| format!("the wheel: {text}{}", String::from_utf8_lossy(&output.stderr)))
}

fn long_row(folder: &Folder, samples: usize) -> Result<bool, String> {
    let texts: Vec<String> = (0..FILES).map(|i| stack(i, LINES)).collect();
    let lines: usize = texts.iter().map(|text| text.lines().count()).sum();
    let (mut walls, mut cpus, mut peak) = (Vec::new(), Vec::new(), 0);
    for _ in 0..samples {
        folder.write(&texts)?;
        let begun = Instant::now();
        let sample = measure::whole_process(&folder.0, &["fmt", "--jobs", "2", "..."])?;
        walls.push(begun.elapsed().as_secs_f64());
        cpus.push(sample.cpu);
        peak = peak.max(sample.peak_kib);
    }
    let (wall, cpu) = (median(&mut walls), median(&mut cpus));
    let pass = wall <= LIMIT;
    println!(
        "{lines} lines in {FILES} files, two threads: {wall:.2} s (limit {LIMIT}), {cpu:.2} s CPU, {} MB: {}",
        peak / 1024,
        verdict(pass)
    );
    Ok(pass)
}
