//! Rules about the text of source files.

use crate::oracle::root;
use std::path::{Path, PathBuf};

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

/// Lines of a file that is not a table.
const MAX_LINES: usize = 500;
/// Files that are longer, and why; their length here is the most they may have.
const LONGER: [(&str, usize, &str); 6] = [
    ("crates/kcl-syntax/src/ast.rs", 783, "the tree: one list of nodes with their documentation"),
    ("crates/base-yaml/src/yaml_reader/composer.rs", 556, "one state machine, its states beside each other"),
    ("crates/kube-meaning/src/ssa.rs", 549, "server-side apply step by step, as the server does it"),
    ("crates/kusion-model/src/plan.rs", 540, "the plan and its seal, with its tests"),
    ("crates/kusion-apply/src/walk.rs", 525, "the executor's one loop"),
    ("crates/sandbox-world/tests/it/real.rs", 525, "the comparison with the real server"),
];

/// Every Rust file of the workspace, with its text.
fn all() -> Result<Vec<(PathBuf, String)>, String> {
    let mut out = Vec::new();
    for folder in ["crates", "bindings/node/src", "bindings/python/src", "xtask/src"] {
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

/// The same with paths from the root of the repository.
pub(super) fn texts() -> Result<Vec<(String, String)>, String> {
    Ok(all()?.into_iter().map(|(path, text)| (shown(&path), text)).collect())
}

/// Whether a file is part of what is shipped: in `src` of a crate, no tests.
pub(super) fn is_product(path: &str) -> bool {
    path.split('/').nth(2) == Some("src") && !path.ends_with("tests.rs") && !path.contains("/tests/")
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// The part of a file before its tests.
pub(super) fn code(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().take_while(|line| !line.starts_with("#[cfg(test)]")).enumerate();
    lines.map(|(number, line)| (number + 1, line)).filter(|(_, line)| !line.trim_start().starts_with("//"))
}

/// Pure crates reach for nothing.
pub(super) fn purity() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let pure = super::architecture::pure_crates()?;
    for (name, text) in texts()? {
        if !name.split('/').nth(1).is_some_and(|owner| pure.contains(owner)) || !is_product(&name) {
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
    let mut problems = Vec::new();
    for (path, text) in texts()?.into_iter().filter(|(path, _)| !path.contains("/tables/")) {
        let limit =
            LONGER.iter().find(|(long, _, _)| *long == path).map_or(MAX_LINES, |(_, lines, _)| *lines);
        let lines = text.lines().count();
        if lines > limit {
            problems.push(format!("{path}: {lines} lines, the limit is {limit}"));
        }
    }
    Ok(problems)
}

/// Lines of a function of the product.
const MAX_FUNCTION: usize = 80;

/// No function needs more than a screen or two.
pub(super) fn functions() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let product = |path: &str| is_product(path) || path.starts_with("xtask/src/");
    for (path, text) in texts()?.into_iter().filter(|(path, _)| product(path)) {
        for (name, line, lines) in function_lengths(&text) {
            if lines > MAX_FUNCTION {
                problems
                    .push(format!("{path}:{line}: `{name}` has {lines} lines, the limit is {MAX_FUNCTION}"));
            }
        }
    }
    Ok(problems)
}

/// Name, first line and number of lines of each function; rustfmt closes one where its first line begins.
fn function_lengths(text: &str) -> Vec<(&str, usize, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut out = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let indent = &line[..line.len() - code.len()];
        let mut words = code.split([' ', '(', '<']).skip_while(|word| {
            word.starts_with("pub")
                || ["crate)", "super)", "const", "async", "unsafe", "extern"].contains(word)
        });
        let (Some("fn"), Some(name)) = (words.next(), words.next()) else { continue };
        let close = format!("{indent}}}");
        let end =
            lines[at..].iter().position(|line| *line == close || line.ends_with(';') && *line == lines[at]);
        out.extend(end.map(|end| (name, at + 1, end + 1)));
    }
    out
}

/// A test that is skipped says so through `testenv`, which fails where nothing may be skipped.
pub(super) fn skips() -> Result<Vec<String>, String> {
    let marks =
        [concat!("KUSION_REQUIRE_", "TESTENV"), concat!("eprintln!(\"", "skip"), concat!("SKIP", "PED")];
    let mut problems = Vec::new();
    for (path, text) in texts()?.into_iter().filter(|(path, _)| !path.starts_with("crates/testenv/")) {
        for (number, line) in
            text.lines().enumerate().filter(|(_, line)| !line.trim_start().starts_with("//"))
        {
            if let Some(mark) = marks.iter().find(|mark| line.contains(**mark)) {
                problems
                    .push(format!("{path}:{}: `{mark}` beside testenv::needed, installed, skip", number + 1));
            }
        }
    }
    Ok(problems)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_are_measured() {
        let text = "pub(crate) async fn long<T>(\n    t: T,\n) {\n    if t {\n    }\n}\ntrait A {\n    fn none();\n    fn f() {\n    }\n}\n";
        assert_eq!(function_lengths(text), [("long", 1, 6), ("none", 8, 1), ("f", 9, 2)]);
    }
}
