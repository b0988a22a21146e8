//! `kcl.mod`: which packages a module depends on and where they are, which edition it pins, what it runs by default.
//!
//! In: the text of a manifest. Out: plain data. Nothing is fetched: a dependency is a folder that is there already, given by
//! its path, or a copy named `name_version` in the module's `vendor` folder or in the package cache.

use std::path::{Path, PathBuf};

use kcl_check::Edition;
use toml::{Table, Value};

use crate::files::{Files, normalise};
use crate::request::Request;

/// Modules that a chain of dependencies may have: a cycle of paths ends here.
const MAX_MODULES: usize = 1_000;

/// What a manifest says, as far as running needs it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// `[package]`: name, version and description as written; empty where absent.
    pub package: About,
    /// `[language] edition`.
    pub edition: Option<Edition>,
    /// `[profile]`.
    pub profile: Profile,
    dependencies: Vec<Dependency>,
}

/// What a module says about itself.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct About {
    /// `name`.
    pub name: String,
    /// `version`.
    pub version: String,
    /// `description`.
    pub description: String,
}

/// How the module is run when nothing else is said.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Profile {
    /// Files, relative to the module.
    pub entries: Vec<String>,
    /// `-n`.
    pub disable_none: bool,
    /// `-k`.
    pub sort_keys: bool,
    /// `-S`.
    pub selectors: Vec<String>,
    /// `-O`.
    pub overrides: Vec<String>,
    /// `-D`, as written.
    pub arguments: Vec<String>,
}

#[derive(Clone, PartialEq, Debug)]
struct Dependency {
    /// The name in imports.
    name: String,
    source: Source,
}

#[derive(Clone, PartialEq, Debug)]
enum Source {
    Path(PathBuf),
    /// Package name and the versions under which a copy may be kept.
    Copy(String, Vec<String>),
}

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// A sentence about a text that is not TOML, or an edition that does not exist.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let table: Table = text.parse().map_err(|e: toml::de::Error| {
            let before = e.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
            format!("kcl.mod:{}: {}", before.matches('\n').count() + 1, e.message())
        })?;
        let edition = match table.get("language").and_then(|l| l.get("edition")).and_then(Value::as_str) {
            None => None,
            Some("0.12" | "0.12.4") => Some(Edition::Reference),
            Some("0.13") => Some(Edition::V0_13),
            Some(other) => return Err(format!("kcl.mod: `{other}` is not an edition: use 0.12 or 0.13")),
        };
        let dependencies = match table.get("dependencies") {
            Some(Value::Table(all)) => all.iter().filter_map(|(name, spec)| dependency(name, spec)).collect(),
            _ => Vec::new(),
        };
        let package = about(table.get("package"));
        Ok(Manifest { package, edition, profile: profile(table.get("profile")), dependencies })
    }

    /// Reads the manifest of a module, if it has one that says something.
    pub(crate) fn of_module(files: &dyn Files, root: &Path) -> Result<Option<Manifest>, String> {
        let path = root.join("kcl.mod");
        if !files.is_file(&path) {
            return Ok(None);
        }
        let text = files.read(&path)?;
        // Most manifests only name the package; then nothing is to be read.
        if !["[language", "dependencies", "profile"].iter().any(|word| text.contains(word)) {
            return Ok(None);
        }
        Manifest::parse(&text).map(Some)
    }
}

fn dependency(name: &str, spec: &Value) -> Option<Dependency> {
    let text = |key: &str| spec.get(key).and_then(Value::as_str).map(str::to_owned);
    let source = match (spec, text("path")) {
        (_, Some(path)) => Source::Path(path.into()),
        (Value::String(version), None) => Source::Copy(name.to_owned(), vec![version.clone()]),
        (Value::Table(_), None) => {
            let versions = ["version", "tag", "commit", "branch"].into_iter().filter_map(text).collect();
            Source::Copy(text("package").unwrap_or_else(|| name.to_owned()), versions)
        }
        _ => return None,
    };
    Some(Dependency { name: name.replace('-', "_"), source })
}

fn about(section: Option<&Value>) -> About {
    let text = |key| section.and_then(|s| s.get(key)).and_then(Value::as_str).unwrap_or_default().to_owned();
    About { name: text("name"), version: text("version"), description: text("description") }
}

