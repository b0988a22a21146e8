//! The runtime of all Terraform resources of one operation.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{StreamExt as _, iter};
use kusion_model::{Attr, DigestKey, Native, Observed, Proposal, ResourceId, ResourceKey, Spec};
use kusion_runtime::{
    Applied, DeleteAsk, Deleted, IdentifyAsk, ObserveAsk, ProposeAsk, Runtime, RuntimeError, WriteAsk,
};
use tf_host::{Resource, SchemaCache};
use tf_schema::Block;
use tf_value::Value;

use crate::attr::{PROVIDER, seal_known, sealed};
use crate::backend::Backend;
use crate::connection::Known;
use crate::draft::Draft;
use crate::ephemeral::{Slot, Troubles};
use crate::platform::TfPlatform;
use crate::pool::{Limits, Locate, Pool};
use crate::settings::{Role, Settings};
use crate::{Held, Source};

/// An object that was looked for.
type Look = Result<Option<(ResourceKey, Observed)>, RuntimeError>;

/// How many questions are on their way at the same time.
const AT_ONCE: usize = 32;

/// An object as it was last seen.
pub(crate) struct Seen {
    pub(crate) of: Arc<Resource>,
    pub(crate) state: Value,
    pub(crate) identity: Option<Value>,
    /// What is to be recorded of it; its state is `state`.
    pub(crate) held: Held,
    /// The object as the last release left it, if it moved since.
    pub(crate) recorded: Option<Value>,
}

/// A live object; its tree has digests for what is sensitive.
pub(crate) struct Object {
    pub(crate) seen: Arc<Seen>,
    pub(crate) key: DigestKey,
}

impl Native for Object {
    fn tree(&self) -> Attr {
        self.seen.shown(&self.key)
    }
}

/// Whether an object is what a failed create left.
#[must_use]
pub fn is_tainted(observed: &Observed) -> bool {
    observed.attributes.native::<Object>().is_some_and(|object| object.seen.held.tainted)
}

impl Seen {
    /// Its state, with digests for what is sensitive.
    fn shown(&self, key: &DigestKey) -> Attr {
        let mut tree = sealed(&self.of.schema.block, &self.state, key);
        seal_known(&mut tree, &self.held.secrets, key);
        tree
    }
}

/// What a plan has seen and made, for the apply after it.
#[derive(Default)]
pub(crate) struct Memory {
    pub(crate) seen: BTreeMap<ResourceKey, Arc<Seen>>,
    pub(crate) drafts: BTreeMap<ResourceKey, Draft>,
    /// What the configuration of a provider may refer to.
    pub(crate) known: Arc<Known>,
    /// Proposed to change, or not known yet.
    pub(crate) changing: BTreeSet<ResourceKey>,
}

/// The runtime of Terraform resources.
pub struct TfRuntime {
    pub(crate) pool: Pool,
    pub(crate) key: DigestKey,
    memory: Mutex<Memory>,
    pub(crate) open: Mutex<Vec<Arc<Slot>>>,
    /// What could not be renewed or closed.
    pub(crate) troubles: Troubles,
}

impl TfRuntime {
    /// Makes the runtime of a stack; nothing is started before it is needed.
    #[must_use]
    pub fn new(locate: Arc<dyn Locate>, cache: Option<SchemaCache>, key: DigestKey) -> Self {
        TfRuntime::in_folder(locate, cache, key, None)
    }

    /// Limits what providers may take, instead of what is usual.
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Self {
        self.pool.limits = limits;
        self
    }

    /// The same with the folder that providers run in.
    #[must_use]
    pub fn in_folder(
        locate: Arc<dyn Locate>,
        cache: Option<SchemaCache>,
        key: DigestKey,
        folder: Option<PathBuf>,
    ) -> Self {
        let pool = Pool::new(locate, cache, folder);
        let (memory, open, troubles) = (Mutex::default(), Mutex::default(), Troubles::default());
        TfRuntime { pool, key, memory, open, troubles }
    }

    /// Ends all providers in good order; without it they are killed when the runtime goes.
    pub async fn close(&self) {
        self.close_open().await;
        self.pool.end().await;
    }

