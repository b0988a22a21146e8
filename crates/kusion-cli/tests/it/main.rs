//! The command as a user calls it: words in, streams and exit codes out.
#![allow(clippy::unwrap_used)]

mod backends;
mod book;
mod canary;
mod debug;
mod export;
mod forward;
mod health;
mod lab;
mod lab_connection;
mod lab_faults;
mod lab_limits;
mod lab_told;
mod offline;
mod picture;
mod providers;
mod quickstart;
mod replaced;
mod road;
mod stage;
mod storm;
mod takeover;
mod terraform;
mod upstream;
mod wire;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The command with a home of its own and nothing of the tester's environment.
pub(crate) fn kusion(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_kusion"));
    command.env_remove("KUBECONFIG").env("KUSION_HOME", home).env("NO_COLOR", "1").env("LC_ALL", "C");
    command.current_dir(root());
    command
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs and checks the exit code; both streams are in the message of a failure.
pub(crate) fn run(command: &mut Command, code: i32) -> Output {
    let output = command.output().unwrap();
    let told = format!("{}\n{}", text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{told}");
    output
}
