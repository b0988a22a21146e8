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
    /// What is built of it: executables and their packages.
    executables: &'static [(&'static str, &'static str)],
    /// The names under which the first executable is started.
    names: &'static [&'static str],
    /// What the linker writes into variables: a version that the executable reports.
    links: &'static [&'static str],
    /// Build tags.
    tags: &'static str,
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
    executables: &[("kubebox", ".")],
    names: &["etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok", "kubectl"],
    links: &[
        "k8s.io/component-base/version.gitVersion=v1.36.3",
        "k8s.io/component-base/version.gitMajor=1",
        "k8s.io/component-base/version.gitMinor=36",
        "k8s.io/component-base/version.gitTreeState=clean",
        "k8s.io/client-go/pkg/version.gitVersion=v1.36.3",
        "k8s.io/client-go/pkg/version.gitMajor=1",
        "k8s.io/client-go/pkg/version.gitMinor=36",
        "k8s.io/client-go/pkg/version.gitTreeState=clean",
    ],
    tags: "",
};

/// A program that is built from a pinned module alone: name, version, executables with their packages, linked variables.
macro_rules! pinned {
    ($name:literal, $version:literal, [$($executable:expr),+], $links:expr) => {
        pinned!($name, $version, [$($executable),+], $links, "")
    };
    ($name:literal, $version:literal, [$($executable:expr),+], $links:expr, $tags:literal) => {
        Program {
            label: concat!($name, "-", $version),
            sources: &[
                ("go.mod", include_str!(concat!("../../../xtask/testenv/", $name, "/go.mod"))),
                ("go.sum", include_str!(concat!("../../../xtask/testenv/", $name, "/go.sum"))),
            ],
            executables: &[$($executable),+],
            names: &[],
            links: $links,
            tags: $tags,
        }
    };
}

/// Every program that tests and benches can ask for, by the name of its first executable.
const PROGRAMS: &[Program] = &[
    KUBEBOX,
    pinned!("helm", "v4.2.4", [("helm", "helm.sh/helm/v4/cmd/helm")], &[]),
    pinned!("jsonnet", "v0.22.0", [("jsonnet", "github.com/google/go-jsonnet/cmd/jsonnet")], &[]),
    pinned!("cue", "v0.17.1", [("cue", "cuelang.org/go/cmd/cue")], &[]),
    pinned!("kustomize", "v5.8.2", [("kustomize", "sigs.k8s.io/kustomize/kustomize/v5")], &[]),
    pinned!(
        "providers",
        "2026-09",
        [
            ("terraform-provider-random", "github.com/terraform-providers/terraform-provider-random"),
            ("terraform-provider-time", "github.com/hashicorp/terraform-provider-time"),
            ("terraform-provider-tls", "github.com/hashicorp/terraform-provider-tls"),
            ("terraform-provider-local", "github.com/terraform-providers/terraform-provider-local"),
            ("terraform-provider-http", "github.com/terraform-providers/terraform-provider-http")
        ],
        &[]
    ),
    pinned!(
        "tofu",
        "v1.12.6",
        [("tofu", "github.com/opentofu/opentofu/cmd/tofu")],
        &["github.com/opentofu/opentofu/version.dev=no"]
    ),
    Program {
        label: "cty-v1.18.0",
        sources: &[
            ("go.mod", include_str!("../../../xtask/testenv/cty/go.mod")),
            ("go.sum", include_str!("../../../xtask/testenv/cty/go.sum")),
            ("main.go", include_str!("../../../xtask/testenv/cty/main.go")),
        ],
        executables: &[("cty", ".")],
        names: &[],
        links: &[],
        tags: "",
    },
    Program {
        label: "lab-2026-11",
        sources: &[
            ("go.mod", include_str!("../../../xtask/testenv/lab/go.mod")),
            ("go.sum", include_str!("../../../xtask/testenv/lab/go.sum")),
            ("adopt.go", include_str!("../../../xtask/testenv/lab/adopt.go")),
            ("faults.go", include_str!("../../../xtask/testenv/lab/faults.go")),
            ("main.go", include_str!("../../../xtask/testenv/lab/main.go")),
            ("passing.go", include_str!("../../../xtask/testenv/lab/passing.go")),
            ("plan.go", include_str!("../../../xtask/testenv/lab/plan.go")),
            ("resource.go", include_str!("../../../xtask/testenv/lab/resource.go")),
            ("schema.go", include_str!("../../../xtask/testenv/lab/schema.go")),
            ("server.go", include_str!("../../../xtask/testenv/lab/server.go")),
            ("world.go", include_str!("../../../xtask/testenv/lab/world.go")),
        ],
        executables: &[("terraform-provider-lab", "."), ("terraform-provider-lab5", ".")],
        names: &[],
        links: &[],
        tags: "",
    },
    pinned!("cosign", "v3.1.3", [("cosign", "github.com/sigstore/cosign/v3/cmd/cosign")], &[]),
    pinned!("versitygw", "v1.8.0", [("versitygw", "github.com/versity/versitygw/cmd/versitygw")], &[]),
    Program {
        label: "fake-gcs-server-v1.56.1",
        sources: &[
            ("go.mod", include_str!("../../../xtask/testenv/fake-gcs-server/go.mod")),
            ("go.sum", include_str!("../../../xtask/testenv/fake-gcs-server/go.sum")),
            ("main.go", include_str!("../../../xtask/testenv/fake-gcs-server/main.go")),
        ],
        executables: &[("fake-gcs-server", ".")],
        names: &[],
        links: &[],
        tags: "",
    },
    pinned!(
        "age",
        "v1.3.2",
        [("age", "filippo.io/age/cmd/age"), ("age-keygen", "filippo.io/age/cmd/age-keygen")],
        &[]
    ),
    pinned!("sops", "v3.13.3", [("sops", "github.com/getsops/sops/v3/cmd/sops")], &[]),
    // About twelve CPU minutes: CI does not build it. `minimal` leaves the plugins of databases and clouds out.
    pinned!("vault", "v1.21.1", [("vault", "github.com/hashicorp/vault")], &[], "minimal"),
];

