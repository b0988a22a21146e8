//! Whether the state of a stack belongs to the folder a command works in.
//!
//! State is kept by name (project, stack, workspace), so two projects of one name under one home would share it, and an apply of
//! one would delete what the other has made. The folder of the last release tells: if a stack of the same name still lives
//! there, and it is not another checkout of the same repository, there are two. A folder that was moved or deleted is no problem.

use std::path::{Path, PathBuf};

use kcl::Disk;
use kusion_generate::locate;
use kusion_model::Plan;
use kusion_store::State;

use crate::failure::{Failure, exit};
use crate::flags::{Flag, flag};
use crate::place::{Place, subject};

pub(crate) const SAME: &[Flag] =
    &[flag("same-project", None, "", "this folder is the same project as the one that made the state")];

/// What the folder of the last release is to this one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kin {
    /// The same, or nothing is known.
    Same,
    /// It was there, and is not any more.
    Moved(PathBuf),
    /// A stack of the same name lives there too.
    Namesake(PathBuf),
}

/// The folder as a release records it.
pub(crate) fn folder(place: &Place) -> String {
    real(&place.folder.stack_dir).display().to_string()
}

/// Compares the folder of the last release with that of the command.
pub(crate) fn kin(state: &State, place: &Place) -> Kin {
    let releases = state.releases.values().rev();
    let Some(last) = releases.clone().find(|release| release.folder.is_some()) else { return Kin::Same };
    let before = PathBuf::from(last.folder.clone().unwrap_or_default());
    let here = real(&place.folder.stack_dir);
    // A folder of another machine cannot be looked at.
    if before == here || last.by.host != subject().host || one_repository(&before, &here) {
        return Kin::Same;
    }
    let scope = |folder: &Path| locate(&Disk, folder, None).ok().map(|f| f.scope(&state.scope.workspace));
    let still = before.join("stack.yaml").is_file() && scope(&before).as_ref() == Some(&state.scope);
    if still { Kin::Namesake(before) } else { Kin::Moved(before) }
}

impl Kin {
    /// A line for people; nothing is wrong yet.
    pub(crate) fn note(&self, state: &State) -> Option<String> {
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

    /// Nobody looks at the plan, and it would delete what the other has made.
    pub(crate) fn refuse(&self, plan: &Plan, place: &Place) -> Result<(), Failure> {
        let tally = plan.tally();
        match self {
            Kin::Namesake(before) if tally.delete + tally.replace > 0 => {
                let lost = tally.delete + tally.replace;
                Err(Failure::new(exit::CONFLICT, format!("two stacks are called {}", plan.scope))
                    .cause(format!(
                        "the state is of the one in {}, and this plan would delete {lost} of its resources",
                        before.display()
                    ))
                    .place(place.folder.stack_dir.display().to_string())
                    .next(
                        "rename one of them in project.yaml, or keep its state apart: --home DIR; if it is the same project: --same-project",
                    ))
            }
            _ => Ok(()),
        }
    }
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

/// Two checkouts of one repository, at the same place inside it.
fn one_repository(a: &Path, b: &Path) -> bool {
    let (Some((top_a, url_a)), Some((top_b, url_b))) = (repository(a), repository(b)) else { return false };
    let inside = |path: &Path, top: &Path| path.strip_prefix(top).ok().map(Path::to_owned);
    let clone_of = |url: &Option<String>, top: &Path| url.as_deref().is_some_and(|url| Path::new(url) == top);
    let related = url_a.is_some() && url_a == url_b || clone_of(&url_a, &top_b) || clone_of(&url_b, &top_a);
    related && inside(a, &top_a) == inside(b, &top_b)
}

/// The top folder of the repository around a folder, and where it was cloned from.
fn repository(folder: &Path) -> Option<(PathBuf, Option<String>)> {
    let top = folder.ancestors().find(|at| at.join(".git").exists())?;
    let config = std::fs::read_to_string(top.join(".git/config")).unwrap_or_default();
    let mut lines = config.lines().map(str::trim).skip_while(|line| *line != "[remote \"origin\"]").skip(1);
    let mut section = lines.by_ref().take_while(|line| !line.starts_with('['));
    let url = section
        .find_map(|line| Some(line.strip_prefix("url")?.trim_start().strip_prefix('=')?.trim().to_owned()));
    Some((top.to_owned(), url))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checkouts_of_one_repository_are_one_project() {
        let dir = tempfile::tempdir().unwrap();
        let repo = |name: &str, url: &str| {
            let top = dir.path().join(name);
            std::fs::create_dir_all(top.join(".git")).unwrap();
            std::fs::create_dir_all(top.join("shop/dev")).unwrap();
            let remote = if url.is_empty() {
                String::new()
            } else {
                format!("[remote \"origin\"]\n\turl = {url}\n[branch \"main\"]\n")
            };
            std::fs::write(top.join(".git/config"), format!("[core]\n\tbare = false\n{remote}")).unwrap();
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
        assert!(!one_repository(&dev(&a), dir.path()));
    }
}
