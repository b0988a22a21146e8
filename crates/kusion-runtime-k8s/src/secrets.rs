//! Secrets of the cluster as a store: `ref://NAME/KEY`, or `ref://NAMESPACE/NAME/KEY`.

use std::sync::Arc;

use base_secret::SecretValue;
use data_encoding::BASE64;
use futures::future::BoxFuture;
use kusion_model::SecretRef;
use kusion_runtime::ErrorKind;
use kusion_secrets::{Refusal, SecretError, SecretStore, no_version};
use serde_json::Value;

use crate::kinds::builtin_kind;
use crate::runtime::KubeRuntime;

/// The Secrets of one cluster.
pub struct KubeSecrets {
    runtime: Arc<KubeRuntime>,
    /// Of names without one.
    namespace: String,
}

impl KubeSecrets {
    /// Reads with the client of a runtime; names without a namespace are in the given one, else in that of the context.
    #[must_use]
    pub fn new(runtime: Arc<KubeRuntime>, namespace: Option<&str>) -> Self {
        let namespace = namespace.unwrap_or(runtime.namespace()).to_owned();
        KubeSecrets { runtime, namespace }
    }

    async fn fetch(&self, reference: &SecretRef) -> Result<SecretValue, SecretError> {
        no_version(reference, "a Kubernetes Secret")?;
        let (namespace, name) = reference.name.split_once('/').unwrap_or((&self.namespace, &reference.name));
        let missing = |what: String| SecretError::new(Refusal::NotFound, what);
        if name.contains('/') {
            let what = format!("`{}` is neither NAME nor NAMESPACE/NAME", reference.name);
            return Err(SecretError::new(Refusal::Unusable, what));
        }
        let Some(kind) = builtin_kind("v1", "Secret") else {
            return Err(SecretError::new(Refusal::Unusable, "this cluster has no Secrets"));
        };
        let object = self.runtime.api.object(&kind.one(namespace, name)).await.map_err(|error| {
            let kind = match error.kind {
                ErrorKind::Forbidden => Refusal::Denied,
                _ => Refusal::Unavailable,
            };
            SecretError::new(kind, format!("Secret {namespace}/{name} cannot be read: {}", error.message))
        })?;
        let object = object.ok_or_else(|| missing(format!("there is no Secret {namespace}/{name}")))?;
        let data = object.get("data").and_then(Value::as_object);
        let value = data.and_then(|data| data.get(&reference.property)).and_then(Value::as_str);
        let value = value.ok_or_else(|| {
            let names: Vec<&str> =
                data.into_iter().flat_map(|data| data.keys().map(String::as_str)).collect();
            missing(format!("Secret {namespace}/{name} has no `{}`", reference.property)).next(format!(
                "it has: {}",
                if names.is_empty() { "nothing".to_owned() } else { names.join(", ") }
            ))
        })?;
        let bytes = BASE64.decode(value.as_bytes()).map_err(|_| {
            SecretError::new(Refusal::Unusable, format!("Secret {namespace}/{name} is not base64"))
        })?;
        match bytes.is_empty() {
            true => Err(missing(format!("`{}` of Secret {namespace}/{name} is empty", reference.property))),
            false => Ok(SecretValue::new(bytes)),
        }
    }
}

impl SecretStore for KubeSecrets {
    fn get<'a>(&'a self, reference: &'a SecretRef) -> BoxFuture<'a, Result<SecretValue, SecretError>> {
        Box::pin(self.fetch(reference))
    }

    fn describe(&self) -> String {
        format!("Kubernetes Secrets (namespace {})", self.namespace)
    }
}
