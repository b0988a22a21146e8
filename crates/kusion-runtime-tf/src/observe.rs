//! Looking at objects: the recorded state in today's form, and then as the world has it.

use std::sync::Arc;

use kusion_model::{Observed, ResourceKey};
use kusion_runtime::{ErrorKind, ObserveAsk, RuntimeError};
use tf_host::{Imported, ReadAsk, Resource, errors};
use tf_schema::fill_blocks;
use tf_value::Value;

use crate::backend::Backend;
use crate::runtime::{Seen, TfRuntime};
use crate::settings::{Role, Settings, invalid};
use crate::{Held, Source};

impl TfRuntime {
    pub(crate) async fn observe_one(
        &self,
        ask: &ObserveAsk<'_>,
    ) -> Result<Option<(ResourceKey, Observed)>, RuntimeError> {
        let found = self.look(ask).await.map_err(|error| at(&ask.key, error))?;
        Ok(found.map(|observed| (ask.key.clone(), observed)))
    }

    async fn look(&self, ask: &ObserveAsk<'_>) -> Result<Option<Observed>, RuntimeError> {
        let settings = Settings::read(&ask.key, &ask.extensions)?;
        if settings.role != Role::Managed {
            return Ok(None);
        }
        let kept = ask.prior.and_then(|record| record.kept.as_ref());
        let held = kept.map(|kept| Held::open(kept, &self.key).map_err(invalid)).transpose()?;
        let config = self.connection(&ask.key, &settings, held.as_ref()).await?;
        let (Some(held), Some(kept)) = (held, kept) else {
            return self.imported(ask, &settings, &config).await;
        };
        let backend = self.backend(&settings, &config).await?;
        let of = backend.resource(&settings.type_name)?;
        let stored = upgraded(&backend, &of, &held).await?;
        let before = held.clone();
        let held = self.reached(&ask.key, &config, held).await?;
        let Some(seen) = self.refreshed(&backend, &of, &settings.source, stored, held).await? else {
            return Ok(None);
        };
        let same = seen.recorded.is_none() && before == seen.held;
        let seen = Arc::new(seen);
        self.memory().seen.insert(ask.key.clone(), Arc::clone(&seen));
        self.observed(seen, same.then(|| kept.clone())).map(Some)
    }

    /// Reads an object anew; `None` if it is gone.
    async fn refreshed(
        &self,
        backend: &Backend,
        of: &Arc<Resource>,
        source: &Source,
        stored: Value,
        held: Held,
    ) -> Result<Option<Seen>, RuntimeError> {
        let identity = identity_of(backend, of, &held).await?;
        let (private, meta) = (&held.private[..], None);
        let ask = ReadAsk { state: &stored, private, identity: identity.as_ref(), meta };
        let read = backend.read(of, ask).await?;
        if let Some(what) = errors(&read.said) {
            return Err(RuntimeError::new(ErrorKind::Unexpected, format!("it cannot be read: {what}")));
        }
        // What the provider cannot look at yet is as it was recorded.
        let found = if read.deferred.is_some() { Some(stored.clone()) } else { read.state };
        let Some(state) = found.filter(|state| !state.is_null()) else { return Ok(None) };
        let state = fill_blocks(&of.schema.block, &state);
        let identity = read.identity.or(identity);
        let (config, passing) = (held.config.clone(), held.passing.clone());
        let fresh = self.held(of, source, &state, &kusion_model::Attr::Null)?;
        let fresh = Held {
            private: read.private,
            identity: identity_text(of, identity.as_ref()),
            identity_version: identity_version(of),
            tainted: held.tainted,
            secrets: held.secrets,
            config,
            passing,
            ..fresh
        };
        let recorded = (stored != state).then_some(stored);
        Ok(Some(Seen { of: Arc::clone(of), state, identity, held: fresh, recorded }))
    }

