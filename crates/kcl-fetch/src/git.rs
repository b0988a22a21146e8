//! Packages from Git repositories, by the `git` program: the user's own credentials, proxies and settings apply.

use std::path::Path;
use std::process::{Command, Stdio};

use kcl_mod::{Content, Limits, Links, Pin, greatest, unpack};

use crate::Trouble;

/// What was found in a repository.
pub(crate) struct Taken {
    pub(crate) content: Content,
    /// The commit, in full.
    pub(crate) commit: String,
    /// What was asked for, or the tag that was chosen.
    pub(crate) pin: Pin,
}

/// Fetches one state of a repository into a bare copy and reads its files.
pub(crate) fn take(copy: &Path, url: &str, pin: &Pin) -> Result<Taken, Trouble> {
    if url.starts_with('-') || url.contains("::") {
        return Err(Trouble::new(format!("`{url}` is not the address of a Git repository")));
    }
    if !copy.join("HEAD").is_file() {
        std::fs::create_dir_all(copy)
            .map_err(|e| Trouble::new(format!("cannot make {}: {e}", copy.display())))?;
        git(copy, &["init", "--quiet", "--bare", "."], url)?;
    }
    let pin = match pin {
        Pin::Greatest => Pin::Tag(newest_tag(copy, url)?),
        other => other.clone(),
    };
    let commit = fetch(copy, url, &pin)?;
    let tar = git(copy, &["archive", "--format=tar", &commit], url)?;
    let (content, _) = unpack(tar.as_slice(), Limits::default(), Links::LeaveOut)
        .map_err(|e| Trouble::new(format!("{} at {commit}: {e}", shown(url))))?;
    Ok(Taken { content, commit, pin })
}

fn newest_tag(copy: &Path, url: &str) -> Result<String, Trouble> {
    let listed = git(copy, &["ls-remote", "--tags", "--refs", "--", url], url)?;
    let listed = String::from_utf8_lossy(&listed);
    let tags = listed.lines().filter_map(|line| line.split_once("refs/tags/").map(|(_, tag)| tag));
    greatest(tags).map(str::to_owned).ok_or_else(|| {
        Trouble::new(format!("{} has no tag that is a version", shown(url)))
            .next("name a tag, a commit or a branch")
    })
}

fn fetch(copy: &Path, url: &str, pin: &Pin) -> Result<String, Trouble> {
    let (reference, what) = match pin {
        Pin::Tag(tag) => (format!("refs/tags/{tag}"), format!("tag `{tag}`")),
        Pin::Branch(branch) => (format!("refs/heads/{branch}"), format!("branch `{branch}`")),
        Pin::Commit(commit) => return commit_of(copy, url, commit),
        Pin::Greatest => return Err(Trouble::new("no state of the repository was chosen")),
    };
    let spec = format!("+{reference}:{reference}");
    git(copy, &["fetch", "--quiet", "--depth=1", "--no-tags", "--", url, &spec], url).map_err(|trouble| {
        if trouble.what.contains("find remote ref") {
            return Trouble::new(format!("{} has no {what}", shown(url)))
                .next(format!("`git ls-remote {}` lists what it has", shown(url)));
        }
        trouble
    })?;
    full_commit(copy, url, &reference)
}

/// A commit that is there already needs no network; not every server gives a commit by its number, so all may have to be fetched.
fn commit_of(copy: &Path, url: &str, commit: &str) -> Result<String, Trouble> {
    if commit.len() < 7 || !commit.chars().all(|c| c.is_ascii_hexdigit()) {
        return Err(Trouble::new(format!("`{commit}` is not a commit: seven or more hexadecimal digits")));
    }
    if let Ok(full) = full_commit(copy, url, commit) {
        return Ok(full);
    }
    let direct =
        commit.len() == 40 && git(copy, &["fetch", "--quiet", "--depth=1", "--", url, commit], url).is_ok();
    if !direct {
        let all = ["fetch", "--quiet", "--", url, "+refs/heads/*:refs/heads/*", "+refs/tags/*:refs/tags/*"];
        git(copy, &all, url)?;
    }
    full_commit(copy, url, commit).map_err(|_| Trouble::new(format!("{} has no commit {commit}", shown(url))))
}

fn full_commit(copy: &Path, url: &str, reference: &str) -> Result<String, Trouble> {
    let peeled = format!("{reference}^{{commit}}");
    let out = git(copy, &["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled], url)?;
    Ok(String::from_utf8_lossy(&out).trim().to_owned())
}

fn git(copy: &Path, words: &[&str], url: &str) -> Result<Vec<u8>, Trouble> {
    let patience = format!("http.lowSpeedTime={}", crate::patience().as_secs());
    log::debug!("program git started");
    let output = Command::new("git")
        .arg("-C")
        .arg(copy)
        .args(["-c", "protocol.ext.allow=never", "-c", "core.autocrlf=false"])
        // A server that stands still is given up.
        .args(["-c", "http.lowSpeedLimit=1", "-c", &patience])
        .args(words)
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        // Someone else's repository around us must not be meant.
        .env("GIT_DIR", copy)
        .env_remove("GIT_WORK_TREE")
        .env_remove("GIT_INDEX_FILE")
        .stdin(Stdio::null())
        .output()
        .map_err(|e| {
            Trouble::new(format!("cannot run git: {e}"))
                .next("install git, or give the package as a path or from a registry")
        })?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said =
        said.lines().find(|l| l.starts_with("fatal:") || l.starts_with("error:")).or(said.lines().last());
    let said = said.unwrap_or("nothing").trim();
    let trouble = Trouble::new(format!("git says about {}: {said}", shown(url)));
    Err(match said {
        said if said.contains("could not read Username") || said.contains("Authentication failed") => {
            trouble.next("git asks for credentials: `git ls-remote` with that address must work first")
        }
        said if said.contains("Operation too slow") => trouble.next("try again, or work with --offline"),
        _ => trouble,
    })
}

/// An address without the password that it may carry.
fn shown(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.split_once('@')?))) {
        Some((scheme, (login, rest))) if !login.contains('/') => format!("{scheme}://…@{rest}"),
        _ => url.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(shown("https://me:secret@git.example.org/a.git"), "https://…@git.example.org/a.git");
        assert_eq!(shown("https://git.example.org/a@b.git"), "https://git.example.org/a@b.git");
        assert_eq!(shown("git@example.org:a.git"), "git@example.org:a.git");
    }
}
