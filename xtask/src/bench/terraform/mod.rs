//! `cargo xtask bench terraform [--resources N] [--samples N] [--no-single]`: ours beside tofu, same providers, same graph.
//!
//! 500 resources over four providers and the built-in one: random_id → time_static → terraform_data → local_file, and
//! tls_private_key beside them. Plan to a file, apply that file, plan again, destroy; each is a whole process with all
//! provider processes that it starts. tofu runs twice, as it is and with `TF_LOG_SDK=off` (which ours sets by itself), and
//! once more as a process per resource, on a sample. Then: importing 120 objects, and the second start of a large provider.

mod graph;
mod large;
mod run;

use std::process::ExitCode;

use crate::ChoreResult;
use run::{Bench, Cost};

const USAGE: &str = "usage: cargo xtask bench terraform [--resources N] [--samples N] [--no-single] | large";

/// What is asked for.
struct Wish {
    resources: usize,
    samples: usize,
    single: bool,
}

pub(super) fn main(words: &[String]) -> ChoreResult {
    let mut wish = Wish { resources: 500, samples: 3, single: true };
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|n| n.parse().ok()).ok_or(USAGE);
        match word.as_str() {
            "--resources" => wish.resources = number()?,
            "--samples" => wish.samples = number()?,
            "--no-single" => wish.single = false,
            "large" => return large::child(),
            _ => return Err(USAGE.into()),
        }
    }
    if cfg!(debug_assertions) {
        eprintln!(
            "note: a debug build measures nothing; use: cargo run --release -p xtask -- bench terraform"
        );
    }
    let bench = Bench::prepare()?;
    let mut good = phases(&bench, &wish)?;
    good &= import(&bench)?;
    good &= large::row()?;
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The four steps of a life.
const STEPS: [&str; 4] = ["plan", "apply", "plan again", "destroy"];
/// What ours may cost beside tofu: CPU, wall, CPU beside a tofu that does not trace.
const LIMITS: (f64, f64, f64) = (0.5, 0.7, 0.7);
/// The memory of ours, beside the provider processes.
const LIMIT_MB: f64 = 60.0;

/// Samples are interleaved, so that a busy moment of the machine hits all sides.
fn phases(bench: &Bench, wish: &Wish) -> Result<bool, String> {
    let n = wish.resources / 5;
    let mut sides: [[Vec<Cost>; 4]; 3] = Default::default();
    for _ in 0..wish.samples {
        for (side, costs) in sides.iter_mut().enumerate() {
            let life = match side {
                0 => bench.ours(n)?,
                1 => bench.tofu(n, false)?,
                _ => bench.tofu(n, true)?,
            };
            costs.iter_mut().zip(life).for_each(|(all, one)| all.push(one));
        }
    }
    println!("{} resources, median of {}", n * 5, wish.samples);
    let head = ["CPU s", "of it own", "providers", "wall s", "own MB"];
    println!("{:<12} {:<24} {}", "step", "", head.map(|word| format!("{word:>9}")).join(" "));
    let names = ["ours", "tofu", "tofu, TF_LOG_SDK=off"];
    let mut good = true;
    for (at, step) in STEPS.iter().enumerate() {
        let medians = sides.each_ref().map(|side| run::median(&side[at]));
        for (name, cost) in names.iter().zip(&medians) {
            let Cost { cpu, wall, own, mb } = *cost;
            let theirs = cpu - own;
            println!("{step:<12} {name:<24} {cpu:>9.2} {own:>9.2} {theirs:>9.2} {wall:>9.2} {mb:>9.0}");
        }
        let [ours, traced, quiet] = medians;
        good &= ratio("  CPU, ours / tofu", ours.cpu / traced.cpu, LIMITS.0);
        good &= ratio("  wall, ours / tofu", ours.wall / traced.wall, LIMITS.1);
        good &= ratio("  CPU, ours / tofu without traces", ours.cpu / quiet.cpu, LIMITS.2);
        good &= ratio("  own memory in MB", ours.mb, LIMIT_MB);
    }
    if wish.single {
        good &= single(bench, &sides[0], n * 5)?;
    }
    Ok(good)
}

/// A process per resource, measured on one of each type; the least that such a tool needs: init, and the step.
fn single(bench: &Bench, ours: &[Vec<Cost>; 4], n_resources: usize) -> Result<bool, String> {
    let each = bench.per_resource()?;
    let mut good = true;
    for ((step, theirs), ours) in STEPS.iter().zip(each).zip(ours) {
        let (theirs, ours) = (theirs.cpu * n_resources as f64, run::median(ours).cpu);
        println!(
            "{step:<12} {:<24} {theirs:>8.2}  (a sample of 5, times {})",
            "a process each",
            n_resources / 5
        );
        good &= ratio("  CPU, ours / a process each", ours / theirs, 0.05);
    }
    Ok(good)
}

fn import(bench: &Bench) -> Result<bool, String> {
    const OBJECTS: usize = 120;
    let cost = bench.import(OBJECTS)?;
    println!("import {OBJECTS} {:<24} {:>8.2} {:>8.2} {:>8.0}", "ours", cost.cpu, cost.wall, cost.mb);
    Ok(ratio("  wall s", cost.wall, 10.0))
}

pub(super) fn ratio(name: &str, figure: f64, limit: f64) -> bool {
    println!("{name:<44} {figure:>9.3} {limit:>9} {}", super::verdict(figure <= limit));
    figure <= limit
}
