//! A project on a sandbox of its own, in a folder that can be searched; the sandbox keeps its data elsewhere.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::{kusion, run, text};

/// A project in a folder, and a cluster.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    cluster: tempfile::TempDir,
    kubeconfig: PathBuf,
}

impl Stage {
    pub(crate) fn new(files: &[(&str, &str)]) -> Stage {
        Stage::with_fault(files, None)
    }

    /// On a sandbox that fails by a script.
    pub(crate) fn with_fault(files: &[(&str, &str)], fault: Option<&str>) -> Stage {
        let (folder, cluster) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let mut start = kusion(&cluster.path().join("home"));
        start.args(["sandbox", "start", "--folder"]).arg(cluster.path().join("box"));
        if let Some(fault) = fault {
            start.arg(format!("--fault={fault}"));
        }
        run(&mut start, 0);
        let kubeconfig = cluster.path().join("box/kubeconfig");
        assert!(kubeconfig.is_file(), "{}", kubeconfig.display());
        let stage = Stage { folder, cluster, kubeconfig };
        files.iter().for_each(|(name, text)| stage.write(name, text));
        stage
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        let mode = if text.starts_with("#!") { 0o700 } else { 0o600 };
        std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(mode)).unwrap();
    }

    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut command = kusion(&self.path("home"));
        command.env("KUBECONFIG", &self.kubeconfig).env("TMPDIR", self.path("tmp"));
        command.current_dir(self.folder.path()).args(words.split_whitespace());
        std::fs::create_dir_all(self.path("tmp")).unwrap();
        command
    }

    pub(crate) fn call(&self, words: &str, code: i32) -> Output {
        run(&mut self.command(words), code)
    }

    pub(crate) fn out(&self, words: &str, code: i32) -> String {
        text(&self.call(words, code).stdout)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let mut stop = kusion(&self.cluster.path().join("home"));
        let _ = stop.args(["sandbox", "stop", "--folder"]).arg(self.cluster.path().join("box")).output();
    }
}

/// Every file below a folder.
pub(crate) fn every_file(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        match path.is_dir() && !path.is_symlink() {
            true => every_file(&path, files),
            false => files.push(path),
        }
    }
}
