//! `kcl.mod`: which packages a module depends on and where they are, which edition it pins, what it runs by default.
//!
//! In: the text of a manifest. Out: plain data. Nothing is fetched: a dependency is a folder that is there already, given by
//! its path, or a copy that `kcl mod` keeps: what the lock names in the module's `vendor` folder or in the package store. Without a
//! lock, a copy named `name_version` will do.

use std::path::{Path, PathBuf};

use kcl_check::Edition;
use kcl_mod::{Lock, Locked, LockedSource, Policy, Requirement, Source};
use toml::Value;

use crate::files::{Files, normalise};
use crate::mistake::Mistake;
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
    dependencies: Vec<Requirement>,
    /// `[dev_dependencies]` that are no dependencies.
    development: Vec<Requirement>,
    /// `[signatures]`.
    policy: Policy,
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

impl Manifest {
    /// Reads a manifest.
    ///
    /// # Errors
    /// A sentence about a text that is not TOML, a slip in a name, or an edition that does not exist.
    pub fn parse(text: &str) -> Result<Manifest, String> {
        let table = kcl_mod::read_table("kcl.mod", text)?;
        if let Some((wrong, advice)) = slip(&table) {
            let line = text.lines().take_while(|line| !line.contains(wrong)).count() + 1;
            return Err(format!("kcl.mod:{line}: {advice}"));
        }
        let edition = match table.get("language").and_then(|l| l.get("edition")).and_then(Value::as_str) {
            None => None,
            Some("0.12" | "0.12.4") => Some(Edition::Reference),
            Some("0.13") => Some(Edition::V0_13),
            Some(other) => return Err(format!("kcl.mod: `{other}` is not an edition: use 0.12 or 0.13")),
        };
        // What is wrong with a dependency is told where it is needed: at its import, or by `kcl mod`.
        let (dependencies, _) = kcl_mod::requirements(&table);
        let (all, _) = kcl_mod::all_requirements(&table);
        let development = all.into_iter().skip(dependencies.len()).collect();
        let package = about(table.get("package"));
        let (profile, policy) = (profile(table.get("profile")), Policy::read(&table)?);
        Ok(Manifest { package, edition, profile, dependencies, development, policy })
    }

    /// Reads the manifest of a module, if it has one that says something.
    pub(crate) fn of_module(files: &dyn Files, root: &Path) -> Result<Option<Manifest>, String> {
        let path = root.join("kcl.mod");
        if !files.is_file(&path) {
            return Ok(None);
        }
        let text = files.read(&path)?;
        if only_names(&text) { Ok(None) } else { Manifest::parse(&text).map(Some) }
    }
}

/// Returns whether a manifest does nothing but name its package, as most do: then nothing is to be read.
fn only_names(text: &str) -> bool {
    let plain = |value: &str| {
        let inner = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
        inner.is_some_and(|inner| !inner.contains(['"', '\\']))
    };
    let mut known = vec!["name", "version", "edition", "description"];
    text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).enumerate().all(
        |(at, line)| match line.split_once('=') {
            None => at == 0 && line == "[package]",
            Some((key, value)) => {
                let at = known.iter().position(|name| *name == key.trim());
                plain(value.trim()) && at.map(|at| known.swap_remove(at)).is_some()
            }
        },
    )
}

/// The tables of a manifest with their keys; none means that names are the user's own.
const TABLES: &[(&str, &[&str])] = &[
    ("package", &["name", "version", "edition", "description", "include", "exclude"]),
    ("profile", &["entries", "disable_none", "sort_keys", "selectors", "overrides", "arguments", "options"]),
    ("language", &["edition"]),
    ("dependencies", &[]),
    ("dev_dependencies", &[]),
    ("lint", &[]),
    ("signatures", &[]),
    ("mirrors", &[]),
];

