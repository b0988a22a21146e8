//! The pages of the book, run: commands of `kusion` and `kcl`, on a sandbox where a page starts one.
//! `UPDATE=1 cargo test -p kusion-cli --test it book` writes the outputs anew; read the difference.

use std::path::{Path, PathBuf};
use std::process::Command;

use testkit::pages::{self, Shell};

use crate::root;

/// A shell that remembers where it is and what was exported.
#[derive(Default)]
struct Book {
    before: Vec<String>,
}

impl Shell for Book {
    fn run(&mut self, folder: &Path, command: &str) -> String {
        if command.starts_with("cd ") || command.starts_with("export ") {
            self.before.push(command.to_owned());
            return String::new();
        }
        let script = format!("{}\n{{ {command}\n}} 2>&1", self.before.join("\n"));
        text(&shell(folder, &script), folder)
    }

    fn lasting(&self, text: &str) -> String {
        let lines = text.lines().filter(|line| !is_passing(line));
        let mut lines: Vec<String> = lines
            .map(|line| ageless(&line.split_whitespace().map(lasting_word).collect::<Vec<_>>()))
            .collect();
        sort_endings(&mut lines);
        lines.join("\n")
    }

    fn leave(&mut self, folder: &Path) {
        self.before.clear();
        if folder.join("home/.kusion/sandbox").exists() {
            shell(folder, "kusion sandbox stop");
        }
    }
}

