//! A plane that stays: `start` puts a holder process in the background, `stop` and `status` talk to it.
//!
//! In and out: one line each way over a socket in the cache folder (`status` or `stop`; the plane's folder).
//! Invariant: one holder per cache folder, and the plane lives exactly as long as it does.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use testenv::ControlPlane;

use crate::ChoreResult;

fn socket() -> PathBuf {
    testenv::cache_folder().join("running.sock")
}

/// Starts the holder and returns when its plane is ready.
pub(crate) fn start() -> ChoreResult {
    if ask("status").is_some() {
        return status();
    }
    testenv::build().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| format!("finding this program: {error}"))?;
    let mut command = Command::new(program);
    command.args(["testenv", "hold"]).stdin(Stdio::null()).stdout(Stdio::piped());
    // Not ours to take along when the terminal's group is interrupted.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut holder = command.spawn().map_err(|error| format!("starting the holder: {error}"))?;
    let mut line = String::new();
    if let Some(output) = holder.stdout.take() {
        let _ = BufReader::new(output).read_line(&mut line);
    }
    if line.trim() != "ready" {
        let _ = holder.wait();
        return Err("the control plane did not start".into());
    }
    status()
}

/// The holder itself: owns the plane until it is told to stop.
pub(crate) fn hold() -> ChoreResult {
    let plane = super::start_plane()?;
    let path = socket();
    let _ = std::fs::remove_file(&path);
    let listener =
        UnixListener::bind(&path).map_err(|error| format!("listening on {}: {error}", path.display()))?;
    println!("ready");
    for connection in listener.incoming() {
        let Ok(connection) = connection else { continue };
        if answer(connection, plane.folder()) {
            break;
        }
    }
    let _ = std::fs::remove_file(&path);
    drop(plane);
    Ok(ExitCode::SUCCESS)
}

/// Answers one question; true when it was `stop`.
fn answer(mut connection: UnixStream, folder: &Path) -> bool {
    let mut line = String::new();
    let mut reader = BufReader::new(&connection);
    let stop = reader.read_line(&mut line).is_ok() && line.trim() == "stop";
    let _ = writeln!(connection, "{}", folder.display());
    stop
}

fn ask(question: &str) -> Option<String> {
    let mut connection = UnixStream::connect(socket()).ok()?;
    writeln!(connection, "{question}").ok()?;
    let mut line = String::new();
    BufReader::new(connection).read_line(&mut line).ok()?;
    let line = line.trim();
    (!line.is_empty()).then(|| line.to_owned())
}

pub(crate) fn stop() -> ChoreResult {
    match ask("stop") {
        Some(folder) => println!("stopped {folder}"),
        None => println!("not running"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints what a shell needs to use the plane, and what its servers cost.
pub(crate) fn status() -> ChoreResult {
    let Some(folder) = ask("status") else {
        println!("not running");
        return Ok(ExitCode::from(3));
    };
    let plane = ControlPlane::attach(Path::new(&folder)).map_err(|error| error.to_string())?;
    for (name, value) in plane.environment() {
        println!("export {name}={}", value.display());
    }
    for usage in plane.usage() {
        let megabytes = usage.pss_bytes / 1_000_000;
        println!(
            "# {:<24} {:>6.2} CPU s {megabytes:>5} MB  pid {}",
            usage.name, usage.cpu_seconds, usage.pid
        );
    }
    Ok(ExitCode::SUCCESS)
}
