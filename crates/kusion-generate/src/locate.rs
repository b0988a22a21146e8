//! Finding a stack: from a folder, or from `project/stack`.
//!
//! In: the word a user gave, the folder he stands in. Out: the project and stack with their folders. The nearest folder with a
//! `stack.yaml` counts, then the nearest one above with a `project.yaml`.

use std::path::{Path, PathBuf};

use kcl::Files;
use kusion_model::{Component, Project, Scope, Stack};

use crate::error::FileProblem;
use crate::meta;

/// A stack and where it lives.
#[derive(Clone, Debug)]
pub struct StackFolder {
    pub project: Project,
    pub project_dir: PathBuf,
    pub stack: Stack,
    pub stack_dir: PathBuf,
    /// What its files say that is not used.
    pub notes: Vec<String>,
}

/// How far below a folder `project/stack` is looked for, and in how many folders.
const SEARCH_DEPTH: usize = 5;
const SEARCH_FOLDERS: usize = 20_000;

impl StackFolder {
    /// The key of this stack's state.
    #[must_use]
    pub fn scope(&self, workspace: &str) -> Scope {
        Scope {
            project: self.project.name.clone(),
            stack: self.stack.name.clone(),
            workspace: workspace.to_owned(),
        }
    }

    /// A path as a person in the project calls it.
    #[must_use]
    pub fn shown(&self, path: &Path) -> String {
        path.strip_prefix(&self.project_dir).unwrap_or(path).display().to_string()
    }
}

/// Finds the stack that `word` means to somebody in the folder `here` (absolute).
///
/// # Errors
/// What is missing, and which stacks there are.
pub fn locate(files: &dyn Files, here: &Path, word: Option<&str>) -> Result<StackFolder, FileProblem> {
    let folder = match word {
        None => here.to_owned(),
        Some(word) => named(files, here, word)?,
    };
    let stack_dir = match above(files, &folder, "stack.yaml") {
        Some(found) => found,
        None if files.is_file(&folder.join("project.yaml")) => return Err(choose(files, &folder)),
        None => return Err(outside(files, &folder)),
    };
    let project_dir = above(files, &stack_dir, "project.yaml").ok_or_else(|| {
        FileProblem::new(format!("the stack in {} belongs to no project", stack_dir.display()))
            .cause("there is no project.yaml in its folder or above")
            .next(format!("write `name: NAME` into {}/project.yaml", parent(&stack_dir).display()))
    })?;
    let mut notes = Vec::new();
    let project: Project = meta::read(files, &project_dir.join("project.yaml"), &mut notes)?;
    let stack: Stack = meta::read(files, &stack_dir.join("stack.yaml"), &mut notes)?;
    for folder in components(files, &stack_dir) {
        meta::read::<Component>(files, &folder.join("component.yaml"), &mut notes)?;
    }
    Ok(StackFolder { project, project_dir, stack, stack_dir, notes })
}

/// The folders of a stack that are components of it.
pub(crate) fn components(files: &dyn Files, stack_dir: &Path) -> Vec<PathBuf> {
    let mut names = files.list(stack_dir);
    names.sort();
    let folders = names.into_iter().map(|name| stack_dir.join(name));
    folders.filter(|folder| files.is_file(&folder.join("component.yaml"))).collect()
}

/// Lists the stacks of all projects in and below a folder, or of the project around it, and those that cannot be read.
#[must_use]
pub fn stacks_below(files: &dyn Files, here: &Path) -> (Vec<StackFolder>, Vec<FileProblem>) {
    let start = above(files, here, "project.yaml").unwrap_or_else(|| here.to_owned());
    let (mut found, mut broken) = (Vec::new(), Vec::new());
    let mut left = SEARCH_FOLDERS;
    walk(files, &start, SEARCH_DEPTH, &mut left, &mut |folder| {
        if files.is_file(&folder.join("stack.yaml")) {
            match locate(files, folder, None) {
                Ok(stack) => found.push(stack),
                Err(problem) => broken.push(problem),
            }
        }
    });
    broken.dedup();
    (found, broken)
}

