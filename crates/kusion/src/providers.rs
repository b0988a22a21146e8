//! The Terraform providers of a stack: which of them its resources name, and the lock file beside its project.

use std::path::{Path, PathBuf};

use kusion_model::{ResourceId, ResourceKey, ResourceType, Spec};
use kusion_runtime_tf::DEFAULT_HOST;
use tf_install::{Address, Kind, LOCK_FILE, Lock, Trouble, Version};

use crate::{Exit, Failure};

/// One version of a provider, and what needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededProvider {
    pub address: Address,
    pub version: Version,
    /// The resources that name it.
    pub users: Vec<ResourceKey>,
}

/// Reads `extensions.provider`: `HOST/NAMESPACE/NAME/VERSION`.
///
/// # Errors
/// A sentence.
pub fn read_provider(text: &str) -> Result<(Address, Version), String> {
    let form = "as in registry.terraform.io/hashicorp/random/3.9.0";
    let (address, version) =
        text.rsplit_once('/').ok_or_else(|| format!("`{text}` names no provider with a version: {form}"))?;
    let version = Version::parse(version).map_err(|e| format!("{e}; {form}"))?;
    Ok((Address::parse(address, DEFAULT_HOST)?, version))
}

/// The providers that the resources of a stack name, in order. Those that are part of the tools themselves are left out.
///
/// # Errors
/// A resource that names none, or two versions of one.
pub fn needed_providers(spec: &Spec) -> Result<Vec<NeededProvider>, Failure> {
    let mut all: Vec<NeededProvider> = Vec::new();
    for resource in spec.resources.iter().filter(|resource| resource.kind == ResourceType::terraform()) {
        let key = resource.key();
        let wrong = |what: String| {
            let form = form_of(&key.id);
            Failure::usage(format!("{key} names no provider"))
                .cause(what)
                .next(format!("provider = \"{form}\""))
        };
        let text = resource.extensions.get("provider").and_then(|value| value.as_str());
        let kind = key.id.parts().into_iter().nth(2);
        if text.is_none() && kind.as_deref() == Some("terraform_data") {
            continue;
        }
        let text = text.ok_or_else(|| wrong("it has no text `extensions.provider`".to_owned()))?;
        let (address, version) = read_provider(text).map_err(wrong)?;
        if address.is_built_in() {
            continue;
        }
        match all.iter_mut().find(|needed| needed.address == address) {
            None => all.push(NeededProvider { address, version, users: vec![key] }),
            Some(needed) if needed.version == version => needed.users.push(key),
            Some(needed) => {
                let other = needed.users.first().map(ToString::to_string).unwrap_or_default();
                return Err(Failure::usage(format!("two versions of {address} in one stack"))
                    .cause(format!("{other} wants {}, {key} wants {version}", needed.version))
                    .next("a stack uses one version of a provider"));
            }
        }
    }
    all.sort_by(|a, b| a.address.cmp(&b.address));
    Ok(all)
}

/// How a resource names its provider, as far as its id says it.
fn form_of(id: &ResourceId) -> String {
    match &id.parts()[..] {
        [namespace, name, ..] => format!("{DEFAULT_HOST}/{namespace}/{name}/VERSION"),
        _ => format!("{DEFAULT_HOST}/NAMESPACE/NAME/VERSION"),
    }
}

/// The lock file of a project.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    /// What is locked.
    pub lock: Lock,
    read: Option<String>,
}

impl LockFile {
    /// Reads the lock file beside a project; one that is not there locks nothing.
    ///
    /// # Errors
    /// A file that cannot be read or is no lock file.
    pub fn open(project: &Path) -> Result<LockFile, Failure> {
        let path = project.join(LOCK_FILE);
        let wrong = |what: String| {
            let next = "mend it, or remove it and lock anew: kusion provider lock";
            Failure::usage("the lock file of providers cannot be read")
                .cause(what)
                .place(path.display().to_string())
                .next(next)
        };
        let read = match std::fs::read_to_string(&path) {
            Ok(text) => Some(text),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => None,
            Err(e) => return Err(wrong(e.to_string())),
        };
        let lock = Lock::parse(read.as_deref().unwrap_or_default()).map_err(wrong)?;
        Ok(LockFile { path, lock, read })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes it if it says something else than before. Returns whether it did.
    ///
    /// # Errors
    /// A disk that does not take it.
    pub fn save(&mut self) -> Result<bool, Failure> {
        let text = self.lock.to_text();
        let is_nothing = self.read.is_none() && self.lock == Lock::default();
        if is_nothing || self.read.as_ref() == Some(&text) {
            return Ok(false);
        }
        rim::replace(&self.path, text.as_bytes()).map_err(|e| {
            Failure::usage("the lock file of providers cannot be written")
                .cause(e.to_string())
                .place(self.path.display().to_string())
        })?;
        self.read = Some(text);
        Ok(true)
    }
}

/// A trouble of installing in the words of commands.
impl From<Trouble> for Failure {
    fn from(trouble: Trouble) -> Failure {
        let exit = match trouble.kind {
            Kind::Unreachable | Kind::Stalled | Kind::Truncated | Kind::Answer | Kind::Redirect => {
                Exit::Remote
            }
            Kind::Locked | Kind::Altered | Kind::Checksum | Kind::Signature => Exit::Denied,
            _ => Exit::Usage,
        };
        let failure = Failure::new(exit, "a provider is not to be had").cause(trouble.what);
        match trouble.next {
            Some(next) => failure.next(next),
            None => failure,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_named_with_its_version() {
        let (address, version) = read_provider("registry.terraform.io/hashicorp/random/3.9.0").unwrap();
        assert_eq!(
            (address.to_string().as_str(), version.to_string().as_str()),
            ("registry.terraform.io/hashicorp/random", "3.9.0")
        );
        for text in ["hashicorp/random/3.9.0", "registry.terraform.io/hashicorp/random/3.9.0"] {
            let asked = kusion_runtime_tf::Source::parse(text).unwrap();
            assert_eq!(read_provider(text).unwrap().0.to_string(), asked.address, "one default everywhere");
        }
        assert_eq!(DEFAULT_HOST, tf_install::OPENTOFU);
        for wrong in ["random", "hashicorp/random", "a/b/c/d/1.0.0", "../x/1.0.0", "a/b/~> 1.0"] {
            assert!(read_provider(wrong).is_err(), "{wrong}");
        }
    }
}
