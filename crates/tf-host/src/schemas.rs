//! What a provider knows: the schemas of its types, read when somebody asks for one.
//!
//! A large provider has thousands of types and a stack uses ten, so the answer keeps each schema as bytes until then.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use bytes::Bytes;
use prost::Message;
use tf_schema::{
    Attribute, AttributeKind, Block, BlockNesting, NestedBlock, NestedObject, ObjectNesting, Schema, TypeText,
};
use tf_value::Type;

use crate::wire::{self, v5, v6};
use crate::{Failure, HostError, Protocol};

/// What a provider can do beside the minimum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// It wants to be asked before an object is destroyed.
    pub plan_destroy: bool,
    /// It need not be asked for its schemas in each process.
    pub schema_optional: bool,
    pub move_state: bool,
}

/// The schema of the identities of a resource type.
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    pub version: i64,
    pub ty: Type,
}

/// A resource type.
#[derive(Debug)]
pub struct Resource {
    pub name: String,
    pub schema: Schema,
    pub ty: Type,
    pub identity: Option<Identity>,
}

/// A data source.
#[derive(Debug)]
pub struct DataSource {
    pub name: String,
    pub schema: Schema,
    pub ty: Type,
}

/// A type of values that are opened, used and closed.
#[derive(Debug)]
pub struct Ephemeral {
    pub name: String,
    pub schema: Schema,
    pub ty: Type,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub struct Parameter {
    pub name: String,
    pub ty: Type,
    pub allow_null: bool,
    pub allow_unknown: bool,
}

/// A function of a provider.
#[derive(Clone, Debug)]
pub struct Function {
    pub parameters: Vec<Parameter>,
    pub variadic: Option<Parameter>,
    pub returns: Type,
}

/// All schemas of a provider.
pub struct Schemas {
    protocol: Protocol,
    raw: wire::Schemas,
    identities: BTreeMap<String, wire::IdentitySchema>,
    pub capabilities: Capabilities,
    provider: (Schema, Type),
    read: Mutex<Read>,
}

/// What somebody asked for already.
#[derive(Default)]
struct Read {
    resources: BTreeMap<String, Arc<Resource>>,
    data: BTreeMap<String, Arc<DataSource>>,
    ephemeral: BTreeMap<String, Arc<Ephemeral>>,
}

impl Schemas {
    pub(crate) fn new(provider: &str, protocol: Protocol, raw: wire::Schemas) -> Result<Self, HostError> {
        let able = raw.capabilities.unwrap_or_default();
        let capabilities = Capabilities {
            plan_destroy: able.plan_destroy,
            schema_optional: able.get_provider_schema_optional,
            move_state: able.move_resource_state,
        };
        let own = match &raw.provider {
            Some(bytes) => read_schema(provider, "provider configuration", protocol, bytes)?,
            None => Schema::trusted(0, Block::default()),
        };
        let ty = own.ty().clone();
        Ok(Schemas {
            protocol,
            raw,
            identities: BTreeMap::new(),
            capabilities,
            provider: (own, ty),
            read: Mutex::default(),
        })
    }

    pub(crate) fn set_identities(&mut self, found: wire::IdentitySchemas) {
        self.identities = found.schemas;
    }

    /// The names of the resource types.
    pub fn resource_names(&self) -> impl Iterator<Item = &str> {
        self.raw.resources.keys().map(String::as_str)
    }

    /// The names of the data sources.
    pub fn data_names(&self) -> impl Iterator<Item = &str> {
        self.raw.data.keys().map(String::as_str)
    }

    /// The schema of the provider's own configuration.
    #[must_use]
    pub fn provider(&self) -> &(Schema, Type) {
        &self.provider
    }

    pub(crate) fn meta_type(&self, provider: &str) -> Result<Option<Type>, HostError> {
        let Some(bytes) = &self.raw.provider_meta else { return Ok(None) };
        let schema = read_schema(provider, "provider_meta", self.protocol, bytes)?;
        // A schema without a single attribute is how some providers say that they have none.
        let empty = schema.block.attributes.is_empty() && schema.block.blocks.is_empty();
        Ok((!empty).then(|| schema.ty().clone()))
    }

