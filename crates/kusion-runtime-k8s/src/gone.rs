//! Deleting, and waiting for the end.

use std::time::Duration;

use futures::StreamExt;
use http::{Method, Request};
use kube::core::WatchEvent;
use kusion_runtime::{DeleteAsk, Deleted, ErrorKind, RuntimeError};
use serde_json::{Value, json};

use crate::api::segment;
use crate::failure::{from_client, is_absent};
use crate::runtime::{KubeRuntime, finalizers};

impl KubeRuntime {
    pub(crate) async fn delete_one(&self, ask: DeleteAsk<'_>) -> Result<Deleted, RuntimeError> {
        let (id, kind) = match self.kind_of(ask.key).await {
            Ok(found) => found,
            // The definition is gone, and its objects with it.
            Err(error) if error.kind == ErrorKind::UnknownKind => return Ok(Deleted::Gone),
            Err(error) => return Err(error),
        };
        // Without a policy a Job would leave its pods behind.
        let mut options =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
        if let Some(uid) = ask.uid {
            options["preconditions"] = json!({"uid": uid});
        }
        let body = serde_json::to_vec(&options).unwrap_or_default();
        let path = kind.object(self.namespace_of(&id), &id.name);
        let answer = self.api.call(Method::DELETE, &path, Some(("application/json", body))).await?;
        match answer.ok() {
            Ok(body) if body.get("kind").and_then(Value::as_str) == Some("Status") => Ok(Deleted::Gone),
            Ok(object) => Ok(leaving(&object)),
            Err(error) if is_absent(&error) => Ok(Deleted::Gone),
            // Another object may have the name now, so that the one we meant is gone; or somebody wrote at the same moment.
            Err(error) if error.kind == ErrorKind::Conflict && ask.uid.is_some() => {
                match self.read_same(&path, ask.uid).await? {
                    None => Ok(Deleted::Gone),
                    Some(_) => Err(error),
                }
            }
            Err(error) => Err(error),
        }
    }

    pub(crate) async fn wait_until_gone(
        &self,
        ask: DeleteAsk<'_>,
        limit: Duration,
    ) -> Result<Deleted, RuntimeError> {
        let (id, kind) = match self.kind_of(ask.key).await {
            Ok(found) => found,
            Err(error) if error.kind == ErrorKind::UnknownKind => return Ok(Deleted::Gone),
            Err(error) => return Err(error),
        };
        let namespace = self.namespace_of(&id);
        let object_path = kind.object(namespace, &id.name);
        let Some(object) = self.read_same(&object_path, ask.uid).await? else { return Ok(Deleted::Gone) };
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let path = format!(
            "{}?watch=true&fieldSelector=metadata.name%3D{}&resourceVersion={version}&timeoutSeconds={}",
            kind.collection(namespace),
            segment(&id.name),
            limit.as_secs().max(1)
        );
        // Whatever ends the watch, one last look tells the truth.
        let _ = tokio::time::timeout(limit, self.until_deleted(&path)).await;
        match self.read_same(&object_path, ask.uid).await? {
            None => Ok(Deleted::Gone),
            Some(object) => Ok(leaving(&object)),
        }
    }

    /// Reads an object; `None` if it is gone or another one has its name.
    async fn read_same(&self, path: &str, uid: Option<&str>) -> Result<Option<Value>, RuntimeError> {
        match self.api.get(path).await?.ok() {
            Ok(object) => {
                let found = object.pointer("/metadata/uid").and_then(Value::as_str);
                Ok(if uid.is_some() && uid != found { None } else { Some(object) })
            }
            Err(error) if is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn until_deleted(&self, path: &str) -> Result<(), RuntimeError> {
        let unexpected = |e: http::Error| RuntimeError::new(ErrorKind::Unexpected, e.to_string());
        let request = Request::builder().uri(path).body(Vec::new()).map_err(unexpected)?;
        let events = self.api.client.request_events::<Value>(request).await.map_err(from_client)?;
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            if matches!(event.map_err(from_client)?, WatchEvent::Deleted(_) | WatchEvent::Error(_)) {
                break;
            }
        }
        Ok(())
    }
}

fn leaving(object: &Value) -> Deleted {
    Deleted::Leaving { finalizers: finalizers(object), message: held_by(object) }
}

/// What a namespace says about what is left in it.
fn held_by(object: &Value) -> Option<String> {
    let conditions = object.pointer("/status/conditions")?.as_array()?;
    let telling = |condition: &&Value| {
        condition["status"] == "True"
            && matches!(
                condition["type"].as_str(),
                Some(
                    "NamespaceContentRemaining"
                        | "NamespaceFinalizersRemaining"
                        | "NamespaceDeletionContentFailure"
                )
            )
    };
    let texts: Vec<&str> =
        conditions.iter().filter(telling).filter_map(|condition| condition["message"].as_str()).collect();
    (!texts.is_empty()).then(|| texts.join("; "))
}
