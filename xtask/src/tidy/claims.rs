//! What the documents claim, as far as a machine can check it: that the files and crates they name exist.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::oracle::root;

/// Folders that a path in a document begins with.
const FOLDERS: [&str; 9] =
    ["crates/", "docs/", "xtask/", "spec/", "fuzz/", "konfig/", "scenarios/", ".ci/", "examples/"];
/// Beginnings of names that are crates; everything else between backticks may be anything.
const CRATES: [&str; 5] = ["base-", "kcl-", "kube-", "kusion-", "sandbox-"];

/// Every path that a document names is there.
pub(super) fn paths() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for document in documents()? {
        let text = read(&document)?;
        let mut fenced = false;
        for (number, line) in text.lines().enumerate() {
            // Between fences are examples, of other repositories as well.
            fenced ^= line.trim_start().starts_with("```");
            if fenced {
                continue;
            }
            for path in line.split(is_end).filter_map(named_path) {
                if !root().join(&path).exists() {
                    problems.push(format!("{}:{}: there is no `{path}`", shown(&document), number + 1));
                }
            }
        }
    }
    Ok(problems)
}

/// Every crate has a row in the code map, every row a crate, and the status speaks of crates that exist.
pub(super) fn crates() -> Result<Vec<String>, String> {
    // Three members of the workspace stand elsewhere.
    let mut there: BTreeSet<String> = BTreeSet::from(["xtask", "kcl-node", "kcl-python"].map(str::to_owned));
    for entry in std::fs::read_dir(root().join("crates")).map_err(|e| e.to_string())? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.join("Cargo.toml").is_file() {
            there.extend(path.file_name().map(|name| name.to_string_lossy().into_owned()));
        }
    }
    let architecture = read(&root().join("ARCHITECTURE.md"))?;
    let map = architecture.split("## Code map").nth(1).and_then(|rest| rest.split("\n## ").next());
    let map = map.ok_or("ARCHITECTURE.md has no section `Code map`")?;
    let rows = map.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next());
    let rows: BTreeSet<String> = rows.filter(|name| *name != "crate").map(str::to_owned).collect();
    let mut problems: Vec<String> = Vec::new();
    problems
        .extend(there.difference(&rows).map(|name| format!("ARCHITECTURE.md: no row for crate `{name}`")));
    problems.extend(
        rows.difference(&there).map(|name| format!("ARCHITECTURE.md: a row for `{name}`, which is no crate")),
    );
    let status = read(&root().join("docs/status.md"))?;
    let words = status.split(|c: char| !c.is_ascii_alphanumeric() && !"-./_".contains(c));
    let words = words.map(|word| word.trim_end_matches(['.', '-']).split('/').next().unwrap_or_default());
    let is_name = |word: &&str| {
        CRATES.iter().any(|begin| word.starts_with(begin)) && !word.contains(char::is_uppercase)
    };
    let named = words.filter(is_name);
    let wrong: BTreeSet<&str> = named.filter(|name| !there.contains(*name) && !is_other_word(name)).collect();
    problems.extend(wrong.into_iter().map(|name| format!("docs/status.md: there is no crate `{name}`")));
    Ok(problems)
}

/// Names that begin like a crate and are something else.
fn is_other_word(name: &str) -> bool {
    ["kube-system", "kube-apiserver", "kube-cel", "kcl-lib"].contains(&name)
}

/// A fuzz target without a corpus finds nothing when it is replayed.
pub(super) fn corpora() -> Result<Vec<String>, String> {
    let targets = root().join("fuzz/fuzz_targets");
    let mut problems = Vec::new();
    let mut n_targets = 0;
    for entry in std::fs::read_dir(&targets).map_err(|e| format!("{}: {e}", targets.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        let Some(name) = path.file_stem().map(|name| name.to_string_lossy().into_owned()) else { continue };
        n_targets += 1;
        let corpus = root().join("fuzz/corpus").join(&name);
        if std::fs::read_dir(&corpus).map_or(true, |mut entries| entries.next().is_none()) {
            problems.push(format!(
                "fuzz target `{name}` has no corpus: fuzz/corpus/{name} is empty or not there"
            ));
        }
    }
    if n_targets == 0 {
        problems.push(format!("{} has no target", targets.display()));
    }
    problems.sort();
    Ok(problems)
}

/// Longer lines of text are hard to compare and to review.
const LONGEST_LINE: usize = 120;
/// A document with longer lines: `kcl doc` makes it.
const STILL_LONG: [&str; 1] = ["docs/book/src/reference/models.md"];
/// Folders with documents.
const WRITTEN: [&str; 6] =
    ["docs", "konfig", "bindings", "integrations", "crates/kcl-cli/explain", "scenarios"];

/// Lines of text in documents are short; tables, headings and what stands between fences may be long.
pub(super) fn lines() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for document in written()?.iter().filter(|document| !STILL_LONG.contains(&shown(document).as_str())) {
        let text = read(document)?;
        let mut fenced = false;
        for (number, line) in text.lines().enumerate() {
            let begin = line.trim_start();
            fenced ^= begin.starts_with("```");
            let length = line.chars().count();
            if !fenced && !begin.starts_with(['|', '#', '<']) && length > LONGEST_LINE {
                problems.push(format!("{}:{}: a line of {length} characters", shown(document), number + 1));
            }
        }
    }
    Ok(problems)
}