/// A name that is nearly one that is known, and what is to be said about it. Names that are near none are left to other tools.
fn slip(table: &toml::Table) -> Option<(&str, String)> {
    let meant = |names: &mut dyn Iterator<Item = &'static str>, name: &str| {
        let names: Vec<&str> = names.collect();
        let known = names.is_empty() || names.contains(&name);
        if known { None } else { base_diag::nearest(names.into_iter(), name) }
    };
    for (name, value) in table {
        if let Some(near) = meant(&mut TABLES.iter().map(|(table, _)| *table), name) {
            return Some((name, format!("there is no table `{name}`; did you mean `{near}`?")));
        }
        let keys = TABLES.iter().find(|(table, _)| table == name).map_or(&[][..], |(_, keys)| keys);
        for key in value.as_table().into_iter().flat_map(toml::Table::keys) {
            if let Some(near) = meant(&mut keys.iter().copied(), key) {
                return Some((key, format!("`{name}` has no key `{key}`; did you mean `{near}`?")));
            }
        }
    }
    None
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

/// Reads the manifest of a module, if it has one that says something.
pub(crate) fn read_manifest(files: &dyn Files, root: &Path) -> Result<Option<Manifest>, Mistake> {
    Manifest::of_module(files, root).map_err(|why| Mistake::BadManifest { why })
}

/// Finds the folders of all dependencies of a module, those of dependencies included; the first of a name is taken.
///
/// # Errors
/// A manifest that cannot be read, a copy that is not what the lock says, or one that the module's policy does not allow.
pub(crate) fn dependencies(
    request: &Request,
    files: &dyn Files,
    root: &Path,
) -> Result<Vec<(String, PathBuf)>, Mistake> {
    let lock = lock_of(files, root).map_err(|why| Mistake::BadManifest { why })?;
    let mut search = Search { request, files, root, lock: &lock, signers: None };
    let mut found: Vec<(String, PathBuf)> = Vec::new();
    let mut open = vec![root.to_path_buf()];
    let mut next = 0;
    while next < open.len() && next < MAX_MODULES {
        let module = open[next].clone();
        next += 1;
        let Some(manifest) = read_manifest(files, &module)? else { continue };
        // What a module needs for its own development is nothing to those who use it; nor do they have a say in whom to trust.
        let own = if module == root { manifest.development.as_slice() } else { &[] };
        if module == root && !manifest.policy.require.is_empty() {
            search.signers = Some(search.signers(manifest.policy.clone())?);
        }
        for dependency in manifest.dependencies.iter().chain(own) {
            let name = dependency.import_name();
            if found.iter().any(|(known, _)| *known == name) {
                continue;
            }
            let Some(folder) = search.locate(&module, dependency)? else { continue };
            found.push((name, folder.clone()));
            open.push(folder);
        }
    }
    Ok(found)
}

fn lock_of(files: &dyn Files, root: &Path) -> Result<Lock, String> {
    let path = root.join("kcl.mod.lock");
    if files.is_file(&path) { Lock::parse(&files.read(&path)?) } else { Ok(Lock::default()) }
}

/// Returns the version of a package that the lock of a module names.
pub(crate) fn locked_version(files: &dyn Files, root: &Path, name: &str) -> Option<String> {
    lock_of(files, root).ok()?.get(name).map(|locked| locked.version.clone())
}

/// Where packages of one module are looked for.
struct Search<'s> {
    request: &'s Request,
    files: &'s dyn Files,
    root: &'s Path,
    lock: &'s Lock,
    /// Who must have signed packages of registries, and the print of that policy.
    signers: Option<(Policy, String)>,
}

