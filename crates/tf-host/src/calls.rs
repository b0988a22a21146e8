//! The calls about objects: values in, values out, by the type that the schema implies.

use tf_value::{Path, Type, Value, json, msgpack};

use crate::diagnostic::{self, Diagnostic};
use crate::provider::Provider;
use crate::rpc::{self, Rpc};
use crate::schemas::{DataSource, Ephemeral, Resource};
use crate::wire::{self, DynamicValue, IdentityData, RawState};
use crate::{Failure, HostError};

/// We understand write-only attributes; whether something may be put off is for the host to say.
pub(crate) fn able(deferral_allowed: bool) -> wire::ClientCapabilities {
    wire::ClientCapabilities { deferral_allowed, write_only_attributes_allowed: true }
}

/// Why a provider puts an answer off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deferral {
    Unsaid,
    /// Something in the configuration of the resource is unknown.
    ResourceConfig,
    /// Something in the configuration of the provider is unknown.
    ProviderConfig,
    /// Something that it needs does not exist yet.
    AbsentPrerequisite,
}

impl std::fmt::Display for Deferral {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Deferral::Unsaid => "its provider does not say why",
            Deferral::ResourceConfig => "something in its configuration is not known yet",
            Deferral::ProviderConfig => "something in the configuration of its provider is not known yet",
            Deferral::AbsentPrerequisite => "something that it needs does not exist yet",
        })
    }
}

fn deferral(said: Option<wire::Deferred>) -> Option<Deferral> {
    Some(match said?.reason {
        1 => Deferral::ResourceConfig,
        2 => Deferral::ProviderConfig,
        3 => Deferral::AbsentPrerequisite,
        _ => Deferral::Unsaid,
    })
}

/// An object to refresh.
#[derive(Clone, Copy)]
pub struct ReadAsk<'a> {
    pub state: &'a Value,
    pub private: &'a [u8],
    pub identity: Option<&'a Value>,
    pub meta: Option<&'a Value>,
}

/// An object as it is now; null if there is none any more.
#[derive(Clone)]
pub struct Read {
    pub state: Option<Value>,
    pub private: Vec<u8>,
    pub identity: Option<Value>,
    pub deferred: Option<Deferral>,
    pub said: Vec<Diagnostic>,
}

/// A change to plan.
#[derive(Clone, Copy)]
pub struct PlanAsk<'a> {
    pub prior: &'a Value,
    pub proposed: &'a Value,
    pub config: &'a Value,
    pub private: &'a [u8],
    pub identity: Option<&'a Value>,
    pub meta: Option<&'a Value>,
}

/// What a provider plans.
#[derive(Clone)]
pub struct Planned {
    /// Absent only beside an error.
    pub state: Option<Value>,
    pub requires_replace: Vec<Path>,
    pub private: Vec<u8>,
    /// Of the old SDK: its plans may break the rules.
    pub legacy: bool,
    pub identity: Option<Value>,
    /// Put off: the state is only a guess. Never without the host's leave.
    pub deferred: Option<Deferral>,
    pub said: Vec<Diagnostic>,
}

/// A change to carry out.
#[derive(Clone, Copy)]
pub struct ApplyAsk<'a> {
    pub prior: &'a Value,
    pub planned: &'a Value,
    pub config: &'a Value,
    pub private: &'a [u8],
    pub identity: Option<&'a Value>,
    pub meta: Option<&'a Value>,
}

/// What came of it. A state is a state, also beside errors.
#[derive(Clone)]
pub struct Applied {
    pub state: Option<Value>,
    pub private: Vec<u8>,
    pub legacy: bool,
    pub identity: Option<Value>,
    pub said: Vec<Diagnostic>,
}

/// An object that a provider has found.
#[derive(Clone)]
pub struct ImportedObject {
    pub type_name: String,
    pub state: Option<Value>,
    pub private: Vec<u8>,
    pub identity: Option<Value>,
}

