//! CPU time and peak memory of processes, read from `/proc` (no foreign functions needed).

use super::workloads::WORKLOADS;
use crate::Outcome;
use crate::oracle;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};
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
    // A thread of its own, as the façade's callers have: deep programs need stack, and its clock starts at zero.
    let thread = std::thread::Builder::new()
        .stack_size(64 << 20)
        .spawn(move || {
            let before = thread_cpu();
            let verdict = oracle::repeat(&program, runs);
            (thread_cpu() - before, verdict)
        })
        .map_err(|e| e.to_string())?;
    let (cpu, verdict) = thread.join().map_err(|_| "panic")?;
    if !matches!(verdict, Verdict::Output(_)) {
        return Err(verdict.to_string());
    }
    println!("{cpu} {}", peak_kib());
    Ok(ExitCode::SUCCESS)
}

/// CPU seconds of the calling thread.
fn thread_cpu() -> f64 {
    schedstat("/proc/thread-self/schedstat")
}

fn schedstat(path: &str) -> f64 {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let nanoseconds: f64 = text.split_whitespace().next().and_then(|n| n.parse().ok()).unwrap_or(0.0);
    nanoseconds / 1e9
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// Median CPU seconds of `kcl run` on `a = 1`, and of `/bin/true`, interleaved.
pub(super) fn start_up(runs: usize) -> Result<(f64, f64), String> {
    let kcl = kcl_binary()?;
    let folder = std::env::temp_dir().join(format!("kcl-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|e| e.to_string())?;
    let file = folder.join("main.k");
    std::fs::write(&file, "a = 1\n").map_err(|e| e.to_string())?;
    let (mut ours, mut nothing) = (Vec::new(), Vec::new());
    for _ in 0..runs {
        ours.push(process_cpu(Command::new(&kcl).arg("run").arg(&file).current_dir(&folder))?);
        nothing.push(process_cpu(&mut Command::new("/bin/true"))?);
    }
    let _ = std::fs::remove_dir_all(&folder);
    Ok((super::median(&mut ours), super::median(&mut nothing)))
}

fn kcl_binary() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let path = here.with_file_name("kcl");
    if path.exists() { Ok(path) } else { Err(format!("{} is missing: cargo build --release -p kcl-cli", path.display())) }
}

/// CPU seconds of a process from start to end: read while it is a zombie, before it is reaped.
fn process_cpu(command: &mut Command) -> Result<f64, String> {
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|e| e.to_string())?;
    let cpu = zombie_cpu(&child);
    let status = child.wait().map_err(|e| e.to_string())?;
    if !status.success() {
        return Err(format!("{command:?}: {status}"));
    }
    cpu.ok_or_else(|| "a process vanished before it was measured".into())
}

fn zombie_cpu(child: &Child) -> Option<f64> {
    let id = child.id();
    for _ in 0..200_000 {
        let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
        let state = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next());
        if state == Some("Z") {
            return Some(schedstat(&format!("/proc/{id}/schedstat")));
        }
        std::thread::sleep(std::time::Duration::from_micros(200));
    }
    None
}