fn profile(value: Option<&Value>) -> Profile {
    let list = |key: &str| -> Vec<String> {
        match value.and_then(|v| v.get(key)) {
            Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            Some(Value::String(one)) => vec![one.clone()],
            _ => Vec::new(),
        }
    };
    let switch = |key: &str| value.and_then(|v| v.get(key)).and_then(Value::as_bool).unwrap_or_default();
    let mut arguments = list("arguments");
    arguments.extend(list("options"));
    Profile {
        entries: list("entries"),
        disable_none: switch("disable_none"),
        sort_keys: switch("sort_keys"),
        selectors: list("selectors"),
        overrides: list("overrides"),
        arguments,
    }
}

/// Finds the folders of all dependencies of a module, those of dependencies included; the first of a name is taken.
///
/// # Errors
/// A manifest that cannot be read.
pub(crate) fn dependencies(
    request: &Request,
    files: &dyn Files,
    root: &Path,
) -> Result<Vec<(String, PathBuf)>, String> {
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let mut open = vec![root.to_path_buf()];
    let mut next = 0;
    while next < open.len() && next < MAX_MODULES {
        let module = open[next].clone();
        next += 1;
        let Some(manifest) = Manifest::of_module(files, &module)? else { continue };
        for dependency in &manifest.dependencies {
            if found.iter().any(|(name, _)| *name == dependency.name) {
                continue;
            }
            let Some(folder) = locate(request, files, root, &module, &dependency.source) else { continue };
            found.push((dependency.name.clone(), folder.clone()));
            open.push(folder);
        }
    }
    Ok(found)
}

fn locate(
    request: &Request,
    files: &dyn Files,
    root: &Path,
    module: &Path,
    source: &Source,
) -> Option<PathBuf> {
    let is_module = |folder: &PathBuf| files.is_file(&folder.join("kcl.mod"));
    let (package, versions) = match source {
        Source::Path(path) => return Some(normalise(&module.join(path))),
        Source::Copy(package, versions) => (package, versions),
    };
    let stores = [Some(root.join("vendor")), Some(module.join("vendor")), request.vendor.clone()];
    for store in stores.into_iter().flatten() {
        let mut names: Vec<String> = Vec::new();
        for version in versions {
            names.push(format!("{package}_{version}"));
            names.push(match version.strip_prefix('v') {
                Some(bare) => format!("{package}_{bare}"),
                None => format!("{package}_v{version}"),
            });
        }
        names.push(package.clone());
        let kept = names.iter().map(|name| normalise(&store.join(name))).find(is_module);
        if kept.is_some() {
            return kept;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_of_all_kinds_are_read() {
        let text = "[package]\nname = \"m\"\nedition = \"v0.11\"\n[language]\nedition = \"0.13\"\n[dependencies]\n\
                    k8s = \"1.31\"\nmy-lib = { path = \"../lib\" }\ng = { git = \"x\", tag = \"v2\" }\n\
                    [profile]\nentries = [\"a.k\"]\ndisable_none = true\n";
        let manifest = Manifest::parse(text).unwrap();
        assert_eq!(manifest.edition, Some(Edition::V0_13));
        assert_eq!(manifest.profile.entries, ["a.k"]);
        assert!(manifest.profile.disable_none);
        let mut names: Vec<&str> = manifest.dependencies.iter().map(|d| d.name.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["g", "k8s", "my_lib"]);
        assert!(Manifest::parse("[language]\nedition = \"9\"").is_err());
        assert!(Manifest::parse("[").is_err());
    }

    #[test]
    fn dependencies_are_followed_and_a_cycle_ends() {
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = { path = \"../a\" }\nc = \"1.0\"\n");
        files.add("/a/kcl.mod", "[dependencies]\nm = { path = \"../m\" }\nb = { path = \"../b\" }\n");
        files.add("/b/kcl.mod", "");
        files.add("/m/vendor/c_1.0/kcl.mod", "");
        let found = dependencies(&Request::default(), &files, Path::new("/m")).unwrap();
        let paths: Vec<String> = found.iter().map(|(n, p)| format!("{n}={}", p.display())).collect();
        assert_eq!(paths, ["a=/a", "c=/m/vendor/c_1.0", "m=/m", "b=/b"]);
    }
}
