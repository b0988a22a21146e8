//! Packages from Git repositories, by the `git` program: the user's own credentials, proxies and settings apply.

use std::fs::File;
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

/// A bare copy of a repository, held by this process alone.
struct Bare<'c> {
    folder: &'c Path,
    url: &'c str,
    /// Every `git` holds the lock beside us: if we are killed it goes on, and who comes next waits for its end.
    held: &'c File,
}

/// Fetches one state of a repository into a bare copy and reads its files. `held` is the lock of that copy.
pub(crate) fn take(copy: &Path, url: &str, pin: &Pin, held: &File) -> Result<Taken, Trouble> {
    if url.starts_with('-') || url.contains("::") {
        return Err(Trouble::new(format!("`{url}` is not the address of a Git repository"))
            .next("write https://…, ssh://…, file://… or user@host:path"));
    }
    let bare = Bare { folder: copy, url, held };
    let known = copy.exists();
    match bare.taken(pin) {
        // What somebody damaged, or a machine that lost its power, is copied anew; without a git nobody can tell.
        Err(_) if known && bare.git(&["--version"]).is_ok() && !bare.is_whole() => {
            let told = |e| Trouble::new(format!("cannot remove {}: {e}", copy.display()));
            std::fs::remove_dir_all(copy).map_err(told)?;
            bare.taken(pin)
        }
        other => other,
    }
}

impl Bare<'_> {
    fn taken(&self, pin: &Pin) -> Result<Taken, Trouble> {
        let Bare { folder, url, .. } = self;
        if !folder.join("HEAD").is_file() {
            std::fs::create_dir_all(folder)
                .map_err(|e| Trouble::new(format!("cannot make {}: {e}", folder.display())))?;
            self.git(&["init", "--quiet", "--bare", "."])?;
        }
        remove_locks(folder).map_err(|e| Trouble::new(format!("cannot clear {}: {e}", folder.display())))?;
        let pin = match pin {
            Pin::Greatest => Pin::Tag(self.newest_tag()?),
            other => other.clone(),
        };
        let commit = self.fetch(&pin)?;
        let tar = self.git(&["archive", "--format=tar", &commit])?;
        let (content, _) = unpack(tar.as_slice(), Limits::default(), Links::LeaveOut)
            .map_err(|e| Trouble::new(format!("{} at {commit}: {e}", shown(url))))?;
        Ok(Taken { content, commit, pin })
    }

    fn is_whole(&self) -> bool {
        self.git(&["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]).is_ok()
    }

    fn newest_tag(&self) -> Result<String, Trouble> {
        let listed = self.git(&["ls-remote", "--tags", "--refs", "--", self.url])?;
        let listed = String::from_utf8_lossy(&listed);
        let tags = listed.lines().filter_map(|line| line.split_once("refs/tags/").map(|(_, tag)| tag));
        greatest(tags).map(str::to_owned).ok_or_else(|| {
            Trouble::new(format!("{} has no tag that is a version", shown(self.url)))
                .next("name a tag, a commit or a branch")
        })
    }

    fn fetch(&self, pin: &Pin) -> Result<String, Trouble> {
        let (reference, what) = match pin {
            Pin::Tag(tag) => (format!("refs/tags/{tag}"), format!("tag `{tag}`")),
            Pin::Branch(branch) => (format!("refs/heads/{branch}"), format!("branch `{branch}`")),
            Pin::Commit(commit) => return self.commit_of(commit),
            Pin::Greatest => return Err(Trouble::new("no state of the repository was chosen")),
        };
        let spec = format!("+{reference}:{reference}");
        self.git(&["fetch", "--quiet", "--depth=1", "--no-tags", "--", self.url, &spec]).map_err(
            |trouble| {
                if trouble.what.contains("find remote ref") {
                    return Trouble::new(format!("{} has no {what}", shown(self.url)))
                        .next(format!("`git ls-remote {}` lists what it has", shown(self.url)));
                }
                trouble
            },
        )?;
        self.full_commit(&reference)
    }

    /// A commit that is there already needs no network; not every server gives a commit by its number, so all may have to be fetched.
    fn commit_of(&self, commit: &str) -> Result<String, Trouble> {
        if commit.len() < 7 || !commit.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(Trouble::new(format!(
                "`{commit}` is not a commit: seven or more hexadecimal digits"
            )));
        }
        if let Ok(full) = self.full_commit(commit) {
            return Ok(full);
        }
        let direct = commit.len() == 40
            && self.git(&["fetch", "--quiet", "--depth=1", "--", self.url, commit]).is_ok();
        if !direct {
            let all = [
                "fetch",
                "--quiet",
                "--",
                self.url,
                "+refs/heads/*:refs/heads/*",
                "+refs/tags/*:refs/tags/*",
            ];
            self.git(&all)?;
        }
        self.full_commit(commit).map_err(|_| {
            Trouble::new(format!("{} has no commit {commit}", shown(self.url))).next(
                "a commit that no branch and no tag holds cannot be fetched everywhere: name it in full",
            )
        })
    }

    fn full_commit(&self, reference: &str) -> Result<String, Trouble> {
        let peeled = format!("{reference}^{{commit}}");
        let out = self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &peeled])?;
        Ok(String::from_utf8_lossy(&out).trim().to_owned())
    }

    fn git(&self, words: &[&str]) -> Result<Vec<u8>, Trouble> {
        let patience = format!("http.lowSpeedTime={}", crate::patience()?.as_secs());
        let held = self.held.try_clone().map_err(|e| Trouble::new(format!("cannot share a lock: {e}")))?;
        log::debug!("program git started");
        let output = Command::new("git")
            .arg("-C")
            .arg(self.folder)
            .args(["-c", "protocol.ext.allow=never", "-c", "core.autocrlf=false"])
            // Nobody works in the copy when we have left it.
            .args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"])
            // A server that stands still is given up.
            .args(["-c", "http.lowSpeedLimit=1", "-c", &patience])
            .args(words)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("LC_ALL", "C")
            // Someone else's repository around us must not be meant.
            .env("GIT_DIR", self.folder)
            .env_remove("GIT_WORK_TREE")
            .env_remove("GIT_INDEX_FILE")
            .stdin(Stdio::from(held))
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
        let trouble = Trouble::new(format!("git says about {}: {said}", shown(self.url)));
        Err(match said {
            said if said.contains("could not read Username") || said.contains("Authentication failed") => {
                trouble.next("git asks for credentials: `git ls-remote` with that address must work first")
            }
            said if said.contains("Operation too slow") => trouble.next("try again, or work with --offline"),
            _ => trouble.next(format!("`git ls-remote {}` must work first", shown(self.url))),
        })
    }
}

/// Removes what a `git` that was killed has left: nobody else works here while our own lock is held. Objects have no locks.
fn remove_locks(folder: &Path) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        if entry.file_type()?.is_dir() {
            if name != "objects" {
                remove_locks(&entry.path())?;
            }
        } else if name.as_encoded_bytes().ends_with(b".lock") {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// An address without the password that it may carry.
pub(crate) fn shown(url: &str) -> String {
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
