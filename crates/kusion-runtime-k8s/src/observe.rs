//! Reading live objects: one list per kind and namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{StreamExt, TryStreamExt};
use kube_meaning::id::KubeId;
use kusion_model::{Observed, ResourceKey};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde_json::Value;

use crate::kinds::Kind;
use crate::runtime::{KubeRuntime, parse};

/// How many lists run at once.
const LISTS: usize = 8;

/// What was found in one collection.
type Found = Vec<(ResourceKey, Observed)>;

/// What is wanted from one collection, by name.
struct Batch {
    kind: Arc<Kind>,
    namespace: String,
    /// One object may be known under several ids.
    names: BTreeMap<String, Vec<(ResourceKey, KubeId)>>,
}

impl KubeRuntime {
    pub(crate) async fn observe_all(
        &self,
        asks: &[ObserveAsk<'_>],
    ) -> Result<BTreeMap<ResourceKey, Observed>, RuntimeError> {
        let batches = self.batches(asks).await?;
        let mut reads: Vec<BoxFuture<'_, Result<Found, RuntimeError>>> = Vec::new();
        for batch in batches {
            reads.push(Box::pin(self.read_batch(batch)));
        }
        let read = futures::stream::iter(reads).buffer_unordered(LISTS);
        let all: Vec<Found> = read.try_collect().await?;
        Ok(all.into_iter().flatten().collect())
    }

    async fn batches(&self, asks: &[ObserveAsk<'_>]) -> Result<Vec<Batch>, RuntimeError> {
        let mut batches: BTreeMap<(String, String, String), Batch> = BTreeMap::new();
        let mut unknown = BTreeSet::new();
        for ask in asks {
            let id = parse(&ask.key)?;
            let kind = (id.api_version.clone(), id.kind.clone());
            if unknown.contains(&kind) {
                continue;
            }
            // A kind that the cluster does not know has no objects.
            let Some(kind) = self.kinds.get(&self.api, &id).await? else {
                unknown.insert(kind);
                continue;
            };
            let namespace =
                if kind.namespaced { self.home_of(&id, ask.prior).to_owned() } else { String::new() };
            let place = (id.api_version.clone(), id.kind.clone(), namespace.clone());
            let batch =
                batches.entry(place).or_insert_with(|| Batch { kind, namespace, names: BTreeMap::new() });
            batch.names.entry(id.name.clone()).or_default().push((ask.key.clone(), id));
        }
        Ok(batches.into_values().collect())
    }

    /// What is absent from the answer is proved not to exist.
    async fn read_batch(&self, batch: Batch) -> Result<Found, RuntimeError> {
        let Batch { kind, namespace, names } = batch;
        let objects = match names.keys().next() {
            Some(name) if names.len() == 1 => {
                self.api.object(&kind.one(&namespace, name)).await?.into_iter().collect()
            }
            _ => self.api.list(&kind, &namespace).await?.items,
        };
        let mut found = Vec::new();
        for object in objects {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            let Some(known) = name.and_then(|name| names.get(name)) else { continue };
            let observed = self.observed(object);
            let placed = |(key, id): &(ResourceKey, KubeId)| {
                (key.clone(), self.placed(observed.clone(), id, &kind, &namespace))
            };
            found.extend(known.iter().map(placed));
        }
        Ok(found)
    }
}