    /// Tells all providers that the user wants to stop.
    pub async fn stop(&self) {
        self.pool.stop().await;
    }

    /// Loads the schemas of what a Spec has of this platform: the knowledge about what is secret.
    ///
    /// # Errors
    /// A provider that does not start, or does not know a type.
    pub async fn platform(&self, spec: &Spec) -> Result<TfPlatform, RuntimeError> {
        theirs(self.known(spec)).await
    }

    async fn known(&self, spec: &Spec) -> Result<TfPlatform, RuntimeError> {
        let (mut blocks, mut configs) = (BTreeMap::<(String, Role), Block>::new(), BTreeMap::new());
        for resource in
            spec.resources.iter().filter(|one| one.kind == kusion_model::ResourceType::terraform())
        {
            let about = |error: RuntimeError| error.about(&resource.key());
            let settings = Settings::read(&resource.key(), &resource.extensions);
            let settings = settings.map_err(|error| about(error).of_nobody())?;
            let name = (settings.type_name.clone(), settings.role);
            if blocks.contains_key(&name) {
                continue;
            }
            let config = self.config_of(&settings, Some(&resource.attributes), None);
            let backend = self.pool.unconfigured(&settings.source, &config).await.map_err(about)?;
            let ty = &settings.type_name;
            let block = match settings.role {
                Role::Managed => backend.resource(ty).map(|of| of.schema.block.clone()),
                Role::Data => backend.data_source(ty).map(|of| of.schema.block.clone()),
                Role::Ephemeral => backend.ephemeral(ty).map(|of| of.schema.block.clone()),
            };
            let block = block.map_err(|error| about(error).of_nobody())?;
            blocks.insert(name, block);
            configs.entry(settings.type_name).or_insert_with(|| backend.configuration());
        }
        Ok(TfPlatform::new(blocks, configs))
    }

    pub(crate) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The configuration of the provider of a resource: among its attributes, in its extensions, or as it was last time.
    pub(crate) fn config_of(
        &self,
        settings: &Settings,
        attributes: Option<&Attr>,
        held: Option<&Held>,
    ) -> Attr {
        let wanted = attributes.and_then(|attributes| attributes.get(PROVIDER)).cloned();
        let said = || settings.meta.as_ref().map(Attr::from);
        let before = || held.map(|held| Attr::from(&held.config));
        let config = wanted.or_else(said).or_else(before).unwrap_or_default();
        // An empty configuration and none are the same.
        if config.as_map().is_some_and(|map| map.is_empty()) { Attr::Null } else { config }
    }

    pub(crate) async fn backend(&self, settings: &Settings, config: &Attr) -> Result<Backend, RuntimeError> {
        self.pool.configured(&settings.source, config).await
    }

    /// Wraps an object for the engine, with what is to be recorded of it.
    pub(crate) fn observed(
        &self,
        seen: Arc<Seen>,
        kept: Option<kusion_model::Kept>,
    ) -> Result<Observed, RuntimeError> {
        let kept = match kept {
            Some(kept) => kept,
            None => {
                let shown = seen.shown(&self.key);
                seen.held.seal(shown, &self.key).map_err(crate::settings::invalid)?
            }
        };
        let attributes = kusion_model::Live::new(Arc::new(Object { seen, key: self.key.clone() }));
        Ok(Observed { attributes, kept: Some(kept), ..Observed::default() })
    }

    /// Makes what is recorded of a state.
    pub(crate) fn held(
        &self,
        of: &Resource,
        source: &Source,
        state: &Value,
        config: &Attr,
    ) -> Result<Held, RuntimeError> {
        let state = tf_value::json::encode(state, &of.ty);
        Ok(Held {
            provider: source.address.clone(),
            type_name: of.name.clone(),
            schema_version: of.schema.version,
            state: state.map_err(|e| crate::settings::invalid(e.to_string()))?,
            config: kept_config(config),
            ..Held::default()
        })
    }
}

/// The configuration of a provider as it is recorded.
pub(crate) fn kept_config(config: &Attr) -> serde_json::Value {
    kept_part(config).expose(kusion_model::Unknowns::LeaveOut).unwrap_or_default()
}

