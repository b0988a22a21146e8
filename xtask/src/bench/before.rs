//! `cargo xtask bench before FOLDER [--samples N]`: the release programs of an earlier commit (`kcl`, `kusion`, `xtask` and
//! `examples/world_speed` in FOLDER, its `target/release`) beside this one's.
//!
//! Samples alternate, medians are compared, and no row may be worse by more than a twentieth. Language: CPU of the whole process.
//! Engine: CPU of the client against one real API server. Sandbox: time of one request in process.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use testenv::{ControlPlane, Options};
use testkit::Program;

use super::engine::{APPLY, Bench, PREVIEW, manifests};
use super::measure::{self, OnDisk};
use super::workloads::WORKLOADS;
use super::{beside, median, verdict};
use crate::ChoreResult;

const USAGE: &str = "usage: cargo xtask bench before FOLDER [--samples N]";
/// More than this share of the earlier time is a loss.
const LIMIT: f64 = 1.05;
/// Runs of one sample of the start: a single one is shorter than the noise.
const STARTS: u32 = 50;
/// Resources of a stack of the engine's rows.
const OBJECTS: usize = 400;

/// The programs of one commit.
struct Built {
    folder: PathBuf,
}

impl Built {
    fn program(&self, name: &str) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        if path.is_file() { Ok(path) } else { Err(format!("{} is missing; {USAGE}", path.display())) }
    }
}

pub(super) fn main(words: &[String]) -> ChoreResult {
    let (folder, rest) = words.split_first().ok_or(USAGE)?;
    let samples = super::samples(rest, USAGE)?;
    let folder = std::path::absolute(folder).map_err(|e| e.to_string())?;
    let ours = beside("kcl")?.parent().map(Path::to_path_buf).unwrap_or_default();
    let both = [Built { folder }, Built { folder: ours }];
    println!("{:<44} {:>10} {:>10} {:>7} {LIMIT:>6}", "row", "before", "now", "ratio");
    let mut good = language(&both, samples)?;
    good &= engine(&both, samples)?;
    good &= sandbox(&both, samples)?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Takes samples of both in turn and prints a row of their medians.
fn row(
    name: &str,
    samples: usize,
    mut sample: impl FnMut(usize, usize) -> Result<f64, String>,
) -> Result<bool, String> {
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..samples {
        for (which, times) in times.iter_mut().enumerate() {
            times.push(sample(which, round)?);
        }
    }
    let [before, now] = &mut times;
    Ok(print(name, median(before), median(now)))
}

fn print(name: &str, before: f64, now: f64) -> bool {
    let good = now <= before * LIMIT;
    let (before_ms, now_ms) = (before * 1e3, now * 1e3);
    println!("{name:<44} {before_ms:>8.3}ms {now_ms:>8.3}ms {:>7.3} {:>6}", now / before, verdict(good));
    good
}

fn language(both: &[Built; 2], samples: usize) -> Result<bool, String> {
    let kcl = [both[0].program("kcl")?, both[1].program("kcl")?];
    let on_disk = |program: &Program, which: usize, times: u32| {
        OnDisk::of(program, kcl[which].clone())?.sample(times).map(|sample| sample.cpu)
    };
    let one = Program::single("a = 1\n");
    let mut good = row("kcl run, `a = 1`", samples, |which, _| on_disk(&one, which, STARTS))?;
    for (index, workload) in WORKLOADS.iter().enumerate() {
        let program = (workload.make)(1);
        let xtask = [both[0].program("xtask")?, both[1].program("xtask")?];
        good &= row(workload.name, samples, |which, _| match workload.runs > 1 {
            true => measure::in_process_of(&xtask[which], index, 1).map(|sample| sample.cpu),
            false => on_disk(&program, which, 1),
        })?;
    }
    Ok(good)
}

fn engine(both: &[Built; 2], samples: usize) -> Result<bool, String> {
    let plane = ControlPlane::start(Options { controllers: false, ..Options::default() })
        .map_err(|e| e.to_string())?;
    let folder = std::env::temp_dir().join(format!("before-bench-{}", std::process::id()));
    let bench = |at: usize| -> Result<Bench<'_>, String> {
        let (kusion, folder) = (both[at].program("kusion")?, folder.join(at.to_string()));
        Ok(Bench { plane: &plane, kusion, helm: None, folder, scale: 100, quiet: true })
    };
    let benches = [bench(0)?, bench(1)?];
    let stack = |which: usize, round: usize| format!("stack-{which}-{round}");
    let run = |which: usize, round: usize, words: &[&str]| {
        let name = stack(which, round);
        benches[which].kusion("", &name, &manifests(&name, OBJECTS, 0), words).map(|cost| cost.cpu)
    };
    let mut good =
        row(&format!("kusion apply, {OBJECTS} new"), samples, |which, round| run(which, round, APPLY))?;
    good &=
        row(&format!("kusion apply, {OBJECTS} unchanged"), samples, |which, round| run(which, round, APPLY))?;
    good &= row(&format!("kusion preview, {OBJECTS} unchanged"), samples, |which, round| {
        run(which, round, PREVIEW)
    })?;
    // A folder that stays behind in the temporary folder harms nobody.
    let _ = std::fs::remove_dir_all(folder);
    Ok(good)
}

/// What `world_speed` prints: a name, and how many a second.
fn speeds(program: &Path) -> Result<Vec<(String, f64)>, String> {
    let output = Command::new(program).output().map_err(|e| format!("{}: {e}", program.display()))?;
    if !output.status.success() {
        return Err(format!("{}: {}", program.display(), String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let speed = |line: &str| {
        let number = line.strip_suffix(" a second")?.rsplit(' ').next()?.parse().ok()?;
        Some((line.get(..34)?.trim().to_owned(), number))
    };
    Ok(text.lines().filter_map(speed).collect())
}

fn sandbox(both: &[Built; 2], samples: usize) -> Result<bool, String> {
    let programs = [both[0].program("examples/world_speed")?, both[1].program("examples/world_speed")?];
    let mut rows: Vec<(String, [Vec<f64>; 2])> = Vec::new();
    for _ in 0..samples {
        for (which, program) in programs.iter().enumerate() {
            for (name, speed) in speeds(program)? {
                let at = rows.iter().position(|(known, _)| *known == name).unwrap_or(rows.len());
                if at == rows.len() {
                    rows.push((name, Default::default()));
                }
                rows[at].1[which].push(1.0 / speed);
            }
        }
    }
    if rows.is_empty() {
        return Err("world_speed printed no row".into());
    }
    let mut good = true;
    for (name, [before, now]) in &mut rows {
        if before.len() != now.len() {
            return Err(format!("sandbox: {name}: only one of the two prints this row"));
        }
        good &= print(&format!("sandbox: {name}"), median(before), median(now));
    }
    Ok(good)
}
