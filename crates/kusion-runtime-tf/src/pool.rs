//! Running providers: one process for each provider and configuration, started when it is first needed.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::join_all;
use kusion_model::Attr;
use kusion_runtime::{ErrorKind, RuntimeError};
use tf_host::{Launch, Provider, Reattach, SchemaCache, errors};
use tokio::sync::OnceCell;

use crate::Source;
use crate::attr::to_loose;
use crate::backend::{Backend, failed};
use crate::settings::{invalid, refused};

/// Finds the executable of a provider; may install it. The error is for people.
pub trait Locate: Send + Sync {
    /// Returns the executable.
    ///
    /// # Errors
    /// Why there is none.
    fn locate(&self, source: &Source) -> Result<PathBuf, String>;
}

/// What providers may take; none is what is usual.
#[derive(Clone, Copy, Debug, Default)]
pub struct Limits {
    /// How long each answer may take; that of an apply is always waited for.
    pub patience: Option<Duration>,
    /// The longest answer, in bytes.
    pub message: Option<usize>,
}

#[derive(Default)]
struct Slot {
    started: OnceCell<Arc<Provider>>,
    configured: OnceCell<()>,
}

type Key = (Source, [u8; 32]);

/// The providers of one operation.
pub(crate) struct Pool {
    locate: Arc<dyn Locate>,
    cache: Option<SchemaCache>,
    folder: Option<PathBuf>,
    reattach: BTreeMap<String, Reattach>,
    slots: Mutex<BTreeMap<Key, Arc<Slot>>>,
    pub(crate) limits: Limits,
}

impl Pool {
    pub(crate) fn new(locate: Arc<dyn Locate>, cache: Option<SchemaCache>, folder: Option<PathBuf>) -> Self {
        let reattach = std::env::var("TF_REATTACH_PROVIDERS").ok();
        let reattach = reattach.and_then(|text| tf_host::reattached(&text).ok()).unwrap_or_default();
        let (slots, limits) = (Mutex::default(), Limits::default());
        Pool { locate, cache, folder, reattach, slots, limits }
    }

    fn slot(&self, source: &Source, config: &Attr) -> Arc<Slot> {
        let key = (source.clone(), fingerprint(config));
        let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slots.entry(key).or_default())
    }

    async fn started(&self, slot: &Slot, source: &Source) -> Result<Arc<Provider>, RuntimeError> {
        let start = async || {
            if let Some(to) = self.reattach.get(&source.address) {
                return Provider::reattach(&source.address, to).await.map(Arc::new).map_err(|e| failed(&e));
            }
            let (locate, wanted) = (Arc::clone(&self.locate), source.clone());
            let found = tokio::task::spawn_blocking(move || locate.locate(&wanted)).await;
            let absent = |what: String| RuntimeError::new(ErrorKind::NotFound, what);
            let program = found.map_err(|e| invalid(e.to_string()))?.map_err(absent)?;
            let usual = Launch::new(&source.address, &program);
            let message_limit = self.limits.message.unwrap_or(usual.message_limit);
            let (folder, patience) = (self.folder.clone(), self.limits.patience);
            let launch = Launch { deferral: true, folder, patience, message_limit, ..usual };
            let provider = Provider::start(&launch, self.cache.as_ref()).await;
            provider.map(Arc::new).map_err(|e| failed(&e))
        };
        slot.started.get_or_try_init(start).await.map(Arc::clone)
    }

    /// A provider of which only the schemas are asked.
    pub(crate) async fn unconfigured(&self, source: &Source, config: &Attr) -> Result<Backend, RuntimeError> {
        if source.is_builtin() {
            return Ok(Backend::Builtin);
        }
        let slot = self.slot(source, config);
        self.started(&slot, source).await.map(Backend::Process)
    }

    /// A provider that is ready for everything.
    pub(crate) async fn configured(&self, source: &Source, config: &Attr) -> Result<Backend, RuntimeError> {
        if source.is_builtin() {
            return Ok(Backend::Builtin);
        }
        let slot = self.slot(source, config);
        let provider = self.started(&slot, source).await?;
        slot.configured.get_or_try_init(|| configure(&provider, config)).await?;
        Ok(Backend::Process(provider))
    }

    /// Tells every provider that the user wants to stop.
    pub(crate) async fn stop(&self) {
        join_all(self.running().iter().map(|provider| provider.stop())).await;
    }

    /// Ends every provider in good order.
    pub(crate) async fn end(&self) {
        join_all(self.running().iter().map(|provider| provider.end())).await;
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    fn running(&self) -> Vec<Arc<Provider>> {
        let slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
        slots.values().filter_map(|slot| slot.started.get().cloned()).collect()
    }
}

/// Two secrets are one configuration if their digests are equal; those that are only handed over have none, so they count by
/// value, here and nowhere else.
fn fingerprint(config: &Attr) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(config.to_string().as_bytes());
    config.for_each_leaf(&mut |_, leaf| {
        if let Attr::Secret(secret) = leaf
            && secret.is_passing()
            && let Some(value) = secret.value()
        {
            hasher.update(&[0]).update(value.expose());
        }
    });
    *hasher.finalize().as_bytes()
}

async fn configure(provider: &Provider, config: &Attr) -> Result<(), RuntimeError> {
    let name = provider.name();
    let block = &provider.schemas().provider().0.block;
    let loose = match config {
        Attr::Null => to_loose(&Attr::map::<&str>([]))?,
        config => to_loose(config)?,
    };
    let config = tf_schema::configure(block, &loose).map_err(|problems| {
        let texts: Vec<String> = problems.iter().map(ToString::to_string).collect();
        refused(format!("the configuration of provider {name}: {}", texts.join("; ")))
    })?;
    let said = provider.validate_configuration(&config).await.map_err(|e| failed(&e))?;
    let refused = |what: String| invalid(format!("provider {name} refuses its configuration: {what}"));
    if let Some(what) = errors(&said) {
        return Err(refused(what));
    }
    let said = provider.configure(&config).await.map_err(|e| failed(&e))?;
    errors(&said).map_or(Ok(()), |what| Err(refused(what)))
}