/// What a provider has found by an id.
#[derive(Clone)]
pub struct Imported {
    /// Empty if it is put off.
    pub objects: Vec<ImportedObject>,
    pub deferred: Option<Deferral>,
    pub said: Vec<Diagnostic>,
}

/// An object that becomes one of another type.
#[derive(Clone, Copy)]
pub struct MoveAsk<'a> {
    pub provider_address: &'a str,
    pub type_name: &'a str,
    pub schema_version: i64,
    pub state_json: &'a [u8],
    pub private: &'a [u8],
    /// Its identity as JSON, and the version of that schema.
    pub identity: Option<(&'a [u8], i64)>,
}

/// An object that has become one of another type.
#[derive(Clone)]
pub struct Moved {
    /// Absent only beside an error.
    pub state: Option<Value>,
    pub private: Vec<u8>,
    pub identity: Option<Value>,
    pub said: Vec<Diagnostic>,
}

/// What a data source says.
#[derive(Clone)]
pub struct DataRead {
    /// Absent beside an error, and where it is put off.
    pub state: Option<Value>,
    pub deferred: Option<Deferral>,
    pub said: Vec<Diagnostic>,
}

/// An ephemeral value, until it is closed.
#[derive(Clone)]
pub struct Opened {
    pub result: Option<Value>,
    pub private: Vec<u8>,
    /// Seconds since 1970 before which it has to be renewed.
    pub renew_at: Option<i64>,
    pub said: Vec<Diagnostic>,
}

/// An ephemeral value that lives on.
#[derive(Clone)]
pub struct Renewed {
    pub private: Vec<u8>,
    pub renew_at: Option<i64>,
    pub said: Vec<Diagnostic>,
}

impl Provider {
    /// Checks the configuration of a resource.
    pub async fn validate(&self, of: &Resource, config: &Value) -> Result<Vec<Diagnostic>, HostError> {
        self.validate_as(&rpc::VALIDATE, &of.name, &of.ty, config).await
    }

    /// Checks the configuration of a data source.
    pub async fn validate_data(&self, of: &DataSource, config: &Value) -> Result<Vec<Diagnostic>, HostError> {
        self.validate_as(&rpc::VALIDATE_DATA, &of.name, &of.ty, config).await
    }

