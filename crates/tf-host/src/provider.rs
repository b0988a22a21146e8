//! A provider from its start to its end.

use std::sync::Arc;

use tf_value::{Type, Value};

use crate::calls::able;
use crate::client::{Client, Connect};
use crate::diagnostic::{self, Diagnostic};
use crate::process::{Launch, Process};
use crate::rpc;
use crate::schemas::{Capabilities, DataSource, Ephemeral, Resource, Schemas};
use crate::store::SchemaCache;
use crate::tls::ClientTls;
use crate::wire;
use crate::{Failure, HostError, Protocol, Reattach};

/// What SDKs take us for; some switch on it.
const TERRAFORM_VERSION: &str = "1.13.0";

/// A running provider. Calls may be made concurrently; dropping it ends its process.
pub struct Provider {
    pub(crate) client: Client,
    schemas: Arc<Schemas>,
    meta: Option<Type>,
    /// What it is told about us.
    pub(crate) able: wire::ClientCapabilities,
}

impl Provider {
    /// Starts a provider and learns its schemas, from the cache if they are there.
    ///
    /// # Errors
    /// Why it did not start, in a kind of its own.
    pub async fn start(launch: &Launch, cache: Option<&SchemaCache>) -> Result<Self, HostError> {
        let client = match connect(launch, launch.tls).await {
            Err(error) if !launch.tls && error.wants_tls() => connect(launch, true).await?,
            other => other?,
        };
        let protocol = client.protocol;
        client.follow_stdio(launch.logs.clone());
        let schemas = match cache {
            Some(cache) => cached_schemas(&client, launch, cache).await?,
            None => Schemas::new(&client.name, protocol, ask_schemas(&client).await?)?,
        };
        Self::with(client, schemas, able(launch.deferral)).await
    }

    /// Connects to a provider that somebody else has started.
    ///
    /// # Errors
    /// Why it cannot be asked.
    pub async fn reattach(name: &str, to: &Reattach) -> Result<Self, HostError> {
        let client = Client::connect(name, to.protocol, &to.address, None, Connect::default()).await?;
        let schemas = Schemas::new(name, to.protocol, ask_schemas(&client).await?)?;
        Self::with(client, schemas, able(false)).await
    }

    async fn with(
        client: Client,
        mut schemas: Schemas,
        able: wire::ClientCapabilities,
    ) -> Result<Self, HostError> {
        // Who does not have the call, or refuses it, has none.
        let identities = client.call::<_, wire::IdentitySchemas>(&rpc::IDENTITIES, wire::Empty {}).await;
        match identities {
            Ok(found) => schemas.set_identities(found),
            Err(HostError { kind: Failure::Unimplemented { .. } | Failure::Rpc { .. }, .. }) => {}
            Err(error) => return Err(error),
        }
        let meta = schemas.meta_type(&client.name)?;
        Ok(Provider { client, schemas: Arc::new(schemas), meta, able })
    }

