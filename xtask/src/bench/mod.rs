//! `cargo xtask bench kcl`: ours beside the released wheel. (`bench fmt` is in [`mod@format`], `bench edit` in [`edit`],
//! `bench import` in [`import`], `bench mod` in [`packages`], `bench vet` and `bench test` in [`authors`],
//! `bench languages` in [`languages`],
//! `bench engine` in [`engine`], `bench terraform` in [`terraform`]; `bench before` in [`before`] compares two commits.)
//!
//! CPU time, median of at least nine interleaved samples. For the wheel only its execute call is timed; ours is the whole process of
//! `kcl run` on files, start and end included. The row of many small programs runs in one process on both sides: ours through the
//! façade with one compiler. Before a row is timed, both outputs are compared.

mod authors;
mod before;
mod edit;
mod engine;
mod format;
mod import;
mod languages;
mod lint;
mod measure;
mod packages;
mod plot;
mod requests;
mod stacks;
mod state;
mod terraform;
mod workloads;

use crate::ChoreResult;
use crate::oracle::Oracle;
pub(crate) use measure::kcl_binary;
use measure::{OnDisk, Sample};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use testkit::{Program, Verdict};
use workloads::{WORKLOADS, Workload};

const USAGE: &str = "usage: cargo xtask bench kcl [--rows 1,2,…] [--samples N] [--no-growth] [--no-oracle] | bench fmt|edit|import|lint|mod [--samples N] | bench vet|test | bench languages [--samples N] [--plot FILE] | bench engine … | bench state [--scale PERCENT] [--no-tofu] [--requests] | bench terraform … | bench before FOLDER [--samples N] | bench files FOLDER";

struct Wish {
    rows: Vec<usize>,
    samples: usize,
    growth: bool,
    oracle: bool,
}

pub(crate) fn main(words: &[String]) -> ChoreResult {
    match words.first().map(String::as_str) {
        Some("kcl" | "fmt" | "edit" | "import" | "lint" | "mod" | "vet" | "test" | "languages")
            if cfg!(debug_assertions) =>
        {
            measure::again_in_release(words)
        }
        Some("kcl") => table(&parse(&words[1..])?),
        Some("fmt") => format::main(&words[1..]),
        Some("vet") => authors::vet(),
        Some("test") => authors::test(),
        Some("edit") => edit::main(&words[1..]),
        Some("import") => import::main(&words[1..]),
        Some("lint") => lint::main(&words[1..]),
        Some("languages") => languages::main(&words[1..]),
        Some("mod") => packages::main(&words[1..]),
        Some("before") => before::main(&words[1..]),
        Some("engine") => engine::main(&words[1..]),
        Some("terraform") => terraform::main(&words[1..]),
        Some("state") => state::main(&words[1..]),
        Some("stacks") => stacks::child(&words[1..]),
        Some("child") => measure::child(&words[1..]),
        Some("files") => measure::write_all(words.get(1).ok_or(USAGE)?),
        _ => Err(USAGE.into()),
    }
}

fn parse(words: &[String]) -> Result<Wish, String> {
    let mut wish = Wish { rows: (1..=WORKLOADS.len() + 2).collect(), samples: 9, growth: true, oracle: true };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--rows" => {
                let list = words.next().ok_or(USAGE)?;
                wish.rows = list.split(',').filter_map(|n| n.parse().ok()).collect();
            }
            "--samples" => wish.samples = words.next().and_then(|n| n.parse().ok()).ok_or(USAGE)?,
            "--no-growth" => wish.growth = false,
            "--no-oracle" => wish.oracle = false,
            _ => return Err(USAGE.into()),
        }
    }
    Ok(wish)
}

