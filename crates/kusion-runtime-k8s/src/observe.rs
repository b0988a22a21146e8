//! Reading live objects: one list per kind and namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{StreamExt, TryStreamExt};
use kusion_model::{Observed, ResourceKey};
use kusion_runtime::{ObserveAsk, RuntimeError};
use serde_json::Value;

use crate::failure::is_absent;
use crate::kinds::Kind;
use crate::runtime::{KubeRuntime, parse};

/// How many lists run at once.
const LISTS: usize = 8;
/// Large, because a list is one request for the server however long it is; pages only bound what a giant namespace costs.
const PAGE: usize = 5000;

/// What was found in one collection.
type Found = Vec<(ResourceKey, Observed)>;

/// What is wanted from one collection, by name.
struct Batch {
    kind: Arc<Kind>,
    namespace: String,
    names: BTreeMap<String, ResourceKey>,
}

impl KubeRuntime {
    pub(crate) async fn observe_all(
        &self,
        asks: &[ObserveAsk],
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

    async fn batches(&self, asks: &[ObserveAsk]) -> Result<Vec<Batch>, RuntimeError> {
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
            let namespace = if kind.namespaced { self.namespace_of(&id).to_owned() } else { String::new() };
            let place = (id.api_version.clone(), id.kind.clone(), namespace.clone());
            let batch =
                batches.entry(place).or_insert_with(|| Batch { kind, namespace, names: BTreeMap::new() });
            batch.names.insert(id.name, ask.key.clone());
        }
        Ok(batches.into_values().collect())
    }

    async fn read_batch(&self, batch: Batch) -> Result<Vec<(ResourceKey, Observed)>, RuntimeError> {
        let result = match batch.names.len() {
            1 => self.read_one(&batch).await,
            _ => self.read_list(&batch).await,
        };
        match result {
            Err(error) if is_absent(&error) => Ok(Vec::new()),
            other => other,
        }
    }

    async fn read_one(&self, batch: &Batch) -> Result<Vec<(ResourceKey, Observed)>, RuntimeError> {
        let mut found = Vec::new();
        for (name, key) in &batch.names {
            let object = self.api.get(&batch.kind.object(&batch.namespace, name)).await?.ok()?;
            found.push((key.clone(), self.observed(object)));
        }
        Ok(found)
    }

    async fn read_list(&self, batch: &Batch) -> Result<Vec<(ResourceKey, Observed)>, RuntimeError> {
        let path = batch.kind.collection(&batch.namespace);
        let mut found = Vec::new();
        let mut next = String::new();
        loop {
            let token = if next.is_empty() { String::new() } else { format!("&continue={next}") };
            let answer = self.api.get(&format!("{path}?limit={PAGE}{token}")).await?;
            // The pages got too old while we read: begin again, without pages.
            if answer.code == 410 {
                let whole = self.api.get(&path).await?.ok()?;
                found.clear();
                self.take_items(batch, whole, &mut found);
                return Ok(found);
            }
            let mut list = answer.ok()?;
            let token = list.pointer_mut("/metadata/continue").map(Value::take);
            next = token.and_then(|token| token.as_str().map(str::to_owned)).unwrap_or_default();
            self.take_items(batch, list, &mut found);
            if next.is_empty() {
                return Ok(found);
            }
        }
    }

    fn take_items(&self, batch: &Batch, mut list: Value, found: &mut Vec<(ResourceKey, Observed)>) {
        let Some(Value::Array(items)) = list.get_mut("items").map(Value::take) else { return };
        for mut item in items {
            let name = item.pointer("/metadata/name").and_then(Value::as_str);
            let Some(key) = name.and_then(|name| batch.names.get(name)) else { continue };
            // Items of built-in lists do not say what they are.
            if let Some(map) = item.as_object_mut() {
                map.insert("apiVersion".to_owned(), Value::String(batch.kind.api_version.clone()));
                map.insert("kind".to_owned(), Value::String(batch.kind.kind.clone()));
            }
            found.push((key.clone(), self.observed(item)));
        }
    }
}
