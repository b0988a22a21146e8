//! The runtime of one cluster.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::future::BoxFuture;
use kube_meaning::id::KubeId;
use kusion_model::{Attr, DigestKey, Live, Native, Observed, Proposal, ResourceKey, Unknowns, seal};
use kusion_runtime::{
    Applied, DeleteAsk, Deleted, DryRun, ErrorKind, IdentifyAsk, ObserveAsk, ProposeAsk, Runtime,
    RuntimeError, WriteAsk,
};
use serde_json::Value;

use crate::api::Api;
use crate::kinds::{Kind, Kinds, builtin_kind};
use crate::owner::ownership;
use crate::platform::sensitive_fields;
use crate::propose::Coming;

/// The name under which we own fields.
pub const FIELD_MANAGER: &str = "kusion";

/// The runtime of one cluster.
pub struct KubeRuntime {
    pub(crate) api: Api,
    pub(crate) kinds: Kinds,
    pub(crate) key: DigestKey,
    pub(crate) namespace: String,
    pub(crate) dry_run: DryRun,
    /// The stack whose objects these are.
    pub(crate) owner: Option<String>,
    pub(crate) coming: Mutex<Coming>,
    /// Which namespaces were found to be there, or not.
    pub(crate) homes: futures::lock::Mutex<BTreeMap<String, bool>>,
}

impl KubeRuntime {
    /// Makes the runtime of a client; `key` is the key of the stack's secret digests. Every request ends within `limit`.
    #[must_use]
    pub fn new(client: kube::Client, key: DigestKey, limit: Duration) -> Self {
        let namespace = client.default_namespace().to_owned();
        KubeRuntime {
            api: Api::new(client, limit),
            kinds: Kinds::default(),
            key,
            namespace,
            dry_run: DryRun::default(),
            owner: None,
            coming: Mutex::default(),
            homes: futures::lock::Mutex::default(),
        }
    }

    /// Marks every object that is applied as belonging to this stack.
    #[must_use]
    pub fn with_owner(mut self, owner: String) -> Self {
        self.owner = Some(owner);
        self
    }

    /// Chooses what the server is asked about before anything is written.
    #[must_use]
    pub fn with_dry_run(mut self, dry_run: DryRun) -> Self {
        self.dry_run = dry_run;
        self
    }

    /// Returns the uid of `kube-system`, by which a cluster is known whatever it is called; `None` if it may not be read.
    ///
    /// # Errors
    /// A cluster that cannot be asked.
    pub async fn cluster_uid(&self) -> Result<Option<String>, RuntimeError> {
        let Some(namespaces) = builtin_kind("v1", "Namespace") else { return Ok(None) };
        match self.api.object(&namespaces.one("", "kube-system")).await {
            Ok(found) => Ok(found.and_then(|found| self.observed(found).uid)),
            Err(error) if error.kind == ErrorKind::Forbidden => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns the namespace of objects that name none.
    #[must_use]
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// Returns how many requests were sent so far, watches apart.
    #[must_use]
    pub fn n_requests(&self) -> usize {
        self.api.n_requests.load(std::sync::atomic::Ordering::Relaxed)
    }

    /// Where an object is to live; an object without a namespace goes to the context's own.
    pub(crate) fn namespace_of<'a>(&'a self, id: &'a KubeId) -> &'a str {
        id.namespace.as_deref().unwrap_or(&self.namespace)
    }

    pub(crate) async fn kind_of(&self, key: &ResourceKey) -> Result<(KubeId, Arc<Kind>), RuntimeError> {
        let id = parse(key)?;
        match self.kinds.get(&self.api, &id).await? {
            Some(kind) => Ok((id, kind)),
            None => Err(unknown_kind(&id)),
        }
    }

    /// The kind in which a recorded object can be reached; `None` if it is proved that it has none, and so no objects.
    pub(crate) async fn recorded_kind(
        &self,
        key: &ResourceKey,
    ) -> Result<Option<(KubeId, Arc<Kind>)>, RuntimeError> {
        let id = parse(key)?;
        let kind = self.kinds.reachable(&self.api, &id).await?;
        Ok(kind.map(|kind| (id, kind)))
    }

    /// Takes an object of the server.
    pub(crate) fn observed(&self, object: Value) -> Observed {
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(str::to_owned);
        let (version, uid) = (text("/metadata/resourceVersion"), text("/metadata/uid"));
        let terminating = text("/metadata/deletionTimestamp").map(|_| finalizers(&object));
        let owner = ownership(&object);
        let attributes = Live::new(Arc::new(KubeObject { object, key: self.key.clone() }));
        Observed { attributes, version, uid, owner, terminating, kept: None }
    }
}

/// A live object as the server sent it. It is never printed or stored; its tree is.
struct KubeObject {
    object: Value,
    key: DigestKey,
}

impl Native for KubeObject {
    fn tree(&self) -> Attr {
        let mut tree = Attr::from(&self.object);
        let sensitive = sensitive_fields(&tree);
        seal(&mut tree, &sensitive, &self.key, &mut Vec::new());
        tree
    }
}

/// The object as the server has it, secrets and all.
pub(crate) fn object_of(observed: &Observed) -> Cow<'_, Value> {
    match observed.attributes.native::<KubeObject>() {
        Some(native) => Cow::Borrowed(&native.object),
        None => Cow::Owned(observed.attributes.tree().expose(Unknowns::LeaveOut).unwrap_or_default()),
    }
}

pub(crate) fn parse(key: &ResourceKey) -> Result<KubeId, RuntimeError> {
    KubeId::from_parts(key.id.parts()).map_err(|e| RuntimeError::new(ErrorKind::Invalid, e.to_string()))
}

pub(crate) fn unknown_kind(id: &KubeId) -> RuntimeError {
    let text = format!(
        "the cluster does not know `{}` in `{}`; is its CustomResourceDefinition installed?",
        id.kind, id.api_version
    );
    RuntimeError::new(ErrorKind::UnknownKind, text)
}

pub(crate) fn finalizers(object: &Value) -> Vec<String> {
    let of = |pointer: &str| object.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default();
    let all = of("/metadata/finalizers").into_iter().chain(
        of("/spec/finalizers")
            .into_iter()
            .filter(|_| object.get("kind").and_then(Value::as_str) == Some("Namespace")),
    );
    all.filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

impl Runtime for KubeRuntime {
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>> {
        Box::pin(self.identify_all(asks))
    }

    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        Box::pin(self.observe_all(asks))
    }

    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        Box::pin(self.propose_all(asks))
    }

    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        Box::pin(self.apply_one(ask))
    }

    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(self.delete_one(ask))
    }

    fn prove_gone<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(self.prove_one_gone(ask))
    }

    fn release<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(self.release_one(ask))
    }

    fn wait_gone<'a>(
        &'a self,
        ask: DeleteAsk<'a>,
        limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(self.wait_until_gone(ask, limit))
    }
}
