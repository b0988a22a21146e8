//! `kusion sandbox`: a Kubernetes-compatible API on loopback that keeps running after the command.
//!
//! The running one is a second process of this command (`start --foreground`); the folder holds its pid, log, kubeconfig and
//! objects. Nothing but the owner can read them.

use std::fs::File;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use sandbox_server::{Sandbox, Setup};
use serde_json::json;

use crate::input::chosen::{here, home_at};
use crate::input::cluster::tokio;
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::{Exit, Failure};
use crate::views::output::{Format, format_of, print, print_json, tell};

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("folder", None, "DIR", "where it keeps its objects (default: sandbox in the home of kusion)"),
        flag("port", None, "N", "the port on 127.0.0.1 (default: the last one, else a free one)"),
        flag(
            "listen",
            None,
            "ADDRESS",
            "another address than 127.0.0.1; needs --beyond-loopback if it is not loopback",
        ),
        flag("beyond-loopback", None, "", "let other machines reach it; whoever has its token rules it"),
        flag("memory", None, "", "forget the objects when it stops"),
        flag(
            "fault",
            None,
            "SCRIPT",
            "inject faults, e.g. `verb=write call=every:5 error=503 retry-after=1`",
        ),
        flag("foreground", None, "", "do not go to the background"),
        flag("output", Some('o'), "FORMAT", "text or json"),
        flag("home", None, "DIR", "the home of kusion (default ~/.kusion)"),
        flag("yes", Some('y'), "", "do not ask"),
    ]
}

/// How long a new process may take to answer: machines are busy.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long it may take to end after it was told to.
const END_PATIENCE: Duration = Duration::from_secs(15);

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let [verb] = given.rest.as_slice() else {
        return Err(Failure::usage("kusion sandbox needs one word").next("start, stop, reset or status"));
    };
    let folder = folder(given)?;
    match verb.as_str() {
        "start" if given.has("foreground") => foreground(given, &folder),
        "start" => start(given, &folder),
        "stop" => stop(given, &folder),
        "reset" => reset(given, &folder),
        "status" => status(given, &folder),
        other => Err(Failure::usage(format!("there is no `kusion sandbox {other}`"))
            .next("start, stop, reset or status")),
    }
}

fn folder(given: &Given) -> Result<PathBuf, Failure> {
    match given.last("folder") {
        Some(folder) => Ok(here()?.join(folder)),
        None => Ok(home_at(given, &here()?)?.join("sandbox")),
    }
}

/// Stands behind the number in the file `pid` of a sandbox that keeps nothing.
const MEMORY: &str = "memory";

/// Runs a sandbox until a signal comes.
fn foreground(given: &Given, folder: &Path) -> Result<(), Failure> {
    if let Some(pid) = running(folder) {
        return Err(already(pid, folder));
    }
    let sandbox = open(given, folder)?;
    // Before the pid: who started this process waits for the pid and then reads these words.
    told_where(&sandbox)?;
    let pid_file = folder.join("pid");
    let memory = if given.has("memory") { MEMORY } else { "" };
    let text = format!("{} {memory}", std::process::id());
    base_file::replace(&pid_file, text.as_bytes(), base_file::How::Plain)
        .map_err(|e| unwritable(&pid_file, &e))?;
    tokio()?.block_on(async {
        use ::tokio::signal::unix::{SignalKind, signal};
        let Ok(mut terminate) = signal(SignalKind::terminate()) else { return };
        ::tokio::select! { _ = ::tokio::signal::ctrl_c() => {}, _ = terminate.recv() => {} }
    });
    let _ = std::fs::remove_file(&pid_file);
    Ok(())
}

/// Opens a sandbox in this process.
pub(crate) fn open(given: &Given, folder: &Path) -> Result<Sandbox, Failure> {
    let port = given.last("port").map(|text| text.parse().map_err(|_| no_port(&text))).transpose()?;
    let no_address = |text: &str| {
        Failure::usage(format!("--listen {text} is no address")).next("for example 127.0.0.1 or ::1")
    };
    let address = given.last("listen").map(|text| text.parse().map_err(|_| no_address(&text))).transpose()?;
    let setup = Setup {
        folder: folder.to_owned(),
        in_memory: given.has("memory"),
        port,
        address,
        beyond_loopback: given.has("beyond-loopback"),
        seed: None,
        fault: given.last("fault"),
    };
    Sandbox::start(setup).map_err(|error| {
        Failure::usage("the sandbox does not start")
            .cause(error.to_string())
            .place(folder.display().to_string())
            .next("`kusion sandbox status` tells whether one is running; `kusion sandbox reset` begins anew")
    })
}

fn no_port(text: &str) -> Failure {
    Failure::usage(format!("--port {text} is no port")).next("a number from 1 to 65535")
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::usage("a file of the sandbox cannot be written")
        .cause(error.to_string())
        .place(path.display().to_string())
        .next("let the folder be writable, or choose another: --folder DIR")
}

fn already(pid: Pid, folder: &Path) -> Failure {
    Failure::usage("the sandbox runs already")
        .cause(format!("process {} keeps {}", pid.as_raw_nonzero(), folder.display()))
        .next("use it, or `kusion sandbox stop`")
}

fn told_where(sandbox: &Sandbox) -> Result<(), Failure> {
    print(&format!(
        "Sandbox on {} (Kubernetes-compatible, not a cluster)\n    export KUBECONFIG={}\n",
        sandbox.address(),
        sandbox.kubeconfig().display()
    ))
}

