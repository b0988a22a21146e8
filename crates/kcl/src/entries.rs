//! From arguments to the files of the main package, and the root of its module.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::files::{Files, normalise};
use crate::request::{Entry, Request, Statements};

/// A file of the main package.
pub(crate) struct MainFile {
    pub(crate) path: PathBuf,
    pub(crate) text: Arc<str>,
    /// Its statements, if they were made: then it belongs to no module of its own.
    pub(crate) made: Option<Arc<dyn Statements>>,
}

/// Expands the entries of a request.
///
/// # Errors
/// A sentence for the user: no input, or a file that is not there.
pub(crate) fn main_files(request: &Request, files: &dyn Files) -> Result<Vec<MainFile>, String> {
    let mut found: Vec<MainFile> = Vec::new();
    let mut add = |path: PathBuf, text: Arc<str>, made: Option<Arc<dyn Statements>>| {
        if !found.iter().any(|f| f.path == path) {
            found.push(MainFile { path, text, made });
        }
    };
    for entry in &request.entries {
        match entry {
            Entry::Source { path, text } => {
                add(normalise(&request.work_dir.join(path)), text.as_str().into(), None)
            }
            Entry::Made { path, text, statements } => {
                add(normalise(&request.work_dir.join(path)), text.clone(), Some(statements.clone()));
            }
            Entry::Path(given) => {
                let given = expand_variables(request, files, given);
                for path in expand_path(files, &request.work_dir.join(&given))? {
                    let text = files.read(&path)?;
                    add(path, text, None);
                }
            }
        }
    }
    if found.is_empty() { Err("No input KCL files or paths".into()) } else { Ok(found) }
}

/// Returns the files that the entries of a request mean, in order and each once, or why an entry means none. Texts that are
/// given with the request are no files.
pub fn entry_files(request: &Request, files: &dyn Files) -> Vec<Result<PathBuf, String>> {
    let mut found: Vec<Result<PathBuf, String>> = Vec::new();
    for entry in &request.entries {
        let Entry::Path(given) = entry else { continue };
        let given = expand_variables(request, files, given);
        match expand_path(files, &request.work_dir.join(&given)) {
            Ok(paths) => {
                for path in paths {
                    if !found.iter().any(|known| known.as_ref() == Ok(&path)) {
                        found.push(Ok(path));
                    }
                }
            }
            Err(message) => found.push(Err(message)),
        }
    }
    found
}

/// What to do when the entries give no files.
pub(crate) fn hint(request: &Request, files: &dyn Files) -> String {
    for entry in &request.entries {
        let Entry::Path(given) = entry else { continue };
        let path = normalise(&request.work_dir.join(expand_variables(request, files, given)));
        if files.is_file(&path) {
            // It is there; if it cannot be read, the sentence says why.
            if files.read(&path).is_err() {
                return "correct or rename the file, or name others".into();
            }
            continue;
        }
        if files.is_dir(&path) {
            if files.list(&path).iter().any(|name| name.ends_with(".k")) {
                return "correct or rename the file, or name others".into();
            }
            return format!(
                "the folder {given} has no .k files of its own (folders below it are not searched)"
            );
        }
        let folder = path.parent().unwrap_or(&path);
        if !files.is_dir(folder) {
            return format!("there is no folder {}", folder.display());
        }
        let mut known: Vec<String> = files.list(folder).into_iter().filter(|n| n.ends_with(".k")).collect();
        known.sort();
        known.truncate(6);
        return match known.is_empty() {
            true => format!("the folder {} has no .k files", folder.display()),
            false => format!("the folder {} has: {}", folder.display(), known.join(", ")),
        };
    }
    "name files or folders: kcl run main.k".into()
}

// `${KCL_MOD}/x` is the module root of the other entries, `${name:KCL_MOD}/x` that of an external package.
fn expand_variables(request: &Request, files: &dyn Files, given: &str) -> String {
    let Some((variable, rest)) = given.strip_prefix("${").and_then(|g| g.split_once('}')) else {
        return given.to_owned();
    };
    let root = match variable.split_once(':') {
        Some((name, "KCL_MOD")) => {
            let given = request.externals.iter().find(|(n, _)| n == name).map(|(_, p)| p.clone());
            given
                .or_else(|| {
                    let root = module_root(files, &request.work_dir.join("x"));
                    let known = crate::dependencies::dependencies(request, files, &root).ok()?;
                    known.into_iter().find(|known| known.name == name).map(|known| known.folder)
                })
                .or_else(|| crate::embedded::package(files, name))
        }
        None if variable == "KCL_MOD" => request
            .entries
            .iter()
            .find_map(|e| match e {
                Entry::Path(p) if !p.starts_with("${") => Some(request.work_dir.join(p)),
                _ => None,
            })
            .or_else(|| Some(request.work_dir.join("x")))
            .map(|p| module_root(files, &normalise(&p))),
        _ => None,
    };
    match root {
        Some(root) => format!("{}{rest}", root.display()),
        None => given.to_owned(),
    }
}

