//! Writes the table of the model files that are embedded: `konfig/` without its applications.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let konfig = manifest.join("../../konfig");
    let mut found = Vec::new();
    for name in ["kcl.mod", "render.k", "models"] {
        collect(&konfig.join(name), &mut found)?;
        writeln!(io::stdout(), "cargo::rerun-if-changed={}", konfig.join(name).display())?;
    }
    found.sort();
    let mut table = String::from("&[\n");
    for path in &found {
        let full = fs::canonicalize(path)?;
        let name = path.strip_prefix(&konfig).unwrap_or(path).to_string_lossy().into_owned();
        table.push_str(&format!("({name:?}, include_str!({:?})),\n", full.to_string_lossy()));
    }
    table.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default()).join("konfig.rs");
    fs::write(out, table)
}

fn collect(path: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(&entry?.path(), found)?;
        }
    } else if path.extension().is_some_and(|ext| ext == "k" || ext == "mod") {
        found.push(path.to_owned());
    }
    Ok(())
}
