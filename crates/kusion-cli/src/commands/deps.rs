//! `kusion deps`: which files a stack is made of, and which stacks a file is part of.

use std::path::{Path, PathBuf};

use kcl::Disk;
use kusion_generate::{Generator, Inputs, StackFolder, stacks_below};
use serde_json::json;

use crate::input::chosen::{here, tell_broken};
use crate::input::flags::{Arg, Given, flag};
use crate::views::failure::Failure;
use crate::views::output::{Format, format_of, print_data, print_json};

pub(crate) fn flags() -> Vec<Arg> {
    vec![
        flag("focus", None, "FILE", "the file or folder in question; may be repeated"),
        flag(
            "direct",
            None,
            "WAY",
            "down (default): what depends on the focus; up: what the focus's stacks are made of",
        ),
        flag("only", None, "WHAT", "project or stack (default stack), for `down`"),
        flag("output", Some('o'), "FORMAT", "text or json"),
    ]
}

pub(crate) fn main(given: &Given) -> Result<(), Failure> {
    let here = here()?;
    let folder = given.rest.first().map_or_else(|| here.clone(), |word| here.join(word));
    let focus: Vec<PathBuf> = given.all("focus").iter().map(|file| clean(&here.join(file))).collect();
    if let Some(missing) = focus.iter().find(|path| !path.exists()) {
        return Err(Failure::usage("the focus is not there")
            .place(missing.display().to_string())
            .next("--focus FILE, seen from the folder you are in"));
    }
    let (stacks, broken) = stacks_below(&Disk, &folder);
    tell_broken(&broken);
    let up = match given.last("direct").as_deref() {
        None | Some("down") => false,
        Some("up") => true,
        Some(other) => {
            return Err(Failure::usage(format!("--direct {other} is not known")).next("up or down"));
        }
    };
    if !up && focus.is_empty() {
        return Err(Failure::usage("which file?").next(
            "the stacks that a file is part of: kusion deps --focus base/base.k\n\
             the files that a stack is made of: kusion deps dev --direct up",
        ));
    }
    // What the stacks import is read once for all of them.
    let generator = Generator::new(&Disk);
    let mut found: Vec<String> = Vec::new();
    for stack in &stacks {
        let files = files_of(&generator, stack);
        let inside = |path: &PathBuf| focus.iter().any(|focus| path.starts_with(focus));
        let touched =
            files.iter().any(inside) || focus.iter().any(|focus| focus.starts_with(&stack.stack_dir));
        if up && (focus.is_empty() || touched) {
            found.extend(files.iter().map(|file| shown(file, &here)));
        } else if !up && touched {
            found.push(match given.last("only").as_deref() {
                Some("project") => shown(&stack.project_dir, &here),
                _ => shown(&stack.stack_dir, &here),
            });
        }
    }
    found.sort();
    found.dedup();
    match format_of(given)? {
        Format::Json => print_json(&json!({"schema": "kusion.io/deps/v1", "found": found})),
        Format::Text => found.iter().try_for_each(|line| print_data(&format!("{line}\n"))),
    }
}

/// Every file that takes part, also those that only name the stack.
fn files_of(generator: &Generator<'_>, stack: &StackFolder) -> Vec<PathBuf> {
    let mut files = generator.source_files(stack, &Inputs::default()).unwrap_or_default();
    for (folder, name) in [
        (&stack.stack_dir, "stack.yaml"),
        (&stack.stack_dir, "kcl.yaml"),
        (&stack.project_dir, "project.yaml"),
    ] {
        files.extend(Some(folder.join(name)).filter(|path| path.is_file()));
    }
    files.into_iter().map(|path| clean(&path)).collect()
}

fn clean(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}

fn shown(path: &Path, here: &Path) -> String {
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}