impl Search<'_> {
    fn signers(&self, policy: Policy) -> Result<(Policy, String), Mistake> {
        let load = |name: &str| match self.files.read(&self.root.join(name)) {
            Ok(text) => Ok(text.to_string()),
            Err(why) => Err(format!("kcl.mod: [signatures]: {why}")),
        };
        let print = policy.print(&load).map_err(|why| Mistake::BadManifest { why })?;
        Ok((policy, print))
    }

    /// The folder of a dependency: a path, what the lock of the root module names, or a copy that is named like its version.
    fn locate(&self, module: &Path, dependency: &Requirement) -> Result<Option<PathBuf>, Mistake> {
        if let Source::Path(path) = &dependency.source {
            return Ok(Some(normalise(&module.join(path))));
        }
        let is_module = |folder: &PathBuf| self.files.is_file(&folder.join("kcl.mod"));
        let locked = self.lock.get(&dependency.import_name());
        let packages = self.request.vendor.as_deref();
        let vendored = locked.map(|locked| self.root.join("vendor").join(locked.full_name()));
        // A sum of another tool cannot be compared.
        let ours =
            locked.and_then(|locked| locked.sum.as_deref()).filter(|sum| kcl_mod::folder_name(sum).is_some());
        let kept =
            ours.and_then(kcl_mod::folder_name).and_then(|sum| Some(packages?.join("store").join(sum)));
        if let Some(folder) = vendored.into_iter().chain(kept).find(is_module) {
            let name = || dependency.import_name();
            if let Some(sum) = ours {
                let next = "`kcl mod update` fetches it again, `kcl mod vendor` copies it anew";
                let told = |why| Mistake::UnprovenPackage { name: name(), why, next };
                self.files.prove(&folder, sum, packages).map_err(told)?;
            }
            self.judge(dependency, locked)?;
            return Ok(Some(folder));
        }
        let names = copies(dependency);
        let stores =
            [Some(self.root.join("vendor")), Some(module.join("vendor")), self.request.vendor.clone()];
        let place = |store: PathBuf| names.iter().map(|name| normalise(&store.join(name))).find(is_module);
        let found = stores.into_iter().flatten().find_map(place);
        found.map(|folder| self.judge(dependency, None).map(|()| folder)).transpose()
    }

    /// Whether somebody that the policy trusts has signed a package. The word of the lock proves nothing: `kcl mod` notes what it found.
    fn judge(&self, dependency: &Requirement, locked: Option<&Locked>) -> Result<(), Mistake> {
        let Some((policy, print)) = &self.signers else { return Ok(()) };
        let source = locked.map(|locked| &locked.source);
        let required = match (&dependency.source, source) {
            (Source::Oci(repository), _) => policy.requires(repository),
            (Source::Registry, Some(LockedSource::Oci { registry, repository, .. })) => {
                policy.requires(&format!("{registry}/{repository}"))
            }
            // Nothing says where it came from.
            (Source::Registry, _) => true,
            _ => false,
        };
        let known = |sum: &str, who: &str| {
            let file = self.request.vendor.as_ref()?.join(kcl_mod::signed_file(sum)?);
            let note = kcl_mod::signed_note(print, who);
            let text = self.files.is_file(&file).then(|| self.files.read(&file).ok()).flatten()?;
            text.lines().any(|line| line == note).then_some(())
        };
        let known = locked.and_then(|locked| known(locked.sum.as_deref()?, locked.signed_by.as_deref()?));
        if !required || known.is_some() {
            return Ok(());
        }
        Err(Mistake::UnprovenPackage {
            name: dependency.import_name(),
            why: "[signatures] of kcl.mod asks for a signature, and nobody has looked at one here".to_owned(),
            next: "`kcl mod update` looks at the signatures, once for each policy",
        })
    }
}

