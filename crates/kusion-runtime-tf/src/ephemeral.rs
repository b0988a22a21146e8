//! Ephemeral resources: opened when a plan or an apply needs them, renewed while the operation runs, closed at its end. Nothing
//! of them is recorded; their values are handed over only.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use kusion_model::{Attr, Live, Observed, Proposal, Proposed, ResourceKey, seal_passing};
use kusion_runtime::{Applied, ProposeAsk, RuntimeError, WriteAsk};
use tf_host::{Diagnostic, Ephemeral, HostError, Opened, Provider, errors};
use tf_schema::{configure, proposed_read};
use tf_value::Value;
use tokio::sync::OnceCell;
use tokio::task::JoinHandle;

use crate::attr::{loose_resource, to_attr};
use crate::backend::{Backend, failed};
use crate::draft::{told, warnings};
use crate::runtime::TfRuntime;
use crate::settings::{Settings, invalid, refused};

/// What has hardly any time is renewed no more often than this.
const SHORTEST: Duration = Duration::from_millis(200);

/// What did not work, for people.
pub(crate) type Troubles = Arc<Mutex<Vec<String>>>;

/// One ephemeral resource with one configuration. Many may need it at the same time: one opens it, the others wait.
pub(crate) struct Slot {
    key: ResourceKey,
    config: Value,
    open: OnceCell<OpenOne>,
}

/// An ephemeral resource that is open.
struct OpenOne {
    provider: Arc<Provider>,
    of: Arc<Ephemeral>,
    /// `None` if it is of no use; it has to be closed all the same.
    result: Option<Value>,
    /// What the provider wants to get back; the newest.
    private: Arc<Mutex<Vec<u8>>>,
    renewing: Option<JoinHandle<()>>,
}

impl Drop for OpenOne {
    fn drop(&mut self) {
        if let Some(renewing) = &self.renewing {
            renewing.abort();
        }
    }
}

impl TfRuntime {
    /// An ephemeral resource is opened for the plan if everything that it needs is known, else for the apply.
    pub(crate) async fn propose_ephemeral(
        &self,
        ask: &ProposeAsk<'_>,
        settings: &Settings,
        backend: &Backend,
    ) -> Result<Proposal, RuntimeError> {
        let (provider, of) = ephemeral(backend, settings)?;
        let block = &of.schema.block;
        let config = configure(block, &loose_resource(&ask.desired.attributes)?);
        let config = config.map_err(|p| refused(told(&p)))?;
        let said = provider.validate_ephemeral(&of, &config).await.map_err(|e| failed(&e))?;
        if let Some(what) = errors(&said) {
            return Err(invalid(what));
        }
        let waits = ask.pending || !config.is_wholly_known();
        let (what, state) = match waits {
            true => (Proposed::Read, proposed_read(block, &config)),
            false => (Proposed::Same, self.opened(&ask.desired.key, provider, &of, config).await?),
        };
        Ok(Proposal {
            planned: Some(self.handed_over(&state)),
            warnings: warnings(&said),
            ..Proposal::of(what)
        })
    }

    pub(crate) async fn apply_ephemeral(
        &self,
        ask: &WriteAsk<'_>,
        settings: &Settings,
        backend: &Backend,
    ) -> Result<Applied, RuntimeError> {
        let attributes = self.open_ephemeral(ask.key, settings, backend, ask.attributes).await?;
        let observed = Observed { attributes: Live::from(attributes), ..Observed::default() };
        Ok(Applied { observed, warnings: Vec::new(), trouble: None })
    }

    /// Opens an ephemeral resource of which everything is known; its values are for handing over.
    pub(crate) async fn open_ephemeral(
        &self,
        key: &ResourceKey,
        settings: &Settings,
        backend: &Backend,
        attributes: &Attr,
    ) -> Result<Attr, RuntimeError> {
        let (provider, of) = ephemeral(backend, settings)?;
        let config = configure(&of.schema.block, &loose_resource(attributes)?);
        let config = config.map_err(|p| refused(told(&p)))?;
        let state = self.opened(key, provider, &of, config).await?;
        Ok(self.handed_over(&state))
    }

    fn handed_over(&self, state: &Value) -> Attr {
        let mut tree = to_attr(state);
        seal_passing(&mut tree, &self.key);
        tree
    }

    /// Opens it, unless the same one is open already.
    async fn opened(
        &self,
        key: &ResourceKey,
        provider: &Arc<Provider>,
        of: &Arc<Ephemeral>,
        config: Value,
    ) -> Result<Value, RuntimeError> {
        let slot = self.slot(key, config);
        let one = slot.open.get_or_try_init(|| open(provider, of, &slot, &self.troubles)).await?;
        one.result.clone().ok_or_else(|| invalid("the provider answered with an object that is not whole"))
    }