fn named(files: &dyn Files, here: &Path, word: &str) -> Result<PathBuf, FileProblem> {
    let direct = crate::program::normal(&here.join(word));
    if files.is_dir(&direct) && (word.starts_with(['.', '/']) || usable(files, &direct)) {
        return Ok(direct);
    }
    if files.is_file(&direct) {
        return Err(FileProblem::new(format!("`{word}` is a file, not a stack"))
            .next("name the folder of a stack, or `project/stack`"));
    }
    // A sibling of where we stand, by name.
    if let Some(project) = above(files, here, "project.yaml")
        && files.is_file(&project.join(word).join("stack.yaml"))
    {
        return Ok(project.join(word));
    }
    let (known, broken) = stacks_below(files, here);
    let name = |stack: &StackFolder| format!("{}/{}", stack.project.name, stack.stack.name);
    if let Some(stack) = known.iter().find(|stack| name(stack) == word || stack.stack.name == word) {
        return Ok(stack.stack_dir.clone());
    }
    let mut at = here.parent();
    while let Some(folder) = at {
        if files.is_file(&folder.join(word).join("stack.yaml")) {
            return Ok(folder.join(word));
        }
        at = folder.parent();
    }
    let mut problem = FileProblem::new(format!("there is no stack `{word}`"));
    if let Some(first) = broken.first() {
        problem = problem.cause(format!("{} of the stacks cannot be read: {first}", broken.len()));
        problem.place.clone_from(&first.place);
    }
    let names: Vec<String> = known.iter().map(name).take(12).collect();
    Err(match names.is_empty() {
        true => problem.next("name a folder with a stack.yaml, or make one with `kusion init`"),
        false => problem.next(format!("there are: {}", names.join(", "))),
    })
}

fn usable(files: &dyn Files, folder: &Path) -> bool {
    above(files, folder, "stack.yaml").is_some() || files.is_file(&folder.join("project.yaml"))
}

fn choose(files: &dyn Files, project: &Path) -> FileProblem {
    let stacks: Vec<String> =
        stacks_below(files, project).0.into_iter().map(|stack| stack.stack.name).collect();
    let problem = FileProblem::new("this is a project; which stack?").place(project.display().to_string());
    match stacks.is_empty() {
        true => problem.cause("it has no folder with a stack.yaml").next("make a folder with a stack.yaml"),
        false => problem.next(format!("name one of: {}", stacks.join(", "))),
    }
}

fn outside(files: &dyn Files, folder: &Path) -> FileProblem {
    let problem = FileProblem::new("there is no stack here")
        .cause(format!("neither {} nor a folder above it has a stack.yaml", folder.display()));
    let (known, _) = stacks_below(files, folder);
    match known.first() {
        Some(first) => {
            let name = format!("{}/{}", first.project.name, first.stack.name);
            problem.next(format!("name a stack, e.g. `{name}` ({} below this folder)", known.len()))
        }
        None => problem.next("go into a stack's folder, or make a project with `kusion init`"),
    }
}

/// The nearest folder, from `folder` upwards, that has a file of this name.
pub(crate) fn above(files: &dyn Files, folder: &Path, name: &str) -> Option<PathBuf> {
    folder.ancestors().find(|at| files.is_file(&at.join(name))).map(Path::to_owned)
}

fn parent(path: &Path) -> &Path {
    path.parent().unwrap_or(path)
}

fn walk(files: &dyn Files, folder: &Path, depth: usize, left: &mut usize, see: &mut dyn FnMut(&Path)) {
    if *left == 0 {
        return;
    }
    *left -= 1;
    see(folder);
    if depth == 0 {
        return;
    }
    let mut names = files.list(folder);
    names.retain(|name| !name.starts_with('.') && !matches!(name.as_str(), "target" | "node_modules"));
    names.sort();
    for name in names {
        let below = folder.join(name);
        if files.is_dir(&below) {
            walk(files, &below, depth - 1, left, see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kcl::MemoryFiles;

    fn files() -> MemoryFiles {
        let mut files = MemoryFiles::default();
        files.add("/w/shop/project.yaml", "name: shop\n");
        files.add("/w/shop/dev/stack.yaml", "name: dev\n");
        files.add("/w/shop/dev/main.k", "a = 1\n");
        files.add("/w/shop/prod/stack.yaml", "name: prod\n");
        files.add("/w/odd/project.yaml", "nme: odd\n");
        files.add("/w/odd/x/stack.yaml", "name: x\n");
        files
    }

    #[test]
    fn a_folder_a_name_and_a_sibling_find_the_same_stack() {
        let files = files();
        for (here, word) in [
            ("/w/shop/dev", None),
            ("/w/shop", Some("dev")),
            ("/w", Some("shop/dev")),
            ("/w/shop/prod", Some("dev")),
            ("/", Some("shop/dev")),
            ("/w/shop/prod", Some("../dev")),
        ] {
            let stack = locate(&files, Path::new(here), word).unwrap();
            assert_eq!(stack.scope("default").to_string(), "shop/dev", "{here} {word:?}");
        }
    }

    #[test]
    fn what_is_missing_is_said_with_what_there_is() {
        let files = files();
        let next = |here: &str, word| locate(&files, Path::new(here), word).unwrap_err().next.unwrap();
        assert!(next("/w/shop", None).contains("dev, prod"));
        assert!(next("/w", Some("shop/test")).contains("shop/dev"));
        assert!(next("/w", None).contains("shop/dev"));
        assert!(next("/elsewhere", None).contains("kusion init"));
        assert!(locate(&files, Path::new("/w/odd/x"), None).unwrap_err().what.contains("no key `nme`"));
    }
}
