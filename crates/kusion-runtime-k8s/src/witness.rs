//! The witness of a stack's log: one ConfigMap with lineage, serial and hash of its head.

use futures::future::BoxFuture;
use http::Method;
use kusion_model::{Head, ReleaseNo};
use kusion_runtime::{ErrorKind, RuntimeError, Witness, WitnessPlace};
use serde_json::{Value, json};

use crate::KubeRuntime;
use crate::api::segment;

/// The manager of the witness's fields, apart from those of the stack.
const MANAGER: &str = "kusion-witness";
const APPLY: &str = "application/apply-patch+yaml";

fn path(at: &WitnessPlace) -> String {
    format!("/api/v1/namespaces/{}/configmaps/{}", segment(&at.namespace), segment(&at.name))
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

/// Reads a witness; an answer that is none is a failed read, not an absence.
fn head_of(body: &Value, at: &WitnessPlace) -> Result<Head, RuntimeError> {
    let text = |name: &str| body.pointer("/data")?.get(name)?.as_str().map(str::to_owned);
    let number = |name: &str| text(name)?.parse::<u64>().ok();
    let is_it = body.get("kind").and_then(Value::as_str) == Some("ConfigMap")
        && body.pointer("/metadata/name").and_then(Value::as_str) == Some(at.name.as_str());
    let head = || {
        let release = ReleaseNo(number("release")?);
        Some(Head { lineage: text("lineage")?, serial: number("serial")?, hash: text("hash")?, release })
    };
    head().filter(|_| is_it).ok_or_else(|| {
        let text = format!("ConfigMap {}/{} is not the witness that was written", at.namespace, at.name);
        RuntimeError::new(ErrorKind::Unexpected, text)
    })
}

/// Whether an answer proves that the object, or its namespace, does not exist.
fn is_absent(code: u16, body: &Value) -> bool {
    let text = |name: &str| body.get(name).and_then(Value::as_str);
    code == 404 && text("kind") == Some("Status") && text("reason") == Some("NotFound")
}

impl Witness for KubeRuntime {
    fn recall<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<Option<Head>, RuntimeError>> {
        Box::pin(async move {
            let answer = self.api.get(&path(at)).await?;
            if is_absent(answer.code, &answer.body) {
                return Ok(None);
            }
            head_of(&answer.ok()?, at).map(Some)
        })
    }

    fn remember<'a>(
        &'a self,
        at: &'a WitnessPlace,
        head: &'a Head,
    ) -> BoxFuture<'a, Result<bool, RuntimeError>> {
        Box::pin(async move {
            let path = format!("{}?fieldManager={MANAGER}&force=true", path(at));
            let body = object(at, head).to_string().into_bytes();
            // Applying it twice is applying it once, so troubles that pass are waited out as for a read.
            let answer = self.api.ask(Method::PATCH, &path, Some((APPLY, body))).await?;
            // No namespace yet, or one that is going away.
            let terminating = answer.body.pointer("/details/causes/0/reason").and_then(Value::as_str)
                == Some("NamespaceTerminating");
            if is_absent(answer.code, &answer.body) || terminating {
                return Ok(false);
            }
            answer.ok().map(|_| true)
        })
    }

    fn forget<'a>(&'a self, at: &'a WitnessPlace) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(async move {
            let answer = self.api.ask(Method::DELETE, &path(at), None).await?;
            if is_absent(answer.code, &answer.body) { Ok(()) } else { answer.ok().map(|_| ()) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_witness_of_that_name_is_believed() {
        let at = WitnessPlace { namespace: "n".into(), name: "w".into() };
        let head = Head { lineage: "l".into(), serial: 7, hash: "h".into(), release: ReleaseNo(2) };
        let good = object(&at, &head);
        assert_eq!(head_of(&good, &at).unwrap(), head);
        let other = WitnessPlace { name: "x".into(), ..at.clone() };
        assert!(head_of(&good, &other).is_err());
        for wrong in [json!({}), json!({"kind": "ConfigMap"}), json!("<html>")] {
            assert!(head_of(&wrong, &at).is_err(), "{wrong}");
        }
        assert!(!is_absent(404, &json!("404 page not found")));
        assert!(!is_absent(200, &json!({"kind": "Status", "reason": "NotFound"})));
    }
}
