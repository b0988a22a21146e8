//! The lock file, `.terraform.lock.hcl`: which version of each provider was chosen, and what its packages hash to.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use crate::address::{Address, OPENTOFU};
use crate::hcl::{self, Node};
use crate::version::{Constraints, Version};

/// The name of the file.
pub const LOCK_FILE: &str = ".terraform.lock.hcl";

/// What is locked, by address.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Lock {
    providers: BTreeMap<Address, Locked>,
    /// A file that Terraform began keeps its first line, so that its tool does not write it anew.
    is_terraforms: bool,
}

/// One provider of a lock.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Locked {
    /// The chosen version.
    pub version: Version,
    /// What was asked when it was chosen.
    pub constraints: Constraints,
    /// `h1:..` of an unpacked package, `zh:..` of an archive; a package that has any of them is the right one.
    pub hashes: BTreeSet<String>,
}

impl Lock {
    /// Reads a lock file.
    ///
    /// # Errors
    /// A sentence with the line.
    pub fn parse(text: &str) -> Result<Lock, String> {
        let root = hcl::native(text, false)?;
        let mut lock = Lock {
            is_terraforms: text.lines().next().is_some_and(|l| l.contains("\"terraform init\"")),
            ..Lock::default()
        };
        for (key, node) in root.entries() {
            match key.as_str() {
                "provider" => lock.read(node)?,
                // Reserved by the format.
                "module" => {}
                other => return Err(format!("{}`{other}` is not known in a lock file", node.place())),
            }
        }
        Ok(lock)
    }

    fn read(&mut self, node: &Node) -> Result<(), String> {
        let [(name, body)] = node.entries() else {
            return Err(format!(
                "{}a provider has one name: `provider \"HOST/NAMESPACE/NAME\" {{`",
                node.place()
            ));
        };
        let told = |what: String| format!("{}{what}", node.place());
        let address = Address::parse(name, OPENTOFU).map_err(told)?;
        if address.to_string() != *name {
            return Err(told(format!("`{name}` must be written `{address}`")));
        }
        let known = ["version", "constraints", "hashes"];
        if let Some((other, _)) = body.entries().iter().find(|(key, _)| !known.contains(&key.as_str())) {
            return Err(told(format!("`{other}` is not known in the lock of a provider")));
        }
        let version = body.text("version")?.ok_or_else(|| told(format!("{address} has no version")))?;
        let locked = Locked {
            version: Version::parse(version).map_err(told)?,
            constraints: Constraints::parse(body.text("constraints")?.unwrap_or_default()).map_err(told)?,
            hashes: body.texts("hashes")?.into_iter().map(str::to_owned).collect(),
        };
        if let Some(hash) = locked.hashes.iter().find(|hash| !is_hash(hash)) {
            return Err(told(format!("`{}` is no hash of a package", hash.escape_debug())));
        }
        match self.providers.insert(address, locked) {
            None => Ok(()),
            Some(_) => Err(told(format!("{name} is locked twice"))),
        }
    }

    /// Writes the file, as tofu writes it.
    pub fn to_text(&self) -> String {
        let tool = if self.is_terraforms { "terraform" } else { "tofu" };
        let mut out = format!(
            "# This file is maintained automatically by \"{tool} init\".\n# Manual edits may be lost in future updates.\n"
        );
        for (address, locked) in &self.providers {
            // Writing to a text cannot fail.
            let _ = write!(out, "\nprovider \"{address}\" {{\n");
            let constraints = locked.constraints.to_string();
            if constraints.is_empty() {
                let _ = writeln!(out, "  version = \"{}\"", locked.version);
            } else {
                let _ = writeln!(
                    out,
                    "  version     = \"{}\"\n  constraints = \"{constraints}\"",
                    locked.version
                );
            }
            if !locked.hashes.is_empty() {
                out.push_str("  hashes = [\n");
                locked.hashes.iter().for_each(|hash| out.push_str(&format!("    \"{hash}\",\n")));
                out.push_str("  ]\n");
            }
            out.push_str("}\n");
        }
        out
    }

    /// What is locked for a provider.
    pub fn get(&self, address: &Address) -> Option<&Locked> {
        self.providers.get(address)
    }

    /// Locks a provider. Hashes of the same version are added to what is there, of another they replace it.
    pub fn set(&mut self, address: &Address, mut locked: Locked) {
        if let Some(old) = self.providers.remove(address).filter(|old| old.version == locked.version) {
            locked.hashes.extend(old.hashes);
        }
        self.providers.insert(address.clone(), locked);
    }

    /// Forgets a provider.
    pub fn remove(&mut self, address: &Address) -> Option<Locked> {
        self.providers.remove(address)
    }

    /// Everything that is locked, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Address, &Locked)> {
        self.providers.iter()
    }
}

/// `scheme:value` without letters that would need quoting.
fn is_hash(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, value)| {
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"+/=_-.".contains(&b);
        !scheme.is_empty() && !value.is_empty() && scheme.bytes().chain(value.bytes()).all(plain)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"# This file is maintained automatically by "tofu init".
# Manual edits may be lost in future updates.

provider "registry.opentofu.org/hashicorp/random" {
  version     = "3.9.0"
  constraints = ">= 3.0.0, < 4.0.0"
  hashes = [
    "h1:TH2UijXm21NIPW4/f5wiuw73s8o6ut6DIWdH/wElwqY=",
    "zh:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824",
  ]
}

provider "registry.opentofu.org/hashicorp/time" {
  version = "0.14.2"
}
"#;

    #[test]
    fn a_lock_is_read_and_written_unchanged() {
        let lock = Lock::parse(TEXT).unwrap();
        assert_eq!(lock.to_text(), TEXT);
        let theirs = TEXT.replace("tofu init", "terraform init");
        assert_eq!(Lock::parse(&theirs).unwrap().to_text(), theirs);
    }

    #[test]
    fn hashes_of_the_same_version_stay() {
        let mut lock = Lock::parse(TEXT).unwrap();
        let address = Address::parse("random", OPENTOFU).unwrap();
        let mut locked = lock.get(&address).unwrap().clone();
        locked.hashes = ["h1:other=".to_owned()].into();
        lock.set(&address, locked.clone());
        assert_eq!(lock.get(&address).unwrap().hashes.len(), 3);
        locked.version = Version::parse("3.9.1").unwrap();
        lock.set(&address, locked);
        assert_eq!(lock.get(&address).unwrap().hashes.len(), 1);
    }

    #[test]
    fn what_no_lock_says_is_refused() {
        for (text, told) in [
            (
                "provider \"hashicorp/random\" { version = \"1.0.0\" }",
                "must be written `registry.opentofu.org/hashicorp/random`",
            ),
            ("provider \"a.b/c/d\" {}", "a.b/c/d has no version"),
            ("provider \"a.b/c/d\" { version = \"1.0\" }", "is no version"),
            ("provider \"a.b/c/d\" { version = \"1.0.0\"\n x = 1 }", "`x` is not known"),
            ("provider \"a.b/c/d\" { version = \"1.0.0\"\n hashes = [\"h1\"] }", "is no hash"),
            (
                "provider \"a.b/c/d\" { version = \"1.0.0\" }\nprovider \"a.b/c/d\" { version = \"1.0.0\" }",
                "line 2: a.b/c/d is locked twice",
            ),
            ("provider { }", "a provider has one name"),
            ("other {}", "is not known in a lock file"),
        ] {
            let error = Lock::parse(text).unwrap_err();
            assert!(error.contains(told), "{text}: {error}");
        }
    }
}