/// Names under which other tools keep a copy.
fn copies(dependency: &Requirement) -> Vec<String> {
    let package = &dependency.package;
    let mut names = Vec::new();
    for version in [dependency.version.as_deref(), Some(dependency.asked())].into_iter().flatten() {
        names.push(format!("{package}_{version}"));
        names.push(match version.strip_prefix('v') {
            Some(bare) => format!("{package}_{bare}"),
            None => format!("{package}_v{version}"),
        });
    }
    names.push(package.clone());
    names
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
        let mut names: Vec<String> = manifest.dependencies.iter().map(Requirement::import_name).collect();
        names.sort_unstable();
        assert_eq!(names, ["g", "k8s", "my_lib"]);
        assert!(Manifest::parse("[language]\nedition = \"9\"").is_err());
        assert!(Manifest::parse("[").is_err());
    }

    #[test]
    fn slips_are_told_and_broken_texts_are_no_empty_ones() {
        let says = |text: &str| Manifest::parse(text).unwrap_err();
        assert_eq!(
            says("[package]\nname = \"m\"\n\n[dependancies]\nk8s = \"1.31\"\n"),
            "kcl.mod:4: there is no table `dependancies`; did you mean `dependencies`?"
        );
        assert_eq!(
            says("[profile]\nentrie = [\"a.k\"]\n"),
            "kcl.mod:2: `profile` has no key `entrie`; did you mean `entries`?"
        );
        // Tables of other tools are their own.
        assert!(Manifest::parse("[package]\nname = \"m\"\nlicense = \"MIT\"\n[tool.other]\nx = 1\n").is_ok());
        let of = |text: &str| {
            let mut files = crate::MemoryFiles::default();
            files.add("/m/kcl.mod", text);
            Manifest::of_module(&files, Path::new("/m"))
        };
        assert_eq!(of("# a package\n[package]\nname = \"m\"\nversion = \"1\"\n"), Ok(None));
        for broken in [
            "[package",
            "garbage garbage",
            "[package]\nname = \"a\"\nname = \"b\"\n",
            "[package]\nnmae = \"a\"\n",
        ] {
            assert!(of(broken).is_err(), "{broken}");
        }
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

    #[test]
    fn the_lock_says_which_copy_is_meant() {
        let kept = format!("/store/store/{}", "0".repeat(64));
        let mut files = crate::MemoryFiles::default();
        files.add("/m/kcl.mod", "[dependencies]\na = \"1.0\"\n");
        files.add("/m/vendor/a_1.0/kcl.mod", "");
        files.add(format!("{kept}/kcl.mod"), "");
        let request = Request { vendor: Some("/store".into()), ..Request::default() };
        let found = |files: &crate::MemoryFiles| dependencies(&request, files, Path::new("/m"));
        let folder = |files: &crate::MemoryFiles| found(files).unwrap().remove(0).1.display().to_string();
        assert_eq!(folder(&files), "/m/vendor/a_1.0");
        let sum = format!("h1:{}=", "A".repeat(43));
        let source = "reg = \"r\"\nrepo = \"a\"\noci_tag = \"1.2\"";
        files.add(
            "/m/kcl.mod.lock",
            format!("[dependencies.a]\nversion = \"1.2\"\nsum = \"{sum}\"\n{source}\n"),
        );
        assert_eq!(folder(&files), kept);
        files.add("/m/vendor/a_1.2/kcl.mod", "");
        assert_eq!(folder(&files), "/m/vendor/a_1.2");
        files.add("/m/kcl.mod.lock", "[dependencies.a");
        let told = found(&files).unwrap_err();
        assert!(matches!(told, Mistake::BadManifest { why } if why.contains("kcl.mod.lock:1")));
    }

    #[test]
    fn a_signature_counts_if_it_was_looked_at_under_the_policy_of_now() {
        let mut files = crate::MemoryFiles::default();
        files.add(
            "/m/kcl.mod",
            "[dependencies]\na = \"1.0\"\n[signatures]\nkeys = [\"a.pub\"]\nrequire = [\"r/**\"]\n",
        );
        files.add("/m/vendor/a_1.0/kcl.mod", "");
        let request = Request { vendor: Some("/store".into()), ..Request::default() };
        let found = |files: &crate::MemoryFiles| dependencies(&request, files, Path::new("/m"));
        assert!(matches!(found(&files), Err(Mistake::BadManifest { why }) if why.contains("a.pub")));
        files.add("/m/a.pub", "KEY");
        let unproven =
            |files: &crate::MemoryFiles| matches!(found(files), Err(Mistake::UnprovenPackage { .. }));
        assert!(unproven(&files), "a copy that nobody locked");
        let sum = format!("h1:{}=", "A".repeat(43));
        let lock = |from: &str| {
            format!(
                "[dependencies.a]\nversion = \"1.0\"\nsum = \"{sum}\"\nreg = \"{from}\"\nrepo = \"a\"\noci_tag = \"1.0\"\n"
            )
        };
        files.add("/m/kcl.mod.lock", lock("other"));
        assert!(found(&files).is_ok());
        files.add("/m/kcl.mod.lock", lock("r"));
        assert!(unproven(&files));
        files.add("/m/kcl.mod.lock", lock("r") + "signed_by = \"key 1\"\n");
        assert!(unproven(&files), "the lock says so, and nobody looked");
        let print = Policy { keys: vec!["a.pub".to_owned()], ..Policy::default() }
            .print(&|_| Ok("KEY".to_owned()))
            .unwrap();
        let note = |print: &str| kcl_mod::signed_note(print, "key 1") + "\n";
        let file = format!("/store/{}", kcl_mod::signed_file(&sum).unwrap());
        files.add(&file, note("other"));
        assert!(unproven(&files));
        files.add(&file, note("other") + &note(&print));
        assert!(found(&files).is_ok());
        files.add("/m/a.pub", "ANOTHER KEY");
        assert!(unproven(&files));
    }
}