    /// Finds a resource type; `provider` is for the error.
    ///
    /// # Errors
    /// There is none of this name, or it contradicts itself.
    pub fn resource(&self, provider: &str, name: &str) -> Result<Arc<Resource>, HostError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.resources.get(name) {
            return Ok(Arc::clone(known));
        }
        let schema = self.find(provider, "resource type", &self.raw.resources, name)?;
        let identity = self.identities.get(name).map(read_identity).transpose();
        let identity = identity.map_err(|what| schema_error(provider, name, &what))?;
        let ty = schema.ty().clone();
        let made = Arc::new(Resource { name: name.to_owned(), schema, ty, identity });
        read.resources.insert(name.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// Finds a data source; `provider` is for the error.
    ///
    /// # Errors
    /// There is none of this name, or it contradicts itself.
    pub fn data_source(&self, provider: &str, name: &str) -> Result<Arc<DataSource>, HostError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.data.get(name) {
            return Ok(Arc::clone(known));
        }
        let schema = self.find(provider, "data source", &self.raw.data, name)?;
        let ty = schema.ty().clone();
        let made = Arc::new(DataSource { name: name.to_owned(), schema, ty });
        read.data.insert(name.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// Finds an ephemeral resource type; `provider` is for the error.
    ///
    /// # Errors
    /// There is none of this name, or it contradicts itself.
    pub fn ephemeral(&self, provider: &str, name: &str) -> Result<Arc<Ephemeral>, HostError> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.ephemeral.get(name) {
            return Ok(Arc::clone(known));
        }
        let schema = self.find(provider, "ephemeral resource type", &self.raw.ephemeral, name)?;
        let ty = schema.ty().clone();
        let made = Arc::new(Ephemeral { name: name.to_owned(), schema, ty });
        read.ephemeral.insert(name.to_owned(), Arc::clone(&made));
        Ok(made)
    }

    /// The names of all functions.
    #[must_use]
    pub fn function_names(&self) -> Vec<&str> {
        self.raw.functions.keys().map(String::as_str).collect()
    }

    /// Finds a function; `provider` is for the error.
    ///
    /// # Errors
    /// There is none of this name, or its types cannot be read.
    pub fn function(&self, provider: &str, name: &str) -> Result<Function, HostError> {
        let found = self.raw.functions.get(name);
        let found = found.ok_or_else(|| schema_error(provider, name, "there is no such function"))?;
        let parameter = |one: &wire::Parameter| {
            Ok::<_, String>(Parameter {
                name: one.name.clone(),
                ty: read_type(&one.r#type)?,
                allow_null: one.allow_null,
                allow_unknown: one.allow_unknown,
            })
        };
        let function = || {
            Ok::<_, String>(Function {
                parameters: found.parameters.iter().map(parameter).collect::<Result<_, _>>()?,
                variadic: found.variadic.as_ref().map(parameter).transpose()?,
                returns: read_type(found.returns.as_ref().map_or(&[][..], |one| &one.r#type))?,
            })
        };
        function().map_err(|what| schema_error(provider, name, &what))
    }

    fn find(
        &self,
        provider: &str,
        what: &str,
        all: &BTreeMap<String, Bytes>,
        name: &str,
    ) -> Result<Schema, HostError> {
        match all.get(name) {
            Some(bytes) => read_schema(provider, name, self.protocol, bytes),
            None => Err(schema_error(provider, name, &format!("there is no such {what}"))),
        }
    }
}

fn schema_error(provider: &str, name: &str, what: &str) -> HostError {
    HostError::new(provider, Failure::Schema { what: format!("`{name}`: {what}") })
}

fn read_schema(provider: &str, name: &str, protocol: Protocol, bytes: &[u8]) -> Result<Schema, HostError> {
    let fail = |what: String| schema_error(provider, name, &what);
    let (version, block) = match protocol {
        Protocol::V5 => {
            let schema = v5::Schema::decode(bytes).map_err(|e| fail(e.to_string()))?;
            (schema.version, schema.block.unwrap_or_default().read())
        }
        Protocol::V6 => {
            let schema = v6::Schema::decode(bytes).map_err(|e| fail(e.to_string()))?;
            (schema.version, schema.block.unwrap_or_default().read())
        }
    };
    let block = block.map_err(fail)?;
    let version = u64::try_from(version).unwrap_or_default();
    Schema::new(version, block).map_err(|problems| {
        let texts: Vec<String> = problems.iter().take(5).map(ToString::to_string).collect();
        schema_error(provider, name, &texts.join("; "))
    })
}

fn read_type(bytes: &[u8]) -> Result<Type, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "a type that is no text".to_owned())?;
    text.parse().map_err(|e: tf_value::ValueError| format!("type {text}: {e}"))
}

fn read_identity(identity: &wire::IdentitySchema) -> Result<Identity, String> {
    let attributes = identity.attributes.iter().map(|one| Ok((one.name.as_str(), read_type(&one.r#type)?)));
    let attributes: Vec<(&str, Type)> = attributes.collect::<Result<_, String>>()?;
    Ok(Identity { version: identity.version, ty: Type::object(attributes) })
}

/// The messages of both versions become the same structs; only attributes differ.
macro_rules! reads_schema {
    ($version:ident) => {
        impl $version::Block {
            fn read(self) -> Result<Block, String> {
                let attributes = self.attributes.into_iter().map(|one| Ok((one.name.clone(), one.read()?)));
                let blocks = self.block_types.into_iter().map(|one| Ok((one.type_name.clone(), one.read()?)));
                Ok(Block {
                    attributes: attributes.collect::<Result<_, String>>()?,
                    blocks: blocks.collect::<Result<_, String>>()?,
                    description: self.description,
                    deprecated: self.deprecated,
                })
            }
        }

        impl $version::NestedBlock {
            fn read(self) -> Result<NestedBlock, String> {
                let nesting = match self.nesting {
                    1 => BlockNesting::Single,
                    2 => BlockNesting::List,
                    3 => BlockNesting::Set,
                    4 => BlockNesting::Map,
                    5 => BlockNesting::Group,
                    other => return Err(format!("block `{}`: unknown nesting {other}", self.type_name)),
                };
                let count = |n: i64| u64::try_from(n).unwrap_or_default();
                let (min_items, max_items) = (count(self.min_items), count(self.max_items));
                Ok(NestedBlock {
                    nesting,
                    block: self.block.unwrap_or_default().read()?,
                    min_items,
                    max_items,
                })
            }
        }

        impl $version::Attribute {
            fn read(self) -> Result<Attribute, String> {
                let kind = self.read_kind()?;
                Ok(Attribute {
                    kind,
                    required: self.required,
                    optional: self.optional,
                    computed: self.computed,
                    sensitive: self.sensitive,
                    write_only: self.write_only,
                    deprecated: self.deprecated,
                    deprecation_message: self.deprecation_message,
                    description: self.description,
                })
            }
        }
    };
}

reads_schema!(v5);
reads_schema!(v6);

fn plain(name: &str, ty: &[u8]) -> Result<AttributeKind, String> {
    let ty = read_type(ty).map_err(|what| format!("attribute `{name}`: {what}"))?;
    Ok(AttributeKind::Plain(TypeText(ty)))
}

impl v5::Attribute {
    fn read_kind(&self) -> Result<AttributeKind, String> {
        plain(&self.name, &self.r#type)
    }
}

impl v6::Attribute {
    fn read_kind(&self) -> Result<AttributeKind, String> {
        let Some(nested) = &self.nested_type else { return plain(&self.name, &self.r#type) };
        let nesting = match nested.nesting {
            1 => ObjectNesting::Single,
            2 => ObjectNesting::List,
            3 => ObjectNesting::Set,
            4 => ObjectNesting::Map,
            other => return Err(format!("attribute `{}`: unknown nesting {other}", self.name)),
        };
        let attributes = nested.attributes.iter().map(|one| Ok((one.name.clone(), one.clone().read()?)));
        let attributes = attributes.collect::<Result<_, String>>()?;
        Ok(AttributeKind::Nested(NestedObject { nesting, attributes }))
    }
}
