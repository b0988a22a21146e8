//! What `kcl.mod` says about the package and what it needs.

use toml::{Table, Value};

/// The table `[package]`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// One line about it.
    pub description: String,
    /// Patterns of the files that are packed; none means all.
    pub include: Vec<String>,
    /// Patterns of the files that are not.
    pub exclude: Vec<String>,
}

/// A package that is needed, and where it comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Requirement {
    /// The name as it is written in `kcl.mod`.
    pub key: String,
    /// The package's own name; another one than the key if it was renamed.
    pub package: String,
    /// Whether the manifest names the package of a repository: then no other one will do.
    pub named: bool,
    /// The version that was asked for.
    pub version: Option<String>,
    /// Where it comes from.
    pub source: Source,
}

/// Where a package comes from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    /// A folder; relative to the module that says so.
    Path(String),
    /// A Git repository.
    Git {
        /// What `git` takes.
        url: String,
        /// Which state of it.
        pin: Pin,
    },
    /// A repository of an OCI registry, `HOST/PATH`.
    Oci(String),
    /// The default registry.
    Registry,
}

/// A state of a Git repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Pin {
    /// A tag.
    Tag(String),
    /// A commit.
    Commit(String),
    /// A branch: whatever it holds when the lock is written.
    Branch(String),
    /// The greatest tag that is a version.
    Greatest,
}

impl Requirement {
    /// Returns the name in imports.
    pub fn import_name(&self) -> String {
        self.key.replace('-', "_")
    }

    /// Returns the text by which two requirements of one package are compared; empty for "whatever is newest".
    pub fn asked(&self) -> &str {
        let version = self.version.as_deref().unwrap_or_default();
        match &self.source {
            Source::Git { pin: Pin::Tag(text) | Pin::Commit(text) | Pin::Branch(text), .. } => text,
            _ => version,
        }
    }

    /// Returns what two requirements of one package have in common.
    pub fn identity(&self) -> String {
        match &self.source {
            Source::Path(path) => format!("folder {path}"),
            Source::Git { url, .. } => format!("{} of git {url}", self.package),
            Source::Oci(repository) => format!("oci://{repository}"),
            Source::Registry => format!("{} of the default registry", self.package),
        }
    }
}

/// Reads `[package]`.
///
/// # Errors
/// A sentence about what is missing or is not text.
pub fn package(manifest: &Table) -> Result<Package, String> {
    let Some(Value::Table(table)) = manifest.get("package") else {
        return Err("kcl.mod has no table [package] with a name and a version".to_owned());
    };
    let text = |key: &str| match table.get(key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("kcl.mod: [package] {key} must be text")),
    };
    let list = |key: &str| match table.get(key) {
        None => Ok(Vec::new()),
        Some(Value::Array(items)) => items
            .iter()
            .map(|item| item.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| format!("kcl.mod: [package] {key} must be a list of texts")),
        Some(_) => Err(format!("kcl.mod: [package] {key} must be a list of texts")),
    };
    let name = text("name")?.filter(|name| is_name(name));
    Ok(Package {
        name: name.ok_or("kcl.mod: [package] needs a name of letters, digits, `-` and `_`")?,
        version: text("version")?.unwrap_or_else(|| "0.0.1".to_owned()),
        description: text("description")?.unwrap_or_default(),
        include: list("include")?,
        exclude: list("exclude")?,
    })
}

/// Names become folders and parts of addresses: nothing that could mean more than a name.
pub(crate) fn is_name(name: &str) -> bool {
    let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.len() <= 128 && name.chars().all(good) && !name.starts_with(['.', '-'])
}

const KEYS: &[&str] = &["git", "oci", "path", "tag", "commit", "branch", "package", "version"];

/// Reads `[dependencies]`: what is understood, and a sentence about each entry that is not.
pub fn requirements(manifest: &Table) -> (Vec<Requirement>, Vec<String>) {
    section(manifest, "dependencies")
}

/// Reads `[dependencies]` and `[dev_dependencies]`, which only the module itself has; a name in both is the first one.
pub fn all_requirements(manifest: &Table) -> (Vec<Requirement>, Vec<String>) {
    let (mut found, mut problems) = requirements(manifest);
    let (more, others) = section(manifest, "dev_dependencies");
    problems.extend(others);
    for need in more {
        if !found.iter().any(|known| known.import_name() == need.import_name()) {
            found.push(need);
        }
    }
    (found, problems)
}

fn section(manifest: &Table, name: &str) -> (Vec<Requirement>, Vec<String>) {
    let mut problems = Vec::new();
    let all = match manifest.get(name) {
        None => return (Vec::new(), problems),
        Some(Value::Table(all)) => all,
        Some(_) => return (Vec::new(), vec![format!("kcl.mod: `{name}` must be a table")]),
    };
    let mut found = Vec::new();
    for (key, spec) in all {
        match requirement(key, spec) {
            Ok(requirement) => found.push(requirement),
            Err(problem) => problems.push(format!("kcl.mod: dependency `{key}`: {problem}")),
        }
    }
    (found, problems)
}

