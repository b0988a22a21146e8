//! Shared watches: one per kind and namespace, feeding one snapshot.
//!
//! In: paths of collections. Out: a [`Snapshot`] that follows the cluster, and a signal at each change. A watch starts with a
//! list, resumes from the last version it saw, and lists again when the server has forgotten that version, and every 30 s.

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

use crate::api::{Api, query};
use crate::border::watched;
use crate::failure::from_client;
use crate::kinds::Kind;

const PAUSE: Duration = Duration::from_secs(1);
/// A watch can be accepted and stay silent for ever (a proxy, a server that lost its own watch), and silence looks like peace. So
/// what it says is trusted this long; then a list tells.
const TRUST: Duration = Duration::from_secs(30);

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

/// What to watch: all objects of a kind in a namespace, or in the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Collection {
    pub(crate) kind: Arc<Kind>,
    pub(crate) namespace: String,
}

impl Collection {
    pub(crate) fn path(&self) -> String {
        self.kind.collection(&self.namespace)
    }

    /// Whether an object lies in it: a collection of one namespace holds no other's.
    fn holds(&self, object: &Value) -> bool {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        text("/kind") == Some(&self.kind.kind)
            && text("/apiVersion") == Some(&self.kind.api_version)
            && (!self.kind.namespaced || text("/metadata/namespace") == Some(&self.namespace))
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
        tasks.entry(collection.path()).or_insert_with(|| {
            tokio::spawn(async move {
                loop {
                    // A watch that ends or breaks begins again; the pause keeps a dead server from being hammered.
                    if let Err(error) = follow(&api, &shared, &collection).await {
                        if error.kind == ErrorKind::Forbidden {
                            shared.hide(&collection, &error.message);
                        }
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

    /// Notes that a collection may not be read: who waits is told why nobody knows more.
    fn hide(&self, collection: &Collection, why: &str) {
        if self.lock().hide(&collection.kind.kind, &collection.namespace, why) {
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
                collection.holds(object) && version(object) <= listed && !named.contains(&key(object))
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

/// Lists, then watches until the stream fails or the list is old. An event about something else ends it too: then a list tells
/// the truth.
async fn follow(api: &Api, shared: &Shared, collection: &Collection) -> Result<(), RuntimeError> {
    let old = tokio::time::Instant::now() + TRUST;
    let (kind, namespace) = (&*collection.kind, collection.namespace.as_str());
    let whole = api.list(kind, namespace).await?;
    let mut from = whole.version;
    if from.is_empty() {
        return Err(RuntimeError::new(ErrorKind::UnknownKind, "the kind is not served yet"));
    }
    shared.lock().reveal(&kind.kind, namespace);
    shared.forget_missing(collection, &whole.items, from.parse().unwrap_or(0));
    whole.items.into_iter().for_each(|item| shared.insert(item));
    loop {
        let path = format!(
            "{}?watch=true&allowWatchBookmarks=true&timeoutSeconds=290&resourceVersion={}",
            collection.path(),
            query(&from)
        );
        let unexpected = |e: http::Error| RuntimeError::new(ErrorKind::Unexpected, e.to_string());
        let request = Request::builder().uri(path).body(Vec::new()).map_err(unexpected)?;
        let begun = tokio::time::timeout_at(old, api.client.request_events::<Value>(request)).await;
        let Ok(events) = begun else { return Ok(()) };
        let mut events = std::pin::pin!(events.map_err(from_client)?);
        let mut silent = true;
        while let Some(event) = match tokio::time::timeout_at(old, events.next()).await {
            Ok(event) => event,
            Err(_) => return Ok(()),
        } {
            silent = false;
            match event.map_err(from_client)? {
                WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                    from = watched(kind, namespace, &object)?;
                    shared.insert(object);
                }
                WatchEvent::Deleted(object) => {
                    from = watched(kind, namespace, &object)?;
                    shared.remove(&object);
                }
                WatchEvent::Bookmark(mark) => from.clone_from(&mark.metadata.resource_version),
                WatchEvent::Error(status) => {
                    return Err(RuntimeError::new(ErrorKind::Server, status.message));
                }
            }
        }
        // A watch that ends before it has said anything may be none: it is not asked for without a pause.
        if silent {
            tokio::time::sleep(PAUSE).await;
        }
    }
}