/// The configuration of a provider without what is only handed over.
fn kept_part(config: &Attr) -> Attr {
    match config {
        Attr::Secret(secret) if secret.is_passing() => Attr::Null,
        Attr::Map(map) => Attr::map(map.iter().map(|(name, value)| (name.as_str(), kept_part(value)))),
        Attr::List(items) => Attr::list(items.iter().map(kept_part).collect()),
        other => other.clone(),
    }
}

/// Says of an error that it is a provider's.
async fn theirs<T>(work: impl Future<Output = Result<T, RuntimeError>>) -> Result<T, RuntimeError> {
    work.await.map_err(RuntimeError::of_provider)
}

/// The same of work on a resource, whose calls are told with its id.
async fn theirs_about<T>(
    key: &ResourceKey,
    work: impl Future<Output = Result<T, RuntimeError>>,
) -> Result<T, RuntimeError> {
    theirs(tf_host::about(|| key.to_string(), work)).await
}

impl Runtime for TfRuntime {
    fn identify<'a>(
        &'a self,
        asks: &'a [IdentifyAsk<'a>],
    ) -> BoxFuture<'a, Result<Vec<String>, RuntimeError>> {
        // What has moved is the object that it was, until it is recorded under its new id.
        let of = |ask: &IdentifyAsk<'_>| {
            let known = |id: &&ResourceId| asks.iter().any(|ask| ask.prior.is_some() && ask.key.id == **id);
            let before = crate::settings::moved_from(ask.extensions).unwrap_or_default();
            match before.iter().find(known).filter(|_| ask.prior.is_none()) {
                Some(id) => id.to_string(),
                None => ask.key.to_string(),
            }
        };
        let answers: Vec<String> = asks.iter().map(of).collect();
        Box::pin(futures::future::ready(Ok(answers)))
    }

    fn observe<'a>(
        &'a self,
        asks: &'a [ObserveAsk<'a>],
    ) -> BoxFuture<'a, Result<BTreeMap<ResourceKey, Observed>, RuntimeError>> {
        Box::pin(async move {
            if asks.iter().any(|ask| ask.wanted.is_some()) {
                self.memory().known = Arc::new(Known::of(asks));
            }
            let looks: Vec<BoxFuture<'a, Look>> =
                asks.iter().map(|ask| Box::pin(theirs_about(&ask.key, self.observe_one(ask))) as _).collect();
            let mut answers = iter(looks).buffer_unordered(AT_ONCE);
            let mut found = BTreeMap::new();
            while let Some(answer) = answers.next().await {
                if let Some((key, observed)) = answer? {
                    found.insert(key, observed);
                }
            }
            Ok(found)
        })
    }

    fn propose<'a>(
        &'a self,
        asks: &'a [ProposeAsk<'a>],
    ) -> BoxFuture<'a, Vec<Result<Proposal, RuntimeError>>> {
        let questions: Vec<BoxFuture<'a, Result<Proposal, RuntimeError>>> = asks
            .iter()
            .map(|ask| Box::pin(theirs_about(&ask.desired.key, self.propose_one(ask))) as _)
            .collect();
        Box::pin(iter(questions).buffered(AT_ONCE).collect())
    }

    fn apply<'a>(&'a self, ask: WriteAsk<'a>) -> BoxFuture<'a, Result<Applied, RuntimeError>> {
        Box::pin(theirs_about(ask.key, self.apply_one(ask)))
    }

    fn delete<'a>(&'a self, ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(theirs_about(ask.key, self.delete_one(ask)))
    }

    /// Nothing in the object says whose it is.
    fn release<'a>(&'a self, _ask: DeleteAsk<'a>) -> BoxFuture<'a, Result<(), RuntimeError>> {
        Box::pin(futures::future::ready(Ok(())))
    }

    /// A provider returns from a delete when the object is gone.
    fn wait_gone<'a>(
        &'a self,
        _ask: DeleteAsk<'a>,
        _limit: Duration,
    ) -> BoxFuture<'a, Result<Deleted, RuntimeError>> {
        Box::pin(futures::future::ready(Ok(Deleted::Gone)))
    }
}
