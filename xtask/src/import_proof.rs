//! `cargo xtask import-proof [FILE…]`: real documents through `kcl import`; what is made compiles here and on the wheel.
//!
//! With FILEs (an OpenAPI document of a server, CRDs) these are imported. Without, Kubernetes and projects around it are asked for
//! their own, from their Go modules: `go` fetches them, `unzip` unpacks them into the target folder.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::ChoreResult;
use crate::oracle::root;

/// Module and version, the files in it, how they are imported.
const SOURCES: &[(&str, &str, &str)] = &[
    ("k8s.io/kubernetes@v1.36.0", "*openapi-spec/swagger.json", "openapi"),
    ("k8s.io/kubernetes@v1.36.0", "*openapi-spec/v3/apis__apps__v1_openapi.json", "openapi"),
    ("github.com/cert-manager/cert-manager@v1.16.0", "*deploy/crds/crd-*.yaml", "crd"),
    ("sigs.k8s.io/gateway-api@v1.2.0", "*config/crd/standard/gateway*.yaml", "crd"),
    ("github.com/external-secrets/external-secrets@v0.10.0", "*config/crds/bases/*io_*.yaml", "crd"),
    ("github.com/kyverno/kyverno@v1.13.0", "*config/crds/*/*io_*.yaml", "crd"),
    ("github.com/argoproj/argo-cd/v2@v2.12.0", "*manifests/crds/*-crd.yaml", "crd"),
];

pub(crate) fn main(words: &[String]) -> ChoreResult {
    let home = target_dir().join("import-proof");
    make(&home)?;
    run(Command::new("cargo").args(["build", "--quiet", "-p", "kcl-cli"]).current_dir(root()))?;
    let kcl = target_dir().join("debug/kcl");
    if words.is_empty() {
        for (at, (module, pattern, mode)) in SOURCES.iter().enumerate() {
            let files = fetched(&home, module, pattern)?;
            println!("import-proof: {module} {pattern}");
            prove(&kcl, &files, Some(mode), &home.join(format!("models-{at}")))?;
        }
    } else {
        prove(&kcl, &words.iter().map(PathBuf::from).collect::<Vec<_>>(), None, &home.join("models"))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Imports files into a new folder, checks every package of it, and compiles it with the wheel.
fn prove(kcl: &Path, files: &[PathBuf], mode: Option<&str>, models: &Path) -> Result<(), String> {
    if models.exists() {
        std::fs::remove_dir_all(models).map_err(|e| format!("{}: {e}", models.display()))?;
    }
    run(Command::new(kcl)
        .args(["import", "--json", "-m", mode.unwrap_or("auto"), "-o"])
        .arg(models)
        .args(files)
        .stdout(std::process::Stdio::null()))?;
    run(Command::new(kcl)
        .arg("doc")
        .arg(models)
        .args(["--format", "json-schema", "--target"])
        .arg(models.with_extension("json")))?;
    run(Command::new("python3").arg(root().join("xtask/documents/compile.py")).arg(models))
}

/// The files of a module that a pattern names.
fn fetched(home: &Path, module: &str, pattern: &str) -> Result<Vec<PathBuf>, String> {
    let name: String = module.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    let (zip, folder) = (module_zip(home, module)?, home.join(&name));
    let place = folder.join(pattern.chars().filter(char::is_ascii_alphanumeric).collect::<String>());
    make(&place)?;
    run(Command::new("unzip").args(["-q", "-o", "-j"]).arg(&zip).arg(pattern).arg("-d").arg(&place))?;
    let entries = std::fs::read_dir(&place).map_err(|e| format!("{}: {e}", place.display()))?;
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.sort();
    if files.is_empty() { Err(format!("{module} has no {pattern}")) } else { Ok(files) }
}

/// The archive of a module, in the cache of the `go` program.
fn module_zip(home: &Path, module: &str) -> Result<PathBuf, String> {
    let told = Command::new("go").args(["mod", "download", "-json", module]).current_dir(home).output();
    let told = told.map_err(|e| format!("cannot run go: {e}"))?;
    let answer: serde_json::Value =
        serde_json::from_slice(&told.stdout).map_err(|e| format!("{module}: {e}"))?;
    let zip = answer.get("Zip").and_then(serde_json::Value::as_str);
    zip.map(PathBuf::from).ok_or_else(|| format!("{module} cannot be had: {answer}"))
}

fn target_dir() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn make(folder: &Path) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{}: {e}", folder.display()))
}

fn run(command: &mut Command) -> Result<(), String> {
    let status = command.status().map_err(|e| format!("{command:?}: {e}"))?;
    if status.success() { Ok(()) } else { Err(format!("{command:?} failed")) }
}
