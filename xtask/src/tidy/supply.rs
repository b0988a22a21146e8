//! What we build on: licences that allow it, sources that are known, crates that are not wanted, dependencies that
//! somebody uses, and features that let one compilation serve all. Known vulnerabilities are not looked up: that needs a database from the network.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::build::ran;
use crate::oracle::root;

/// Crates that must not come in by a side door, and why.
const BANNED: [(&str, &str); 4] = [
    ("openssl-sys", "TLS is rustls: no system library"),
    ("native-tls", "TLS is rustls: no system library"),
    ("git2", "git is the `git` program"),
    ("serde_yaml", "YAML is base-yaml: byte-exact and bounded"),
];
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Licences, sources and bans of everything that is built.
pub(super) fn packages() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let allowed = allowed()?;
    for package in metadata()?["packages"].as_array().ok_or("cargo metadata has no packages")? {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, licence, source) = (text("name"), text("license"), text("source"));
        if let Some((_, why)) = BANNED.iter().find(|(banned, _)| *banned == name) {
            problems.push(format!("{name} is not wanted: {why}"));
        }
        if source.is_empty() {
            continue;
        }
        if source != REGISTRY {
            problems.push(format!("{name} comes from {source}, not from crates.io"));
        }
        if !is_allowed(licence, &allowed) {
            problems.push(format!("{name} has the licence `{licence}`, which nobody has allowed"));
        }
    }
    Ok(problems)
}

/// Every dependency of the workspace is used by one of its crates.
pub(super) fn unused() -> Result<Vec<String>, String> {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).map_err(|e| e.to_string())?;
    let section = manifest.split("[workspace.dependencies]").nth(1).unwrap_or_default();
    let section = section.split("\n[").next().unwrap_or_default();
    let named =
        section.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.split_once(" = "));
    let named: BTreeSet<&str> = named.map(|(name, _)| name).collect();
    let mut used = String::new();
    for path in manifests()? {
        used.push_str(&std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?);
        used.push('\n');
    }
    let is_used = |name: &&&str| {
        used.lines()
            .any(|line| line.strip_prefix(**name).is_some_and(|rest| rest.starts_with([' ', '.', '='])))
    };
    let unused = named.iter().filter(|name| !is_used(name));
    Ok(unused.map(|name| format!("Cargo.toml: no crate of the workspace uses `{name}`")).collect())
}

/// Dependencies that no line names: crate, dependency, why.
const UNNAMED: [(&str, &[&str], &str); 4] = [
    ("crates/kusion-media", &["serde_json"], "its tests are those of kusion-store, by their path"),
    ("crates/kusion", &["k8s-openapi"], "its feature says which Kubernetes it is compiled for"),
    ("crates/sandbox-server", &["k8s-openapi"], "its feature says which Kubernetes it is compiled for"),
    ("xtask", &["clap", "kusion-health", "sandbox-world"], "their features are those of the tests"),
];

/// Every crate names what it depends on.
pub(super) fn unnamed() -> Result<Vec<String>, String> {
    let mut problems = Vec::new();
    let sources = super::sources::texts()?;
    for path in manifests()? {
        let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        let manifest: toml::Table = text.parse().map_err(|e| format!("{}: {e}", path.display()))?;
        let folder = path.parent().and_then(|folder| folder.strip_prefix(root()).ok()).unwrap_or(&path);
        let owner = folder.display().to_string();
        let own: Vec<&str> = sources
            .iter()
            .filter(|(file, _)| file.starts_with(&format!("{owner}/")))
            .map(|(_, text)| text.as_str())
            .collect();
        let known = |name: &str| UNNAMED.iter().any(|(of, names, _)| *of == owner && names.contains(&name));
        for section in ["dependencies", "dev-dependencies"] {
            let table = manifest.get(section).and_then(toml::Value::as_table);
            for name in table.into_iter().flat_map(toml::Table::keys).filter(|name| !known(name)) {
                // The one crate whose library has another name.
                let library = if name == "md-5" { "md5".to_owned() } else { name.replace('-', "_") };
                if !own.iter().any(|text| names_word(text, &library)) {
                    problems.push(format!("{owner}/Cargo.toml: no line of the crate names `{name}`"));
                }
            }
        }
    }
    Ok(problems)
}

