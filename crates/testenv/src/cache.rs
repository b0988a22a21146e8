//! Where the pinned executable is kept, and how it is built.
//!
//! In: the Go sources beside `xtask`, embedded here. Out: `<cache>/<hash>/bin/kubebox` and its names.
//! Invariant: the folder's name is the hash of the sources, and the executable appears there only when it is complete.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Context, Error};

/// The wrapper module: file name and text.
const SOURCES: &[(&str, &str)] = &[
    ("go.mod", include_str!("../../../xtask/testenv/kubebox/go.mod")),
    ("go.sum", include_str!("../../../xtask/testenv/kubebox/go.sum")),
    ("main.go", include_str!("../../../xtask/testenv/kubebox/main.go")),
    ("pki.go", include_str!("../../../xtask/testenv/kubebox/pki.go")),
    ("lifeline.go", include_str!("../../../xtask/testenv/kubebox/lifeline.go")),
];

/// The names under which the one executable is started.
const NAMES: [&str; 6] =
    ["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl"];

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

/// The folder of executables, if the pinned version is already built.
pub fn binary() -> Option<PathBuf> {
    let bin = build_folder().join("bin");
    bin.join("kubectl").exists().then_some(bin)
}

/// Builds the pinned executable unless it is there. Needs Go and the module proxy; takes about a quarter of a CPU hour once.
pub fn build() -> Result<PathBuf, Error> {
    if let Some(bin) = binary() {
        return Ok(bin);
    }
    let folder = build_folder();
    let source = folder.join("src");
    fs::create_dir_all(&source).context(|| format!("creating {}", source.display()))?;
    let lock_path = folder.join("lock");
    let lock = File::create(&lock_path).context(|| format!("creating {}", lock_path.display()))?;
    lock.lock().context(|| format!("locking {}", lock_path.display()))?;
    if let Some(bin) = binary() {
        return Ok(bin); // another process built it while we waited
    }
    for (name, text) in SOURCES {
        let path = source.join(name);
        fs::write(&path, text).context(|| format!("writing {}", path.display()))?;
    }
    compile(&source)?;
    install(&source.join("kubebox"), &folder)
}

fn compile(source: &Path) -> Result<(), Error> {
    let mut flags = String::from("-s -w");
    for package in ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"] {
        flags.push_str(&format!(
            " -X {package}.gitVersion={VERSION} -X {package}.gitMajor=1 -X {package}.gitMinor=36 -X {package}.gitTreeState=clean"
        ));
    }
    let status = Command::new("go")
        .args(["build", "-p", "2", "-trimpath", "-ldflags", &flags, "-o", "kubebox", "."])
        .current_dir(source)
        .env("CGO_ENABLED", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .context(|| {
            "starting `go build` for the test control plane (is Go 1.26 or newer installed?)".into()
        })?;
    if status.success() {
        return Ok(());
    }
    Err(Error::new(format!(
        "`go build` of the test control plane in {} ended with {status}",
        source.display()
    )))
}

/// Makes `bin` complete under another name, then renames it into place.
fn install(executable: &Path, folder: &Path) -> Result<PathBuf, Error> {
    let fresh = folder.join("bin.new");
    let bin = folder.join("bin");
    let _ = fs::remove_dir_all(&fresh);
    fs::create_dir_all(&fresh).context(|| format!("creating {}", fresh.display()))?;
    fs::rename(executable, fresh.join("kubebox")).context(|| format!("moving {}", executable.display()))?;
    for name in NAMES {
        let link = fresh.join(name);
        std::os::unix::fs::symlink("kubebox", &link).context(|| format!("linking {}", link.display()))?;
    }
    fs::rename(&fresh, &bin).context(|| format!("moving {} into place", fresh.display()))?;
    Ok(bin)
}

fn build_folder() -> PathBuf {
    cache_folder().join(source_hash())
}

/// FNV-1a over names and texts: the same on every machine and with every Rust version.
fn source_hash() -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for (name, text) in SOURCES {
        for byte in name.bytes().chain([0]).chain(text.bytes()).chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{VERSION}-{hash:016x}")
}