    /// An object that somebody else made and that the user names.
    async fn imported(
        &self,
        ask: &ObserveAsk<'_>,
        settings: &Settings,
        config: &kusion_model::Attr,
    ) -> Result<Option<Observed>, RuntimeError> {
        let Some(id) = &settings.import_id else { return Ok(None) };
        let backend = self.backend(settings, config).await?;
        let of = backend.resource(&settings.type_name)?;
        let Imported { objects: mut found, deferred, said } = backend.import(&of, id).await?;
        if let Some(what) = errors(&said) {
            return Err(invalid(format!("import of `{id}`: {what}")));
        }
        if let Some(why) = deferred {
            let then = "nothing was taken over: run the same command again when that has changed";
            return Err(invalid(format!("import of `{id}`: the provider puts it off: {why}; {then}")));
        }
        let n_found = found.len();
        let one = found.pop().filter(|one| n_found == 1 && one.type_name == of.name);
        let one =
            one.ok_or_else(|| invalid(format!("import of `{id}` found {n_found} objects; one is needed")))?;
        let state = one.state.unwrap_or_default();
        let held = self.held(&of, &settings.source, &state, config)?;
        let held = Held {
            private: one.private,
            identity: identity_text(&of, one.identity.as_ref()),
            identity_version: identity_version(&of),
            ..self.reached(&ask.key, config, held).await?
        };
        let seen = self.refreshed(&backend, &of, &settings.source, state, held).await?;
        let seen = seen.ok_or_else(|| invalid(format!("import of `{id}`: there is no such object")))?;
        let seen = Arc::new(Seen { recorded: None, ..seen });
        self.memory().seen.insert(ask.key.clone(), Arc::clone(&seen));
        self.observed(seen, None).map(Some)
    }

    /// An object as it is recorded, for who has not looked at it in this run.
    pub(crate) async fn recorded(
        &self,
        backend: &Backend,
        of: &Arc<Resource>,
        held: Held,
    ) -> Result<Seen, RuntimeError> {
        let state = upgraded(backend, of, &held).await?;
        let identity = identity_of(backend, of, &held).await?;
        Ok(Seen { of: Arc::clone(of), state, identity, held, recorded: None })
    }
}

pub(crate) fn at(key: &ResourceKey, mut error: RuntimeError) -> RuntimeError {
    error.message = format!("{key}: {}", error.message);
    error
}

async fn upgraded(backend: &Backend, of: &Resource, held: &Held) -> Result<Value, RuntimeError> {
    if held.schema_version > of.schema.version {
        return Err(invalid(format!(
            "it was written by a newer version of the provider: its state has schema version {}, this provider knows {}",
            held.schema_version, of.schema.version
        )));
    }
    let (state, said) = backend.upgrade(of, held.schema_version, &held.state).await?;
    if let Some(what) = errors(&said) {
        return Err(invalid(format!("its recorded state cannot be read: {what}")));
    }
    let state = state.ok_or_else(|| invalid("the provider makes nothing of its recorded state"))?;
    Ok(fill_blocks(&of.schema.block, &state))
}

async fn identity_of(backend: &Backend, of: &Resource, held: &Held) -> Result<Option<Value>, RuntimeError> {
    let (Some(text), Some(schema)) = (&held.identity, &of.identity) else { return Ok(None) };
    let known = identity_version(of);
    if held.identity_version > known {
        return Err(invalid(format!(
            "it was written by a newer version of the provider: its identity has version {}, this provider knows {known}",
            held.identity_version
        )));
    }
    if held.identity_version < known {
        return backend.upgrade_identity(of, held.identity_version, text).await;
    }
    let value = tf_value::json::decode(text.as_bytes(), &schema.ty);
    value.map(Some).map_err(|e| invalid(format!("its recorded identity: {e}")))
}

pub(crate) fn identity_version(of: &Resource) -> u64 {
    of.identity.as_ref().and_then(|schema| u64::try_from(schema.version).ok()).unwrap_or_default()
}

/// What is not known yet is never recorded.
pub(crate) fn identity_text(of: &Resource, identity: Option<&Value>) -> Option<String> {
    let (identity, schema) = (identity?, of.identity.as_ref()?);
    if !identity.is_wholly_known() {
        return None;
    }
    tf_value::json::encode(identity, &schema.ty).ok()
}
