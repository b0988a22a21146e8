//! Shared watches: one per kind and namespace, feeding one snapshot.
//!
//! In: paths of collections. Out: a [`Snapshot`] that follows the cluster, and a signal at each change. A watch starts with a
//! list, resumes from the last version it saw, and lists again when the server has forgotten that version.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::StreamExt;
use http::Request;
use kube::core::WatchEvent;
use kusion_health::Snapshot;
use kusion_runtime::{ErrorKind, RuntimeError};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::api::{Api, segment};
use crate::failure::from_client;

const PAUSE: Duration = Duration::from_secs(1);

/// The snapshot and those who keep it fresh; dropping it ends the watches.
pub(crate) struct Watches {
    api: Api,
    shared: Arc<Shared>,
    tasks: Mutex<BTreeMap<String, JoinHandle<()>>>,
}

struct Shared {
    snapshot: Mutex<Snapshot>,
    version: watch::Sender<u64>,
}

/// What to watch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Collection {
    pub(crate) path: String,
    pub(crate) api_version: String,
    pub(crate) kind: String,
}

impl Collection {
    /// Whether an object of its kind lies in it: a collection of one namespace holds no other's.
    fn holds(&self, object: &Value) -> bool {
        let Some((_, rest)) = self.path.split_once("/namespaces/") else { return true };
        let Some((namespace, _)) = rest.split_once('/') else { return true };
        object
            .pointer("/metadata/namespace")
            .and_then(Value::as_str)
            .is_some_and(|at| segment(at) == namespace)
    }
}

impl Watches {
    pub(crate) fn new(api: Api) -> Self {
        let shared = Shared { snapshot: Mutex::new(Snapshot::new()), version: watch::Sender::new(0) };
        Watches { api, shared: Arc::new(shared), tasks: Mutex::default() }
    }

    /// Looks at the snapshot.
    pub(crate) fn with<T>(&self, look: impl FnOnce(&Snapshot) -> T) -> T {
        look(&self.shared.lock())
    }

    /// Puts in an object that we know from elsewhere, unless the watch knows a newer one.
    pub(crate) fn insert(&self, object: Value) {
        self.shared.insert(object);
    }

    /// Returns a receiver that changes with the snapshot.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.shared.version.subscribe()
    }

    /// Starts watching a collection, once.
    pub(crate) fn ensure(&self, collection: Collection) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let (api, shared) = (self.api.clone(), Arc::clone(&self.shared));
        tasks.entry(collection.path.clone()).or_insert_with(|| {
            tokio::spawn(async move {
                loop {
                    // A watch that ends or breaks begins again; the pause keeps a dead server from being hammered.
                    if follow(&api, &shared, &collection).await.is_err() {
                        tokio::time::sleep(PAUSE).await;
                    }
                }
            })
        });
    }
}

impl Drop for Watches {
    fn drop(&mut self) {
        for task in self.tasks.lock().unwrap_or_else(PoisonError::into_inner).values() {
            task.abort();
        }
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Snapshot> {
        self.snapshot.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn insert(&self, object: Value) {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let group = text("/apiVersion").split_once('/').map_or("", |(group, _)| group);
        let mut snapshot = self.lock();
        let known = snapshot.get(group, text("/kind"), text("/metadata/namespace"), text("/metadata/name"));
        let stale = known.is_some_and(|known| {
            known.pointer("/metadata/uid") == object.pointer("/metadata/uid")
                && version(known) > version(&object)
        });
        if !stale {
            snapshot.insert(object);
            drop(snapshot);
            self.signal();
        }
    }

    fn remove(&self, object: &Value) {
        self.lock().remove(object);
        self.signal();
    }

    /// Takes out what a list does not name any more: it went while nobody watched. What was written after the list stays.
    fn forget_missing(&self, collection: &Collection, items: &[Value], listed: u64) {
        let name_of =
            |object: &Value, at: &str| object.pointer(at).and_then(Value::as_str).map(str::to_owned);
        let key =
            |object: &Value| (name_of(object, "/metadata/namespace"), name_of(object, "/metadata/name"));
        let named: BTreeSet<_> = items.iter().map(key).collect();
        let mut snapshot = self.lock();
        let gone: Vec<Value> = snapshot
            .objects()
            .filter(|object| {
                object["kind"] == *collection.kind
                    && object["apiVersion"] == *collection.api_version
                    && collection.holds(object)
                    && version(object) <= listed
                    && !named.contains(&key(object))
            })
            .cloned()
            .collect();
        gone.iter().for_each(|object| snapshot.remove(object));
        drop(snapshot);
        if !gone.is_empty() {
            self.signal();
        }
    }

    fn signal(&self) {
        self.version.send_modify(|version| *version += 1);
    }
}

/// The counter of the store, comparable within one cluster.
fn version(object: &Value) -> u64 {
    let text = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// Lists, then watches until the stream ends or fails.
async fn follow(api: &Api, shared: &Shared, collection: &Collection) -> Result<(), RuntimeError> {
    let mut list = api.get(&collection.path).await?.ok()?;
    let mut from =
        list.pointer("/metadata/resourceVersion").and_then(Value::as_str).unwrap_or_default().to_owned();
    if let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) {
        shared.forget_missing(collection, &items, from.parse().unwrap_or(0));
        for mut item in items {
            if let Some(map) = item.as_object_mut() {
                map.insert("apiVersion".to_owned(), Value::String(collection.api_version.clone()));
                map.insert("kind".to_owned(), Value::String(collection.kind.clone()));
            }
            shared.insert(item);
        }
    }
    loop {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={from}",
            collection.path
        );
        let unexpected = |e: http::Error| RuntimeError::new(ErrorKind::Unexpected, e.to_string());
        let request = Request::builder().uri(path).body(Vec::new()).map_err(unexpected)?;
        let events = api.client.request_events::<Value>(request).await.map_err(from_client)?;
        let mut events = std::pin::pin!(events);
        while let Some(event) = events.next().await {
            match event.map_err(from_client)? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    from = version(&object).to_string();
                    shared.insert(object);
                }
                WatchEvent::Deleted(object) => {
                    from = version(&object).to_string();
                    shared.remove(&object);
                }
                WatchEvent::Bookmark(mark) => from.clone_from(&mark.metadata.resource_version),
                WatchEvent::Error(status) => {
                    return Err(RuntimeError::new(ErrorKind::Server, status.message));
                }
            }
        }
    }
}
