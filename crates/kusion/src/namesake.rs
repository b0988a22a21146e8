//! Whether the state of a stack belongs to the folder that an errand works in.
//!
//! State is kept by name (project, stack, workspace), so two projects of one name under one home would share it, and an apply of
//! one would delete what the other has made. The folder of the last release tells: if a stack of the same name still lives
//! there, and it is not another checkout of the same repository, there are two. A folder that was moved or deleted is no problem.

use std::path::{Path, PathBuf};

use kcl::Disk;
use kusion_generate::locate;
use kusion_store::State;

use crate::git::repository;

/// What the folder of the last release is to this one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kin {
    /// The same, or nothing is known.
    Same,
    /// It was there, and is not any more.
    Moved(PathBuf),
    /// A stack of the same name lives there too.
    Namesake(PathBuf),
}

impl Kin {
    /// Compares the folder of the last release with another, on a machine.
    #[must_use]
    pub fn of(state: &State, folder: &Path, host: &str) -> Kin {
        let releases = state.releases.values().rev();
        let Some(last) = releases.clone().find(|release| release.folder.is_some()) else { return Kin::Same };
        let before = PathBuf::from(last.folder.clone().unwrap_or_default());
        let here = real(folder);
        // A folder of another machine cannot be looked at.
        if before == here || last.by.host != host || one_repository(&before, &here) {
            return Kin::Same;
        }
        let scope = |folder: &Path| locate(&Disk, folder, None).ok().map(|f| f.scope(&state.scope.workspace));
        let still = before.join("stack.yaml").is_file() && scope(&before).as_ref() == Some(&state.scope);
        if still { Kin::Namesake(before) } else { Kin::Moved(before) }
    }

    /// A line for people; nothing is wrong yet.
    #[must_use]
    pub fn note(&self, state: &State) -> Option<String> {
        match self {
            Kin::Same => None,
            Kin::Moved(before) => Some(format!(
                "the last release came from {}, which is gone: taken as moved",
                before.display()
            )),
            Kin::Namesake(before) => Some(format!(
                "another stack called {} lives in {}, and the state is of that one; rename one of them, or keep its state apart: --home DIR",
                state.scope,
                before.display()
            )),
        }
    }
}

/// The folder as a release records it.
pub(crate) fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Two checkouts of one repository, at the same place inside it.
fn one_repository(a: &Path, b: &Path) -> bool {
    let (Some(of_a), Some(of_b)) = (repository(a), repository(b)) else { return false };
    let inside = |path: &Path, top: &Path| path.strip_prefix(top).ok().map(Path::to_owned);
    let clone_of = |url: &Option<String>, top: &Path| url.as_deref().is_some_and(|url| Path::new(url) == top);
    let one_origin = of_a.origin.is_some() && of_a.origin == of_b.origin;
    let related = one_origin || clone_of(&of_a.origin, &of_b.top) || clone_of(&of_b.origin, &of_a.top);
    related && inside(a, &of_a.top) == inside(b, &of_b.top)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkouts_of_one_repository_are_one_project() {
        let dir = tempfile::tempdir().unwrap();
        let root = real(dir.path());
        let repo = |name: &str, url: &str| {
            let top = root.join(name);
            std::fs::create_dir_all(top.join("shop/dev")).unwrap();
            let git = |words: &[&str]| {
                let done = std::process::Command::new("git").arg("-C").arg(&top).args(words).status();
                assert!(done.unwrap().success(), "git {words:?}");
            };
            git(&["init", "--quiet"]);
            if !url.is_empty() {
                git(&["remote", "add", "origin", url]);
            }
            top
        };
        let a = repo("a", "git@corp:shop.git");
        let b = repo("b", "git@corp:shop.git");
        let c = repo("c", "git@corp:other.git");
        let d = repo("d", &a.display().to_string());
        let dev = |top: &Path| top.join("shop/dev");
        assert!(one_repository(&dev(&a), &dev(&b)), "two clones");
        assert!(one_repository(&dev(&a), &dev(&d)), "a clone of the other");
        assert!(!one_repository(&dev(&a), &dev(&c)));
        assert!(!one_repository(&dev(&a), &b.join("shop")), "another place inside it");
        assert!(!one_repository(&dev(&a), &root));
        assert_eq!(crate::commit_of(&dev(&a)), None, "no commit yet");
    }
}