fn table(wish: &Wish) -> ChoreResult {
    println!(
        "{:<38} {:>9} {:>9} {:>7} {:>6}  {:>8} {:>8}  {:>6}",
        "workload", "ours", "oracle", "ratio", "limit", "ours MB", "orac MB", "×10"
    );
    let mut good = true;
    for row in &wish.rows {
        good &= match *row {
            1 => start_row(wish)?,
            row if row == WORKLOADS.len() + 2 => stacks::row(wish)?,
            row => match WORKLOADS.get(row - 2) {
                Some(workload) => workload_row(wish, row - 2, workload)?,
                None => return Err(format!("there is no row {row}")),
            },
        };
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Row 1: the whole process for `a = 1`, above `/bin/true`.
fn start_row(wish: &Wish) -> Result<bool, String> {
    /// Runs of one sample: a single one is shorter than the noise.
    const BLOCK: u32 = 50;
    let disk = OnDisk::new(&Program::single("a = 1\n"))?;
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..wish.samples {
        ours.push(disk.sample(BLOCK)?.cpu);
        nothing.push(disk.nothing(BLOCK)?.cpu);
    }
    let (ours, nothing) = (median(&mut ours), median(&mut nothing));
    let above = (ours - nothing) * 1e3;
    let pass = above <= 1.0;
    println!(
        "{:<38} {:>7.2}ms {:>7.2}ms {:>5.2}ms {:>4}ms  {:>26}  {}",
        "start-up, beside /bin/true",
        ours * 1e3,
        nothing * 1e3,
        above,
        1,
        "",
        verdict(pass)
    );
    Ok(pass)
}

/// Samples of one workload on both sides.
#[derive(Default)]
struct Row {
    ours: Vec<f64>,
    theirs: Vec<f64>,
    our_peak: u64,
    their_peak: u64,
}

fn workload_row(wish: &Wish, index: usize, workload: &Workload) -> Result<bool, String> {
    let program = (workload.make)(1);
    let disk = OnDisk::new(&program)?;
    let mut row = Row::default();
    let mut oracle = if wish.oracle { Some(Oracle::new(Duration::from_secs(600), 16_000)?) } else { None };
    for round in 0..wish.samples {
        let sample = take(&disk, index, 1)?;
        row.ours.push(sample.cpu);
        row.our_peak = row.our_peak.max(sample.peak_kib);
        let Some(oracle) = &mut oracle else { continue };
        let answer = oracle.ask(&program, workload.runs)?;
        if round == 0 {
            same_output(&program, &answer.verdict).map_err(|e| format!("{}: {e}", workload.name))?;
        }
        row.theirs.push(answer.cpu);
        row.their_peak = row.their_peak.max(answer.rss);
    }
    drop(disk);
    let growth = if wish.growth { Some(growth(wish, index, workload)?) } else { None };
    Ok(print_row(wish, workload, row, growth))
}

fn print_row(wish: &Wish, workload: &Workload, mut row: Row, growth: Option<f64>) -> bool {
    let (our, their) = (median(&mut row.ours), median(&mut row.theirs));
    let ratio = our / their;
    let fast = !wish.oracle || ratio <= workload.limit;
    let lean = !wish.oracle || row.our_peak <= row.their_peak;
    let grows = growth.is_none_or(|g| g <= 12.0);
    println!(
        "{:<38} {:>8.3}s {:>8.3}s {:>7.3} {:>6.2}  {:>8} {:>8}  {:>6}  {}",
        workload.name,
        our,
        their,
        ratio,
        workload.limit,
        row.our_peak / 1024,
        row.their_peak / 1024,
        growth.map_or("-".into(), |g| format!("{g:.1}")),
        verdict(fast && lean && grows)
    );
    fast && lean && grows
}

fn take(disk: &OnDisk, index: usize, scale: usize) -> Result<Sample, String> {
    if WORKLOADS[index].runs > 1 { measure::in_one_process(index, scale) } else { disk.sample(1) }
}

/// A fast wrong answer is no answer.
fn same_output(program: &Program, theirs: &Verdict) -> Result<(), String> {
    match (testkit::ours::run(program), theirs) {
        (Verdict::Output(ours), Verdict::Output(theirs)) if ours.yaml == theirs.yaml => Ok(()),
        (Verdict::Output(_), Verdict::Output(_)) => Err("the outputs differ".into()),
        (Verdict::Output(_), theirs) => Err(format!("the oracle says {theirs}")),
        (ours, _) => Err(format!("ours says {ours}")),
    }
}

/// Time of ten times the input over time of the input: medians of samples that alternate, as for the ratios.
fn growth(wish: &Wish, index: usize, workload: &Workload) -> Result<f64, String> {
    let (mut small, mut large) = (Vec::new(), Vec::new());
    for _ in 0..wish.samples {
        for (scale, times) in [(1, &mut small), (10, &mut large)] {
            let disk = OnDisk::new(&(workload.make)(scale))?;
            times.push(take(&disk, index, scale)?.cpu);
        }
    }
    Ok(median(&mut large) / median(&mut small))
}

/// `--samples N`, nine by default.
fn samples(words: &[String], usage: &str) -> Result<usize, String> {
    match words {
        [] => Ok(9),
        [flag, n] if flag == "--samples" => n.parse().map_err(|_| usage.to_owned()),
        _ => Err(usage.to_owned()),
    }
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn verdict(pass: bool) -> &'static str {
    if pass { "pass" } else { "FAIL" }
}

/// A program of ours that stands beside this one.
fn beside(name: &str) -> Result<PathBuf, String> {
    let path = std::env::current_exe().map_err(|e| e.to_string())?.with_file_name(name);
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is missing: cargo build --release -p kusion-cli", path.display()))
    }
}
