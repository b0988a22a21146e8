//! The witness of a stack's log: one ConfigMap with lineage, serial and hash of its head.

use std::sync::Arc;

use futures::future::BoxFuture;
use http::Method;
use kusion_model::{Head, ReleaseNo, Scope, sha256_hex};
use kusion_runtime::{ErrorKind, RuntimeError, Witness};
use serde_json::{Value, json};

use crate::KubeRuntime;
use crate::api::query;
use crate::apply::APPLY;
use crate::border::{Written, ended, page, written};
use crate::kinds::{Kind, builtin_kind};

/// The manager of the witness's fields, apart from those of the stack.
const MANAGER: &str = "kusion-witness";

fn config_maps() -> Result<Kind, RuntimeError> {
    builtin_kind("v1", "ConfigMap")
        .ok_or_else(|| RuntimeError::new(ErrorKind::Unexpected, "ConfigMap is not among the known kinds"))
}

/// The witness of one stack, in a namespace of its cluster.
pub struct KubeWitness {
    runtime: Arc<KubeRuntime>,
    at: ConfigMap,
}

/// Where the witness is kept.
struct ConfigMap {
    namespace: String,
    name: String,
}

impl KubeWitness {
    /// Keeps the witness of a stack in a namespace.
    #[must_use]
    pub fn new(runtime: Arc<KubeRuntime>, namespace: &str, scope: &Scope) -> Self {
        KubeWitness { runtime, at: ConfigMap { namespace: namespace.to_owned(), name: name_of(scope) } }
    }

    /// Looks for the witnesses of a stack in all namespaces, with one read: its name is known, only its namespace is not.
    ///
    /// # Errors
    /// What the server says; forbidden where the user may not list ConfigMaps of the whole cluster.
    pub async fn find(runtime: &Arc<KubeRuntime>, scope: &Scope) -> Result<Vec<KubeWitness>, RuntimeError> {
        let (kind, name) = (config_maps()?, name_of(scope));
        let selector = query(&format!("metadata.name={name}"));
        let path = format!("{}?fieldSelector={selector}", kind.collection(""));
        let once = || async { page(&kind, "", runtime.api.get(&path).await?) };
        let found = runtime.api.patiently(once).await?.items;
        let named = |object: &Value, pointer: &str| object.pointer(pointer)?.as_str().map(str::to_owned);
        let own = found.iter().filter(|object| named(object, "/metadata/name").as_ref() == Some(&name));
        let namespaces = own.filter_map(|object| named(object, "/metadata/namespace"));
        Ok(namespaces.map(|namespace| KubeWitness::new(Arc::clone(runtime), &namespace, scope)).collect())
    }
}

/// The name of a stack's witness: readable, and another for every stack.
fn name_of(scope: &Scope) -> String {
    let text = format!("{}.{}.{}", scope.project, scope.stack, scope.workspace);
    let plain = |c: char| if c.is_ascii_lowercase() || c.is_ascii_digit() || c == '.' { c } else { '-' };
    let mut readable: String = text.to_lowercase().chars().map(plain).collect();
    readable.truncate(200);
    let parts = readable.split('.').map(|part| part.trim_matches('-')).filter(|part| !part.is_empty());
    let digest = &sha256_hex(text.as_bytes())[..8];
    let parts: Vec<&str> = ["kusion-state"].into_iter().chain(parts).chain([digest]).collect();
    parts.join(".")
}

fn object(at: &ConfigMap, head: &Head) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {
            "name": at.name, "namespace": at.namespace, "labels": {"app.kubernetes.io/managed-by": MANAGER},
        },
        "data": {
            "lineage": head.lineage, "serial": head.serial.to_string(), "hash": head.hash,
            "release": head.release.to_string(),
        },
    })
}