/// Signs of a citation of what is not in the repository: sections of other documents, and how a thing came to be.
const ELSEWHERE: [&str; 5] = ["§", "decisions.md", "kusion-engine.md", "kcl-language.md", "this issue"];

/// Documents cite what a reader of the repository has.
pub(super) fn citations() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for document in written()? {
        for (number, line) in read(&document)?.lines().enumerate() {
            if let Some(sign) = ELSEWHERE.iter().find(|sign| line.contains(**sign)) {
                let place = format!("{}:{}", shown(&document), number + 1);
                problems.push(format!("{place}: `{sign}` cites what is not in the repository"));
            }
        }
    }
    Ok(problems)
}

/// Everything that is written for people.
fn written() -> Result<Vec<PathBuf>, String> {
    let mut all: Vec<PathBuf> = ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "CHANGELOG.md"]
        .map(|name| root().join(name))
        .to_vec();
    for folder in WRITTEN {
        gather(&root().join(folder), &mut all)?;
    }
    all.sort();
    Ok(all)
}

/// The documents in a folder and below.
fn gather(folder: &Path, all: &mut Vec<PathBuf>) -> Result<(), String> {
    for entry in std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))? {
        let path = entry.map_err(|e| e.to_string())?.path();
        if path.is_dir() && !path.ends_with("node_modules") {
            gather(&path, all)?;
        } else if path.extension().is_some_and(|end| end == "md") {
            all.push(path);
        }
    }
    Ok(())
}

/// The documents that speak about the repository as it is; the changelog and the figures speak about what was.
fn documents() -> Result<Vec<PathBuf>, String> {
    let mut all: Vec<PathBuf> =
        ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md"].map(|name| root().join(name)).to_vec();
    gather(&root().join("docs"), &mut all)?;
    // The book's paths are links, which its own tests follow.
    all.retain(|path| !path.ends_with("evidence.md") && !path.starts_with(root().join("docs/book")));
    all.sort();
    Ok(all)
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|e| format!("{}: {e}", path.display()))
}

fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

fn is_end(c: char) -> bool {
    c.is_whitespace() || "`()[]\"',;|".contains(c)
}

/// A word that is a path of this repository, from its root; patterns and placeholders are none.
fn named_path(word: &str) -> Option<String> {
    let word = word.trim_end_matches(['.', ':', '/']);
    let word = word.split_once(':').map_or(word, |(path, _)| path);
    let placeholder = |c: char| "*<>{}$…@#=?".contains(c);
    if word.contains(placeholder) || word.split('/').any(is_capitals) {
        return None;
    }
    if FOLDERS.iter().any(|folder| word.starts_with(folder)) {
        return Some(word.to_owned());
    }
    let in_crate = CRATES.iter().any(|begin| word.starts_with(begin)) && word.contains("/src/");
    in_crate.then(|| format!("crates/{word}"))
}

/// `CODE.md`, `NAME`: to be filled in.
fn is_capitals(step: &str) -> bool {
    let stem = step.split('.').next().unwrap_or_default();
    stem.len() > 1
        && stem.chars().all(|c| c.is_ascii_uppercase() || c == '_')
        && !["README", "ARCHITECTURE", "CHANGELOG"].contains(&stem)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_told_from_other_words() {
        for (word, path) in [
            ("crates/kcl/src/lib.rs:12", Some("crates/kcl/src/lib.rs")),
            ("kusion-cli/src/main.rs", Some("crates/kusion-cli/src/main.rs")),
            ("docs/design/.", Some("docs/design")),
            ("crates/*/src", None),
            ("crates/kcl-cli/explain/CODE.md", None),
            ("and/or", None),
        ] {
            assert_eq!(named_path(word).as_deref(), path, "{word}");
        }
    }
}
