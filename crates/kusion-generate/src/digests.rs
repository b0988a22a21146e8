//! Digests of what a program was evaluated from, by package: two releases of the same digests had the same sources.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use kcl::{EMBEDDED_KONFIG, Reads};
use kusion_model::sha256_hex;

use crate::locate::StackFolder;

/// The name of the project's own files.
const OWN: &str = ".";

/// `sha256:…` of each package that was read. A digest is over the paths in the package and the digests of their contents.
pub(crate) fn digests(reads: &Reads, stack: &StackFolder) -> BTreeMap<String, String> {
    let contents: BTreeMap<&Path, &[u8]> = reads.contents().collect();
    let roots: BTreeSet<PathBuf> = contents
        .keys()
        .filter(|path| path.file_name().is_some_and(|name| name == "kcl.mod"))
        .filter_map(|path| path.parent().map(Path::to_owned))
        .collect();
    let mut packages: BTreeMap<String, String> = BTreeMap::new();
    for (path, bytes) in contents {
        let (name, root) = package_of(path, stack, &roots);
        let inside = path.strip_prefix(&root).unwrap_or(path).display();
        let line = format!("{} {inside}\n", sha256_hex(bytes));
        packages.entry(name).or_default().push_str(&line);
    }
    packages
        .into_iter()
        .map(|(name, list)| (name, format!("sha256:{}", sha256_hex(list.as_bytes()))))
        .collect()
}

/// The package of a file, and where it begins: the project, our models, or the nearest folder with a manifest.
fn package_of(path: &Path, stack: &StackFolder, roots: &BTreeSet<PathBuf>) -> (String, PathBuf) {
    let konfig = Path::new(EMBEDDED_KONFIG);
    if path.starts_with(konfig) {
        return ("konfig (built in)".to_owned(), konfig.to_owned());
    }
    if path.starts_with(&stack.project_dir) {
        return (OWN.to_owned(), stack.project_dir.clone());
    }
    let root = path.ancestors().skip(1).find(|at| roots.contains(*at));
    let root = root.or_else(|| path.parent()).unwrap_or(path);
    let name = root
        .file_name()
        .map_or_else(|| root.display().to_string(), |name| name.to_string_lossy().into_owned());
    (name, root.to_owned())
}