    /// What people call it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.client.name
    }

    #[must_use]
    pub fn protocol(&self) -> Protocol {
        self.client.protocol
    }

    /// Its process, if it is ours.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.client.process.as_ref().map(Process::pid)
    }

    /// All that it knows.
    #[must_use]
    pub fn schemas(&self) -> &Arc<Schemas> {
        &self.schemas
    }

    #[must_use]
    pub fn capabilities(&self) -> Capabilities {
        self.schemas.capabilities
    }

    /// Finds a resource type.
    ///
    /// # Errors
    /// It has none of this name, or one that contradicts itself.
    pub fn resource(&self, name: &str) -> Result<Arc<Resource>, HostError> {
        self.schemas.resource(self.name(), name)
    }

    /// Finds a data source.
    ///
    /// # Errors
    /// It has none of this name, or one that contradicts itself.
    pub fn data_source(&self, name: &str) -> Result<Arc<DataSource>, HostError> {
        self.schemas.data_source(self.name(), name)
    }

    /// Finds an ephemeral resource.
    ///
    /// # Errors
    /// It has none of this name, or one that contradicts itself.
    pub fn ephemeral(&self, name: &str) -> Result<Arc<Ephemeral>, HostError> {
        self.schemas.ephemeral(self.name(), name)
    }

    pub(crate) fn meta_type(&self) -> Option<&Type> {
        self.meta.as_ref()
    }

    /// Checks the provider's own configuration; it may hold unknown values.
    pub async fn validate_configuration(&self, config: &Value) -> Result<Vec<Diagnostic>, HostError> {
        let rpc = &rpc::VALIDATE_PROVIDER;
        let ty = &self.schemas.provider().1;
        let ask = wire::ValidateProvider { config: Some(self.encode(rpc, config, ty)?) };
        let answer: wire::ValidatedProvider = self.client.call(rpc, ask).await?;
        Ok(diagnostic::read(answer.diagnostics))
    }

    /// Configures the provider: once in the life of a process.
    pub async fn configure(&self, config: &Value) -> Result<Vec<Diagnostic>, HostError> {
        let rpc = &rpc::CONFIGURE;
        let ty = &self.schemas.provider().1;
        let ask = wire::Configure {
            terraform_version: TERRAFORM_VERSION.to_owned(),
            config: Some(self.encode(rpc, config, ty)?),
            capabilities: Some(self.able),
        };
        let answer: wire::Said = self.client.call(rpc, ask).await?;
        Ok(diagnostic::read(answer.diagnostics))
    }

    /// Calls a function. An argument that is not wholly known makes the result unknown, unless the function takes it.
    ///
    /// # Errors
    /// A failed call; the inner error is the function's own word about an argument.
    pub async fn call_function(
        &self,
        name: &str,
        arguments: &[Value],
    ) -> Result<Result<Value, (String, Option<i64>)>, HostError> {
        let rpc = &rpc::FUNCTION;
        let function = self.schemas.function(self.name(), name)?;
        let mut sent = Vec::new();
        for (at, value) in arguments.iter().enumerate() {
            let parameter = function.parameters.get(at).or(function.variadic.as_ref());
            let Some(parameter) = parameter else {
                return Ok(Err((format!("takes {} arguments", function.parameters.len()), None)));
            };
            let place = i64::try_from(at).ok();
            if value.is_null() && !parameter.allow_null {
                return Ok(Err((format!("`{}` must not be null", parameter.name), place)));
            }
            if !value.is_wholly_known() && !parameter.allow_unknown {
                return Ok(Ok(Value::unknown()));
            }
            sent.push(self.encode(rpc, value, &parameter.ty)?);
        }
        if arguments.len() < function.parameters.len() {
            return Ok(Err((format!("takes {} arguments", function.parameters.len()), None)));
        }
        let ask = wire::CallFunction { name: name.to_owned(), arguments: sent };
        let answer: wire::CallFunctionAnswer = self.client.call(rpc, ask).await?;
        if let Some(error) = answer.error {
            return Ok(Err((error.text, error.argument)));
        }
        let result = self.decode(rpc, answer.result, &function.returns)?;
        Ok(Ok(result.unwrap_or_default()))
    }

    /// Tells the provider that the user wants to stop: what runs comes to an end soon, and says how.
    pub async fn stop(&self) -> Result<(), HostError> {
        let answer: wire::Stopped = self.client.call(&rpc::STOP, wire::Empty {}).await?;
        if answer.error.is_empty() {
            return Ok(());
        }
        let what = answer.error;
        Err(self.client.fail(Failure::Answer { call: rpc::STOP.name, what }))
    }

    /// Ends the provider: told to, waited for, killed. A provider that somebody else started goes on.
    pub async fn end(&self) {
        if let Some(process) = &self.client.process {
            self.client.shut_down().await;
            process.end().await;
        }
    }

    /// Ends the process at once; for tests of what happens then.
    pub fn kill(&self) {
        if let Some(process) = &self.client.process {
            process.kill();
        }
    }
}

/// Starts the process and connects to it.
async fn connect(launch: &Launch, with_tls: bool) -> Result<Client, HostError> {
    let no_tls = |why: String| HostError::new(&launch.name, Failure::Tls { why });
    let tls = with_tls.then(ClientTls::new).transpose().map_err(no_tls)?;
    let (process, handshake) = Process::start(launch, tls.as_ref()).await?;
    let tls = match (tls, handshake.certificate) {
        (Some(tls), Some(certificate)) => Some(tls.connector(certificate).map_err(no_tls)?),
        _ => None,
    };
    let how = Connect { tls, message_limit: launch.message_limit, patience: launch.patience };
    Client::connect(&launch.name, handshake.protocol, &handshake.address, Some(process), how).await
}

/// Asks for the schemas; the answer as bytes, because that is what is cached.
async fn ask_schemas(client: &Client) -> Result<wire::Schemas, HostError> {
    let answer: wire::Schemas = client.call(&rpc::SCHEMA, wire::Empty {}).await?;
    let said = diagnostic::read(answer.diagnostics.clone());
    match diagnostic::errors(&said) {
        Some(what) => Err(client.fail(Failure::Schema { what })),
        None => Ok(answer),
    }
}

async fn cached_schemas(client: &Client, launch: &Launch, cache: &SchemaCache) -> Result<Schemas, HostError> {
    if let Some(known) = cache.get(&launch.program) {
        let schemas = Schemas::new(&client.name, client.protocol, known)?;
        if !schemas.capabilities.schema_optional {
            // Some providers make themselves ready in this call.
            ask_schemas(client).await?;
        }
        return Ok(schemas);
    }
    let answer = ask_schemas(client).await?;
    // Its pieces are shared, not copied.
    let schemas = Schemas::new(&client.name, client.protocol, answer.clone())?;
    cache.put(&launch.program, &answer);
    Ok(schemas)
}