fn requirement(key: &str, spec: &Value) -> Result<Requirement, String> {
    if !is_name(key) {
        return Err("a name has letters, digits, `-` and `_`".to_owned());
    }
    let table = match spec {
        Value::String(version) if !version.is_empty() => {
            let (package, version) = (key.to_owned(), Some(version.clone()));
            let (named, source) = (false, Source::Registry);
            return Ok(Requirement { key: key.to_owned(), package, named, version, source });
        }
        Value::Table(table) => table,
        _ => return Err("write a version or a table with git, oci or path".to_owned()),
    };
    let mut texts = Vec::new();
    for (name, value) in table {
        let known = KEYS.iter().find(|known| **known == name.as_str());
        let known = known.ok_or_else(|| match base_diag::nearest(KEYS.iter().copied(), name) {
            Some(near) => format!("there is no key `{name}`; did you mean `{near}`?"),
            None => format!("there is no key `{name}`; the keys are {}", KEYS.join(", ")),
        })?;
        let text = value.as_str().filter(|text| !text.is_empty());
        texts.push((*known, text.ok_or_else(|| format!("`{name}` must be a text"))?));
    }
    let text = |key: &str| texts.iter().find(|(name, _)| *name == key).map(|(_, text)| (*text).to_owned());
    let package = text("package").unwrap_or_else(|| key.to_owned());
    if !is_name(&package) {
        return Err(format!("`{package}` is not a package name"));
    }
    let source = source(&text)?;
    let version = text("version").or_else(|| text("tag").filter(|_| !matches!(source, Source::Git { .. })));
    let named = text("package").is_some() && matches!(source, Source::Git { .. });
    Ok(Requirement { key: key.to_owned(), package, named, version, source })
}

fn source(text: &dyn Fn(&str) -> Option<String>) -> Result<Source, String> {
    let pins = [("tag", Pin::Tag as fn(String) -> Pin), ("commit", Pin::Commit), ("branch", Pin::Branch)];
    let mut pins = pins.into_iter().filter_map(|(key, pin)| text(key).map(pin));
    match (text("path"), text("git"), text("oci")) {
        (Some(path), None, None) => Ok(Source::Path(path)),
        (None, Some(url), None) => {
            let pin = pins.next().unwrap_or(Pin::Greatest);
            if pins.next().is_some() {
                return Err("give one of tag, commit and branch".to_owned());
            }
            Ok(Source::Git { url, pin })
        }
        (None, None, Some(url)) => {
            let repository = url.strip_prefix("oci://").unwrap_or(&url).trim_end_matches('/').to_owned();
            if !repository.contains('/') {
                return Err(format!("`{url}` is not oci://HOST/PATH"));
            }
            Ok(Source::Oci(repository))
        }
        (None, None, None) => Ok(Source::Registry),
        _ => Err("give one of path, git and oci".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Requirement>, Vec<String>) {
        requirements(&format!("[dependencies]\n{text}").parse().unwrap())
    }

    #[test]
    fn sources_of_all_kinds_are_read() {
        let (found, problems) = read(
            "k8s = \"1.31.2\"\nweb = { oci = \"oci://reg.example.org/team/web\", tag = \"0.2.0\" }\n\
             lib-a = { git = \"https://git.example.org/lib.git\", tag = \"v1.4.0\" }\nutil = { path = \"../util\" }\n\
             alias = { package = \"helloworld\", version = \"0.1.4\" }\n",
        );
        assert_eq!(problems, Vec::<String>::new());
        let told: Vec<String> =
            found.iter().map(|r| format!("{} {} {}", r.import_name(), r.identity(), r.asked())).collect();
        assert_eq!(
            told,
            [
                "k8s k8s of the default registry 1.31.2",
                "web oci://reg.example.org/team/web 0.2.0",
                "lib_a lib-a of git https://git.example.org/lib.git v1.4.0",
                "util folder ../util ",
                "alias helloworld of the default registry 0.1.4"
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let says = |text: &str| read(text).1.join("\n");
        assert!(
            says("a = { git = \"u\", tag = \"1\", branch = \"b\" }")
                .contains("one of tag, commit and branch")
        );
        assert!(says("a = { git = \"u\", path = \"p\" }").contains("one of path, git and oci"));
        assert!(says("a = { gti = \"u\" }").contains("did you mean `git`"));
        assert!(says("a = 1").contains("write a version") && says("a = \"\"").contains("write a version"));
        assert!(says("\"../x\" = \"1\"").contains("letters, digits"));
        assert!(says("a = { oci = \"oci://x\" }").contains("HOST/PATH"));
    }
}
