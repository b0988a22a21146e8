//! What the `git` program knows about a folder. Nothing is said outside a repository or without git.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kusion_model::Checkout;

/// Asks git; `None` where it has no answer.
#[must_use]
pub fn git(folder: &Path, words: &[&str]) -> Option<String> {
    // Most of those who work outside a repository have no git either: no process is started for them.
    folder.ancestors().find(|at| at.join(".git").exists())?;
    let mut command = Command::new("git");
    for name in base_secret::hidden_variables() {
        command.env_remove(name);
    }
    // Nothing is fetched, so nobody is logged in to.
    for name in base_secret::CREDENTIALS {
        command.env_remove(name);
    }
    log::debug!("program git started");
    let output = command
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

/// The source around a folder: its commit, whether anything was changed beside it, and where it comes from.
#[must_use]
pub fn source_of(folder: &Path) -> Option<Checkout> {
    let line = |words: &[&str]| {
        git(folder, words).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
    };
    let commit = line(&["rev-parse", "--verify", "--quiet", "HEAD"])?;
    let top = line(&["rev-parse", "--show-toplevel"])?;
    let changed = git(Path::new(&top), &["status", "--porcelain=v1", "--untracked-files=normal"]);
    Some(Checkout {
        commit,
        clean: changed.is_some_and(|text| text.trim().is_empty()),
        branch: line(&["symbolic-ref", "--short", "--quiet", "HEAD"]),
        remote: line(&["config", "--get", "remote.origin.url"]).map(|url| without_login(&url)),
    })
}

/// The author that git would write into a commit: what somebody says about himself.
#[must_use]
pub fn author_of(folder: &Path) -> Option<String> {
    let value = |key: &str| {
        git(folder, &["config", "--get", key])
            .map(|text| text.trim().to_owned())
            .filter(|text| !text.is_empty())
    };
    match (value("user.name"), value("user.email")) {
        (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
        (name, email) => name.or(email),
    }
}

/// An address without the user and password that may stand in it.
fn without_login(url: &str) -> String {
    match url.split_once("://") {
        Some((scheme, rest)) => {
            let end = rest.find('/').unwrap_or(rest.len());
            let host = rest[..end].rfind('@').map_or(0, |at| at + 1);
            format!("{scheme}://{}", &rest[host..])
        }
        None => url.to_owned(),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_in_addresses_are_left_out() {
        for (url, shown) in [
            ("https://me:token@host/a/b@c.git", "https://host/a/b@c.git"),
            ("ssh://git@host/a.git", "ssh://host/a.git"),
            ("git@host:a/b.git", "git@host:a/b.git"),
        ] {
            assert_eq!(without_login(url), shown);
        }
    }
}
