//! Parsed and checked packages, by content: what compilers may share.
//!
//! An entry is found by everything that it depends on (paths, texts, edition, the packages below it), so it is never wrong, whoever
//! finds it and whenever. Sharing is only a matter of memory: [`Packages::trim`] gives it back.

use std::collections::hash_map::Entry;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use base_diag::{Diagnostic, SourceFile};
use kcl_check::{CheckOptions, Home, PackageIndex, PackageTypes};
use kcl_eval::Outline;
use kcl_syntax::ast::{Str, Tree};
use kcl_syntax::program::{ImportTarget, Package};
use rustc_hash::{FxHashMap, FxHashSet};

/// A file of a package: where it is, and what it says or why it cannot be read. Paths are normalised: their bytes tell them apart.
pub(crate) type PackageFile = (OsString, Result<Arc<str>, String>);

/// The files that a parsed package is found by. All of them are compared, but not hashed: whole texts would be read at every look,
/// while mostly a path and a length tell, and equal texts are mostly one text.
#[derive(PartialEq, Eq)]
struct Content(Arc<[PackageFile]>);

impl Hash for Content {
    fn hash<H: Hasher>(&self, state: &mut H) {
        for (path, text) in self.0.iter() {
            path.hash(state);
            let text = text.as_ref().map_or_else(String::as_bytes, |text| text.as_bytes());
            state.write_usize(text.len());
            text.first_chunk::<16>().hash(state);
            text.last_chunk::<16>().hash(state);
        }
    }
}

/// A parsed package.
#[derive(Clone, Debug)]
pub(crate) struct Parsed {
    /// Who it is.
    pub(crate) number: u64,
    /// What it costs to keep it: see [`size`].
    pub(crate) size: u64,
    pub(crate) tree: Arc<Tree>,
    pub(crate) files: Vec<Arc<SourceFile>>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// What a compiled package is.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Address {
    parsed: u64,
    /// The size of the parsed package.
    size: u64,
    path: Str,
    options: CheckOptions,
    imports: Vec<Imported>,
}

#[derive(Clone, PartialEq, Eq, Hash)]
enum Imported {
    Package(Home),
    System(Str),
    Plugin(Str),
    Missing,
}

impl Address {
    /// Where a package stands on top of those that it imports.
    pub(crate) fn new(
        parsed: &Parsed,
        package: &Package,
        units: &[Arc<Compiled>],
        options: CheckOptions,
    ) -> Address {
        let imports = package.imports.iter().map(|link| match &link.target {
            ImportTarget::Package(id) => {
                units.get(id.0 as usize).map_or(Imported::Missing, |u| Imported::Package(u.home))
            }
            ImportTarget::System(name) => Imported::System(name.clone()),
            ImportTarget::Plugin(name) => Imported::Plugin(name.clone()),
            ImportTarget::Missing => Imported::Missing,
        });
        let (path, imports) = (package.path.clone(), imports.collect());
        Address { parsed: parsed.number, size: parsed.size, path, options, imports }
    }
}

/// A checked package; what it needs to run is made when it first runs.
pub(crate) struct Compiled {
    pub(crate) home: Home,
    pub(crate) types: Arc<PackageTypes>,
    pub(crate) index: OnceLock<Arc<PackageIndex>>,
    pub(crate) runs: OnceLock<Arc<Outline>>,
}

impl Compiled {
    pub(crate) fn home(&self) -> Home {
        self.home
    }

    pub(crate) fn index(&self) -> Option<&Arc<PackageIndex>> {
        self.index.get()
    }
}

/// Several threads may want the same thing: one makes it, the others wait.
type Shared<K, V> = Mutex<FxHashMap<K, Arc<OnceLock<Arc<V>>>>>;

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[derive(Default)]
struct Known {
    parsed: Shared<Content, Parsed>,
    compiled: Shared<Address, Compiled>,
    /// How many numbers were given.
    given: AtomicU64,
    /// Sizes of what is in `parsed` and in `compiled`; changed under the lock of the one that changes.
    bytes: AtomicU64,
}

/// Packages that were parsed and checked, for one compiler or for many (`Compiler::sharing`). A clone is the same packages.
#[derive(Clone, Default)]
pub struct Packages(Arc<Known>);

