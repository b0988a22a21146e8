//! Secrets in files: name, then property, then value (`db: {password: …}` for `ref://db/password`), as YAML or JSON. A file in
//! clear must be one that only its owner can read; one that age or SOPS has encrypted may lie anywhere.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use base_secret::SecretValue;
use base_yaml::{Data, Limits, Node};
use futures::future::BoxFuture;
use kusion_model::SecretRef;
use zeroize::Zeroizing;

use crate::{LARGEST, Refusal, SecretError, SecretStore, age, no_version, sops};

/// How a file is kept.
pub(crate) enum Kind {
    /// In clear, for its owner only.
    Clear,
    /// As a whole, by age.
    Age,
    /// Value by value, by SOPS.
    Sops,
}

pub(crate) struct FileStore {
    path: PathBuf,
    kind: Kind,
    /// The file of identities, where one is needed.
    identities: Option<PathBuf>,
}

fn unreadable(path: &Path, error: &std::io::Error) -> SecretError {
    SecretError::new(Refusal::Unavailable, format!("{} cannot be read: {error}", path.display()))
        .next("write the file, or correct `path` of the store")
}

/// Reads a file of secrets that nobody else may read.
pub(crate) fn read_private(path: &Path) -> Result<Zeroizing<String>, SecretError> {
    let shown = path.display();
    let meta = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    let mode = meta.permissions().mode() & 0o777;
    if mode & 0o077 != 0 {
        return Err(SecretError::new(Refusal::Denied, format!("others can read {shown} (mode {mode:03o})"))
            .next(format!("chmod 600 {shown}")));
    }
    let bytes = read(path)?;
    let text = String::from_utf8(bytes.to_vec()).map(Zeroizing::new);
    text.map_err(|_| SecretError::new(Refusal::Unusable, format!("{shown} is not UTF-8")))
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>, SecretError> {
    let meta = std::fs::metadata(path).map_err(|e| unreadable(path, &e))?;
    if meta.len() > LARGEST as u64 {
        let message = format!("{} is larger than 1 MiB", path.display());
        return Err(SecretError::new(Refusal::Unusable, message));
    }
    std::fs::read(path).map(Zeroizing::new).map_err(|e| unreadable(path, &e))
}

/// Reads one document. The parser's message may quote the text, and the text is secret: only the line is told.
pub(crate) fn document(text: &str, shown: &str) -> Result<Node, SecretError> {
    let limits = Limits { depth: 32, nodes: 100_000, strict_keys: true, ..Limits::default() };
    let unusable = |what: String| SecretError::new(Refusal::Unusable, what);
    let documents = base_yaml::parse_documents(text, &limits)
        .map_err(|e| unusable(format!("{shown}:{} is not YAML", e.line)))?;
    let mut documents = documents.into_iter();
    match (documents.next(), documents.next()) {
        (Some(root), None) => Ok(root),
        (None, _) => Err(unusable(format!("{shown} is empty"))),
        (Some(_), Some(_)) => Err(unusable(format!("{shown} has several documents; one is read"))),
    }
}

impl FileStore {
    pub(crate) fn new(path: PathBuf, kind: Kind, identities: Option<PathBuf>) -> Self {
        FileStore { path, kind, identities }
    }

    fn identities(&self) -> Result<Vec<age::Identity>, SecretError> {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let usual = match self.kind {
            Kind::Sops => set("SOPS_AGE_KEY_FILE").or_else(|| {
                let config = set("XDG_CONFIG_HOME").or_else(|| Some(set("HOME")?.join(".config")));
                Some(config?.join("sops/age/keys.txt"))
            }),
            Kind::Age | Kind::Clear => set("KUSION_AGE_IDENTITY_FILE"),
        };
        let file = self.identities.clone().or(usual).ok_or_else(|| {
            SecretError::new(Refusal::Denied, format!("nobody says who opens {}", self.path.display())).next(
                "write `identityFile` into the settings of the store, or export KUSION_AGE_IDENTITY_FILE",
            )
        })?;
        age::identities(&file)
    }

    fn root(&self) -> Result<Node, SecretError> {
        let shown = self.path.display().to_string();
        let fault = |what: String, kind: Refusal| SecretError::new(kind, format!("{shown}: {what}"));
        match self.kind {
            Kind::Clear => document(&read_private(&self.path)?, &shown),
            Kind::Age => {
                let plain = age::decrypt(&read(&self.path)?, &self.identities()?);
                let plain = plain.map_err(|found| fault(found.to_string(), refusal(found)))?;
                let text = std::str::from_utf8(&plain);
                document(text.map_err(|_| fault("it is not UTF-8".to_owned(), Refusal::Unusable))?, &shown)
            }
            Kind::Sops => {
                let bytes = read(&self.path)?;
                let text = std::str::from_utf8(&bytes);
                let text = text.map_err(|_| fault("it is not UTF-8".to_owned(), Refusal::Unusable))?;
                let tree = document(text, &shown)?;
                let opened = sops::decrypt(&tree, &self.identities()?);
                opened.map_err(|found| fault(found.to_string(), found.refusal()))
            }
        }
    }

    fn find(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let (root, shown) = (self.root()?, self.path.display());
        let missing = |what: String| SecretError::new(Refusal::NotFound, format!("{shown} has no {what}"));
        let by_steps = || reference.name.split('/').try_fold(&root, entry);
        let secret = entry(&root, &reference.name).or_else(by_steps);
        let secret = secret.ok_or_else(|| missing(format!("`{}`", reference.name)))?;
        let value = entry(secret, &reference.property)
            .ok_or_else(|| missing(format!("`{}` under `{}`", reference.property, reference.name)))?;
        match &value.value {
            Data::Str(text) if !text.is_empty() => Ok(SecretValue::from(text.clone())),
            Data::Int(number) => Ok(SecretValue::from(number.to_string())),
            Data::Bool(value) => Ok(SecretValue::from(value.to_string())),
            _ => Err(SecretError::new(
                Refusal::Unusable,
                format!("`{}` under `{}` in {shown} is no text", reference.property, reference.name),
            )
            .next("write the value in quotes")),
        }
    }
}

pub(crate) fn refusal(fault: age::AgeFault) -> Refusal {
    if fault == age::AgeFault::NoIdentity { Refusal::Denied } else { Refusal::Unusable }
}

pub(crate) fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
    match &node.value {
        Data::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
        _ => None,
    }
}

