//! What chores build and start: binaries of the workspace, commands of others.

use std::path::PathBuf;
use std::process::Command;

use crate::oracle::root;

/// The folder of everything that is built.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// Takes out of the environment what cargo says about the chore itself: build scripts look at it, and what depends on them would be
/// built anew whenever a chore calls cargo.
pub(crate) fn clean(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Builds the programs and libraries with what `cargo test --workspace` has compiled; returns their folder. A package by itself would
/// have other features of its dependencies, so that most of them would be compiled once more.
pub(crate) fn built() -> Result<PathBuf, String> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    ran(clean(&mut command).args(["build", "--workspace", "--all-targets", "--locked"]).current_dir(root()))?;
    Ok(target().join("debug"))
}

/// Runs a command; its output is told only if it fails.
pub(crate) fn ran(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{command:?}: {e}"))?;
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.success() {
        Ok(out.into_owned())
    } else {
        Err(format!("{command:?}: {}\n{out}{err}", output.status))
    }
}