fn shell(folder: &Path, script: &str) -> Vec<u8> {
    let bin = Path::new(env!("CARGO_BIN_EXE_kusion")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(folder)
        .env("PATH", path)
        .env("HOME", folder.join("home"))
        .env("NO_COLOR", "1")
        .env("LC_ALL", "C.UTF-8")
        .env("USER", "you")
        .env_remove("KUSION_HOME")
        .env_remove("KUBECONFIG")
        .output()
        .unwrap();
    output.stdout
}

/// What was printed, without the folder of the test.
fn text(printed: &[u8], folder: &Path) -> String {
    let real = std::fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
    let homes = [folder.join("home"), real.join("home")].map(|home| home.display().to_string());
    let folders = [folder.display().to_string(), real.display().to_string()];
    let mut text = String::from_utf8_lossy(printed).into_owned();
    for (path, name) in
        homes.iter().map(|home| (home, "/home/you")).chain(folders.iter().map(|f| (f, "/work")))
    {
        text = text.replace(path.as_str(), name);
    }
    text
}

/// Lines that come and go with the clock.
fn is_passing(line: &str) -> bool {
    line.contains(" progressing ") || line.contains("still waiting")
}

/// Objects that do not depend on each other end in any order.
fn sort_endings(lines: &mut [String]) {
    let is_ending = |line: &String| {
        [" healthy … s", " created … s", " deleted … s"].iter().any(|word| line.contains(word))
    };
    let mut at = 0;
    while at < lines.len() {
        let run = lines[at..].iter().take_while(|line| is_ending(line)).count();
        lines[at..at + run].sort();
        at += run.max(1);
    }
}

/// The words of a line without `5 s ago`, `7 ms` and numbers of the log's entries: what comes at once is written as one.
fn ageless(words: &[String]) -> String {
    let mut out = String::new();
    let (mut before, mut rest) = ("", words);
    while let [word, after @ ..] = rest {
        let counts = ["entry", "but", "knows"].contains(&before)
            || after.first().is_some_and(|next| next.starts_with("entries"));
        let counted = counts && word.trim_end_matches(',').bytes().all(|b| b.is_ascii_digit());
        let taken = match after {
            _ if !word.bytes().all(|b| b.is_ascii_digit()) => 0,
            [_, ago, ..] if ago.starts_with("ago") => 2,
            [unit, ..] if unit == "ms" => 1,
            _ => 0,
        };
        (before, rest) = (word.as_str(), &after[taken..]);
        out.push_str(if taken > 0 || counted { "… " } else { word });
        out.push(' ');
    }
    out
}

fn lasting_word(word: &str) -> String {
    let bare = word.trim_matches(|c: char| "(),:;`".contains(c));
    let is_time = bare.parse::<f64>().is_ok() && bare.contains('.');
    let is_hash = (6..=12).contains(&bare.len()) && bare.chars().all(|c| c.is_ascii_hexdigit());
    let is_moment = bare.len() > 18 && bare.starts_with("20") && bare.ends_with('Z');
    let is_drawn = is_moment
        || bare.starts_with("sha256:")
        || bare.contains("127.0.0.1:")
        || bare.starts_with("10.96.")
        || bare.contains('@')
        || is_pod(bare);
    if is_time || is_hash || is_drawn { "…".to_owned() } else { word.to_owned() }
}

/// `shop-7ddc8cb5b6-2ftsp`: the end of the name is drawn.
fn is_pod(word: &str) -> bool {
    word.rsplit_once('-').is_some_and(|(set, tail)| {
        tail.len() == 5 && set.rsplit_once('-').is_some_and(|(_, hash)| (8..=10).contains(&hash.len()))
    })
}

fn page(name: &str, at_least: usize) {
    let kcl: PathBuf = Path::new(env!("CARGO_BIN_EXE_kusion")).with_file_name("kcl");
    assert!(kcl.exists(), "the book also runs `kcl`: cargo build -p kcl-cli, or test the whole workspace");
    pages::compare(&root().join("docs/book/src").join(name), at_least, &mut Book::default());
}

macro_rules! book {
    ($($test:ident: $name:literal, $at_least:literal;)*) => {
        $(#[test]
        fn $test() {
            page($name, $at_least);
        })*
    };
}

book! {
    install: "install.md", 2;
    tutorial: "tutorial.md", 18;
    language: "language/tour.md", 11;
    plan: "concepts/plan.md", 6;
    state: "concepts/state.md", 3;
    releases: "concepts/releases.md", 4;
    health: "concepts/health.md", 2;
    adopt: "howto/adopt.md", 6;
    pipelines: "howto/pipelines.md", 4;
    conflicts: "howto/conflicts.md", 5;
    rollback: "howto/rollback.md", 4;
    clusters: "howto/clusters.md", 4;
    secrets: "howto/secrets.md", 4;
    trouble: "howto/trouble.md", 4;
    commands_of_kusion: "reference/kusion.md", 25;
    commands_of_kcl: "reference/kcl.md", 14;
    errors: "reference/errors.md", 2;
    json: "reference/json.md", 4;
    helm: "migrate/helm.md", 1;
    kubectl: "migrate/kubectl.md", 4;
    terraform: "migrate/terraform.md", 8;
    databases: "howto/databases.md", 5;
    upstream: "migrate/kusion.md", 1;
    backend_choose: "backends/choose.md", 6;
    backend_folder: "backends/folder.md", 3;
    backend_kubernetes: "backends/kubernetes.md", 6;
    recovery: "backends/recovery.md", 8;
}

/// The reference of the models is what `kcl doc` says about them.
#[test]
fn models() {
    let kcl = Path::new(env!("CARGO_BIN_EXE_kusion")).with_file_name("kcl");
    let output = Command::new(kcl).arg("doc").arg(root().join("konfig")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let text = format!(
        "# Models\n\nThe schemas of the package `konfig`, as `kcl doc` writes them. The package is part of the program:\n\
         `import konfig.models.frontend` needs no installation.\n\n{}",
        deeper(&told)
    );
    let path = root().join("docs/book/src/reference/models.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, text).unwrap();
        return;
    }
    let page = std::fs::read_to_string(&path).unwrap();
    assert!(page == text, "reference/models.md: UPDATE=1 cargo test -p kusion-cli --test it book");
}

/// The same text one heading deeper: it stands inside another page.
fn deeper(text: &str) -> String {
    let mut fenced = false;
    let mut line = |line: &str| {
        fenced ^= line.starts_with("```");
        let heading = !fenced && line.starts_with('#');
        format!("{}{line}\n", if heading { "#" } else { "" })
    };
    text.lines().map(&mut line).collect()
}

/// The pages below a folder.
fn pages_in(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            pages_in(&path, found);
        } else if path.extension().is_some_and(|end| end == "md") {
            found.push(path);
        }
    }
}

/// The targets of `[text](target)` that are files; what is in code counts for nothing.
fn links(text: &str) -> Vec<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let targets = prose.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let files = targets.map(|(target, _)| target.split('#').next().unwrap_or_default().to_owned());
    files.filter(|target| !target.is_empty() && !target.contains("://")).collect()
}

#[test]
fn every_page_is_listed_and_every_link_leads_somewhere() {
    let source = root().join("docs/book/src");
    let mut pages = Vec::new();
    pages_in(&source, &mut pages);
    let summary = std::fs::read_to_string(source.join("SUMMARY.md")).unwrap();
    let listed: Vec<PathBuf> = links(&summary).iter().map(|target| source.join(target)).collect();
    assert!(listed.len() > 30, "{listed:?}");
    for page in pages.iter().filter(|page| !page.ends_with("SUMMARY.md")) {
        assert!(listed.contains(page), "{} is not in SUMMARY.md", page.display());
        let text = std::fs::read_to_string(page).unwrap();
        let included = text.strip_prefix("{{#include ").and_then(|rest| rest.split_once("}}"));
        let targets = included.map_or_else(|| links(&text), |(file, _)| vec![file.to_owned()]);
        for target in targets {
            let there = page.parent().unwrap().join(&target);
            assert!(there.is_file(), "{}: {target} leads nowhere", page.display());
        }
    }
}