    /// Checks the configuration of an ephemeral resource.
    pub async fn validate_ephemeral(
        &self,
        of: &Ephemeral,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, HostError> {
        self.validate_as(&rpc::VALIDATE_EPHEMERAL, &of.name, &of.ty, config).await
    }

    async fn validate_as(
        &self,
        rpc: &Rpc,
        name: &str,
        ty: &Type,
        config: &Value,
    ) -> Result<Vec<Diagnostic>, HostError> {
        let config = Some(self.encode(rpc, config, ty)?);
        // Only resources have the field; the others ignore it.
        let ask = wire::Validate { type_name: name.to_owned(), config, capabilities: Some(self.able) };
        let answer: wire::Said = self.client.call(rpc, ask).await?;
        Ok(diagnostic::read(answer.diagnostics))
    }

    /// Brings a stored state into the form of the current schema.
    pub async fn upgrade(
        &self,
        of: &Resource,
        version: i64,
        state_json: &[u8],
    ) -> Result<(Option<Value>, Vec<Diagnostic>), HostError> {
        let raw = Some(RawState { json: state_json.to_owned(), ..RawState::default() });
        let ask = wire::Upgrade { type_name: of.name.clone(), version, raw };
        let answer: wire::Upgraded = self.client.call(&rpc::UPGRADE, ask).await?;
        let said = diagnostic::read(answer.diagnostics);
        Ok((self.decode(&rpc::UPGRADE, answer.state, &of.ty)?, said))
    }

    /// Brings a stored identity into the form of the current schema.
    pub async fn upgrade_identity(
        &self,
        of: &Resource,
        version: i64,
        identity_json: &[u8],
    ) -> Result<(Option<Value>, Vec<Diagnostic>), HostError> {
        let raw = Some(RawState { json: identity_json.to_owned(), ..RawState::default() });
        let ask = wire::Upgrade { type_name: of.name.clone(), version, raw };
        let answer: wire::UpgradedIdentity = self.client.call(&rpc::UPGRADE_IDENTITY, ask).await?;
        let said = diagnostic::read(answer.diagnostics);
        Ok((self.identity_out(&rpc::UPGRADE_IDENTITY, of, answer.identity)?, said))
    }

    /// Looks at an object.
    pub async fn read(&self, of: &Resource, ask: ReadAsk<'_>) -> Result<Read, HostError> {
        let rpc = &rpc::READ;
        let ask = wire::Read {
            type_name: of.name.clone(),
            current_state: Some(self.encode(rpc, ask.state, &of.ty)?),
            private: ask.private.to_owned(),
            provider_meta: self.meta_in(rpc, ask.meta)?,
            capabilities: Some(self.able),
            current_identity: self.identity_in(rpc, of, ask.identity)?,
        };
        let answer: wire::ReadAnswer = self.client.call(rpc, ask).await?;
        Ok(Read {
            state: self.decode(rpc, answer.new_state, &of.ty)?,
            private: answer.private,
            identity: self.identity_out(rpc, of, answer.new_identity)?,
            deferred: self.deferred(rpc, answer.deferred)?,
            said: diagnostic::read(answer.diagnostics),
        })
    }

    /// Plans a change.
    pub async fn plan(&self, of: &Resource, ask: PlanAsk<'_>) -> Result<Planned, HostError> {
        let rpc = &rpc::PLAN;
        let ask = wire::Plan {
            type_name: of.name.clone(),
            prior_state: Some(self.encode(rpc, ask.prior, &of.ty)?),
            proposed_new_state: Some(self.encode(rpc, ask.proposed, &of.ty)?),
            config: Some(self.encode(rpc, ask.config, &of.ty)?),
            prior_private: ask.private.to_owned(),
            provider_meta: self.meta_in(rpc, ask.meta)?,
            capabilities: Some(self.able),
            prior_identity: self.identity_in(rpc, of, ask.identity)?,
        };
        let answer: wire::PlanAnswer = self.client.call(rpc, ask).await?;
        Ok(Planned {
            state: self.decode(rpc, answer.planned_state, &of.ty)?,
            requires_replace: answer.requires_replace.iter().map(diagnostic::read_path).collect(),
            private: answer.planned_private,
            legacy: answer.legacy_type_system,
            identity: self.identity_out(rpc, of, answer.planned_identity)?,
            deferred: self.deferred(rpc, answer.deferred)?,
            said: diagnostic::read(answer.diagnostics),
        })
    }

    /// Carries a change out. Never cancel this: its answer is the state.
    pub async fn apply(&self, of: &Resource, ask: ApplyAsk<'_>) -> Result<Applied, HostError> {
        let rpc = &rpc::APPLY;
        let ask = wire::Apply {
            type_name: of.name.clone(),
            prior_state: Some(self.encode(rpc, ask.prior, &of.ty)?),
            planned_state: Some(self.encode(rpc, ask.planned, &of.ty)?),
            config: Some(self.encode(rpc, ask.config, &of.ty)?),
            planned_private: ask.private.to_owned(),
            provider_meta: self.meta_in(rpc, ask.meta)?,
            planned_identity: self.identity_in(rpc, of, ask.identity)?,
        };
        let answer: wire::ApplyAnswer = self.client.call(rpc, ask).await?;
        Ok(Applied {
            state: self.decode(rpc, answer.new_state, &of.ty)?,
            private: answer.private,
            legacy: answer.legacy_type_system,
            identity: self.identity_out(rpc, of, answer.new_identity)?,
            said: diagnostic::read(answer.diagnostics),
        })
    }

    /// Finds existing objects by an id.
    pub async fn import(&self, of: &Resource, id: &str) -> Result<Imported, HostError> {
        self.import_as(of, id, None).await
    }

    /// Finds existing objects by their identity.
    pub async fn import_identity(&self, of: &Resource, identity: &Value) -> Result<Imported, HostError> {
        self.import_as(of, "", Some(identity)).await
    }

    async fn import_as(
        &self,
        of: &Resource,
        id: &str,
        identity: Option<&Value>,
    ) -> Result<Imported, HostError> {
        let rpc = &rpc::IMPORT;
        let (type_name, id) = (of.name.clone(), id.to_owned());
        let identity = self.identity_in(rpc, of, identity)?;
        let ask = wire::Import { type_name, id, capabilities: Some(self.able), identity };
        let answer: wire::ImportAnswer = self.client.call(rpc, ask).await?;
        let deferred = self.deferred(rpc, answer.deferred)?;
        let mut objects = Vec::new();
        for one in answer.imported.into_iter().filter(|_| deferred.is_none()) {
            let same = one.type_name == of.name;
            let state = if same { self.decode(rpc, one.state, &of.ty)? } else { None };
            let identity = if same { self.identity_out(rpc, of, one.identity)? } else { None };
            objects.push(ImportedObject { type_name: one.type_name, state, private: one.private, identity });
        }
        Ok(Imported { objects, deferred, said: diagnostic::read(answer.diagnostics) })
    }

    /// Turns an object of another type into one of this.
    pub async fn move_state(&self, to: &Resource, ask: MoveAsk<'_>) -> Result<Moved, HostError> {
        let rpc = &rpc::MOVE;
        let raw = |json: &[u8]| Some(RawState { json: json.to_owned(), ..RawState::default() });
        let ask = wire::Move {
            source_provider_address: ask.provider_address.to_owned(),
            source_type_name: ask.type_name.to_owned(),
            source_schema_version: ask.schema_version,
            source_state: raw(ask.state_json),
            target_type_name: to.name.clone(),
            source_private: ask.private.to_owned(),
            source_identity: ask.identity.and_then(|(json, _)| raw(json)),
            source_identity_schema_version: ask.identity.map_or(0, |(_, version)| version),
        };
        let answer: wire::MoveAnswer = self.client.call(rpc, ask).await?;
        Ok(Moved {
            state: self.decode(rpc, answer.target_state, &to.ty)?,
            private: answer.target_private,
            identity: self.identity_out(rpc, to, answer.target_identity)?,
            said: diagnostic::read(answer.diagnostics),
        })
    }

    /// Reads a data source.
    pub async fn read_data(
        &self,
        of: &DataSource,
        config: &Value,
        meta: Option<&Value>,
    ) -> Result<DataRead, HostError> {
        let rpc = &rpc::READ_DATA;
        let ask = wire::ReadData {
            type_name: of.name.clone(),
            config: Some(self.encode(rpc, config, &of.ty)?),
            provider_meta: self.meta_in(rpc, meta)?,
            capabilities: Some(self.able),
        };
        let answer: wire::ReadDataAnswer = self.client.call(rpc, ask).await?;
        let (deferred, said) = (self.deferred(rpc, answer.deferred)?, diagnostic::read(answer.diagnostics));
        let state = match deferred {
            Some(_) => None,
            None => self.decode(rpc, answer.state, &of.ty)?,
        };
        Ok(DataRead { state, deferred, said })
    }

    /// Opens an ephemeral resource.
    pub async fn open(&self, of: &Ephemeral, config: &Value) -> Result<Opened, HostError> {
        let rpc = &rpc::OPEN;
        let config = Some(self.encode(rpc, config, &of.ty)?);
        let ask = wire::Validate { type_name: of.name.clone(), config, capabilities: Some(self.able) };
        let answer: wire::OpenAnswer = self.client.call(rpc, ask).await?;
        Ok(Opened {
            result: self.decode(rpc, answer.result, &of.ty)?,
            private: answer.private,
            renew_at: answer.renew_at.map(|at| at.seconds),
            said: diagnostic::read(answer.diagnostics),
        })
    }

    /// Keeps an ephemeral resource alive.
    pub async fn renew(&self, of: &Ephemeral, private: &[u8]) -> Result<Renewed, HostError> {
        let ask = wire::Held { type_name: of.name.clone(), private: private.to_owned() };
        let answer: wire::RenewAnswer = self.client.call(&rpc::RENEW, ask).await?;
        let renew_at = answer.renew_at.map(|at| at.seconds);
        Ok(Renewed { private: answer.private, renew_at, said: diagnostic::read(answer.diagnostics) })
    }

    /// Gives an ephemeral resource back.
    pub async fn close(&self, of: &Ephemeral, private: &[u8]) -> Result<Vec<Diagnostic>, HostError> {
        let ask = wire::Held { type_name: of.name.clone(), private: private.to_owned() };
        let answer: wire::Said = self.client.call(&rpc::CLOSE, ask).await?;
        Ok(diagnostic::read(answer.diagnostics))
    }

    pub(crate) fn encode(&self, rpc: &Rpc, value: &Value, ty: &Type) -> Result<DynamicValue, HostError> {
        let msgpack = msgpack::encode(value, ty).map_err(|error| {
            // Ours is the value, so ours is the mistake; a text of the encoder names places, not values.
            self.client.fail(Failure::Answer { call: rpc.name, what: format!("cannot be asked: {error}") })
        })?;
        Ok(DynamicValue { msgpack, json: Vec::new() })
    }

    /// Reads a value in either form; absent and empty ones are none.
    pub(crate) fn decode(
        &self,
        rpc: &Rpc,
        value: Option<DynamicValue>,
        ty: &Type,
    ) -> Result<Option<Value>, HostError> {
        let Some(value) = value else { return Ok(None) };
        let read = if !value.msgpack.is_empty() {
            msgpack::decode(&value.msgpack, ty)
        } else if !value.json.is_empty() {
            json::decode(&value.json, ty)
        } else {
            return Ok(None);
        };
        let answer =
            |error: tf_value::ValueError| Failure::Answer { call: rpc.name, what: error.to_string() };
        read.map(Some).map_err(|error| self.client.fail(answer(error)))
    }

    /// Without leave nothing can be put off: whoever reads the answer would take a guess for a plan.
    fn deferred(&self, rpc: &Rpc, said: Option<wire::Deferred>) -> Result<Option<Deferral>, HostError> {
        let why = deferral(said);
        if why.is_some() && !self.able.deferral_allowed {
            let what = "it puts the answer off, which it was not allowed to".to_owned();
            return Err(self.client.fail(Failure::Answer { call: rpc.name, what }));
        }
        Ok(why)
    }

    fn identity_in(
        &self,
        rpc: &Rpc,
        of: &Resource,
        identity: Option<&Value>,
    ) -> Result<Option<IdentityData>, HostError> {
        let (Some(identity), Some(schema)) = (identity.filter(|one| !one.is_null()), &of.identity) else {
            return Ok(None);
        };
        let identity_data = Some(self.encode(rpc, identity, &schema.ty)?);
        Ok(Some(IdentityData { identity_data }))
    }

    fn identity_out(
        &self,
        rpc: &Rpc,
        of: &Resource,
        identity: Option<IdentityData>,
    ) -> Result<Option<Value>, HostError> {
        let (Some(identity), Some(schema)) = (identity, &of.identity) else { return Ok(None) };
        let value = self.decode(rpc, identity.identity_data, &schema.ty)?;
        Ok(value.filter(|value| !value.is_null()))
    }

    /// A provider with a schema for it gets it always, null if there is none; others never.
    fn meta_in(&self, rpc: &Rpc, meta: Option<&Value>) -> Result<Option<DynamicValue>, HostError> {
        match self.meta_type() {
            Some(ty) => self.encode(rpc, meta.unwrap_or(&Value::Null), ty).map(Some),
            None => Ok(None),
        }
    }
}
