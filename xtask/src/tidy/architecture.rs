//! Sentences of ARCHITECTURE.md that a machine can check against the code.

use std::collections::BTreeSet;

use super::sources;
use crate::oracle::root;

/// Crates that decide and carry out without knowing any platform, and what they must not mention.
const BLIND: [&str; 4] = ["kusion-model", "kusion-plan", "kusion-apply", "kusion-runtime"];
const PLATFORM_WORDS: [&str; 4] = ["kube", "terraform", "finalizer", "configmap"];
/// Files of theirs that name platforms all the same, and why.
const NAMING: [(&str, &str); 3] = [
    (
        "crates/kusion-model/src/spec.rs",
        "a Spec file writes the names of types, and leaves out the first one",
    ),
    ("crates/kusion-model/src/project.rs", "keys of stack.yaml"),
    ("crates/kusion-model/src/secret_stores.rs", "settings of secret stores"),
];

/// Files of the engine that are a platform's; the rest of it is given platforms.
const ADAPTERS: [&str; 6] =
    ["clusters.rs", "kubernetes.rs", "tree.rs", "terraform.rs", "providers.rs", "lib.rs"];
const PLATFORMS: [&str; 5] = [
    "kusion_runtime_k8s",
    "kusion_runtime_tf",
    "kube_meaning",
    "ResourceType::kubernetes",
    "ResourceType::terraform",
];

/// Fields and methods with sentences for people, and how a text is searched.
const SENTENCES: [&str; 8] =
    [".sentence", ".message", ".message()", ".cause", ".what", ".next", ".full_message()", ".said"];
const SEARCHES: [&str; 6] =
    [".contains(", ".starts_with(", ".ends_with(", ".strip_prefix(", ".split_once(", ".find("];
/// Texts of others that say what no field of theirs says.
const FOREIGN: [(&str, &str); 6] = [
    ("crates/kcl-fetch/src/git.rs", "git says why it failed only in words"),
    ("crates/kcl-vet/src/data.rs", "the reader's sentence is the reference's, with its place in words"),
    ("crates/kusion-health/src/cause/", "events of a cluster are words of kubelet and controllers"),
    ("crates/kusion-runtime-k8s/src/failure.rs", "the API server has no reason for it"),
    ("crates/kusion-runtime-k8s/src/propose/replaced.rs", "the API server has no reason for it"),
    ("crates/tf-host/src/client.rs", "gRPC has no code for it"),
];

/// Calls that write to a stream of the process.
const STREAMS: [&str; 6] =
    ["println!(", "print!(", "eprintln!(", "eprint!(", "stdout().lock(", "stderr().lock("];

/// How a type or function is declared for other crates.
const DECLARATIONS: [&str; 6] = ["struct ", "enum ", "trait ", "type ", "fn ", "async fn "];

fn document() -> Result<String, String> {
    let path = root().join("ARCHITECTURE.md");
    std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))
}

fn section<'t>(text: &'t str, title: &str) -> Result<&'t str, String> {
    let rest = text.split(&format!("\n## {title}")).nth(1);
    let rest = rest.ok_or_else(|| format!("ARCHITECTURE.md has no section `{title}`"))?;
    Ok(rest.split("\n## ").next().unwrap_or(rest))
}

/// `crate_name::Item` between backticks, as crate and last name.
fn items(text: &str) -> impl Iterator<Item = (String, &str)> {
    text.split('`').skip(1).step_by(2).filter_map(|code| {
        let (owner, rest) = code.split_once("::")?;
        let owner = owner.replace('_', "-");
        let is_crate = root().join("crates").join(&owner).join("src").is_dir();
        is_crate.then(|| (owner, rest.rsplit("::").next().unwrap_or(rest)))
    })
}

