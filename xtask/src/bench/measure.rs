//! CPU time and peak memory of processes, read from `/proc` (no foreign functions needed).

use super::workloads::WORKLOADS;
use crate::Outcome;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use testkit::Verdict;

/// One measured run of ours.
pub(super) struct Sample {
    /// CPU seconds of evaluation.
    pub(super) cpu: f64,
    /// Peak resident memory of the whole child.
    pub(super) peak_kib: u64,
}

impl Sample {
    /// Runs a workload in a fresh child of this program.
    pub(super) fn take(index: usize, scale: usize) -> Result<Sample, String> {
        let program = std::env::current_exe().map_err(|e| e.to_string())?;
        let output = Command::new(program)
            .args(["bench", "child", &index.to_string(), &scale.to_string()])
            .output()
            .map_err(|e| e.to_string())?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut words = text.split_whitespace();
        let cpu = words.next().and_then(|n| n.parse().ok());
        let peak = words.next().and_then(|n| n.parse().ok());
        match (cpu, peak) {
            (Some(cpu), Some(peak_kib)) => Ok(Sample { cpu, peak_kib }),
            _ => Err(format!("{}: {text}{}", WORKLOADS[index].name, String::from_utf8_lossy(&output.stderr))),
        }
    }
}

/// The child's side: runs a workload once and prints CPU seconds and peak KiB.
pub(super) fn child(words: &[String]) -> Outcome {
    let number = |at: usize| words.get(at).and_then(|n| n.parse::<usize>().ok()).ok_or("two numbers");
    let (index, scale) = (number(0)?, number(1)?);
    let workload = WORKLOADS.get(index).ok_or("no such workload")?;
    let program = (workload.make)(scale);
    let runs = if workload.scale_runs { workload.runs * scale as u32 } else { workload.runs };
    let before = process_clock();
    let verdict = testkit::ours::repeat(&program, runs);
    let cpu = process_clock() - before;
    if !matches!(verdict, Verdict::Output(_)) {
        return Err(verdict.to_string());
    }
    println!("{cpu} {}", peak_kib());
    Ok(ExitCode::SUCCESS)
}

/// CPU seconds of this process, all threads, ended ones too.
fn process_clock() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Mean CPU seconds of `kcl run` on `a = 1`, and of `/bin/true`, in blocks that alternate.
pub(super) fn start_up(blocks: usize) -> Result<(f64, f64), String> {
    let kcl = kcl_binary()?;
    let folder = std::env::temp_dir().join(format!("kcl-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let file = folder.join("main.k");
    std::fs::write(&file, "a = 1\n").map_err(|e| e.to_string())?;
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..blocks {
        ours.push(block(&|| run(Command::new(&kcl).arg("run").arg(&file).current_dir(&folder)))?);
        nothing.push(block(&|| run(&mut Command::new("/bin/true")))?);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok((super::median(&mut ours), super::median(&mut nothing)))
}

/// Runs that share one reading of the clock, which ticks every 10 ms.
const BLOCK: u32 = 100;

fn block(one: &dyn Fn() -> Result<(), String>) -> Result<f64, String> {
    let before = children_clock();
    for _ in 0..BLOCK {
        one()?;
    }
    Ok((children_clock() - before) / f64::from(BLOCK))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status().map_err(|e| e.to_string())?;
    if status.success() { Ok(()) } else { Err(format!("{command:?}: {status}")) }
}

/// CPU seconds of all children that have ended: fields 16 and 17 of `stat`, in ticks of 10 ms.
fn children_clock() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = text.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks = |at: usize| fields.get(at).and_then(|n| n.parse::<f64>().ok()).unwrap_or(0.0);
    (ticks(13) + ticks(14)) / 100.0
}

fn kcl_binary() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let path = here.with_file_name("kcl");
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is missing: cargo build --release -p kcl-cli", path.display()))
    }
}