impl fmt::Debug for Packages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Packages({} bytes)", self.0.bytes.load(Ordering::Relaxed))
    }
}

impl Packages {
    /// Forgets all packages if they are larger than this, so that whoever keeps them for long does not grow. Each counts as its
    /// files when it is parsed, and once more when it is checked. Runs that use them go on.
    pub fn trim(&self, bytes: u64) {
        if self.0.bytes.load(Ordering::Relaxed) <= bytes {
            return;
        }
        let mut parsed = open(&self.0.parsed);
        let mut compiled = open(&self.0.compiled);
        self.0.bytes.store(0, Ordering::Relaxed);
        parsed.clear();
        compiled.clear();
    }

    pub(crate) fn number(&self) -> u64 {
        self.0.given.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Returns a parsed package.
    pub(crate) fn parsed(
        &self,
        files: Arc<[PackageFile]>,
        parse: impl FnOnce(&[PackageFile], u64) -> Parsed,
    ) -> Arc<Parsed> {
        let slot = match open(&self.0.parsed).entry(Content(files.clone())) {
            Entry::Occupied(known) => known.get().clone(),
            Entry::Vacant(new) => {
                self.0.bytes.fetch_add(size(&files), Ordering::Relaxed);
                new.insert(Arc::default()).clone()
            }
        };
        slot.get_or_init(|| Arc::new(parse(&files, self.number()))).clone()
    }

    /// Returns a checked package.
    pub(crate) fn compiled(
        &self,
        address: Address,
        compile: impl FnOnce() -> Arc<Compiled>,
    ) -> Arc<Compiled> {
        let size = address.size;
        let make = || {
            self.0.bytes.fetch_add(size, Ordering::Relaxed);
            Arc::default()
        };
        let slot = open(&self.0.compiled).entry(address).or_insert_with(make).clone();
        slot.get_or_init(compile).clone()
    }

    /// Drops the packages that contain one of the files, and those on top of them.
    pub(crate) fn forget(&self, texts: &FxHashSet<Arc<OsStr>>) {
        let mut gone: FxHashSet<u64> = FxHashSet::default();
        open(&self.0.parsed).retain(|Content(files), parsed| {
            let hit = files.iter().any(|(path, _)| texts.contains(path.as_os_str()));
            if hit {
                self.0.bytes.fetch_sub(size(files), Ordering::Relaxed);
                gone.extend(parsed.get().map(|parsed| parsed.number));
            }
            !hit
        });
        let mut compiled = open(&self.0.compiled);
        loop {
            let before = compiled.len();
            compiled.retain(|address, unit| {
                let on_top =
                    |import: &Imported| matches!(import, Imported::Package(Home(n)) if gone.contains(n));
                let hit = gone.contains(&address.parsed) || address.imports.iter().any(on_top);
                if hit {
                    self.0.bytes.fetch_sub(address.size, Ordering::Relaxed);
                    gone.extend(unit.get().map(|unit| unit.home.0));
                }
                !hit
            });
            if compiled.len() == before {
                return;
            }
        }
    }
}

/// What a package, and each of its files, costs apart from its texts.
const OVERHEAD: u64 = 512;

/// What it costs to keep a package of these files.
pub(crate) fn size(files: &[PackageFile]) -> u64 {
    let file = |(path, text): &PackageFile| {
        let text = text.as_ref().map_or_else(String::len, |text| text.len());
        OVERHEAD + (path.len() + text) as u64
    };
    OVERHEAD + files.iter().map(file).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use std::hash::BuildHasher;

    use super::*;

    #[test]
    fn packages_that_hash_alike_are_told_apart() {
        let of = |text: Result<&str, &str>| {
            let text = text.map(Arc::from).map_err(str::to_owned);
            Content([(OsString::from("/p/a.k"), text)].into())
        };
        let (start, end) = ("schema Alike:\n    \"\"\"", "\"\"\"\n    x: int = 1\n");
        let texts = ["one", "two"].map(|middle| format!("{start}{middle}{end}"));
        let [one, two] = [of(Ok(&texts[0])), of(Ok(&texts[1]))];
        let hash = |content: &Content| rustc_hash::FxBuildHasher.hash_one(content);
        assert_eq!(hash(&one), hash(&two));
        assert!(one != two && one == of(Ok(&texts[0])) && one != of(Err(&texts[0])));
    }
}