/// Crates in whose `src` something of this name is declared `pub`.
fn declaring(files: &[(String, String)], name: &str) -> Vec<String> {
    let declares = |line: &str| {
        let Some(rest) = line.trim_start().strip_prefix("pub ") else { return false };
        let rest = DECLARATIONS.iter().find_map(|word| rest.strip_prefix(word));
        rest.and_then(|rest| rest.strip_prefix(name))
            .is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    let mut out = Vec::new();
    for (path, text) in files {
        let mut parts = path.split('/').skip(1);
        if let (Some(owner), Some("src")) = (parts.next(), parts.next()) {
            out.extend(text.lines().filter(|line| declares(line)).map(|_| owner.to_owned()));
        }
    }
    out
}

/// A type of the glossary is declared once, in the crate that is named there.
pub(super) fn glossary() -> Result<Vec<String>, String> {
    let text = document()?;
    let files = sources::texts()?;
    let mut problems = Vec::new();
    for (owner, name) in items(section(&text, "Glossary")?) {
        let places = declaring(&files, name);
        if places != [owner.as_str()] {
            problems.push(format!("glossary: `{name}` of {owner} is declared in [{}]", places.join(", ")));
        }
    }
    Ok(problems)
}

/// What a reader is sent to is there.
pub(super) fn entries() -> Result<Vec<String>, String> {
    let text = document()?;
    let files = sources::texts()?;
    let all = items(section(&text, "Where to start")?).chain(items(section(&text, "Invariants of absence")?));
    let missing = all.filter(|(owner, name)| !declaring(&files, name).contains(owner));
    Ok(missing.map(|(owner, name)| format!("ARCHITECTURE.md names `{name}` of {owner}: not there")).collect())
}

/// The crates that the list of pure crates names; `base-*` stands for all that begin so.
pub(super) fn pure_crates() -> Result<BTreeSet<String>, String> {
    let text = document()?;
    let line = section(&text, "Invariants of absence")?.split("\n- ").find_map(|item| {
        item.trim_start_matches("- ").trim().strip_prefix("No files, environment, clock or randomness in:")
    });
    let line = line.ok_or("ARCHITECTURE.md has no list of pure crates")?;
    let mut out = BTreeSet::new();
    for name in line.split(',').map(|name| name.trim().trim_end_matches('.')) {
        match name.strip_suffix('*') {
            Some(begin) => out.extend(crates_like(begin)?),
            None if root().join("crates").join(name).is_dir() => _ = out.insert(name.to_owned()),
            None => return Err(format!("ARCHITECTURE.md: the pure crate `{name}` is not there")),
        }
    }
    Ok(out)
}

fn crates_like(begin: &str) -> Result<Vec<String>, String> {
    let folders = std::fs::read_dir(root().join("crates")).map_err(|e| e.to_string())?;
    let names = folders.filter_map(|folder| folder.ok()?.file_name().into_string().ok());
    Ok(names.filter(|name| name.starts_with(begin)).collect())
}

/// Planner, executor and their data mention no platform.
pub(super) fn blind() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (path, text) in sources::texts()? {
        let owner = path.split('/').nth(1).unwrap_or_default();
        if !BLIND.contains(&owner) || !sources::is_product(&path) {
            continue;
        }
        let named = |word: &str| NAMING.iter().any(|(file, _)| *file == path) && word != "finalizer";
        for (number, line) in sources::code(&text) {
            let low = line.to_lowercase();
            if let Some(word) = PLATFORM_WORDS.iter().find(|word| low.contains(**word) && !named(word)) {
                problems.push(format!("{path}:{number}: `{word}` in a crate that knows no platform"));
            }
        }
    }
    Ok(problems)
}

/// The engine is given platforms: only their adapters name one.
pub(super) fn injected() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (path, text) in sources::texts()? {
        let Some(name) = path.strip_prefix("crates/kusion/src/") else { continue };
        if ADAPTERS.contains(&name) {
            continue;
        }
        for (number, line) in sources::code(&text) {
            if let Some(word) = PLATFORMS.iter().find(|word| line.contains(**word)) {
                problems
                    .push(format!("{path}:{number}: `{word}` in the engine, which is given its platforms"));
            }
        }
    }
    Ok(problems)
}

