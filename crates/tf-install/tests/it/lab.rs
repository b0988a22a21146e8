//! A machine: a cache, a lock, and an installer that trusts one server.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tf_install::{
    Address, CliConfig, Constraints, Installed, Installer, Limits, Lock, Net, OPENTOFU, Options, Platform,
    Progress, Strictness, Surroundings, Trouble,
};

pub(crate) struct Lab {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) lock: Lock,
    pub(crate) config: String,
    pub(crate) pem: String,
    pub(crate) offline: bool,
    pub(crate) upgrade: bool,
    pub(crate) limits: Limits,
    /// How long a server may take: machines are busy.
    pub(crate) patience: Duration,
    pub(crate) strictness: Strictness,
    pub(crate) heard: RefCell<Vec<Progress>>,
}

impl Lab {
    pub(crate) fn new(pem: &str) -> Lab {
        Lab {
            folder: tempfile::tempdir().unwrap(),
            lock: Lock::default(),
            config: String::new(),
            pem: pem.to_owned(),
            offline: false,
            upgrade: false,
            limits: Limits::default(),
            patience: Duration::from_secs(20),
            strictness: Strictness { now: 1_800_000_000, ..Strictness::default() },
            heard: RefCell::default(),
        }
    }

    pub(crate) fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub(crate) fn installer(&self) -> Installer {
        let mut config = CliConfig::default();
        let around = Surroundings { variable: &|_| None, folder: self.folder.path().to_owned() };
        config.read(&self.config, &around).unwrap();
        Installer::new(Options {
            config,
            cache: self.cache(),
            platform: Platform::parse("linux_amd64").unwrap(),
            offline: self.offline,
            upgrade: self.upgrade,
            net: Net {
                connect: self.patience,
                answer: self.patience,
                body: self.patience,
                roots: Some(self.pem.clone().into_bytes()),
                ..Net::default()
            },
            strictness: self.strictness,
            limits: self.limits,
        })
    }

    pub(crate) fn install(&mut self, address: &str, constraints: &str) -> Result<Installed, Trouble> {
        let address = Address::parse(address, OPENTOFU).unwrap();
        let constraints = Constraints::parse(constraints).unwrap();
        let mut lock = self.lock.clone();
        let watch = |progress: &Progress| self.heard.borrow_mut().push(progress.clone());
        let result = self.installer().install(&address, &constraints, &mut lock, &watch);
        self.lock = lock;
        result
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        let heard = self.heard.borrow();
        heard
            .iter()
            .filter_map(|p| if let Progress::Warning(text) = p { Some(text.clone()) } else { None })
            .collect()
    }
}

/// Everything below a folder that is neither a folder nor the lock of a place.
pub(crate) fn left_in(folder: &Path) -> Vec<String> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            let hidden = entry.file_name().to_string_lossy().starts_with(".new");
            if entry.file_type().unwrap().is_dir() && !hidden {
                open.push(path);
            } else if path.extension().is_none_or(|ext| ext != "lock") {
                found.push(path.display().to_string());
            }
        }
    }
    found.sort();
    found
}
