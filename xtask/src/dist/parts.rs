//! What programs are made of: the crates that are linked into them, with their licences and sums; as CycloneDX and as a text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::oracle::root;

/// One crate.
pub(super) struct Part {
    name: String,
    version: String,
    licence: String,
    source: String,
    /// The SHA-256 of its archive; none for our own crates.
    sum: Option<String>,
    /// What it needs, by id.
    needs: BTreeSet<String>,
    /// The texts of its licences.
    texts: Vec<String>,
}

impl Part {
    fn address(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// Crates by their id.
pub(super) struct Parts(BTreeMap<String, Part>);

impl Parts {
    /// Finds what is linked into the programs of these packages, on this platform.
    pub(super) fn of(packages: &[&str]) -> Result<Parts, String> {
        let metadata = metadata()?;
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let sums = sums()?;
        let described: BTreeMap<String, Value> =
            list(&metadata["packages"]).into_iter().map(|package| (text(&package["id"]), package)).collect();
        let mut needs: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for node in list(&metadata["resolve"]["nodes"]) {
            // What only builds or tests need is not in the program.
            let linked = |dep: &Value| list(&dep["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let deps = list(&node["deps"]).into_iter().filter(linked).map(|dep| text(&dep["pkg"]));
            needs.insert(text(&node["id"]), deps.collect());
        }
        let is_asked = |package: &&Value| packages.contains(&package["name"].as_str().unwrap_or_default());
        let mut next: Vec<String> = described.values().filter(is_asked).map(|p| text(&p["id"])).collect();
        let mut parts = BTreeMap::new();
        while let Some(id) = next.pop() {
            if parts.contains_key(&id) {
                continue;
            }
            let package =
                described.get(&id).ok_or_else(|| format!("cargo metadata does not describe {id}"))?;
            let needs = needs.remove(&id).unwrap_or_default();
            next.extend(needs.iter().cloned());
            parts.insert(id, part(package, needs, &sums));
        }
        Ok(Parts(parts))
    }

    /// The bill of materials, CycloneDX 1.5.
    pub(super) fn bill(&self, name: &str, version: &str, time: u64) -> Result<String, String> {
        let when =
            chrono::DateTime::from_timestamp(time as i64, 0).ok_or("the time of the commit is no time")?;
        let whole = format!("{name}@{version}");
        let components: Vec<Value> = self.0.values().map(component).collect();
        let mut edges = vec![json!({
            "ref": whole,
            "dependsOn": self.0.values().filter(|part| part.sum.is_none()).map(Part::address).collect::<Vec<_>>(),
        })];
        for part in self.0.values() {
            let needs =
                part.needs.iter().filter_map(|id| self.0.get(id)).map(Part::address).collect::<Vec<_>>();
            edges.push(json!({ "ref": part.address(), "dependsOn": needs }));
        }
        let mut bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": {
                "timestamp": when.format("%Y-%m-%dT%H:%M:%SZ").to_string(),
                "tools": { "components": [{ "type": "application", "name": "cargo xtask dist", "version": version }] },
                "component": {
                    "type": "application", "bom-ref": whole, "name": name, "version": version,
                    "licenses": [{ "expression": "Apache-2.0" }],
                },
            },
            "components": components,
            "dependencies": edges,
        });
        // The number is made of the content: the same programs, the same bill.
        let sum = super::sum(bill.to_string().as_bytes());
        bill["serialNumber"] = format!(
            "urn:uuid:{}-{}-8{}-a{}-{}",
            &sum[..8],
            &sum[8..12],
            &sum[13..16],
            &sum[17..20],
            &sum[20..32]
        )
        .into();
        serde_json::to_string_pretty(&bill).map(|text| text + "\n").map_err(|e| e.to_string())
    }

    /// The licences of what others have written: who, and each text once.
    pub(super) fn licences(&self) -> String {
        let mut out = String::from(
            "What these programs are made of, beside our own code (Apache-2.0, see LICENSE).\n\n",
        );
        let mut texts: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for part in self.0.values().filter(|part| part.sum.is_some()) {
            let name = format!("{} {}", part.name, part.version);
            let silent = if part.texts.is_empty() { " (the crate carries no text of it)" } else { "" };
            out.push_str(&format!("{name}: {}{silent}\n", part.licence));
            for text in &part.texts {
                texts.entry(text).or_default().push(name.clone());
            }
        }
        let mut texts: Vec<(Vec<String>, &str)> =
            texts.into_iter().map(|(text, names)| (names, text)).collect();
        texts.sort();
        for (names, text) in texts {
            out.push_str(&format!("\n{}\n{}\n\n{}\n", "=".repeat(80), names.join(", "), text.trim_end()));
        }
        out
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn part(package: &Value, needs: BTreeSet<String>, sums: &BTreeMap<(String, String), String>) -> Part {
    let (name, version) = (text(&package["name"]), text(&package["version"]));
    let sum = sums.get(&(name.clone(), version.clone())).cloned();
    let folder = package["manifest_path"].as_str().and_then(|path| Path::new(path).parent());
    let texts = match (folder, &sum) {
        (Some(folder), Some(_)) => licence_texts(folder),
        _ => Vec::new(),
    };
    let licence = text(&package["license"]).replace('/', " OR ");
    Part { name, version, licence, source: text(&package["repository"]), sum, needs, texts }
}

/// The texts of licences that stand in the folder of a crate.
fn licence_texts(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| {
            let upper = name.to_uppercase();
            ["LICEN", "COPYING", "NOTICE", "UNLICENSE"].iter().any(|start| upper.starts_with(start))
        })
        .collect();
    names.sort();
    names.iter().filter_map(|name| std::fs::read_to_string(folder.join(name)).ok()).collect()
}

fn component(part: &Part) -> Value {
    let mut out = json!({
        "type": "library",
        "bom-ref": part.address(),
        "name": part.name,
        "version": part.version,
        "purl": part.address(),
    });
    if !part.licence.is_empty() {
        out["licenses"] = json!([{ "expression": part.licence }]);
    }
    if let Some(sum) = &part.sum {
        out["hashes"] = json!([{ "alg": "SHA-256", "content": sum }]);
    }
    if part.source.starts_with("https://") {
        out["externalReferences"] = json!([{ "type": "vcs", "url": part.source }]);
    }
    out
}

fn metadata() -> Result<Value, String> {
    let platform = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--locked", "--offline", "--filter-platform", &platform])
        .current_dir(root())
        .output()
        .map_err(|e| format!("cargo metadata: {e}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("cargo metadata: {e}: {}", String::from_utf8_lossy(&output.stderr)))
}

/// The sums of Cargo.lock by name and version.
fn sums() -> Result<BTreeMap<(String, String), String>, String> {
    let text = std::fs::read_to_string(root().join("Cargo.lock")).map_err(|e| format!("Cargo.lock: {e}"))?;
    let lock: toml::Table = text.parse().map_err(|e| format!("Cargo.lock: {e}"))?;
    let word = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_owned());
    let rows = lock.get("package").and_then(toml::Value::as_array).cloned().unwrap_or_default();
    let row = |p: toml::Value| Some(((word(&p, "name")?, word(&p, "version")?), word(&p, "checksum")?));
    Ok(rows.into_iter().filter_map(row).collect())
}