/// Reads a witness; a ConfigMap that is none is a failed read, not an absence.
fn head_of(body: &Value, at: &ConfigMap) -> Result<Head, RuntimeError> {
    let text = |name: &str| body.pointer("/data")?.get(name)?.as_str().map(str::to_owned);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let head = || {
        let release = ReleaseNo(number("release")?);
        let (lineage, hash) = (text("lineage")?, text("hash")?);
        Some(Head { lineage, serial: number("serial")?, hash, release, seal: None })
    };
    head().ok_or_else(|| {
        let text = format!("ConfigMap {}/{} is not the witness that was written", at.namespace, at.name);
        RuntimeError::new(ErrorKind::Unexpected, text)
    })
}

impl Witness for KubeWitness {
    fn place(&self) -> String {
        format!("ConfigMap {}/{}", self.at.namespace, self.at.name)
    }

    fn recall(&self) -> BoxFuture<'_, Result<Option<Head>, RuntimeError>> {
        Box::pin(async move {
            let (runtime, at) = (&self.runtime, &self.at);
            let kind = config_maps()?;
            let found = runtime.api.object(&kind.one(&at.namespace, &at.name)).await?;
            found.map(|object| head_of(&object, at)).transpose()
        })
    }

    fn remember<'a>(&'a self, head: &'a Head) -> BoxFuture<'a, Result<bool, RuntimeError>> {
        Box::pin(async move {
            let (runtime, at) = (&self.runtime, &self.at);
            let kind = config_maps()?;
            let asked = kind.one(&at.namespace, &at.name);
            let path = format!("{}?fieldManager={MANAGER}&force=true", asked.path());
            let body = object(at, head).to_string().into_bytes();
            // Applying it twice is applying it once, so troubles that pass are waited out as for a read.
            let once = || async {
                let mut answer = runtime.api.call(Method::PATCH, &path, Some((APPLY, body.clone()))).await?;
                match written(&asked, &mut answer, Written::Stored) {
                    Ok(_) => Ok(true),
                    // No namespace yet, or one that is going away.
                    Err(error) if error.kind == ErrorKind::ParentMissing => Ok(false),
                    Err(error) => Err(error),
                }
            };
            runtime.api.patiently(once).await
        })
    }

    fn forget(&self) -> BoxFuture<'_, Result<(), RuntimeError>> {
        Box::pin(async move {
            let (runtime, at) = (&self.runtime, &self.at);
            let kind = config_maps()?;
            let asked = kind.one(&at.namespace, &at.name);
            let path = asked.path();
            let once = || async {
                let answer = runtime.api.call(Method::DELETE, &path, None).await?;
                ended(&asked, None, answer).map(|_| ())
            };
            runtime.api.patiently(once).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_witness_is_believed() {
        let at = ConfigMap { namespace: "n".into(), name: "w".into() };
        let (lineage, hash, release) = ("l".into(), "h".into(), ReleaseNo(2));
        let head = Head { lineage, serial: 7, hash, release, seal: None };
        let good = object(&at, &head);
        assert_eq!(head_of(&good, &at).unwrap(), head);
        for wrong in [json!({}), json!({"kind": "ConfigMap"}), json!("<html>")] {
            assert!(head_of(&wrong, &at).is_err(), "{wrong}");
        }
    }

    #[test]
    fn names_are_names_of_objects_and_differ_for_different_stacks() {
        let name = |project: &str, stack: &str| {
            name_of(&Scope { project: project.into(), stack: stack.into(), workspace: "default".into() })
        };
        assert!(name("shop", "dev").starts_with("kusion-state.shop.dev.default."));
        assert_ne!(name("Shop", "dev"), name("shop", "dev"));
        for odd in ["_x", "ÄÖ", "a--", "-", "A.B"] {
            let name = name(odd, "dev_1");
            let good = |part: &str| {
                !part.is_empty() && !part.starts_with('-') && !part.ends_with('-') && part.is_ascii()
            };
            assert!(name.split('.').all(good), "{name}");
        }
    }
}
