//! Servers that come from package registries of Python and Node, pinned, in folders of the cache.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::{Context, Error, cache_folder};

/// What is installed, and the file that is there when it is complete.
struct Package {
    name: &'static str,
    version: &'static str,
    /// What is started, below the folder.
    entry: &'static str,
    install: fn(&Path) -> Result<(), Error>,
}

const PACKAGES: &[Package] = &[
    Package { name: "moto", version: "5.2.5", entry: "bin/moto_server", install: moto },
    Package { name: "oidc-provider", version: "9.13.3", entry: "op.mjs", install: oidc_provider },
    Package { name: "azurite", version: "3.37.0", entry: "azurite.mjs", install: azurite },
];

/// A certified OpenID provider with one client, and a page-free way to a signed token (client credentials as a JWT).
const OP: &str = include_str!("../../../xtask/testenv/oidc-provider/op.mjs");

/// The blob service of Azurite with a container in it.
const AZURITE: &str = include_str!("../../../xtask/testenv/azurite/azurite.mjs");

fn run(command: &mut Command) -> Result<(), Error> {
    let shown = format!("{command:?}");
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.context(|| format!("starting {shown}"))?;
    if status.success() { Ok(()) } else { Err(Error::new(format!("{shown} ended with {status}"))) }
}

fn moto(folder: &Path) -> Result<(), Error> {
    run(Command::new("python3").args(["-m", "venv"]).arg(folder))?;
    let pip = folder.join("bin/pip");
    run(Command::new(pip).args(["install", "-q", "moto[server,kms,secretsmanager]==5.2.5"]))
}

fn oidc_provider(folder: &Path) -> Result<(), Error> {
    npm(folder, ("op.mjs", OP), "oidc-provider@9.13.3")
}

fn azurite(folder: &Path) -> Result<(), Error> {
    npm(folder, ("azurite.mjs", AZURITE), "azurite@3.37.0")
}

/// A package of Node with a script of ours beside it.
fn npm(folder: &Path, script: (&str, &str), package: &str) -> Result<(), Error> {
    fs::create_dir_all(folder).context(|| format!("creating {}", folder.display()))?;
    for (name, text) in [("package.json", r#"{"type": "module", "private": true}"#), script] {
        fs::write(folder.join(name), text).context(|| format!("writing {name}"))?;
    }
    let mut npm = Command::new("npm");
    run(npm.args(["install", "--no-audit", "--no-fund", package]).current_dir(folder))
}

fn find(name: &str) -> Option<&'static Package> {
    PACKAGES.iter().find(|package| package.name == name)
}

impl Package {
    fn folder(&self) -> PathBuf {
        cache_folder().join(format!("{}-{}", self.name, self.version))
    }

    fn done(&self) -> PathBuf {
        cache_folder().join(format!("{}-{}.done", self.name, self.version))
    }
}

/// What starts a package, if it is installed.
#[must_use]
pub fn package(name: &str) -> Option<PathBuf> {
    let package = find(name)?;
    package.done().exists().then(|| package.folder().join(package.entry))
}

/// Installs a package unless it is there; `None` if there is none of that name.
pub(crate) fn install(name: &str) -> Option<Result<PathBuf, Error>> {
    let package = find(name)?;
    Some(install_one(package).map(|()| package.folder().join(package.entry)))
}

fn install_one(package: &Package) -> Result<(), Error> {
    let cache = cache_folder();
    fs::create_dir_all(&cache).context(|| format!("creating {}", cache.display()))?;
    let lock_path = cache.join(format!("{}.lock", package.name));
    let lock = File::create(&lock_path).context(|| format!("creating {}", lock_path.display()))?;
    lock.lock().context(|| format!("locking {}", lock_path.display()))?;
    if package.done().exists() {
        return Ok(());
    }
    let _ = fs::remove_dir_all(package.folder());
    (package.install)(&package.folder())?;
    fs::write(package.done(), "").context(|| "saying that it is complete".into())
}
