//! What is remembered between runs: parsed and checked packages.
//!
//! A session assumes that imported files do not change while it lives. Whoever watches files makes a new one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use base_diag::{Diagnostic, SourceFile};
use kcl_check::{CheckOptions, CheckResult, PackageTypes, check_with};
use kcl_syntax::ast::Tree;
use kcl_syntax::program::{ImportTarget, PkgId};
use rustc_hash::FxHashMap;

use crate::load::Loaded;

/// A parsed package.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    pub(crate) tree: Arc<Tree>,
    pub(crate) rewritten: Option<Arc<Tree>>,
    pub(crate) files: Vec<Arc<SourceFile>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Checked types of a package, and the keys of the packages they were checked against.
#[derive(Clone)]
struct Checked {
    types: Arc<PackageTypes>,
    options: CheckOptions,
    imports: Vec<PathBuf>,
}

/// Parsed and checked packages by their place. Shared by any number of threads.
#[derive(Default)]
pub struct Session {
    parsed: Mutex<FxHashMap<PathBuf, Arc<Parsed>>>,
    checked: Mutex<FxHashMap<PathBuf, Checked>>,
}

impl Session {
    /// Makes an empty session.
    pub fn new() -> Self {
        Session::default()
    }

    pub(crate) fn parsed(&self, key: &Path, parse: impl FnOnce() -> Parsed) -> Arc<Parsed> {
        if let Some(known) = self.parsed.lock().unwrap_or_else(PoisonError::into_inner).get(key) {
            return known.clone();
        }
        let parsed = Arc::new(parse());
        let mut all = self.parsed.lock().unwrap_or_else(PoisonError::into_inner);
        all.entry(key.to_path_buf()).or_insert(parsed).clone()
    }

    /// Checks a program, reusing packages that were checked before against the same imports.
    pub(crate) fn check(&self, loaded: &Loaded, options: &CheckOptions) -> CheckResult {
        let known = self.checked.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let reuse = |id: PkgId| {
            let checked = known.get(loaded.keys[id.0 as usize].as_ref()?)?;
            let same = checked.options == *options && checked.imports == import_keys(loaded, id);
            same.then(|| checked.types.clone())
        };
        let result = check_with(&loaded.program, options, reuse);
        let mut all = self.checked.lock().unwrap_or_else(PoisonError::into_inner);
        for (i, types) in result.packages.iter().enumerate() {
            let id = PkgId(i as u32);
            if let Some(key) = &loaded.keys[i]
                && !all.contains_key(key)
            {
                let imports = import_keys(loaded, id);
                all.insert(key.clone(), Checked { types: types.clone(), options: *options, imports });
            }
        }
        result
    }
}

fn import_keys(loaded: &Loaded, id: PkgId) -> Vec<PathBuf> {
    let package = loaded.program.package(id);
    package
        .imports
        .iter()
        .filter_map(|link| match link.target {
            ImportTarget::Package(target) => loaded.keys[target.0 as usize].clone(),
            _ => None,
        })
        .collect()
}
