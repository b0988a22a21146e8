//! What the `git` program knows about a folder. Nothing is said outside a repository or without git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Asks git; `None` where it has no answer.
#[must_use]
pub fn git(folder: &Path, words: &[&str]) -> Option<String> {
    // Most of those who work outside a repository have no git either: no process is started for them.
    folder.ancestors().find(|at| at.join(".git").exists())?;
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        // A repository may name a program for this; asking must not run one.
        .args(["-c", "core.fsmonitor=false"])
        .args(words)
        .env("GIT_OPTIONAL_LOCKS", "0")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The commit of the source around a folder.
#[must_use]
pub fn commit_of(folder: &Path) -> Option<String> {
    let commit = git(folder, &["rev-parse", "--verify", "--quiet", "HEAD"])?;
    commit.trim().get(..12).map(str::to_owned)
}

/// A repository around a folder.
pub(crate) struct Repository {
    pub(crate) top: PathBuf,
    /// Where it was cloned from.
    pub(crate) origin: Option<String>,
}

/// The repository around a folder.
pub(crate) fn repository(folder: &Path) -> Option<Repository> {
    let top = git(folder, &["rev-parse", "--show-toplevel"])?;
    let origin = git(folder, &["config", "--get", "remote.origin.url"]);
    let origin = origin.map(|url| url.trim().to_owned()).filter(|url| !url.is_empty());
    Some(Repository { top: PathBuf::from(top.trim_end_matches('\n')), origin })
}
