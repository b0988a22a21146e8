//! `kcl.mod.lock`: which state of every package was taken, with the sum of its content.

use std::fmt::Write;

use toml::Value;

use crate::requirement::{Pin, Requirement, Source};

/// The lock of a module, in the order of names.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lock {
    /// One entry for every package, those of dependencies included.
    pub entries: Vec<Locked>,
}

/// A package as it was taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locked {
    /// The name in imports.
    pub name: String,
    /// The version it says it has.
    pub version: String,
    /// The sum of its content; none for folders.
    pub sum: Option<String>,
    /// Who signed it, where the module's policy asked for a signature when it was taken.
    pub signed_by: Option<String>,
    /// Where it came from.
    pub source: LockedSource,
}

/// Where a package came from.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LockedSource {
    /// A folder beside the module.
    Path(String),
    /// A registry.
    Oci {
        /// Host and port.
        registry: String,
        /// The path in it.
        repository: String,
        /// The tag that was taken.
        tag: String,
    },
    /// A repository.
    Git {
        /// What `git` takes.
        url: String,
        /// What was asked for.
        pin: Pin,
        /// The package in it, if it is not named like the dependency.
        package: String,
        /// The commit that this was.
        commit: String,
    },
}

impl Lock {
    /// Reads a lock.
    ///
    /// # Errors
    /// A sentence with the line of what is wrong.
    pub fn parse(text: &str) -> Result<Lock, String> {
        let table = crate::read_table("kcl.mod.lock", text)?;
        let mut entries = Vec::new();
        // Other tools give the packages for development a table of their own; a name in both is the first one.
        for section in ["dependencies", "dev_dependencies"] {
            let Some(Value::Table(all)) = table.get(section) else { continue };
            for (name, entry) in all {
                let told = |e: String| format!("kcl.mod.lock: `{name}`: {e}");
                let read = Locked::read(name, entry).map_err(told)?;
                if !entries.iter().any(|known: &Locked| known.name == read.name) {
                    entries.push(read);
                }
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Lock { entries })
    }

    /// Returns the entry of a name in imports.
    pub fn get(&self, name: &str) -> Option<&Locked> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Writes the lock in the form of the reference.
    pub fn write(&self) -> String {
        let mut out = String::from("[dependencies]\n");
        for entry in &self.entries {
            entry.write(&mut out);
        }
        out
    }
}

impl Locked {
    /// Returns true if the entry is an answer to a requirement: same source, same version asked for.
    pub fn answers(&self, requirement: &Requirement, default_registry: &str) -> bool {
        let asked = requirement.version.as_deref();
        let fits = |tag: &str| asked.is_none_or(|asked| asked == tag);
        match (&self.source, &requirement.source) {
            (LockedSource::Git { url, pin, package, .. }, Source::Git { url: wanted, pin: wish }) => {
                let pinned = pin == wish || *wish == Pin::Greatest && matches!(pin, Pin::Tag(_));
                url == wanted && *package == requirement.package && pinned
            }
            (LockedSource::Oci { registry, repository, tag }, Source::Oci(wanted)) => {
                format!("{registry}/{repository}") == *wanted && fits(tag)
            }
            (LockedSource::Oci { registry, repository, tag }, Source::Registry) => {
                let wanted = format!("{default_registry}/{}", requirement.package);
                format!("{registry}/{repository}") == wanted && fits(tag)
            }
            _ => false,
        }
    }

    /// Returns the name of a copy: the package and the state that was asked for.
    pub fn full_name(&self) -> String {
        let version = match &self.source {
            LockedSource::Git { pin: Pin::Tag(v) | Pin::Commit(v) | Pin::Branch(v), .. } => v,
            LockedSource::Oci { tag, .. } => tag,
            _ => &self.version,
        };
        // A branch may have slashes; the name is one folder.
        format!("{}_{}", self.name, version.replace('/', "-"))
    }

