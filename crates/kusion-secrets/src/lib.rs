//! Stores of secrets.
//!
//! Also here: what hides the keys of a state ([`AgeKey`], [`Transit`], [`Kms`]).
//!
//! In: a reference (`ref://NAME/PROPERTY`), the settings of stores. Out: a [`SecretValue`], or an error that says what to do.
//! Invariants: a value that is not there is an error, never an empty text; an error never holds a value; nothing is written
//! anywhere. Deliberately not here: the Kubernetes store (kusion-runtime-k8s has the client), and when references are
//! resolved (kusion).
//!
//! Start reading with [`SecretStore`], then [`Stores`].

#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod age;
mod aws;
mod command;
mod env;
mod file;
pub mod oidc;
mod services;
mod sigv4;
pub mod sops;
mod vault;
mod web;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base_secret::SecretValue;
use futures::StreamExt as _;
use futures::future::BoxFuture;
use kusion_model::{Provider, SecretRef, StoreConfig};

pub use command::COMMANDS;
pub use env::variable_of;
pub use services::{AgeKey, Kms, Transit};

/// So many secrets are asked for at the same time.
const AT_ONCE: usize = 8;
/// No store gets longer for one secret.
const LIMIT: Duration = Duration::from_secs(60);
/// Larger answers are a mistake.
pub(crate) const LARGEST: usize = 1 << 20;

/// A place where secrets are kept.
pub trait SecretStore: Send + Sync {
    /// Fetches one value.
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>>;

    /// Writes a new value. Most stores are written elsewhere.
    fn set<'a>(
        &'a self,
        _reference: &'a SecretRef,
        _value: &'a SecretValue,
    ) -> BoxFuture<'a, Result<(), SecretError>> {
        let message = format!("{} is not written from here", self.describe());
        let error = SecretError::new(Refusal::Unusable, message);
        Box::pin(async { Err(error.next("change the value where it is kept, then `kusion apply`")) })
    }

    /// Says what it is, for people: `vault https://vault:8200 (secret, v2)`.
    fn describe(&self) -> String;
}

/// Why a secret is not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretError {
    pub kind: Refusal,
    pub message: String,
    /// What a person can do about it.
    pub next: Option<String>,
}

/// The kinds of refusals; scripts tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The store says that there is no such secret, property or version.
    NotFound,
    /// The store does not let us read it, or does not know us.
    Denied,
    /// The store cannot be reached, or fails.
    Unavailable,
    /// The settings, or what the store holds, cannot be used.
    Unusable,
}

impl Refusal {
    /// The word for it in documents.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Refusal::NotFound => "not-found",
            Refusal::Denied => "denied",
            Refusal::Unavailable => "unavailable",
            Refusal::Unusable => "unusable",
        }
    }
}

impl SecretError {
    /// Makes an error.
    pub fn new(kind: Refusal, message: impl Into<String>) -> Self {
        SecretError { kind, message: message.into(), next: None }
    }

    /// Adds what to do.
    #[must_use]
    pub fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }
}

impl fmt::Display for SecretError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SecretError {}

/// The stores of a stack, by name; the default one has the empty name.
#[derive(Clone, Default)]
pub struct Stores(BTreeMap<String, Arc<dyn SecretStore>>);

impl Stores {
    /// Adds a store.
    pub fn insert(&mut self, name: &str, store: Arc<dyn SecretStore>) {
        self.0.insert(name.to_owned(), store);
    }

    /// Returns all stores with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Arc<dyn SecretStore>)> {
        self.0.iter().map(|(name, store)| (name.as_str(), store))
    }

    /// Returns the store that a reference means.
    ///
    /// # Errors
    /// A store that nobody has set up.
    pub fn of(&self, reference: &SecretRef) -> Result<&Arc<dyn SecretStore>, SecretError> {
        let name = reference.store.as_deref().unwrap_or_default();
        self.0.get(name).ok_or_else(|| {
            let (message, next) = match name {
                "" => (
                    "no secret store is set up".to_owned(),
                    "add `secretStore: {provider: {env: {}}}` (or file, age, sops, command, kubernetes, vault, aws) to project.yaml".to_owned(),
                ),
                name => {
                    let known: Vec<&str> = self.0.keys().map(String::as_str).filter(|name| !name.is_empty()).collect();
                    let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
                    (
                        format!("there is no secret store `{name}`"),
                        format!("name it under `secretStores:` in project.yaml (there now: {known})"),
                    )
                }
            };
            SecretError::new(Refusal::Unusable, message).next(next)
        })
    }

    /// Fetches one value, in a bounded time.
    ///
    /// # Errors
    /// Why it is not to be had.
    pub async fn get(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        let store = self.of(reference)?;
        let late =
            || SecretError::new(Refusal::Unavailable, format!("no answer within {} s", LIMIT.as_secs()));
        let began = Instant::now();
        let answer = tokio::time::timeout(LIMIT, store.get(reference)).await.unwrap_or_else(|_| Err(late()));
        told("get", reference, store.as_ref(), answer.as_ref().err(), began);
        answer
    }

    /// Writes one value, in a bounded time.
    ///
    /// # Errors
    /// Why it cannot be written.
    pub async fn set(&self, reference: &SecretRef, value: &SecretValue) -> Result<(), SecretError> {
        let store = self.of(reference)?;
        if reference.version.is_some() {
            return Err(SecretError::new(Refusal::Unusable, "a version that exists is not written again")
                .next("leave `version=` out of the reference"));
        }
        let late = || {
            let message = format!("no answer within {} s; it may have been written", LIMIT.as_secs());
            SecretError::new(Refusal::Unavailable, message)
        };
        let began = Instant::now();
        let answer = tokio::time::timeout(LIMIT, store.set(reference, value)).await;
        let answer = answer.unwrap_or_else(|_| Err(late()));
        told("set", reference, store.as_ref(), answer.as_ref().err(), began);
        answer
    }

    /// Fetches many values, each once.
    ///
    /// # Errors
    /// Every reference that cannot be resolved, with its reason.
    pub async fn resolve(
        &self,
        references: &BTreeSet<SecretRef>,
    ) -> Result<BTreeMap<SecretRef, SecretValue>, Vec<(SecretRef, SecretError)>> {
        let ask = |reference: SecretRef| async move {
            let answer = self.get(&reference).await;
            (reference, answer)
        };
        let asked: Vec<_> = references.iter().cloned().map(ask).collect();
        let answers: Vec<_> = futures::stream::iter(asked).buffered(AT_ONCE).collect().await;
        let (mut found, mut refused) = (BTreeMap::new(), Vec::new());
        for (reference, answer) in answers {
            match answer {
                Ok(value) => _ = found.insert(reference, value),
                Err(error) => refused.push((reference, error)),
            }
        }
        if refused.is_empty() { Ok(found) } else { Err(refused) }
    }
}

