//! What we build on: licences that allow it, sources that are known, crates that are not wanted, and dependencies that
//! somebody uses. Known vulnerabilities are not looked up: that needs a database from the network.

use std::collections::BTreeSet;
use std::process::Command;

use serde_json::Value;

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
    let folders = std::fs::read_dir(root().join("crates")).map_err(|e| e.to_string())?;
    let mut manifests: Vec<_> =
        ["xtask", "bindings/python"].map(|folder| root().join(folder).join("Cargo.toml")).into();
    for folder in folders {
        manifests.push(folder.map_err(|e| e.to_string())?.path().join("Cargo.toml"));
    }
    for path in manifests {
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

fn metadata() -> Result<Value, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .map_err(|e| e.to_string())?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("cargo metadata: {e}: {}", String::from_utf8_lossy(&output.stderr)))
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
