//! The layering rule: a crate uses crates of lower layers only.

use crate::oracle::root;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Command;

/// Compares the local dependencies of every crate with the table in ARCHITECTURE.md.
pub(super) fn check() -> Result<Vec<String>, String> {
    let layers = table()?;
    let mut problems = Vec::new();
    for (name, dependencies) in local_dependencies()? {
        let Some(own) = layers.get(&name) else {
            problems.push(format!("{name} is in no layer of ARCHITECTURE.md"));
            continue;
        };
        for dependency in dependencies {
            match layers.get(&dependency) {
                Some(layer) if layer < own => {}
                Some(layer) => {
                    problems.push(format!(
                        "{name} (L{own}) uses {dependency} (L{layer}): only lower layers may be used"
                    ));
                }
                None => problems.push(format!("{name} uses {dependency}, which is in no layer")),
            }
        }
    }
    Ok(problems)
}

/// Rows `| L2 | a, b |` of the table.
fn table() -> Result<BTreeMap<String, u32>, String> {
    let path = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
    let mut layers = BTreeMap::new();
    for line in text.lines() {
        let mut cells = line.split('|').map(str::trim).skip(1);
        let (Some(layer), Some(crates)) = (cells.next(), cells.next()) else { continue };
        let Some(number) = layer.strip_prefix('L').and_then(|n| n.parse().ok()) else { continue };
        for name in crates.split(',') {
            layers.insert(name.trim().to_string(), number);
        }
    }
    if layers.is_empty() { Err("ARCHITECTURE.md has no table of layers".into()) } else { Ok(layers) }
}

/// Name and ordinary local dependencies of every crate; dev-dependencies may point anywhere.
fn local_dependencies() -> Result<BTreeMap<String, Vec<String>>, String> {
    let output = Command::new("cargo")
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .map_err(|e| e.to_string())?;
    let value: Value = serde_json::from_slice(&output.stdout)
        .map_err(|e| format!("cargo metadata: {e}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let packages = value["packages"].as_array().ok_or("cargo metadata has no packages")?;
    let text = |value: &Value| value.as_str().unwrap_or("").to_string();
    let mut out = BTreeMap::new();
    for package in packages {
        let dependencies = package["dependencies"].as_array().map_or(&[][..], Vec::as_slice);
        // Optional dependencies count: somebody switches the feature on.
        let local = dependencies
            .iter()
            .filter(|d| d["path"].is_string() && d["kind"].is_null())
            .map(|d| text(&d["name"]))
            .collect();
        out.insert(text(&package["name"]), local);
    }
    Ok(out)
}
