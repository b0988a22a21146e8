//! CPU time and peak memory: of the real `kcl run` on files, and of many programs in one process.

use super::workloads::Workload;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use testkit::{Program, Verdict};

use crate::ChoreResult;

/// One measured run of ours.
pub(super) struct Sample {
    /// CPU seconds, user and system.
    pub(super) cpu: f64,
    /// Peak resident memory.
    pub(super) peak_kib: u64,
}

/// A folder in memory that goes away with this value.
pub(super) struct Scratch {
    pub(super) folder: PathBuf,
}

impl Scratch {
    pub(super) fn new(name: &str) -> Result<Scratch, String> {
        let base = if Path::new("/dev/shm").is_dir() { "/dev/shm".into() } else { std::env::temp_dir() };
        let folder = base.join(format!("kcl-bench-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        Ok(Scratch { folder })
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// A program on the disk that `kcl run` evaluates, in a folder that goes away with this value.
pub(super) struct OnDisk {
    folder: PathBuf,
    kcl: PathBuf,
}

impl OnDisk {
    pub(super) fn new(program: &Program) -> Result<OnDisk, String> {
        OnDisk::of(program, kcl_binary()?)
    }

    /// A program for a `kcl` of some other build.
    pub(super) fn of(program: &Program, kcl: PathBuf) -> Result<OnDisk, String> {
        let folder = std::env::temp_dir().join(format!("kcl-bench-{}", std::process::id()));
        write(program, &folder)?;
        Ok(OnDisk { kcl, folder })
    }

    /// The whole process of `kcl run main.k`, mean of some runs.
    pub(super) fn sample(&self, times: u32) -> Result<Sample, String> {
        run(&self.folder, times, &[&self.kcl, Path::new("run"), Path::new("main.k")])
    }

    /// The process that does nothing.
    pub(super) fn nothing(&self, times: u32) -> Result<Sample, String> {
        run(&self.folder, times, &[Path::new("/bin/true")])
    }
}

impl Drop for OnDisk {
    fn drop(&mut self) {
        // A folder that stays behind in the temporary folder harms nobody.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

pub(super) fn write(program: &Program, folder: &Path) -> Result<(), String> {
    let problem = |e: std::io::Error| format!("{}: {e}", folder.display());
    for file in &program.files {
        let path = folder.join(&file.path);
        std::fs::create_dir_all(path.parent().unwrap_or(folder)).map_err(problem)?;
        std::fs::write(&path, &file.text).map_err(problem)?;
    }
    Ok(())
}

/// Writes the programs of all rows to sub-folders, for a profiler.
pub(super) fn write_all(folder: &str) -> ChoreResult {
    for (i, workload) in super::WORKLOADS.iter().enumerate() {
        write(&(workload.make)(1), &Path::new(folder).join((i + 2).to_string()))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// One run of any command, given by its full path, in a folder.
pub(super) fn command(folder: &Path, command: &[&Path]) -> Result<Sample, String> {
    run(folder, 1, command)
}

/// One run of our command with its words, in a folder.
pub(super) fn whole_process(folder: &Path, words: &[&str]) -> Result<Sample, String> {
    let kcl = kcl_binary()?;
    let mut command = vec![kcl.as_path()];
    command.extend(words.iter().map(Path::new));
    run(folder, 1, &command)
}

fn run(folder: &Path, times: u32, command: &[&Path]) -> Result<Sample, String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench/runner.py");
    let python = std::env::var("KCL_ORACLE_PYTHON").unwrap_or_else(|_| "python3".into());
    let mut runner = Command::new(python);
    read_sample(runner.arg(script).arg(times.to_string()).args(command).current_dir(folder))
}

/// Runs a workload in a fresh child of this program: many programs in one process.
pub(super) fn in_one_process(index: usize, scale: usize) -> Result<Sample, String> {
    in_process_of(&std::env::current_exe().map_err(|e| e.to_string())?, index, scale)
}

/// The same in a child of another build of this program.
pub(super) fn in_process_of(xtask: &Path, index: usize, scale: usize) -> Result<Sample, String> {
    read_sample(Command::new(xtask).args(["bench", "child", &index.to_string(), &scale.to_string()]))
}

fn read_sample(command: &mut Command) -> Result<Sample, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut words = text.split_whitespace();
    let cpu = words.next().and_then(|n| n.parse().ok());
    let peak = words.next().and_then(|n| n.parse().ok());
    match (cpu, peak) {
        (Some(cpu), Some(peak_kib)) if output.status.success() => Ok(Sample { cpu, peak_kib }),
        _ => Err(format!("{command:?}: {text}{}", String::from_utf8_lossy(&output.stderr))),
    }
}

/// The child's side: runs a workload with one compiler and prints CPU seconds and peak KiB.
pub(super) fn child(words: &[String]) -> ChoreResult {
    let number = |at: usize| words.get(at).and_then(|n| n.parse::<usize>().ok()).ok_or("two numbers");
    let (index, scale) = (number(0)?, number(1)?);
    let workload: &Workload = super::WORKLOADS.get(index).ok_or("no such workload")?;
    let program = (workload.make)(scale);
    let runs = workload.runs * scale as u32;
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
pub(super) fn process_clock() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}

fn peak_kib() -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.split_whitespace().next()).and_then(|n| n.parse().ok()).unwrap_or(0)
}

/// A debug build measures nothing: builds the release binaries and hands the words over to the other xtask.
pub(super) fn again_in_release(words: &[String]) -> ChoreResult {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let release =
        here.parent().and_then(Path::parent).ok_or("xtask stands in no target folder")?.join("release");
    run_to_end(Command::new("cargo").args(["build", "--release", "-p", "kcl-cli", "-p", "xtask"]))?;
    run_to_end(Command::new(release.join("xtask")).arg("bench").args(words))
}

fn run_to_end(command: &mut Command) -> ChoreResult {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(ExitCode::SUCCESS) } else { Err(format!("{command:?}: {status}")) }
}

pub(crate) fn kcl_binary() -> Result<PathBuf, String> {
    let here = std::env::current_exe().map_err(|e| e.to_string())?;
    let path = here.with_file_name("kcl");
    if path.exists() {
        Ok(path)
    } else {
        Err(format!("{} is missing: cargo build --release -p kcl-cli", path.display()))
    }
}