    /// The place for it among what is open. What needs a value of another one is configured when the other one is open, so it
    /// comes after it.
    fn slot(&self, key: &ResourceKey, config: Value) -> Arc<Slot> {
        let mut slots = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = slots.iter().find(|slot| slot.key == *key && slot.config == config) {
            return Arc::clone(slot);
        }
        let slot = Arc::new(Slot { key: key.clone(), config, open: OnceCell::new() });
        slots.push(Arc::clone(&slot));
        slot
    }

    /// Closes what is open, and says what did not work about it: somebody may still have to be told, or to close it himself.
    pub async fn give_back(&self) -> Vec<String> {
        self.close_open().await;
        std::mem::take(&mut *self.troubles.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Closes what is open, the last one first.
    pub(crate) async fn close_open(&self) {
        let mut all = std::mem::take(&mut *self.open.lock().unwrap_or_else(PoisonError::into_inner));
        while let Some(slot) = all.pop() {
            let Some(one) = slot.open.get() else { continue };
            if let Some(renewing) = &one.renewing {
                renewing.abort();
            }
            let private = one.private.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let closed = tf_host::about(|| slot.key.to_string(), one.provider.close(&one.of, &private)).await;
            if let Some(why) = trouble_of(closed) {
                let text =
                    format!("{} could not be closed, it ends when its service lets it end: {why}", slot.key);
                self.troubles.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        }
    }
}

async fn open(
    provider: &Arc<Provider>,
    of: &Arc<Ephemeral>,
    slot: &Slot,
    troubles: &Troubles,
) -> Result<OpenOne, RuntimeError> {
    let Opened { result, private, renew_at, said } =
        provider.open(of, &slot.config).await.map_err(|e| failed(&e))?;
    if let Some(what) = errors(&said) {
        return Err(invalid(what));
    }
    let private = Arc::new(Mutex::new(private));
    let renewing = renew_at.map(|at| {
        let held =
            Renewal { provider: Arc::clone(provider), of: Arc::clone(of), private: Arc::clone(&private) };
        let (key, troubles) = (slot.key.clone(), Arc::clone(troubles));
        tokio::spawn(async move {
            if let Err(why) = tf_host::about(|| key.to_string(), held.renew(at)).await {
                let text = format!("{key} could not be renewed, its value may be no good any more: {why}");
                troubles.lock().unwrap_or_else(PoisonError::into_inner).push(text);
            }
        })
    });
    let result = result.filter(|result| !result.is_null() && result.is_wholly_known());
    Ok(OpenOne { provider: Arc::clone(provider), of: Arc::clone(of), result, private, renewing })
}

/// Only processes have ephemeral resources.
fn ephemeral<'b>(
    backend: &'b Backend,
    settings: &Settings,
) -> Result<(&'b Arc<Provider>, Arc<Ephemeral>), RuntimeError> {
    match backend {
        Backend::Process(provider) => Ok((provider, backend.ephemeral(&settings.type_name)?)),
        Backend::Builtin => Err(invalid("the provider that is built in has no ephemeral resources")),
    }
}

/// What is renewed, and with what.
struct Renewal {
    provider: Arc<Provider>,
    of: Arc<Ephemeral>,
    private: Arc<Mutex<Vec<u8>>>,
}

impl Renewal {
    /// Renews in time, for as long as the provider says that it has to be.
    async fn renew(self, first: i64) -> Result<(), String> {
        let mut at = Some(first);
        while let Some(until) = at {
            let end = UNIX_EPOCH + Duration::from_secs(u64::try_from(until).unwrap_or_default());
            let left = end.duration_since(SystemTime::now()).unwrap_or_default();
            // With a quarter of its time left.
            tokio::time::sleep((left * 3 / 4).max(SHORTEST)).await;
            let held = self.private.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let renewed = self.provider.renew(&self.of, &held).await.map_err(|error| error.to_string())?;
            if let Some(why) = errors(&renewed.said) {
                return Err(why);
            }
            *self.private.lock().unwrap_or_else(PoisonError::into_inner) = renewed.private;
            at = renewed.renew_at;
        }
        Ok(())
    }
}

/// Why a call did not do what it should.
fn trouble_of(answer: Result<Vec<Diagnostic>, HostError>) -> Option<String> {
    match answer {
        Ok(said) => errors(&said),
        Err(error) => Some(error.to_string()),
    }
}
