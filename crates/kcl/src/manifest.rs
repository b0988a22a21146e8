//! `kcl.mod`: which packages a module depends on and where they are, which edition it pins, what it runs by default.
//!
//! In: the text of a manifest. Out: plain data. Where dependencies are is found in `dependencies`.

use std::path::Path;

use kcl_check::Edition;
use kcl_mod::{Policy, Requirement};
use toml::Value;

use crate::files::Files;
use crate::mistake::Mistake;

/// What a manifest says, as far as running needs it.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Manifest {
    /// `[package]`: name, version and description as written; empty where absent.
    pub package: About,
    /// `[language] edition`.
    pub edition: Option<Edition>,
    /// `[profile]`.
    pub profile: Profile,
    pub(crate) dependencies: Vec<Requirement>,
    /// `[dev_dependencies]` that are no dependencies.
    pub(crate) development: Vec<Requirement>,
    /// `[signatures]`.
    pub(crate) policy: Policy,
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
}
