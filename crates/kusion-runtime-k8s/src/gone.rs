//! Deleting, and waiting for the end.

use std::time::Duration;

use futures::StreamExt;
use http::{Method, Request};
use kube::core::WatchEvent;
use kusion_runtime::{DeleteAsk, Deleted, ErrorKind, RuntimeError};
use serde_json::{Value, json};

use crate::api::query;
use crate::border::{self, Ended};
use crate::failure::from_client;
use crate::kinds::Asked;
use crate::runtime::{KubeRuntime, finalizers};

/// Controllers write at the same time.
const ROUNDS: usize = 5;

/// What has the name of an object that is known by its uid.
pub(crate) enum Same {
    Here(Value),
    /// Proved: nobody.
    Gone,
    /// Another object.
    MadeAnew(Value),
}

impl KubeRuntime {
    pub(crate) async fn delete_one(&self, ask: DeleteAsk<'_>) -> Result<Deleted, RuntimeError> {
        // The definition is gone, and its objects with it.
        let Some((id, kind)) = self.recorded_kind(ask.key).await? else { return Ok(Deleted::Gone) };
        let asked = kind.one(self.home_of(&id, ask.prior), &id.name);
        let mut version = ask.version.map(str::to_owned);
        for _ in 0..ROUNDS {
            let options = delete_options(ask.uid, version.as_deref());
            let body = Some(("application/json", serde_json::to_vec(&options).unwrap_or_default()));
            let answer = self.api.call(Method::DELETE, &asked.path(), body).await?;
            match border::ended(&asked, ask.uid, answer) {
                Ok(Ended::Gone) => return Ok(Deleted::Gone),
                Ok(Ended::Accepted) => {
                    return Ok(Deleted::Leaving { held_by: Vec::new(), message: None });
                }
                Ok(Ended::Leaving(object)) => return Ok(leaving(&object)),
                Err(error) if error.kind == ErrorKind::UnknownKind => {
                    let unserved = self.api.prove_unserved(&kind, error).await?;
                    return unserved.nowhere(&kind).map(|()| Deleted::Gone);
                }
                // Another object may have the name now, so that the one we meant is gone; or somebody wrote since we looked,
                // and it may be another stack's by now.
                Err(error) if error.kind == ErrorKind::Conflict && ask.uid.is_some() => {
                    let object = match self.read_same(&asked, ask.uid).await? {
                        Same::Here(object) => object,
                        Same::Gone => return Ok(Deleted::Gone),
                        Same::MadeAnew(_) => return Ok(Deleted::MadeAnew),
                    };
                    self.check_owner(&object)?;
                    let found = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                    version = found.map(str::to_owned);
                }
                Err(error) => return Err(error),
            }
        }
        Err(RuntimeError::new(
            ErrorKind::Conflict,
            "others keep writing this object; it could not be deleted",
        ))
    }

    /// Asks for the end of an object that a list did not show, in a dry run: a list may be an old one that something in between has
    /// kept, and what is forgotten is nobody's any more. Who may not delete reads instead.
    pub(crate) async fn prove_one_gone(&self, ask: DeleteAsk<'_>) -> Result<Deleted, RuntimeError> {
        let Some((id, kind)) = self.recorded_kind(ask.key).await? else { return Ok(Deleted::Gone) };
        let asked = kind.one(self.home_of(&id, ask.prior), &id.name);
        let options = delete_options(ask.uid, None);
        let body = Some(("application/json", serde_json::to_vec(&options).unwrap_or_default()));
        let answer = self.api.call(Method::DELETE, &format!("{}?dryRun=All", asked.path()), body).await?;
        let found = match border::is_there(&asked, &answer) {
            Ok(found) => found,
            Err(error) if error.kind == ErrorKind::UnknownKind => {
                let unserved = self.api.prove_unserved(&kind, error).await?;
                return unserved.nowhere(&kind).map(|()| Deleted::Gone);
            }
            Err(error) if matches!(error.kind, ErrorKind::Conflict | ErrorKind::Forbidden) => {
                match self.read_same(&asked, ask.uid).await? {
                    Same::Here(_) => true,
                    Same::Gone => false,
                    Same::MadeAnew(_) => return Ok(Deleted::MadeAnew),
                }
            }
            Err(error) => return Err(error),
        };
        match found {
            false => Ok(Deleted::Gone),
            true => Err(RuntimeError::new(
                ErrorKind::Unexpected,
                "the cluster did not list it when the plan was made, but it is there; make the plan again",
            )),
        }
    }

    pub(crate) async fn wait_until_gone(
        &self,
        ask: DeleteAsk<'_>,
        limit: Duration,
    ) -> Result<Deleted, RuntimeError> {
        let Some((id, kind)) = self.recorded_kind(ask.key).await? else { return Ok(Deleted::Gone) };
        let namespace = self.home_of(&id, ask.prior);
        let asked = kind.one(namespace, &id.name);
        let object = match self.read_same(&asked, ask.uid).await? {
            Same::Here(object) => object,
            Same::Gone => return Ok(Deleted::Gone),
            Same::MadeAnew(_) => return Ok(Deleted::MadeAnew),
        };
        let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default();
        let path = format!(
            "{}?watch=true&fieldSelector=metadata.name%3D{}&resourceVersion={}&timeoutSeconds={}",
            kind.collection(namespace),
            query(&id.name),
            query(version),
            limit.as_secs().max(1)
        );
        // Whatever ends the watch, one last look tells the truth.
        let _ = tokio::time::timeout(limit, self.until_deleted(&path)).await;
        Ok(match self.read_same(&asked, ask.uid).await? {
            Same::Here(object) => leaving(&object),
            Same::Gone => Deleted::Gone,
            Same::MadeAnew(_) => Deleted::MadeAnew,
        })
    }

    /// Reads an object that is known by its uid.
    pub(crate) async fn read_same(&self, asked: &Asked<'_>, uid: Option<&str>) -> Result<Same, RuntimeError> {
        let Some(object) = self.api.object(asked).await? else { return Ok(Same::Gone) };
        let found = object.pointer("/metadata/uid").and_then(Value::as_str);
        let other = uid.is_some() && uid != found;
        Ok(if other { Same::MadeAnew(object) } else { Same::Here(object) })
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

/// Only the object that was looked at, as it was then. Without a policy a Job would leave its pods behind.
fn delete_options(uid: Option<&str>, version: Option<&str>) -> Value {
    let mut options = json!({"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"});
    if let Some(uid) = uid {
        options["preconditions"] = json!({"uid": uid});
        if let Some(version) = version {
            options["preconditions"]["resourceVersion"] = json!(version);
        }
    }
    options
}

fn leaving(object: &Value) -> Deleted {
    Deleted::Leaving { held_by: finalizers(object), message: left_in(object) }
}

/// What a namespace says about what is left in it.
fn left_in(object: &Value) -> Option<String> {
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
