//! One look at objects and at what tells about their health, and the logs of a container.

use std::collections::BTreeMap;

use http::{Method, Request};
use kube::client::Body;
use kusion_health::Snapshot;
use kusion_model::{ResourceKey, ResourceRecord};
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;

use crate::api::segment;
use crate::failure::from_client;
use crate::health::evidence;
use crate::runtime::{KubeRuntime, parse};
use crate::watch::Collection;

/// Which log to read.
#[derive(Clone, Debug, Default)]
pub struct LogAsk {
    pub namespace: String,
    pub pod: String,
    pub container: String,
    /// The run before the last restart.
    pub previous: bool,
    pub tail: u32,
}

/// What to look at, and what the state has of it.
pub type LookAsk<'a> = (&'a ResourceKey, Option<&'a ResourceRecord>);

impl KubeRuntime {
    /// Lists the collections of these resources and those in which their causes show, each once.
    ///
    /// # Errors
    /// The first request that fails; a collection is empty only if that is proved.
    pub async fn look(&self, asked: &[LookAsk<'_>]) -> Result<Snapshot, RuntimeError> {
        let mut collections: BTreeMap<String, (Collection, bool)> = BTreeMap::new();
        for &(key, record) in asked {
            let id = parse(key)?;
            let kind = match record {
                Some(_) => self.kinds.reachable(&self.api, &id).await?,
                None => self.kinds.get(&self.api, &id).await?,
            };
            let Some(kind) = kind else { continue };
            let namespace = self.home_of(&id, record);
            let own = Collection { kind, namespace: namespace.to_owned() };
            collections.insert(own.path(), (own, true));
            for collection in evidence(&id.kind, namespace) {
                collections.entry(collection.path()).or_insert((collection, false));
            }
        }
        let mut snapshot = Snapshot::new();
        for (collection, own) in collections.into_values() {
            let whole = match self.api.list(&collection.kind, &collection.namespace).await {
                // Who may read the objects of a stack may still not read what lies around them.
                Err(error) if !own && error.kind == ErrorKind::Forbidden => {
                    snapshot.hide(&collection.kind.kind, &collection.namespace, &error.message);
                    continue;
                }
                other => other?,
            };
            whole.items.into_iter().for_each(|item| snapshot.insert(item));
        }
        Ok(snapshot)
    }

    /// Reads the end of a container's log.
    ///
    /// # Errors
    /// What the server says, e.g. that the container has not started.
    pub async fn log(&self, ask: &LogAsk) -> Result<String, RuntimeError> {
        let path = format!(
            "/api/v1/namespaces/{}/pods/{}/log?container={}&tailLines={}&previous={}",
            segment(&ask.namespace),
            segment(&ask.pod),
            segment(&ask.container),
            ask.tail,
            ask.previous
        );
        let unexpected = |e: http::Error| RuntimeError::new(ErrorKind::Unexpected, e.to_string());
        let request =
            Request::builder().method(Method::GET).uri(path).body(Body::empty()).map_err(unexpected)?;
        let response = self.api.client.send(request).await.map_err(from_client)?;
        let ok = response.status().is_success();
        let bytes = response.into_body().collect_bytes().await.map_err(from_client)?;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if ok {
            return Ok(text);
        }
        let message = serde_json::from_str::<Value>(&text)
            .ok()
            .and_then(|status| status.get("message").and_then(Value::as_str).map(str::to_owned));
        Err(RuntimeError::new(ErrorKind::NotFound, message.unwrap_or(text)))
    }
}
