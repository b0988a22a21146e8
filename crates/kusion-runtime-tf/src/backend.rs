//! Who answers the calls of the protocol: a process, or the host itself for `terraform_data`.

use std::sync::Arc;

use kusion_runtime::{ErrorKind, RuntimeError};
use tf_host::{
    Applied, ApplyAsk, DataRead, DataSource, Diagnostic, Ephemeral, Failure, HostError, Imported, MoveAsk,
    Moved, PlanAsk, Planned, Provider, Read, ReadAsk, Resource,
};
use tf_schema::Block;
use tf_value::Value;

use crate::builtin;

/// One provider with one configuration.
#[derive(Clone)]
pub(crate) enum Backend {
    Process(Arc<Provider>),
    Builtin,
}

/// A type that a provider does not have, with the one that was probably meant; any other failure as it is.
fn untyped<'n>(
    provider: &Provider,
    error: &tf_host::HostError,
    names: impl Iterator<Item = &'n str>,
    name: &str,
) -> RuntimeError {
    let names: Vec<&str> = names.collect();
    if names.contains(&name) {
        return failed(error);
    }
    let near = base_diag::nearest(names.into_iter(), name);
    let near = near.map(|near| format!("; did you mean `{near}`?")).unwrap_or_default();
    RuntimeError::new(ErrorKind::Invalid, format!("provider {} has no `{name}`{near}", provider.name()))
}

/// What a failure of a provider means to the engine. Nothing of it is tried again: nobody knows what was done.
pub(crate) fn failed(error: &HostError) -> RuntimeError {
    let kind = match &error.kind {
        Failure::Schema { .. } | Failure::Unimplemented { .. } => ErrorKind::Invalid,
        _ if error.is_uncertain() => ErrorKind::Unexpected,
        _ => ErrorKind::Invalid,
    };
    RuntimeError::new(kind, error.to_string())
}

type Answer<T> = Result<T, RuntimeError>;

impl Backend {
    pub(crate) fn resource(&self, name: &str) -> Answer<Arc<Resource>> {
        match self {
            Backend::Process(provider) => provider
                .resource(name)
                .map_err(|e| untyped(provider, &e, provider.schemas().resource_names(), name)),
            Backend::Builtin => builtin::resource(name),
        }
    }

    pub(crate) fn data_source(&self, name: &str) -> Answer<Arc<DataSource>> {
        match self {
            Backend::Process(provider) => provider
                .data_source(name)
                .map_err(|e| untyped(provider, &e, provider.schemas().data_names(), name)),
            Backend::Builtin => {
                Err(RuntimeError::new(ErrorKind::Invalid, "terraform_data is no data source"))
            }
        }
    }

    pub(crate) fn ephemeral(&self, name: &str) -> Answer<Arc<Ephemeral>> {
        match self {
            Backend::Process(provider) => provider.ephemeral(name).map_err(|e| failed(&e)),
            Backend::Builtin => {
                Err(RuntimeError::new(ErrorKind::Invalid, "terraform_data is no ephemeral resource"))
            }
        }
    }

    /// The schema of the provider's own configuration.
    pub(crate) fn configuration(&self) -> Block {
        match self {
            Backend::Process(provider) => provider.schemas().provider().0.block.clone(),
            Backend::Builtin => Block::default(),
        }
    }

    pub(crate) fn plans_destroy(&self) -> bool {
        match self {
            Backend::Process(provider) => provider.capabilities().plan_destroy,
            Backend::Builtin => false,
        }
    }

    pub(crate) async fn validate(&self, of: &Resource, config: &Value) -> Answer<Vec<Diagnostic>> {
        match self {
            Backend::Process(provider) => provider.validate(of, config).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(Vec::new()),
        }
    }

    pub(crate) async fn validate_data(&self, of: &DataSource, config: &Value) -> Answer<Vec<Diagnostic>> {
        match self {
            Backend::Process(provider) => provider.validate_data(of, config).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(Vec::new()),
        }
    }

    pub(crate) async fn upgrade(
        &self,
        of: &Resource,
        version: u64,
        json: &str,
    ) -> Answer<(Option<Value>, Vec<Diagnostic>)> {
        match self {
            Backend::Process(provider) => {
                let version = i64::try_from(version).unwrap_or(i64::MAX);
                provider.upgrade(of, version, json.as_bytes()).await.map_err(|e| failed(&e))
            }
            Backend::Builtin => builtin::upgrade(of, json),
        }
    }

    pub(crate) async fn upgrade_identity(
        &self,
        of: &Resource,
        version: u64,
        json: &str,
    ) -> Answer<Option<Value>> {
        let Backend::Process(provider) = self else { return Ok(None) };
        let version = i64::try_from(version).unwrap_or(i64::MAX);
        let answer = provider.upgrade_identity(of, version, json.as_bytes()).await;
        let (identity, said) = answer.map_err(|e| failed(&e))?;
        match tf_host::errors(&said) {
            Some(what) => Err(RuntimeError::new(
                ErrorKind::Invalid,
                format!("its recorded identity cannot be read: {what}"),
            )),
            None => Ok(identity),
        }
    }

    pub(crate) fn moves(&self) -> bool {
        match self {
            Backend::Process(provider) => provider.capabilities().move_state,
            Backend::Builtin => false,
        }
    }

    pub(crate) async fn move_state(&self, to: &Resource, ask: MoveAsk<'_>) -> Answer<Moved> {
        match self {
            Backend::Process(provider) => provider.move_state(to, ask).await.map_err(|e| failed(&e)),
            Backend::Builtin => {
                Ok(Moved { state: None, private: Vec::new(), identity: None, said: Vec::new() })
            }
        }
    }

    pub(crate) async fn read(&self, of: &Resource, ask: ReadAsk<'_>) -> Answer<Read> {
        match self {
            Backend::Process(provider) => provider.read(of, ask).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(builtin::read(ask)),
        }
    }

    pub(crate) async fn plan(&self, of: &Resource, ask: PlanAsk<'_>) -> Answer<Planned> {
        match self {
            Backend::Process(provider) => provider.plan(of, ask).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(builtin::plan(ask)),
        }
    }

    pub(crate) async fn apply(&self, of: &Resource, ask: ApplyAsk<'_>) -> Answer<Applied> {
        match self {
            Backend::Process(provider) => provider.apply(of, ask).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(builtin::apply(ask)),
        }
    }

    pub(crate) async fn import(&self, of: &Resource, id: &str) -> Answer<Imported> {
        match self {
            Backend::Process(provider) => provider.import(of, id).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(builtin::import(of, id)),
        }
    }

    pub(crate) async fn read_data(&self, of: &DataSource, config: &Value) -> Answer<DataRead> {
        match self {
            Backend::Process(provider) => provider.read_data(of, config, None).await.map_err(|e| failed(&e)),
            Backend::Builtin => Ok(DataRead { state: None, deferred: None, said: Vec::new() }),
        }
    }
}