impl SecretStore for FileStore {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(async move {
            no_version(reference, "a file")?;
            self.find(reference)
        })
    }

    fn describe(&self) -> String {
        let kind = match self.kind {
            Kind::Clear => "file",
            Kind::Age => "age file",
            Kind::Sops => "SOPS file",
        };
        format!("{kind} {}", self.path.display())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn parse(text: &str) -> SecretRef {
        SecretRef::parse(text).unwrap().unwrap()
    }

    #[tokio::test]
    async fn values_are_found_and_an_open_file_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secrets.yaml");
        fs::write(&path, "db:\n  password: hunter2\n  port: 5432\nteam:\n  shop: {key: deep}\n").unwrap();
        let store = FileStore::new(path.clone(), Kind::Clear, None);
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
        let error = store.get(&parse("ref://db/password")).await.unwrap_err();
        assert_eq!(error.kind, Refusal::Denied);
        assert!(error.message.contains("mode 644") && error.next.unwrap().starts_with("chmod 600"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        for (text, value) in
            [("ref://db/password", "hunter2"), ("ref://db/port", "5432"), ("ref://team/shop/key", "deep")]
        {
            assert_eq!(store.get(&parse(text)).await.unwrap().expose_text(), Some(value));
        }
        let error = store.get(&parse("ref://db/user")).await.unwrap_err();
        assert_eq!(error.kind, Refusal::NotFound);
        fs::write(&path, "db: {password: [hunter2\n").unwrap();
        let error = store.get(&parse("ref://db/password")).await.unwrap_err();
        assert!(error.kind == Refusal::Unusable && !error.message.contains("hunter2"), "{error}");
    }
}
