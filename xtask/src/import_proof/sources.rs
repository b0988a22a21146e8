//! Where real documents and manifests come from: Go modules, fetched by `go` and unpacked by `unzip` into the target folder.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{make, run};

/// A project: what it defines, and what it ships as samples.
pub(super) struct Project {
    /// Module and version.
    pub(super) module: &'static str,
    /// How its documents are imported.
    pub(super) mode: &'static str,
    /// Patterns of documents, from the root of the module.
    pub(super) documents: &'static [&'static str],
    /// Patterns of sample manifests.
    pub(super) samples: &'static [&'static str],
    /// Part of the short form.
    pub(super) short: bool,
}

pub(super) const PROJECTS: &[Project] = &[
    Project {
        module: "k8s.io/kubernetes@v1.36.0",
        mode: "openapi",
        documents: &["*openapi-spec/swagger.json"],
        samples: &["*/test/e2e/testing-manifests/*", "*/test/fixtures/doc-yaml/*", "*/cluster/addons/*"],
        short: true,
    },
    Project {
        module: "github.com/cert-manager/cert-manager@v1.16.0",
        mode: "crd",
        documents: &["*/deploy/crds/crd-*.yaml"],
        samples: &["*/test/*.yaml", "*/make/config/*.yaml", "*/design/*.yaml"],
        short: true,
    },
    Project {
        module: "sigs.k8s.io/gateway-api@v1.2.0",
        mode: "crd",
        documents: &["*/config/crd/experimental/gateway*.yaml"],
        samples: &["*/examples/*"],
        short: true,
    },
    Project {
        module: "github.com/external-secrets/external-secrets@v0.10.0",
        mode: "crd",
        documents: &["*/config/crds/bases/*io_*.yaml"],
        samples: &["*/docs/snippets/*.yaml"],
        short: false,
    },
    Project {
        module: "github.com/kyverno/kyverno@v1.14.0",
        mode: "crd",
        documents: &["*/config/crds/*/*io_*.yaml"],
        samples: &["*/config/samples/*", "*/test/best_practices/*", "*/test/policy/*"],
        short: false,
    },
    Project {
        module: "github.com/argoproj/argo-cd/v2@v2.12.0",
        mode: "crd",
        documents: &["*/manifests/crds/*-crd.yaml"],
        samples: &["*/examples/*", "*/docs/operator-manual/*.yaml"],
        short: false,
    },
    Project {
        module: "github.com/prometheus-operator/prometheus-operator@v0.83.0",
        mode: "crd",
        documents: &["*/example/prometheus-operator-crd-full/*.yaml"],
        samples: &["*/example/*"],
        short: false,
    },
    Project {
        module: "github.com/fluxcd/source-controller@v1.3.0",
        mode: "crd",
        documents: &["*/config/crd/bases/*.yaml"],
        samples: &["*/config/samples/*", "*/config/testdata/*"],
        short: true,
    },
    Project {
        module: "github.com/fluxcd/kustomize-controller@v1.6.0",
        mode: "crd",
        documents: &["*/config/crd/bases/*.yaml"],
        samples: &["*/config/samples/*", "*/config/testdata/*"],
        short: false,
    },
    Project {
        module: "github.com/fluxcd/helm-controller@v1.4.0",
        mode: "crd",
        documents: &["*/config/crd/bases/*.yaml"],
        samples: &["*/config/samples/*", "*/config/testdata/*"],
        short: false,
    },
    Project {
        module: "github.com/fluxcd/notification-controller@v1.5.0",
        mode: "crd",
        documents: &["*/config/crd/bases/*.yaml"],
        samples: &["*/config/samples/*", "*/config/testdata/*"],
        short: false,
    },
];

/// Samples that are wrong themselves or templates, with the reason.
pub(super) const WRONG: &[(&str, &str)] = &[
    ("node-problem-detector/npd.yaml", "`nodeSelectors` is misspelt"),
    ("serviceloadbalancer/netexecsvc.yaml", "`Type` is misspelt"),
    ("mock/csi-mock-driverinfo.yaml", "a template: its `spec` is filled in by the test"),
];

impl Project {
    /// A name for folders.
    pub(super) fn name(&self) -> String {
        self.module.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }

    /// The files that patterns name, unpacked; kustomizations are no manifests.
    pub(super) fn files(&self, home: &Path, kind: &str, patterns: &[&str]) -> Result<Vec<PathBuf>, String> {
        let folder = home.join(self.name()).join(kind);
        if !folder.join(".complete").exists() {
            make(&folder)?;
            let zip = module_zip(home, self.module)?;
            for pattern in patterns {
                // 11: the archive has nothing of that name.
                let status = Command::new("unzip")
                    .args(["-q", "-o"])
                    .arg(&zip)
                    .arg(pattern)
                    .arg("-d")
                    .arg(&folder)
                    .status();
                match status.map_err(|e| format!("cannot run unzip: {e}"))?.code() {
                    Some(0 | 11) => {}
                    other => return Err(format!("unzip {} {pattern}: {other:?}", zip.display())),
                }
            }
            std::fs::write(folder.join(".complete"), "").map_err(|e| e.to_string())?;
        }
        let mut files = Vec::new();
        walk(&folder, &mut files)?;
        files.retain(|file| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let ending = [".yaml", ".yml", ".json"].iter().any(|ending| name.ends_with(ending));
            let kustomizes =
                ["kustomization.", "kustomizeconfig."].iter().any(|begin| name.starts_with(begin));
            ending && !kustomizes
        });
        files.sort();
        Ok(files)
    }
}

/// Every file below a folder.
pub(crate) fn walk(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries.flatten() {
        let path = entry.path();
        if path.is_dir() { walk(&path, files)? } else { files.push(path) }
    }
    Ok(())
}

/// The archive of a module, in the cache of the `go` program.
fn module_zip(home: &Path, module: &str) -> Result<PathBuf, String> {
    make(home)?;
    let told = Command::new("go").args(["mod", "download", "-json", module]).current_dir(home).output();
    let told = told.map_err(|e| format!("cannot run go: {e}"))?;
    let answer: serde_json::Value =
        serde_json::from_slice(&told.stdout).map_err(|e| format!("{module}: {e}"))?;
    let zip = answer.get("Zip").and_then(serde_json::Value::as_str);
    zip.map(PathBuf::from).ok_or_else(|| format!("{module} cannot be had: {answer}"))
}

/// The same files with the `kcl` that was just built: `kcl import`.
pub(super) fn import(kcl: &Path, mode: &str, files: &[PathBuf], models: &Path) -> Result<(), String> {
    if models.exists() {
        std::fs::remove_dir_all(models).map_err(|e| format!("{}: {e}", models.display()))?;
    }
    let log = models.with_extension("log");
    let out = std::fs::File::create(&log).map_err(|e| format!("{}: {e}", log.display()))?;
    let errors = out.try_clone().map_err(|e| e.to_string())?;
    run(Command::new(kcl)
        .args(["import", "--json", "-m", mode, "-o"])
        .arg(models)
        .args(files)
        .stdout(out)
        .stderr(errors))
    .map_err(|e| format!("{e}: {}", log.display()))
}
