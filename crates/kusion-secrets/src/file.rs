//! Secrets in a YAML or JSON file that only its owner can read: `db: {password: …}` for `ref://db/password`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use base_secret::SecretValue;
use base_yaml::{Data, Limits, Node};
use futures::future::BoxFuture;
use kusion_model::SecretRef;
use zeroize::Zeroizing;

use crate::{LARGEST, Refusal, SecretError, SecretStore, no_version};

pub(crate) struct FileStore {
    path: PathBuf,
}

impl FileStore {
    pub(crate) fn new(path: PathBuf) -> Self {
        FileStore { path }
    }

    fn read(&self) -> Result<Zeroizing<String>, SecretError> {
        let shown = self.path.display();
        let meta = std::fs::metadata(&self.path).map_err(|e| {
            SecretError::new(Refusal::Unavailable, format!("{shown} cannot be read: {e}"))
                .next("write the file, or correct `path` of the store")
        })?;
        let mode = meta.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(SecretError::new(
                Refusal::Denied,
                format!("others can read {shown} (mode {mode:03o})"),
            )
            .next(format!("chmod 600 {shown}")));
        }
        if meta.len() > LARGEST as u64 {
            return Err(SecretError::new(Refusal::Unusable, format!("{shown} is larger than 1 MiB")));
        }
        let text = std::fs::read_to_string(&self.path);
        text.map(Zeroizing::new)
            .map_err(|e| SecretError::new(Refusal::Unavailable, format!("{shown} cannot be read: {e}")))
    }

    fn find(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let text = self.read()?;
        let shown = self.path.display();
        // The parser's message may quote the text, and the text is secret: only the line is told.
        let documents =
            base_yaml::parse_documents(&text, &Limits { depth: 32, nodes: 100_000, strict_keys: true })
                .map_err(|e| {
                    SecretError::new(Refusal::Unusable, format!("{shown}:{} is not YAML", e.line))
                })?;
        let missing = |what: String| SecretError::new(Refusal::NotFound, format!("{shown} has no {what}"));
        let root = documents.first().ok_or_else(|| missing(format!("`{}`", reference.name)))?;
        let by_steps = || reference.name.split('/').try_fold(root, entry);
        let secret = entry(root, &reference.name).or_else(by_steps);
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

fn entry<'n>(node: &'n Node, key: &str) -> Option<&'n Node> {
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
        format!("file {}", self.path.display())
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
        let store = FileStore::new(path.clone());
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