/// The server version that kubebox reports.
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

/// A pinned executable (`helm`, `tofu`, `versitygw`, `terraform-provider-random`), if it is built.
pub fn program(executable: &str) -> Option<PathBuf> {
    find(executable)?.built().map(|bin| bin.join(executable))
}

/// Builds a pinned executable, and what is built with it, unless it is there.
pub fn build_program(executable: &str) -> Result<PathBuf, Error> {
    if let Some(installed) = crate::registries::install(executable) {
        return installed;
    }
    let program =
        find(executable).ok_or_else(|| Error::new(format!("no program `{executable}` is pinned")))?;
    program.build().map(|bin| bin.join(executable))
}

fn find(executable: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.executables.iter().any(|(name, _)| *name == executable))
}

impl Program {
    fn built(&self) -> Option<PathBuf> {
        let bin = self.folder().join("bin");
        bin.exists().then_some(bin)
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
        for (executable, package) in self.executables {
            self.compile(&source, executable, package)?;
        }
        self.install(&source, &folder)
    }

    fn compile(&self, source: &Path, executable: &str, package: &str) -> Result<(), Error> {
        let mut flags = String::from("-s -w");
        for link in self.links {
            flags.push_str(&format!(" -X {link}"));
        }
        let status = Command::new("go")
            .args([
                "build",
                "-p",
                "2",
                "-trimpath",
                "-tags",
                self.tags,
                "-ldflags",
                &flags,
                "-o",
                executable,
                package,
            ])
            .current_dir(source)
            .env("CGO_ENABLED", "0")
            .env("GOTOOLCHAIN", "local")
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
    fn install(&self, source: &Path, folder: &Path) -> Result<PathBuf, Error> {
        let fresh = folder.join("bin.new");
        let bin = folder.join("bin");
        let _ = fs::remove_dir_all(&fresh);
        fs::create_dir_all(&fresh).context(|| format!("creating {}", fresh.display()))?;
        for (executable, _) in self.executables {
            fs::rename(source.join(executable), fresh.join(executable))
                .context(|| format!("moving {executable} out of {}", source.display()))?;
        }
        for name in self.names {
            let link = fresh.join(name);
            std::os::unix::fs::symlink(self.executables[0].0, &link)
                .context(|| format!("linking {}", link.display()))?;
        }
        fs::rename(&fresh, &bin).context(|| format!("moving {} into place", fresh.display()))?;
        Ok(bin)
    }

    fn folder(&self) -> PathBuf {
        cache_folder().join(format!("{}-{:016x}", self.label, self.source_hash()))
    }

    /// FNV-1a over names, texts and what the linker is told: the same on every machine and with every Rust version.
    fn source_hash(&self) -> u64 {
        let pairs = self.sources.iter().chain(self.executables).copied();
        let links = self.links.iter().map(|link| (*link, ""));
        let links = links.chain((!self.tags.is_empty()).then_some((self.tags, "tags")));
        let mut hash = 0xcbf2_9ce4_8422_2325_u64;
        for (name, text) in pairs.chain(links) {
            for byte in name.bytes().chain([0]).chain(text.bytes()).chain([0]) {
                hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
            }
        }
        hash
    }
}
