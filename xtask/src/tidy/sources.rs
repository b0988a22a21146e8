//! Rules about the text of source files.

use crate::oracle::root;
use std::path::{Path, PathBuf};

/// Crates that must give the same result everywhere: no files, environment, clock or randomness.
const PURE: &[&str] = &[
    "base-diag",
    "base-yaml",
    "base-graph",
    "base-secret",
    "kcl-syntax",
    "kcl-check",
    "kcl-fmt",
    "kcl-model",
    "kcl-doc",
    "kcl-import",
    "kcl-value",
    "kcl-std",
    "kcl-eval",
    "kube-meaning",
    "sandbox-world",
    "kusion-model",
    "kusion-plan",
    "kusion-health",
    "tf-value",
];

/// What they must not mention.
const IMPURE: &[&str] = &[
    "std::fs",
    "std::env",
    "std::net::Tcp",
    "std::net::Udp",
    "ToSocketAddrs",
    "std::process",
    "SystemTime",
    "Instant::now",
    "rand::",
    "getrandom",
    "tokio::",
];

/// Lines of a file that is not a table or a test.
const MAX_LINES: usize = 800;

/// Every Rust file of the workspace, with its text.
fn all() -> Result<Vec<(PathBuf, String)>, String> {
    let mut out = Vec::new();
    for folder in ["crates", "xtask/src"] {
        gather(&root().join(folder), &mut out)?;
    }
    out.sort();
    Ok(out)
}

fn gather(folder: &Path, out: &mut Vec<(PathBuf, String)>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() {
            if !path.ends_with("target") {
                gather(&path, out)?;
            }
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
            out.push((path, text));
        }
    }
    Ok(())
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The part of a file before its tests.
fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    lines.map(|(number, line)| (number + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Pure crates reach for nothing.
pub(super) fn purity() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (path, text) in all()? {
        let name = shown(&path);
        let mut parts = name.split('/').skip(1);
        let pure = parts.next().is_some_and(|c| PURE.contains(&c)) && parts.next() == Some("src");
        if !pure || name.ends_with("tests.rs") || name.contains("/tests/") {
            continue;
        }
        for (number, line) in code(&text) {
            if let Some(word) = IMPURE.iter().find(|word| line.contains(**word)) {
                problems.push(format!("{name}:{number}: `{word}` in a pure crate"));
            }
        }
    }
    Ok(problems)
}

/// No file needs more than a few screens.
pub(super) fn size() -> Result<Vec<String>, String> {
    let long = all()?.into_iter().filter(|(path, _)| !shown(path).contains("/tables/")).filter_map(
        |(path, text)| {
            let lines = text.lines().count();
            (lines > MAX_LINES).then(|| format!("{}: {lines} lines, the limit is {MAX_LINES}", shown(&path)))
        },
    );
    Ok(long.collect())
}

/// Nothing is left half done.
pub(super) fn unfinished() -> Result<Vec<String>, String> {
    // Written in two pieces, so that this file does not find itself.
    let marks =
        [concat!("todo", "!("), concat!("unimplemented", "!("), concat!("FIX", "ME"), concat!("XX", "X:")];
    let mut problems = Vec::new();
    for (path, text) in all()? {
        for (number, line) in text.lines().enumerate() {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                problems.push(format!("{}:{}: {mark}", shown(&path), number + 1));
            }
        }
    }
    Ok(problems)
}
