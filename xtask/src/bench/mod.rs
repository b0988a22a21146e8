//! `cargo xtask bench kcl`: ours beside the released wheel.
//!
//! CPU time, single-threaded, median of at least nine interleaved samples; for the wheel only its execute call is timed. Ours runs
//! each sample in a fresh child of this very program, which reads its own CPU time and peak memory: nothing is warmed up.

mod measure;
mod workloads;

use crate::Outcome;
use crate::oracle::Oracle;
use measure::Sample;
use std::process::ExitCode;
use std::time::Duration;
use testkit::Verdict;
use workloads::{WORKLOADS, Workload};

const USAGE: &str = "usage: cargo xtask bench kcl [--rows 1,2,…] [--samples N] [--no-growth] [--no-oracle]";

struct Wish {
    rows: Vec<usize>,
    samples: usize,
    growth: bool,
    oracle: bool,
}

pub(crate) fn main(words: &[String]) -> Outcome {
    match words.first().map(String::as_str) {
        Some("kcl") => table(&parse(&words[1..])?),
        Some("child") => measure::child(&words[1..]),
        _ => Err(USAGE.into()),
    }
}

fn parse(words: &[String]) -> Result<Wish, String> {
    let mut wish = Wish { rows: (1..=WORKLOADS.len() + 1).collect(), samples: 9, growth: true, oracle: true };
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

fn table(wish: &Wish) -> Outcome {
    if cfg!(debug_assertions) {
        eprintln!("note: a debug build measures nothing; use: cargo run --release -p xtask -- bench kcl");
    }
    println!(
        "{:<38} {:>9} {:>9} {:>7} {:>6}  {:>8} {:>8}  {:>6}",
        "workload", "ours", "oracle", "ratio", "limit", "ours MB", "orac MB", "×10"
    );
    let mut good = true;
    for row in &wish.rows {
        good &= match *row {
            1 => start_row()?,
            row => match WORKLOADS.get(row - 2) {
                Some(workload) => workload_row(wish, row - 2, workload)?,
                None => return Err(format!("there is no row {row}")),
            },
        };
    }
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Row 1: the whole process for `a = 1`, above `/bin/true`.
fn start_row() -> Result<bool, String> {
    let (ours, nothing) = measure::start_up(9)?;
    let above = (ours - nothing) * 1e3;
    let pass = above <= 1.0;
    println!(
        "{:<38} {:>7.2}ms {:>7.2}ms {:>5.2}ms {:>4}ms  {}",
        "start-up, above /bin/true",
        ours * 1e3,
        nothing * 1e3,
        above,
        1,
        verdict(pass)
    );
    Ok(pass)
}

fn workload_row(wish: &Wish, index: usize, workload: &Workload) -> Result<bool, String> {
    let program = (workload.make)(1);
    let mut oracle = Oracle::new(Duration::from_secs(600), 8000)?;
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut our_peak, mut their_peak) = (0, 0);
    for _ in 0..wish.samples {
        let sample = Sample::take(index, 1)?;
        ours.push(sample.cpu);
        our_peak = our_peak.max(sample.peak_kib);
        if wish.oracle {
            let answer = oracle.ask(&program, workload.runs)?;
            if !matches!(answer.verdict, Verdict::Output(_)) {
                return Err(format!("{}: the oracle says {}", workload.name, answer.verdict));
            }
            theirs.push(answer.cpu);
            their_peak = their_peak.max(answer.rss);
        }
    }
    let growth = if wish.growth { Some(growth(index)?) } else { None };
    let (our, their) = (median(&mut ours), median(&mut theirs));
    let ratio = our / their;
    let fast = !wish.oracle || ratio <= workload.limit;
    let lean = !wish.oracle || our_peak <= their_peak;
    let grows = growth.is_none_or(|g| g <= 12.0);
    println!(
        "{:<38} {:>8.3}s {:>8.3}s {:>7.3} {:>6.2}  {:>8} {:>8}  {:>6}  {}",
        workload.name,
        our,
        their,
        ratio,
        workload.limit,
        our_peak / 1024,
        their_peak / 1024,
        growth.map_or("-".into(), |g| format!("{g:.1}")),
        verdict(fast && lean && grows)
    );
    Ok(fast && lean && grows)
}

/// Time of ten times the input over time of the input; the better of three, because one sample is noisy.
fn growth(index: usize) -> Result<f64, String> {
    let best = |scale| -> Result<f64, String> {
        let mut best = f64::MAX;
        for _ in 0..3 {
            best = best.min(Sample::take(index, scale)?.cpu);
        }
        Ok(best)
    };
    Ok(best(10)? / best(1)?)
}

fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn verdict(pass: bool) -> &'static str {
    if pass { "pass" } else { "FAIL" }
}