    fn read(name: &str, entry: &Value) -> Result<Locked, String> {
        let text = |key: &str| entry.get(key).and_then(Value::as_str).map(str::to_owned);
        let need = |key: &str| text(key).ok_or_else(|| format!("`{key}` is missing"));
        let source = if let Some(url) = text("url") {
            let pin = (text("git_tag").map(Pin::Tag))
                .or_else(|| text("branch").map(Pin::Branch))
                .or_else(|| text("commit").map(Pin::Commit))
                .ok_or("one of git_tag, commit and branch is missing")?;
            let commit = match &pin {
                Pin::Commit(commit) => text("resolved").unwrap_or_else(|| commit.clone()),
                _ => text("resolved").unwrap_or_default(),
            };
            LockedSource::Git {
                url,
                pin,
                package: text("package").unwrap_or_else(|| name.to_owned()),
                commit,
            }
        } else if let Some(registry) = text("reg") {
            let tag = text("oci_tag").or_else(|| text("version"));
            LockedSource::Oci { registry, repository: need("repo")?, tag: tag.ok_or("`oci_tag` is missing")? }
        } else {
            LockedSource::Path(text("path").unwrap_or_default())
        };
        Ok(Locked {
            name: name.to_owned(),
            version: text("version").unwrap_or_default(),
            sum: text("sum").filter(|sum| !sum.is_empty()),
            signed_by: text("signed_by"),
            source,
        })
    }

    fn write(&self, out: &mut String) {
        let mut rows = vec![
            ("name", self.name.clone()),
            ("full_name", self.full_name()),
            ("version", self.version.clone()),
        ];
        rows.extend(self.sum.clone().map(|sum| ("sum", sum)));
        rows.extend(self.signed_by.clone().map(|who| ("signed_by", who)));
        match &self.source {
            LockedSource::Path(path) => rows.push(("path", path.clone())),
            LockedSource::Oci { registry, repository, tag } => {
                rows.extend([
                    ("reg", registry.clone()),
                    ("repo", repository.clone()),
                    ("oci_tag", tag.clone()),
                ]);
            }
            LockedSource::Git { url, pin, package, commit } => {
                rows.push(("url", url.clone()));
                rows.push(match pin {
                    Pin::Tag(tag) => ("git_tag", tag.clone()),
                    Pin::Commit(commit) => ("commit", commit.clone()),
                    Pin::Branch(branch) => ("branch", branch.clone()),
                    Pin::Greatest => ("git_tag", self.version.clone()),
                });
                if *package != self.name {
                    rows.push(("package", package.clone()));
                }
                rows.push(("resolved", commit.clone()));
            }
        }
        let _ = writeln!(out, "  [dependencies.{}]", key(&self.name));
        for (name, text) in rows {
            let _ = writeln!(out, "    {name} = {}", Value::String(text));
        }
    }
}

fn key(name: &str) -> String {
    let bare = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if bare { name.to_owned() } else { Value::String(name.to_owned()).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"[dependencies]
  [dependencies.lib]
    name = "lib"
    full_name = "lib_v1.4.0"
    version = "1.4.0"
    sum = "h1:x"
    url = "https://git.example.org/lib.git"
    git_tag = "v1.4.0"
    resolved = "0123"
  [dependencies.util]
    name = "util"
    full_name = "util_0.1.0"
    version = "0.1.0"
    path = "../util"
  [dependencies.web]
    name = "web"
    full_name = "web_0.2.0"
    version = "0.2.0"
    sum = "tF1q="
    reg = "reg.example.org"
    repo = "team/web"
    oci_tag = "0.2.0"
"#;

    #[test]
    fn a_lock_is_read_and_written_in_the_form_of_the_reference() {
        let lock = Lock::parse(TEXT).unwrap();
        assert_eq!(lock.write(), TEXT);
        assert_eq!(lock.entries.len(), 3);
    }

    #[test]
    fn an_entry_answers_what_it_was_asked_for_and_nothing_else() {
        let lock = Lock::parse(TEXT).unwrap();
        let asks = |text: &str| {
            let table: toml::Table = format!("[dependencies]\n{text}").parse().unwrap();
            let requirement = crate::requirements(&table).0.remove(0);
            lock.get(&requirement.import_name()).unwrap().answers(&requirement, "reg.example.org/team")
        };
        assert!(asks("lib = { git = \"https://git.example.org/lib.git\", tag = \"v1.4.0\" }"));
        assert!(!asks("lib = { git = \"https://git.example.org/lib.git\", tag = \"v1.5.0\" }"));
        assert!(!asks("lib = { git = \"https://other.example.org/lib.git\", tag = \"v1.4.0\" }"));
        assert!(asks("web = \"0.2.0\"") && !asks("web = \"0.2.1\""));
        assert!(asks("web = { oci = \"oci://reg.example.org/team/web\" }"));
        assert!(!asks("util = \"0.1.0\""));
    }

    #[test]
    fn damage_is_told_with_its_line() {
        assert!(Lock::parse("[dependencies]\n[dependencies.a\n").unwrap_err().contains("kcl.mod.lock:2"));
        assert!(Lock::parse("[dependencies.a]\nreg = \"x\"").unwrap_err().contains("`repo` is missing"));
    }
}
