//! The messages of the plugin protocol, by their field numbers: `tfplugin5` and `tfplugin6` share all of them but the schema.
//!
//! Nothing is generated: there is no `protoc` and no build script. Schemas stay bytes in the answer that carries them
//! (a message and bytes look the same on the wire) and are read one by one, when somebody asks for a type.

mod calls;
mod schema;

use std::collections::BTreeMap;
use std::fmt;

use prost::Message;

pub use calls::*;
pub use schema::*;

/// A value; MessagePack is sent, both forms are read. Its bytes are never printed.
#[derive(Clone, PartialEq, Eq, Message)]
#[prost(skip_debug)]
pub struct DynamicValue {
    #[prost(bytes = "vec", tag = "1")]
    pub msgpack: Vec<u8>,
    #[prost(bytes = "vec", tag = "2")]
    pub json: Vec<u8>,
}

impl fmt::Debug for DynamicValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DynamicValue({} bytes)", self.msgpack.len() + self.json.len())
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct Step {
    #[prost(oneof = "step::Kind", tags = "1, 2, 3")]
    pub kind: Option<step::Kind>,
}

pub mod step {
    #[derive(Clone, PartialEq, Eq, prost::Oneof)]
    pub enum Kind {
        #[prost(string, tag = "1")]
        Attribute(String),
        #[prost(string, tag = "2")]
        Key(String),
        #[prost(int64, tag = "3")]
        Index(i64),
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct AttributePath {
    #[prost(message, repeated, tag = "1")]
    pub steps: Vec<Step>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Diagnostic {
    #[prost(int32, tag = "1")]
    pub severity: i32,
    #[prost(string, tag = "2")]
    pub summary: String,
    #[prost(string, tag = "3")]
    pub detail: String,
    #[prost(message, optional, tag = "4")]
    pub attribute: Option<AttributePath>,
}

#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct RawState {
    #[prost(bytes = "vec", tag = "1")]
    pub json: Vec<u8>,
    #[prost(btree_map = "string, string", tag = "2")]
    pub flatmap: BTreeMap<String, String>,
}

impl fmt::Debug for RawState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawState({} bytes)", self.json.len())
    }
}

#[derive(Clone, PartialEq, Message)]
pub struct IdentityData {
    #[prost(message, optional, tag = "1")]
    pub identity_data: Option<DynamicValue>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ClientCapabilities {
    #[prost(bool, tag = "1")]
    pub deferral_allowed: bool,
    #[prost(bool, tag = "2")]
    pub write_only_attributes_allowed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct ServerCapabilities {
    #[prost(bool, tag = "1")]
    pub plan_destroy: bool,
    #[prost(bool, tag = "2")]
    pub get_provider_schema_optional: bool,
    #[prost(bool, tag = "3")]
    pub move_resource_state: bool,
    #[prost(bool, tag = "4")]
    pub generate_resource_config: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub struct Empty {}