/// Whether a text has a word by itself.
fn names_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word)
        .any(|(at, _)| !text[..at].ends_with(part) && !text[at + word.len()..].starts_with(part))
}

/// The manifest of every crate.
fn manifests() -> Result<Vec<PathBuf>, String> {
    let mut all: Vec<PathBuf> = ["xtask", "bindings/node", "bindings/python"]
        .map(|folder| root().join(folder).join("Cargo.toml"))
        .into();
    for folder in std::fs::read_dir(root().join("crates")).map_err(|e| e.to_string())? {
        all.push(folder.map_err(|e| e.to_string())?.path().join("Cargo.toml"));
    }
    all.sort();
    Ok(all)
}

/// Chores are compiled with the features that the tests of the whole workspace have: otherwise CI compiles most crates twice.
pub(super) fn shared() -> Result<Vec<String>, String> {
    let tests = features(&["--workspace", "-e", "normal,build,dev"])?;
    let chores = features(&["-p", "xtask", "-e", "normal,build"])?;
    let apart = chores.difference(&tests);
    Ok(apart.map(|row| format!("xtask/Cargo.toml: the tests have other features of `{row}`")).collect())
}

/// Every crate of a build with its features.
fn features(build: &[&str]) -> Result<BTreeSet<String>, String> {
    let mut words = vec!["tree", "--prefix", "none", "--no-dedupe", "-f", "{p} {f}"];
    words.extend(build);
    Ok(cargo(&words)?.lines().map(str::to_owned).collect())
}

fn metadata() -> Result<Value, String> {
    serde_json::from_str(&cargo(&["metadata", "--format-version", "1"])?)
        .map_err(|e| format!("cargo metadata: {e}"))
}

fn cargo(words: &[&str]) -> Result<String, String> {
    ran(Command::new("cargo").args(words).args(["--offline", "--locked"]).current_dir(root()))
}

/// The licences that deny.toml allows: one list, for `cargo deny` and for here.
fn allowed() -> Result<Vec<String>, String> {
    let text = std::fs::read_to_string(root().join("deny.toml")).map_err(|e| format!("deny.toml: {e}"))?;
    let list = text.split("allow = [").nth(1).and_then(|rest| rest.split(']').next());
    let list = list.ok_or("deny.toml has no list of licences")?;
    Ok(list.split('"').skip(1).step_by(2).map(str::to_owned).collect())
}

/// Whether an SPDX expression can be satisfied: each part of an `AND` by one of its alternatives.
fn is_allowed(licence: &str, allowed: &[String]) -> bool {
    let plain = licence.replace('/', " OR ");
    let alternatives = |part: &str| {
        part.split(" OR ").any(|name| allowed.iter().any(|known| known == name.trim_matches(['(', ')', ' '])))
    };
    // `A AND (B OR C)`, `(A OR B) AND C`, `A OR B`, `A AND B`: parentheses stand only around alternatives.
    !plain.is_empty() && plain.split(" AND ").all(alternatives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_allowed_by_their_parts() {
        let allowed = ["MIT", "Apache-2.0", "Unicode-3.0"].map(str::to_owned);
        for licence in ["MIT", "MIT/Apache-2.0", "(MIT OR GPL-3.0) AND Unicode-3.0", "GPL-2.0 OR MIT"] {
            assert!(is_allowed(licence, &allowed), "{licence}");
        }
        for licence in ["", "GPL-3.0", "MIT AND GPL-3.0", "SSPL-1.0 OR AGPL-3.0"] {
            assert!(!is_allowed(licence, &allowed), "{licence}");
        }
    }
}
