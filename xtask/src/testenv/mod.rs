//! `cargo xtask testenv build [PROGRAM…]|start|stop|status|run -- CMD…`: the real control plane by hand and around a command.
//!
//! In: the sub-command. Out: a built, running or ended control plane.
//! Invariant: `run` always ends what it started; `start` leaves exactly one holder process behind, which `stop` ends.

use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::time::Instant;

use testenv::{ControlPlane, Options};

use crate::ChoreResult;

mod hold;

/// Entry point.
pub(crate) fn main(words: &[String]) -> ChoreResult {
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        ["build"] => build(testenv::build),
        ["build", programs @ ..] => build_programs(programs),
        ["start"] => hold::start(),
        ["stop"] => hold::stop(),
        ["status"] => hold::status(),
        ["hold"] => hold::hold(),
        ["run", "--", command, arguments @ ..] => run(command, arguments),
        _ => Err("usage: cargo xtask testenv build [PROGRAM…]|start|stop|status|run -- CMD…".into()),
    }
}

fn build_programs(programs: &[&str]) -> ChoreResult {
    for program in programs {
        build(|| testenv::build_program(program))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn build(program: impl Fn() -> Result<PathBuf, testenv::Error>) -> ChoreResult {
    let begin = Instant::now();
    let bin = program().map_err(|error| error.to_string())?;
    println!("{} ({:.1} s)", bin.display(), begin.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

/// Starts a plane, runs the command with it, ends the plane, and leaves with the command's code.
fn run(command: &str, arguments: &[&str]) -> ChoreResult {
    let begin = Instant::now();
    let plane = start_plane()?;
    eprintln!("testenv: ready in {:.1} s at {}", begin.elapsed().as_secs_f64(), plane.url());
    let status = Command::new(command)
        .args(arguments)
        .envs(plane.environment())
        .status()
        .map_err(|error| format!("starting {command}: {error}"))?;
    drop(plane);
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

fn start_plane() -> Result<ControlPlane, String> {
    ControlPlane::start(Options { build: true, ..Options::default() }).map_err(|error| error.to_string())
}
