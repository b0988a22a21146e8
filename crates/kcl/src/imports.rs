//! What an import path means.

use std::path::{Path, PathBuf};

use kcl_syntax::ast::Import;

use crate::embedded;
use crate::entries::package_files;
use crate::files::Files;
use crate::request::Request;

/// Where an import leads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Found {
    System(String),
    Plugin(String),
    /// A package: its dotted path, where it stands (a folder or a file), its files, the root of its module.
    Package {
        path: String,
        place: PathBuf,
        files: Vec<PathBuf>,
        root: PathBuf,
    },
}

/// Why an import leads nowhere.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Lost {
    /// Not there; the dotted path, and where it was looked for.
    Missing { path: String, looked_at: PathBuf },
    /// A relative path that climbs above the module root.
    AboveRoot { raw: String },
    /// Both in the module and outside.
    Twice { path: String },
    /// Plugins are not enabled.
    NoPlugin { path: String },
}

/// Resolves an import of a file in a module.
pub(crate) fn resolve(
    request: &Request,
    files: &dyn Files,
    root: &Path,
    importer: &Path,
    import: &Import,
) -> Result<Found, Lost> {
    let names: Vec<&str> = import.path.iter().map(|p| p.name.as_str()).collect();
    if import.dots == 0 {
        if names.first() == Some(&"kcl_plugin") {
            return plugin(request, &names);
        }
        if names.len() == 1 && kcl_std::is_system_module(names[0]) {
            return Ok(Found::System(names[0].to_owned()));
        }
    }
    let dotted =
        dotted_path(root, importer, import).ok_or_else(|| Lost::AboveRoot { raw: import.raw_path() })?;
    // A relative path that ends in the root means a system module, too.
    if import.dots > 0 && kcl_std::is_system_module(&dotted) {
        return Ok(Found::System(dotted));
    }
    let inside = root.join(dotted.replace('.', "/"));
    let internal = package_at(files, &inside);
    // Dots only say where the path starts: a relative one may lead to an external package, too.
    let parts: Vec<&str> = dotted.split('.').collect();
    let external = external(request, files, &parts, internal.is_some());
    match (internal, external) {
        (Some(_), Some(_)) => Err(Lost::Twice { path: dotted }),
        (Some(files), None) => {
            // Inside an external package its own name is put in front, so that one package has one path.
            let path = external_name(request, root).map_or(dotted.clone(), |name| format!("{name}.{dotted}"));
            Ok(Found::Package { path, place: inside, files, root: root.to_path_buf() })
        }
        (None, Some((place, files, root))) => Ok(Found::Package { path: dotted, place, files, root }),
        (None, None) => {
            let path = if import.dots > 0 { import.raw_path() } else { dotted };
            Err(Lost::Missing { path, looked_at: inside })
        }
    }
}

fn plugin(request: &Request, names: &[&str]) -> Result<Found, Lost> {
    let name = names[1..].join(".");
    if request.plugins.contains(&name) {
        return Ok(Found::Plugin(name));
    }
    Err(Lost::NoPlugin { path: names.join(".") })
}

// One dot is the folder of the importing file, each further dot one level up.
fn dotted_path(root: &Path, importer: &Path, import: &Import) -> Option<String> {
    let mut parts: Vec<String> = Vec::new();
    if import.dots > 0 {
        let mut folder = importer.parent()?;
        for _ in 1..import.dots {
            folder = folder.parent()?;
        }
        let inside = folder.strip_prefix(root).ok()?;
        parts.extend(inside.components().map(|c| c.as_os_str().to_string_lossy().into_owned()));
    }
    parts.extend(import.path.iter().map(|p| p.name.to_string()));
    Some(parts.join("."))
}

/// Returns the files of `a/b/` or `a/b.k`; the folder wins. A folder without `.k` files is an empty package.
fn package_at(files: &dyn Files, place: &Path) -> Option<Vec<PathBuf>> {
    if files.is_dir(place) {
        return Some(package_files(files, place, true));
    }
    let file = place.with_extension("k");
    files.is_file(&file).then(|| vec![file])
}

/// A package outside of the module: what the request or the manifest names, a vendored one, or, if there is none in the
/// module either, an embedded one.
fn external(
    request: &Request,
    files: &dyn Files,
    names: &[&str],
    is_internal: bool,
) -> Option<(PathBuf, Vec<PathBuf>, PathBuf)> {
    let (first, rest) = names.split_first()?;
    let mapped =
        request.externals.iter().rev().find(|(n, _)| n == first).map(|(_, p)| request.work_dir.join(p));
    let is_mapped = mapped.is_some();
    let outside = mapped.or_else(|| Some(request.vendor.as_ref()?.join(first)));
    let outside = outside.map(|root| crate::files::normalise(&root));
    let embedded = || (!is_mapped && !is_internal).then(|| embedded::package(files, first)).flatten();
    let root = outside.filter(|root| files.is_file(&root.join("kcl.mod"))).or_else(embedded)?;
    let place = rest.iter().fold(root.clone(), |at, part| at.join(part));
    // As in the reference the package counts, whether or not it has that folder: what is missing is then a member.
    let found = package_at(files, &place).unwrap_or_default();
    Some((place, found, root))
}

fn external_name<'r>(request: &'r Request, root: &'r Path) -> Option<&'r str> {
    let is_root = |path: &PathBuf| crate::files::normalise(&request.work_dir.join(path)) == root;
    let named = request.externals.iter().rev().find(|(_, path)| is_root(path));
    named.map(|(name, _)| name.as_str()).or_else(|| embedded::name_of(root))
}
