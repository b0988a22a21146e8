//! A folder with repositories, modules and a store.

use std::path::{Path, PathBuf};
use std::process::Command;

use kcl_fetch::{Options, Resolution, Store, Trouble};

pub(crate) struct Lab {
    folder: tempfile::TempDir,
}

impl Lab {
    pub(crate) fn new() -> Lab {
        Lab { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn module(&self, name: &str, version: &str, rest: &str) {
        self.write(
            &format!("{name}/kcl.mod"),
            &format!("[package]\nname = \"{name}\"\nversion = \"{version}\"\n{rest}"),
        );
        self.write(&format!("{name}/{name}.k"), &format!("version = \"{version}\"\n"));
    }

    pub(crate) fn git(&self, name: &str, words: &[&str]) -> String {
        let output = Command::new("git")
            .arg("-C")
            .arg(self.path(name))
            .args(["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main"])
            .args(words)
            .output()
            .unwrap();
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// Commits everything and tags it.
    pub(crate) fn tag(&self, name: &str, tag: &str) -> String {
        if !self.path(name).join(".git").exists() {
            self.git(name, &["init", "--quiet"]);
        }
        self.git(name, &["add", "-A"]);
        self.git(name, &["commit", "--quiet", "--allow-empty", "-m", tag]);
        self.git(name, &["tag", "--force", tag]);
        self.git(name, &["rev-parse", "HEAD"])
    }

    pub(crate) fn url(&self, name: &str) -> String {
        format!("file://{}", self.path(name).display())
    }

    pub(crate) fn store(&self) -> Store {
        Store::new(self.path("store"))
    }

    pub(crate) fn resolve(&self, module: &str, options: &Options) -> Result<Resolution, Trouble> {
        kcl_fetch::resolve(&self.path(module), &self.store(), options)
    }

    pub(crate) fn write_lock(&self, module: &str, resolution: &Resolution) {
        self.write(&format!("{module}/kcl.mod.lock"), &resolution.lock.write());
    }
}

pub(crate) fn names(resolution: &Resolution) -> Vec<String> {
    resolution.packages.iter().map(|kept| format!("{}@{}", kept.locked.name, kept.locked.version)).collect()
}

pub(crate) fn text(folder: &Path, file: &str) -> String {
    std::fs::read_to_string(folder.join(file)).unwrap()
}