/// The sentence that a line searches for words of ours, if it does.
fn read_sentence(line: &str) -> Option<&'static str> {
    let searched = |field: &str, search: &str| {
        let rest = line.split_once(&format!("{field}{search}")).map(|(_, rest)| rest);
        rest.is_some_and(|rest| rest.starts_with('"') || field == ".sentence")
    };
    SENTENCES.iter().find(|field| SEARCHES.iter().any(|search| searched(field, search))).copied()
}

/// Sentences are for people: what a program has to know is a fact beside them.
pub(super) fn sentences() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let mut unread: BTreeSet<&str> = FOREIGN.iter().map(|(file, _)| *file).collect();
    for (path, text) in sources::texts()?.into_iter().filter(|(path, _)| sources::is_product(path)) {
        let foreign = FOREIGN.iter().find(|(file, _)| path.starts_with(file));
        for (number, line) in sources::code(&text) {
            match (read_sentence(line), foreign) {
                (Some(_), Some((file, _))) => _ = unread.remove(file),
                (Some(field), None) => {
                    problems
                        .push(format!("{path}:{number}: `{field}` is for people: give it a fact to ask for"));
                }
                (None, _) => {}
            }
        }
    }
    problems
        .extend(unread.iter().map(|file| format!("{file} reads no foreign sentence: take it off the list")));
    Ok(problems)
}

/// Everything that `kusion` writes goes through the redactor in `output.rs`.
pub(super) fn streams() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    for (path, text) in sources::texts()? {
        if !path.starts_with("crates/kusion-cli/src/") || path.ends_with("/output.rs") {
            continue;
        }
        for (number, line) in sources::code(&text) {
            if let Some(call) = STREAMS.iter().find(|call| line.contains(**call)) {
                problems.push(format!("{path}:{number}: `{call}…)` beside output.rs"));
            }
        }
    }
    Ok(problems)
}

/// Commands write files whole: through base-file, never piece by piece under the file's own name.
pub(super) fn writes() -> Result<Vec<String>, String> {
    let owners = ["kcl", "kcl-cli", "kusion", "kusion-cli", "kcl-server"];
    let mut problems = Vec::new();
    for (path, text) in sources::texts()? {
        let owner = path.split('/').nth(1).unwrap_or_default();
        if !owners.contains(&owner) || !sources::is_product(&path) {
            continue;
        }
        for (number, line) in sources::code(&text).filter(|(_, line)| line.contains("fs::write(")) {
            problems.push(format!("{path}:{number}: `{}` beside base-file", line.trim()));
        }
    }
    Ok(problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_of_crates_are_told_from_other_code() {
        let text = "`kcl::Compiler` and `cargo xtask` and `kusion_store::State` and `std::fs`";
        let found: Vec<_> = items(text).collect();
        assert_eq!(found, [("kcl".to_owned(), "Compiler"), ("kusion-store".to_owned(), "State")]);
    }

    #[test]
    fn a_second_declaration_is_found() {
        let file = |path: &str, text: &str| (path.to_owned(), text.to_owned());
        let files = [
            file("crates/a/src/x.rs", "pub struct State {\n}\npub struct Stateful;"),
            file("crates/b/src/y.rs", "    pub enum State {"),
            file("crates/b/tests/z.rs", "pub enum State {"),
        ];
        assert_eq!(declaring(&files, "State"), ["a", "b"]);
    }

    #[test]
    fn a_search_in_our_own_words_is_found() {
        assert_eq!(read_sentence(r#"if error.message.contains("not found") {"#), Some(".message"));
        assert_eq!(read_sentence("if cause.sentence.contains(&name) {"), Some(".sentence"));
        assert_eq!(
            read_sentence("told.message.contains(&secret)"),
            None,
            "what is looked for is no sentence"
        );
        assert_eq!(read_sentence(r#"path.starts_with("a")"#), None);
    }

    #[test]
    fn the_list_of_pure_crates_is_read() {
        let pure = pure_crates().unwrap();
        assert!(pure.contains("base-yaml") && pure.contains("kusion-health") && !pure.contains("kusion-cli"));
    }
}
