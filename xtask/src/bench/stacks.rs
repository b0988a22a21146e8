//! The row of many stacks: 1,500 programs on one model package, on one thread and on two.

use super::{Wish, median, verdict};
use crate::ChoreResult;
use kcl::{Compiler, MemoryFiles, NoOutside, Request};
use std::process::{Command, ExitCode};
use std::time::Instant;

const STACKS: usize = 1500;

/// Two threads may take this share of the time of one.
const LIMIT: f64 = 0.6;

/// Prints wall-clock time on one thread and on two, and their ratio; CPU time beside it says what the threads cost each other.
pub(super) fn row(wish: &Wish) -> Result<bool, String> {
    let (mut one, mut two, mut cpu) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..wish.samples {
        let (first, second) = (sample(1)?, sample(2)?);
        one.push(first.0);
        two.push(second.0);
        cpu.push(second.1 / first.1);
    }
    let (one, two, cpu) = (median(&mut one), median(&mut two), median(&mut cpu));
    let pass = two <= one * LIMIT;
    println!(
        "{:<38} {:>8.3}s {:>8.3}s {:>7.3} {:>6.2}  {:>26}  {}",
        "1,500 stacks, one thread beside two",
        one,
        two,
        two / one,
        LIMIT,
        format!("CPU of two / one: {cpu:.2}"),
        verdict(pass)
    );
    Ok(pass)
}

/// Wall-clock and CPU seconds of a fresh process.
fn sample(threads: usize) -> Result<(f64, f64), String> {
    let program = std::env::current_exe().map_err(|e| e.to_string())?;
    let mut command = Command::new(program);
    let output = command.args(["bench", "stacks", &threads.to_string()]).output();
    let output = output.map_err(|e| format!("{command:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<f64> = text.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    match numbers[..] {
        [wall, cpu] if output.status.success() => Ok((wall, cpu)),
        _ => Err(format!("{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The child's side.
pub(super) fn child(words: &[String]) -> ChoreResult {
    let threads = words.first().and_then(|n| n.parse().ok()).ok_or("a number of threads")?;
    let mut files = MemoryFiles::default();
    files.add("/p/model/model.k", super::workloads::model(60, 40, 1));
    let stack = |i: usize| {
        let text = format!(
            "import model\n\na = model.Model3 {{\n    name = \"stack-{i}\"\n    field1 = {i}\n}}\n\
             b = [model.Model4 {{name = \"x${{i}}\", inner = {{name = \"y\"}}}} for i in range(5)]\n"
        );
        Request { work_dir: "/p".into(), ..Request::source("main.k", text) }
    };
    let requests: Vec<Request> = (0..STACKS).map(stack).collect();
    let compiler = Compiler::new(&files);
    let (wall, cpu) = (Instant::now(), super::measure::process_clock());
    let outcomes = compiler.run_many_on(threads, &requests, &NoOutside);
    let (wall, cpu) = (wall.elapsed().as_secs_f64(), super::measure::process_clock() - cpu);
    if let Some(failed) = outcomes.iter().find(|outcome| !outcome.is_ok()) {
        return Err(format!("{:?}", failed.diagnostics));
    }
    println!("{wall} {cpu}");
    Ok(ExitCode::SUCCESS)
}