fn expand_path(files: &dyn Files, path: &Path) -> Result<Vec<PathBuf>, String> {
    let path = normalise(path);
    if files.is_file(&path) {
        return Ok(vec![path]);
    }
    if files.is_dir(&path) {
        return Ok(package_files(files, &path, false));
    }
    if path.to_string_lossy().contains(['*', '?']) {
        let parts: Vec<String> =
            path.components().map(|c| c.as_os_str().to_string_lossy().into_owned()).collect();
        let mut found = Vec::new();
        glob(files, PathBuf::new(), &parts, MAX_GLOB_DEPTH, &mut found);
        found.sort();
        found.dedup();
        return Ok(found);
    }
    Err(format!("Cannot find the kcl file, please check the file path {}", path.display()))
}

/// Folders that `**` may go down.
const MAX_GLOB_DEPTH: u32 = 32;

// Collects the files that a pattern means; `**` is any number of folders.
fn glob(files: &dyn Files, at: PathBuf, parts: &[String], depth: u32, found: &mut Vec<PathBuf>) {
    let Some((part, rest)) = parts.split_first() else {
        if files.is_file(&at) {
            found.push(at);
        }
        return;
    };
    if part == "**" {
        glob(files, at.clone(), rest, depth, found);
        if depth > 0 {
            for name in files.list(&at).into_iter().filter(|n| !n.starts_with('.')) {
                let below = at.join(name);
                if files.is_dir(&below) {
                    glob(files, below, parts, depth - 1, found);
                }
            }
        }
    } else if part.contains(['*', '?']) {
        for name in files.list(&at).into_iter().filter(|n| matches(part, n)) {
            glob(files, at.join(name), rest, depth, found);
        }
    } else {
        glob(files, at.join(part), rest, depth, found);
    }
}

/// Returns the `.k` files of a folder in byte order; an imported folder also leaves out `_*.k`.
pub(crate) fn package_files(files: &dyn Files, folder: &Path, imported: bool) -> Vec<PathBuf> {
    let names = files.sources(folder);
    let names = names.iter().filter(|n| !(n.ends_with("_test.k") || imported && n.starts_with('_')));
    let start = folder.join("").into_os_string();
    let path = |name: &String| {
        let mut path = OsString::with_capacity(start.len() + name.len());
        path.push(&start);
        path.push(name);
        PathBuf::from(path)
    };
    names.map(path).collect()
}

/// Returns the nearest folder above a file that has a `kcl.mod`, else the file's folder.
pub(crate) fn module_root(files: &dyn Files, path: &Path) -> PathBuf {
    let folder = if files.is_dir(path) { path } else { path.parent().unwrap_or(Path::new("")) };
    let mut at = Some(folder);
    while let Some(dir) = at {
        if files.is_file(&dir.join("kcl.mod")) {
            return dir.to_path_buf();
        }
        at = dir.parent();
    }
    folder.to_path_buf()
}

/// Returns the root of the main package: that of its files, or of the working folder when they differ.
pub(crate) fn main_root(files: &dyn Files, main: &[MainFile], work_dir: &Path) -> PathBuf {
    let written = main.iter().filter(|file| file.made.is_none());
    let mut roots: Vec<PathBuf> = written.map(|f| module_root(files, &f.path)).collect();
    roots.dedup();
    match roots.len() {
        1 => roots.remove(0),
        _ => module_root(files, &work_dir.join("x")),
    }
}

pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let (p, n): (Vec<char>, Vec<char>) = (pattern.chars().collect(), name.chars().collect());
    let (mut i, mut j, mut star) = (0, 0, None);
    while j < n.len() {
        match p.get(i) {
            Some('*') => {
                star = Some((i, j));
                i += 1;
            }
            Some(c) if *c == '?' || *c == n[j] => {
                i += 1;
                j += 1;
            }
            _ => match star {
                Some((si, sj)) => {
                    i = si + 1;
                    j = sj + 1;
                    star = Some((si, sj + 1));
                }
                None => return false,
            },
        }
    }
    p[i..].iter().all(|c| *c == '*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_as_shells_do() {
        assert!(matches("*.k", "a.k") && matches("a?c*", "abcd") && matches("*", ""));
        assert!(!matches("*.k", "a.kk") && !matches("?", ""));
    }
}
