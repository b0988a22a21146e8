//! Reading live objects: one list per kind and namespace.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::{StreamExt, TryStreamExt};
use kube_meaning::id::KubeId;
use kusion_model::{Observed, ResourceKey};
use kusion_runtime::{ErrorKind, ObserveAsk, RuntimeError};
use serde_json::Value;

use crate::kinds::Kind;
use crate::runtime::{KubeRuntime, object_of, parse};

/// How many lists run at once.
const LISTS: usize = 8;

/// What was found in one collection.
type Found = Vec<(ResourceKey, Observed)>;

/// What is wanted from one collection, by name.
struct Batch {
    kind: Arc<Kind>,
    namespace: String,
    names: Names,
}

/// One object may be known under several ids.
type Names = BTreeMap<String, Vec<(ResourceKey, KubeId)>>;

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
        check_uids(all.iter().flatten())?;
        Ok(all.into_iter().flatten().collect())
    }

    async fn batches(&self, asks: &[ObserveAsk<'_>]) -> Result<Vec<Batch>, RuntimeError> {
        let mut batches: BTreeMap<(String, String, String), Batch> = BTreeMap::new();
        // Whose kind the cluster does not have: nothing is there. Of a recorded one that takes more than a look at its version.
        let mut unknown = BTreeSet::new();
        for ask in asks {
            let id = parse(&ask.key)?;
            let named = (id.api_version.clone(), id.kind.clone(), ask.prior.is_some());
            if unknown.contains(&named) {
                continue;
            }
            let kind = match ask.prior {
                Some(_) => self.kinds.reachable(&self.api, &id).await?,
                None => self.kinds.get(&self.api, &id).await?,
            };
            let Some(kind) = kind else {
                unknown.insert(named);
                continue;
            };
            let namespace =
                if kind.namespaced { self.home_of(&id, ask.prior).to_owned() } else { String::new() };
            let place = (kind.api_version.clone(), kind.kind.clone(), namespace.clone());
            let batch =
                batches.entry(place).or_insert_with(|| Batch { kind, namespace, names: BTreeMap::new() });
            batch.names.entry(id.name.clone()).or_default().push((ask.key.clone(), id));
        }
        Ok(batches.into_values().collect())
    }

    /// What is absent from the answer is proved not to exist.
    async fn read_batch(&self, batch: Batch) -> Result<Found, RuntimeError> {
        let Batch { kind, namespace, names } = batch;
        let objects = match self.read_names(&kind, &namespace, &names).await {
            // A kind that we know without asking, in a version that this cluster does not serve any more.
            Err(error) if error.kind == ErrorKind::UnknownKind => {
                match self.kinds.elsewhere(&self.api, &kind.api_version, &kind.kind).await? {
                    Some(kind) => self.read_names(&kind, &namespace, &names).await?,
                    None => return Ok(Vec::new()),
                }
            }
            other => other?,
        };
        let mut found = Vec::new();
        for object in objects {
            let name = object.pointer("/metadata/name").and_then(Value::as_str);
            let Some((last, others)) = name.and_then(|name| names.get(name)?.split_last()) else { continue };
            let observed = self.observed(object);
            let placed = |(key, id): &(ResourceKey, KubeId), observed: Observed| {
                (key.clone(), self.placed(observed, id, &kind, &namespace))
            };
            found.extend(others.iter().map(|known| placed(known, observed.clone())));
            found.push(placed(last, observed));
        }
        Ok(found)
    }

    async fn read_names(
        &self,
        kind: &Kind,
        namespace: &str,
        names: &Names,
    ) -> Result<Vec<Value>, RuntimeError> {
        match names.keys().next() {
            Some(name) if names.len() == 1 => {
                Ok(self.api.object(&kind.one(namespace, name)).await?.into_iter().collect())
            }
            _ => Ok(self.api.list(kind, namespace).await?.items),
        }
    }
}

/// A uid belongs to one object: whoever gives it to two shows neither. One object in two groups has one kind and one name.
fn check_uids<'f>(found: impl Iterator<Item = &'f (ResourceKey, Observed)>) -> Result<(), RuntimeError> {
    let mut first: BTreeMap<&str, &(ResourceKey, Observed)> = BTreeMap::new();
    for one in found {
        let (key, observed) = one;
        let Some(uid) = observed.uid.as_deref() else { continue };
        let (other, seen) = *first.entry(uid).or_insert(one);
        if !std::ptr::eq(seen, observed) && name_of(seen) != name_of(observed) {
            let text = format!(
                "the API server shows `{other}` and `{key}` with one uid ({uid}), so it cannot be believed"
            );
            return Err(RuntimeError::new(ErrorKind::Unreadable, text));
        }
    }
    Ok(())
}

fn name_of(observed: &Observed) -> [String; 3] {
    let object = object_of(observed);
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    ["/kind", "/metadata/namespace", "/metadata/name"].map(text)
}
