//! The witness of a stack's log: one ConfigMap with lineage, serial and hash of its head.

use futures::future::BoxFuture;
use http::Method;
use kusion_model::{Head, ReleaseNo};
use kusion_runtime::{ErrorKind, RuntimeError, Witness, WitnessPlace};
use serde_json::{Value, json};

use crate::KubeRuntime;
use crate::apply::APPLY;
use crate::border::{Written, ended, written};
use crate::kinds::{Kind, builtin_kind};

/// The manager of the witness's fields, apart from those of the stack.
const MANAGER: &str = "kusion-witness";

fn config_maps() -> Result<Kind, RuntimeError> {
    builtin_kind("v1", "ConfigMap")
        .ok_or_else(|| RuntimeError::new(ErrorKind::Unexpected, "ConfigMap is not among the known kinds"))
}

fn object(at: &WitnessPlace, head: &Head) -> Value {
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
fn head_of(body: &Value, at: &WitnessPlace) -> Result<Head, RuntimeError> {
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

impl Witness for KubeRuntime {
    fn recall<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<Option<Head>, RuntimeError>> {
        Box::pin(async move {
            let kind = config_maps()?;
            let found = self.api.object(&kind.one(&at.namespace, &at.name)).await?;
            found.map(|object| head_of(&object, at)).transpose()
        })
    }

    fn remember<'a>(
        &'a self,
        at: &'a WitnessPlace,
        head: &'a Head,
    ) -> BoxFuture<'a, Result<bool, RuntimeError>> {
        Box::pin(async move {
            let kind = config_maps()?;
            let asked = kind.one(&at.namespace, &at.name);
            let path = format!("{}?fieldManager={MANAGER}&force=true", asked.path());
            let body = object(at, head).to_string().into_bytes();
            // Applying it twice is applying it once, so troubles that pass are waited out as for a read.
            let once = || async {
                let mut answer = self.api.call(Method::PATCH, &path, Some((APPLY, body.clone()))).await?;
                match written(&asked, &mut answer, Written::Stored) {
                    Ok(_) => Ok(true),
                    // No namespace yet, or one that is going away.
                    Err(error) if error.kind == ErrorKind::ParentMissing => Ok(false),
                    Err(error) => Err(error),
                }
            };
            self.api.patiently(once).await
        })
    }

    fn forget<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(async move {
            let kind = config_maps()?;
            let asked = kind.one(&at.namespace, &at.name);
            let path = asked.path();
            let once = || async {
                let answer = self.api.call(Method::DELETE, &path, None).await?;
                ended(&asked, None, answer).map(|_| ())
            };
            self.api.patiently(once).await
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_witness_is_believed() {
        let at = WitnessPlace { namespace: "n".into(), name: "w".into() };
        let (lineage, hash, release) = ("l".into(), "h".into(), ReleaseNo(2));
        let head = Head { lineage, serial: 7, hash, release, seal: None };
        let good = object(&at, &head);
        assert_eq!(head_of(&good, &at).unwrap(), head);
        for wrong in [json!({}), json!({"kind": "ConfigMap"}), json!("<html>")] {
            assert!(head_of(&wrong, &at).is_err(), "{wrong}");
        }
    }
}
