//! Questions and answers about resources, data, functions and ephemeral values.

use prost::Message;

use super::{AttributePath, ClientCapabilities, Diagnostic, DynamicValue, IdentityData, RawState};

#[derive(Clone, PartialEq, Message)]
pub struct ValidateProvider {
    #[prost(message, optional, tag = "1")]
    pub config: Option<DynamicValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ValidatedProvider {
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Configure {
    #[prost(string, tag = "1")]
    pub terraform_version: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub capabilities: Option<ClientCapabilities>,
}

/// The answer of calls that only have something to say.
#[derive(Clone, PartialEq, Message)]
pub struct Said {
    #[prost(message, repeated, tag = "1")]
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Validate {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Upgrade {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
    #[prost(message, optional, tag = "3")]
    pub raw: Option<RawState>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Upgraded {
    #[prost(message, optional, tag = "1")]
    pub state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub struct UpgradedIdentity {
    #[prost(message, optional, tag = "1")]
    pub identity: Option<IdentityData>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Read {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub current_state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "3")]
    pub private: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub provider_meta: Option<DynamicValue>,
    #[prost(message, optional, tag = "5")]
    pub capabilities: Option<ClientCapabilities>,
    #[prost(message, optional, tag = "6")]
    pub current_identity: Option<IdentityData>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Deferred {
    #[prost(int32, tag = "1")]
    pub reason: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadAnswer {
    #[prost(message, optional, tag = "1")]
    pub new_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(bytes = "vec", tag = "3")]
    pub private: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub deferred: Option<Deferred>,
    #[prost(message, optional, tag = "5")]
    pub new_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Plan {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub prior_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub proposed_new_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub config: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "5")]
    pub prior_private: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    pub provider_meta: Option<DynamicValue>,
    #[prost(message, optional, tag = "7")]
    pub capabilities: Option<ClientCapabilities>,
    #[prost(message, optional, tag = "8")]
    pub prior_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct PlanAnswer {
    #[prost(message, optional, tag = "1")]
    pub planned_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub requires_replace: Vec<AttributePath>,
    #[prost(bytes = "vec", tag = "3")]
    pub planned_private: Vec<u8>,
    #[prost(message, repeated, tag = "4")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(bool, tag = "5")]
    pub legacy_type_system: bool,
    #[prost(message, optional, tag = "6")]
    pub deferred: Option<Deferred>,
    #[prost(message, optional, tag = "7")]
    pub planned_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Apply {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub prior_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub planned_state: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub config: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "5")]
    pub planned_private: Vec<u8>,
    #[prost(message, optional, tag = "6")]
    pub provider_meta: Option<DynamicValue>,
    #[prost(message, optional, tag = "7")]
    pub planned_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ApplyAnswer {
    #[prost(message, optional, tag = "1")]
    pub new_state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "2")]
    pub private: Vec<u8>,
    #[prost(message, repeated, tag = "3")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(bool, tag = "4")]
    pub legacy_type_system: bool,
    #[prost(message, optional, tag = "5")]
    pub new_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Import {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(string, tag = "2")]
    pub id: String,
    #[prost(message, optional, tag = "3")]
    pub capabilities: Option<ClientCapabilities>,
    #[prost(message, optional, tag = "4")]
    pub identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Imported {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub state: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "3")]
    pub private: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImportAnswer {
    #[prost(message, repeated, tag = "1")]
    pub imported: Vec<Imported>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "3")]
    pub deferred: Option<Deferred>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Move {
    #[prost(string, tag = "1")]
    pub source_provider_address: String,
    #[prost(string, tag = "2")]
    pub source_type_name: String,
    #[prost(int64, tag = "3")]
    pub source_schema_version: i64,
    #[prost(message, optional, tag = "4")]
    pub source_state: Option<RawState>,
    #[prost(string, tag = "5")]
    pub target_type_name: String,
    #[prost(bytes = "vec", tag = "6")]
    pub source_private: Vec<u8>,
    #[prost(message, optional, tag = "7")]
    pub source_identity: Option<RawState>,
    #[prost(int64, tag = "8")]
    pub source_identity_schema_version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub struct MoveAnswer {
    #[prost(message, optional, tag = "1")]
    pub target_state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(bytes = "vec", tag = "3")]
    pub target_private: Vec<u8>,
    #[prost(message, optional, tag = "4")]
    pub target_identity: Option<IdentityData>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadData {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(message, optional, tag = "2")]
    pub config: Option<DynamicValue>,
    #[prost(message, optional, tag = "3")]
    pub provider_meta: Option<DynamicValue>,
    #[prost(message, optional, tag = "4")]
    pub capabilities: Option<ClientCapabilities>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ReadDataAnswer {
    #[prost(message, optional, tag = "1")]
    pub state: Option<DynamicValue>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "3")]
    pub deferred: Option<Deferred>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Timestamp {
    #[prost(int64, tag = "1")]
    pub seconds: i64,
    #[prost(int32, tag = "2")]
    pub nanos: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct OpenAnswer {
    #[prost(message, repeated, tag = "1")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "2")]
    pub renew_at: Option<Timestamp>,
    #[prost(message, optional, tag = "3")]
    pub result: Option<DynamicValue>,
    #[prost(bytes = "vec", tag = "4")]
    pub private: Vec<u8>,
}

/// Renews or closes an ephemeral resource.
#[derive(Clone, PartialEq, Message)]
pub struct Held {
    #[prost(string, tag = "1")]
    pub type_name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub private: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct RenewAnswer {
    #[prost(message, repeated, tag = "1")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(message, optional, tag = "2")]
    pub renew_at: Option<Timestamp>,
    #[prost(bytes = "vec", tag = "3")]
    pub private: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CallFunction {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, repeated, tag = "2")]
    pub arguments: Vec<DynamicValue>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FunctionError {
    #[prost(string, tag = "1")]
    pub text: String,
    #[prost(int64, optional, tag = "2")]
    pub argument: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CallFunctionAnswer {
    #[prost(message, optional, tag = "1")]
    pub result: Option<DynamicValue>,
    #[prost(message, optional, tag = "2")]
    pub error: Option<FunctionError>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Stopped {
    #[prost(string, tag = "1")]
    pub error: String,
}

/// A piece of what a provider writes to its standard output or error.
#[derive(Clone, PartialEq, Message)]
pub struct StdioData {
    #[prost(int32, tag = "1")]
    pub channel: i32,
    #[prost(bytes = "vec", tag = "2")]
    pub data: Vec<u8>,
}
