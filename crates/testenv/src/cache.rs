//! Where the pinned executable is kept, and how it is built.
//!
//! In: the Go sources beside `xtask`, embedded here. Out: `<cache>/<hash>/bin/kubebox` and its names.
//! Invariant: the folder's name is the hash of the sources, and the executable appears there only when it is complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Context, Error};

/// A Go program that is built from a pinned module.
struct Program {
    /// The cache folder's name begins with it.
    label: &'static str,
    /// The wrapper module: file names and texts.
    sources: &'static [(&'static str, &'static str)],
    package: &'static str,
    executable: &'static str,
    /// The names under which the one executable is started.
    names: &'static [&'static str],
    /// Packages that carry the Kubernetes version they report.
    versions: &'static [&'static str],
}

const KUBEBOX: Program = Program {
    label: VERSION,
    sources: &[
        ("go.mod", include_str!("../../../xtask/testenv/kubebox/go.mod")),
        ("go.sum", include_str!("../../../xtask/testenv/kubebox/go.sum")),
        ("main.go", include_str!("../../../xtask/testenv/kubebox/main.go")),
        ("pki.go", include_str!("../../../xtask/testenv/kubebox/pki.go")),
        ("lifeline.go", include_str!("../../../xtask/testenv/kubebox/lifeline.go")),
    ],
    package: ".",
    executable: "kubebox",
    names: &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl"],
    versions: &["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"],
};

const HELM: Program = Program {
    label: "helm-v4.2.4",
    sources: &[
        ("go.mod", include_str!("../../../xtask/testenv/helm/go.mod")),
        ("go.sum", include_str!("../../../xtask/testenv/helm/go.sum")),
    ],
    package: "helm.sh/helm/v4/cmd/helm",
    executable: "helm",
    names: &[],
    versions: &[],
};

/// The server version that the executable reports.
const VERSION: &str = "v1.36.3";

/// The folder of all cached builds: `$KUSION_TESTENV_CACHE`, else `~/.cache/kusion-testenv`.
pub fn cache_folder() -> PathBuf {
    if let Some(folder) = std::env::var_os("KUSION_TESTENV_CACHE") {
        return PathBuf::from(folder);
    }
    match std::env::home_dir() {
        Some(home) => home.join(".cache").join("kusion-testenv"),
        None => std::env::temp_dir().join("kusion-testenv-cache"),
    }
}

/// The folder of the control plane's executables, if the pinned version is already built.
pub fn binary() -> Option<PathBuf> {
    KUBEBOX.built()
}

/// Builds the control plane unless it is there. Needs Go and the module proxy; takes about a quarter of a CPU hour once.
pub fn build() -> Result<PathBuf, Error> {
    KUBEBOX.build()
}

/// The pinned Helm, a peer in benches, if it is built.
pub fn helm() -> Option<PathBuf> {
    HELM.built().map(|bin| bin.join(HELM.executable))
}

/// Builds the pinned Helm unless it is there.
pub fn build_helm() -> Result<PathBuf, Error> {
    HELM.build().map(|bin| bin.join(HELM.executable))
}

impl Program {
    fn built(&self) -> Option<PathBuf> {
        let bin = self.folder().join("bin");
        bin.join(self.executable).exists().then_some(bin)
    }

    fn build(&self) -> Result<PathBuf, Error> {
        if let Some(bin) = self.built() {
            return Ok(bin);
        }
        let folder = self.folder();
        let source = folder.join("src");
        fs::create_dir_all(&source).context(|| format!("creating {}", source.display()))?;
        let lock_path = folder.join("lock");
        let lock = File::create(&lock_path).context(|| format!("creating {}", lock_path.display()))?;
        lock.lock().context(|| format!("locking {}", lock_path.display()))?;
        if let Some(bin) = self.built() {
            return Ok(bin); // another process built it while we waited
        }
        for (name, text) in self.sources {
            let path = source.join(name);
            fs::write(&path, text).context(|| format!("writing {}", path.display()))?;
        }
        self.compile(&source)?;
        self.install(&source.join(self.executable), &folder)
    }

    fn compile(&self, source: &Path) -> Result<(), Error> {
        let mut flags = String::from("-s -w");
        for package in self.versions {
            flags.push_str(&format!(
                " -X {package}.gitVersion={VERSION} -X {package}.gitMajor=1 -X {package}.gitMinor=36 -X {package}.gitTreeState=clean"
            ));
        }
        let status = Command::new("go")
            .args(["build", "-p", "2", "-trimpath", "-ldflags", &flags, "-o", self.executable, self.package])
            .current_dir(source)
            .env("CGO_ENABLED", "0")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .status()
            .context(|| format!("starting `go build` for {} (is Go 1.26 or newer installed?)", self.label))?;
        if status.success() {
            return Ok(());
        }
        Err(Error::new(format!("`go build` of {} in {} ended with {status}", self.label, source.display())))
    }

    /// Makes `bin` complete under another name, then renames it into place.
    fn install(&self, executable: &Path, folder: &Path) -> Result<PathBuf, Error> {
        let fresh = folder.join("bin.new");
        let bin = folder.join("bin");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).context(|| format!("creating {}", fresh.display()))?;
        fs::rename(executable, fresh.join(self.executable))
            .context(|| format!("moving {}", executable.display()))?;
        for name in self.names {
            let link = fresh.join(name);
            std::os::unix::fs::symlink(self.executable, &link)
                .context(|| format!("linking {}", link.display()))?;
        }
        fs::rename(&fresh, &bin).context(|| format!("moving {} into place", fresh.display()))?;
        Ok(bin)
    }

    fn folder(&self) -> PathBuf {
        cache_folder().join(format!("{}-{:016x}", self.label, self.source_hash()))
    }

    /// FNV-1a over names and texts: the same on every machine and with every Rust version.
    fn source_hash(&self) -> u64 {
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (name, text) in self.sources {
            for byte in name.bytes().chain([0]).chain(text.bytes()).chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        hash
    }
}