/// Tells who listens which store was asked for what: never what it answered.
fn told(what: &str, of: &SecretRef, store: &dyn SecretStore, refused: Option<&SecretError>, began: Instant) {
    if log::log_enabled!(log::Level::Debug) {
        let how = refused.map_or(String::new(), |error| format!(", {}", error.kind.word()));
        let ms = began.elapsed().as_millis();
        log::debug!("secret store {}: {what} {of}{how} in {ms} ms", store.describe());
    }
}

/// Opens a store; `None` for one that only a platform can serve (Kubernetes). Nothing is asked yet.
///
/// # Errors
/// Settings that cannot be used on this machine.
pub fn open(config: &StoreConfig, folder: &Path) -> Result<Option<Arc<dyn SecretStore>>, SecretError> {
    Ok(Some(match &config.provider {
        Provider::Env { prefix } => Arc::new(env::EnvStore::new(prefix)),
        Provider::File { path } => Arc::new(file::FileStore::new(folder.join(path), file::Kind::Clear, None)),
        Provider::Age { path, identity_file } => {
            let identities = identity_file.as_ref().map(|file| folder.join(file));
            Arc::new(file::FileStore::new(folder.join(path), file::Kind::Age, identities))
        }
        Provider::Sops { path, identity_file } => {
            let identities = identity_file.as_ref().map(|file| folder.join(file));
            Arc::new(file::FileStore::new(folder.join(path), file::Kind::Sops, identities))
        }
        Provider::Aws(config) => Arc::new(aws::AwsStore::new(config)?),
        Provider::Command { command, timeout_seconds } => {
            Arc::new(command::CommandStore::new(command.clone(), *timeout_seconds, folder))
        }
        Provider::Vault(vault) => Arc::new(vault::VaultStore::new(vault.clone(), folder)?),
        Provider::Kubernetes { .. } => return Ok(None),
    }))
}

/// A secret in the environment. From now on no other program that we start gets it with its environment.
pub(crate) fn variable(name: &str) -> Option<SecretValue> {
    let value = std::env::var(name).ok().filter(|value| !value.is_empty())?;
    base_secret::keep_from_children(name);
    Some(SecretValue::from(value))
}

/// A value that nobody can guess: letters and digits, as every program takes them.
///
/// # Errors
/// No random numbers.
pub fn generate(length: usize) -> Result<SecretValue, SecretError> {
    const LETTERS: &[u8; 62] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    let mut value = Vec::with_capacity(length);
    while value.len() < length {
        let mut bytes = zeroize::Zeroizing::new([0; 64]);
        getrandom::fill(bytes.as_mut_slice()).map_err(|e| {
            SecretError::new(Refusal::Unavailable, format!("there are no random numbers: {e}"))
        })?;
        // 248 is the last multiple of 62: beyond it some letters would come more often.
        let letters = bytes.iter().filter(|byte| **byte < 248).map(|byte| LETTERS[usize::from(byte % 62)]);
        value.extend(letters.take(length - value.len()));
    }
    Ok(SecretValue::new(value))
}

/// Refuses a version where a store keeps none.
pub fn no_version(reference: &SecretRef, store: &str) -> Result<(), SecretError> {
    match &reference.version {
        None => Ok(()),
        Some(_) => Err(SecretError::new(Refusal::Unusable, format!("{store} keeps no versions"))
            .next("leave `version=` out of the reference")),
    }
}

/// Finds a property: the key itself, else a path of keys with dots between them.
pub(crate) fn property<'v>(value: &'v serde_json::Value, name: &str) -> Option<&'v serde_json::Value> {
    value.get(name).or_else(|| {
        name.split('.').try_fold(value, |at, step| match at {
            serde_json::Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        })
    })
}

/// A property as a secret: texts as they are, everything else as JSON.
pub(crate) fn secret_of(value: &serde_json::Value) -> Option<SecretValue> {
    match value {
        serde_json::Value::Null => None,
        serde_json::Value::String(text) => Some(SecretValue::from(text.clone())),
        other => Some(SecretValue::from(other.to_string())),
    }
}