/// Starts a process of its own and waits until it answers.
fn start(given: &Given, folder: &Path) -> Result<(), Failure> {
    if let Some(pid) = running(folder) {
        return Err(already(pid, folder));
    }
    std::fs::create_dir_all(folder).map_err(|e| unwritable(folder, &e))?;
    let log = folder.join("log");
    let file = File::create(&log).map_err(|e| unwritable(&log, &e))?;
    let errors = file.try_clone().map_err(|e| unwritable(&log, &e))?;
    let program = std::env::current_exe().map_err(|e| unwritable(folder, &e))?;
    let mut command = Command::new(program);
    command.args(["sandbox", "start", "--foreground", "--folder"]).arg(folder);
    for name in ["port", "fault", "listen"] {
        if let Some(value) = given.last(name) {
            command.arg(format!("--{name}={value}"));
        }
    }
    for name in ["memory", "beyond-loopback"] {
        if given.has(name) {
            command.arg(format!("--{name}"));
        }
    }
    // A group of its own: Ctrl-C in this terminal is not meant for it.
    command.stdin(Stdio::null()).stdout(file).stderr(errors).process_group(0);
    let mut child = command.spawn().map_err(|e| unwritable(folder, &e))?;
    log::debug!("program kusion started, process {}", child.id());
    let started = Instant::now();
    loop {
        if read_pid(folder).is_some_and(|pid| pid.as_raw_nonzero().get() as u32 == child.id()) {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            return ended(given, folder, &text);
        }
        if let Ok(Some(_)) = child.try_wait() {
            tell(&std::fs::read_to_string(&log).unwrap_or_default());
            return Err(Failure::told(Exit::Usage));
        }
        if started.elapsed() > PATIENCE {
            let _ = child.kill();
            return Err(Failure::usage("the sandbox does not answer").place(log.display().to_string()));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a verb has come to: its words, or the state of the sandbox for who asked for JSON.
fn ended(given: &Given, folder: &Path, text: &str) -> Result<(), Failure> {
    match format_of(given)? {
        Format::Json => status(given, folder),
        Format::Text => print(text),
    }
}

fn stop(given: &Given, folder: &Path) -> Result<(), Failure> {
    let Some(pid) = running(folder) else { return ended(given, folder, "No sandbox is running.\n") };
    let forgets = std::fs::read_to_string(folder.join("pid")).is_ok_and(|text| text.ends_with(MEMORY));
    let failed = |e: rustix::io::Errno| Failure::usage("the sandbox cannot be stopped").cause(e.to_string());
    kill_process(pid, Signal::TERM).map_err(failed)?;
    let started = Instant::now();
    while !has_ended(pid) && started.elapsed() < END_PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    let objects = if forgets { "forgotten, as --memory asked" } else { "kept" };
    ended(given, folder, &format!("The sandbox has stopped; its objects are {objects}.\n"))
}

fn reset(given: &Given, folder: &Path) -> Result<(), Failure> {
    if let Some(pid) = running(folder) {
        return Err(already(pid, folder).next("`kusion sandbox stop` first"));
    }
    let data = folder.join("data");
    if !data.exists() {
        return ended(given, folder, "There is nothing to reset.\n");
    }
    if !given.has("yes") {
        return Err(Failure::usage("reset forgets every object of the sandbox")
            .place(data.display().to_string())
            .next("kusion sandbox reset -y"));
    }
    std::fs::remove_dir_all(&data).map_err(|e| unwritable(&data, &e))?;
    ended(given, folder, "The sandbox is empty again.\n")
}

fn status(given: &Given, folder: &Path) -> Result<(), Failure> {
    let pid = running(folder).map(|pid| pid.as_raw_nonzero().get());
    let port = std::fs::read_to_string(folder.join("port")).ok().filter(|_| pid.is_some());
    let address = port.map(|port| format!("127.0.0.1:{}", port.trim()));
    let kubeconfig = folder.join("kubeconfig");
    match format_of(given)? {
        Format::Json => print_json(&json!({
            "schema": "kusion.io/sandbox/v1",
            "running": pid.is_some(),
            "pid": pid,
            "address": address,
            "folder": folder,
            "kubeconfig": kubeconfig,
        })),
        Format::Text => match (pid, address) {
            (Some(pid), Some(address)) => print(&format!(
                "The sandbox runs on {address} (process {pid}).\n    export KUBECONFIG={}\n",
                kubeconfig.display()
            )),
            _ => print("No sandbox is running. `kusion sandbox start` starts one.\n"),
        },
    }
}

/// The process that the folder's pid file names, if it lives and is one of ours.
fn running(folder: &Path) -> Option<Pid> {
    let pid = read_pid(folder)?;
    let words = std::fs::read(format!("/proc/{}/cmdline", pid.as_raw_nonzero())).ok();
    // Where there is no /proc, a living process of that number must do.
    let ours = words.is_none_or(|words| String::from_utf8_lossy(&words).contains("sandbox"));
    (ours && test_kill_process(pid).is_ok()).then_some(pid)
}

/// Whether a process is gone, or only waits for a parent who may never ask. Its files and its port are free then, which they
/// are not while any thread of it is left.
fn has_ended(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).unwrap_or_default();
    // Behind the name, which may contain anything: the state, and later the number of threads.
    let mut words = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    let waits = words.next() == Some("Z") && words.nth(16) == Some("1");
    waits || test_kill_process(pid).is_err()
}

fn read_pid(folder: &Path) -> Option<Pid> {
    let text = std::fs::read_to_string(folder.join("pid")).ok()?;
    Pid::from_raw(text.split(' ').next()?.trim().parse().ok()?)
}
