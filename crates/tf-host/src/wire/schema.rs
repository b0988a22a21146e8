//! Schemas on the wire.

use std::collections::BTreeMap;

use bytes::Bytes;
use prost::Message;

use super::{Diagnostic, ServerCapabilities};

/// The answer with all schemas; each is a message that is read when it is needed, and until then a piece of the answer.
#[derive(Clone, PartialEq, Message)]
pub struct Schemas {
    #[prost(bytes = "bytes", optional, tag = "1")]
    pub provider: Option<Bytes>,
    #[prost(btree_map = "string, bytes", tag = "2")]
    pub resources: BTreeMap<String, Bytes>,
    #[prost(btree_map = "string, bytes", tag = "3")]
    pub data: BTreeMap<String, Bytes>,
    #[prost(message, repeated, tag = "4")]
    pub diagnostics: Vec<Diagnostic>,
    #[prost(bytes = "bytes", optional, tag = "5")]
    pub provider_meta: Option<Bytes>,
    #[prost(message, optional, tag = "6")]
    pub capabilities: Option<ServerCapabilities>,
    #[prost(btree_map = "string, message", tag = "7")]
    pub functions: BTreeMap<String, Function>,
    #[prost(btree_map = "string, bytes", tag = "8")]
    pub ephemeral: BTreeMap<String, Bytes>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Function {
    #[prost(message, repeated, tag = "1")]
    pub parameters: Vec<Parameter>,
    #[prost(message, optional, tag = "2")]
    pub variadic: Option<Parameter>,
    #[prost(message, optional, tag = "3")]
    pub returns: Option<Return>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Parameter {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub r#type: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub allow_null: bool,
    #[prost(bool, tag = "4")]
    pub allow_unknown: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct Return {
    #[prost(bytes = "vec", tag = "1")]
    pub r#type: Vec<u8>,
}

/// The schema messages of one version: attributes are numbered otherwise from 10 on.
macro_rules! schema_messages {
    ($version:ident, { $($attribute_tail:tt)* }) => {
        pub mod $version {
            use prost::Message;

            #[derive(Clone, PartialEq, Message)]
            pub struct Schema {
                #[prost(int64, tag = "1")]
                pub version: i64,
                #[prost(message, optional, tag = "2")]
                pub block: Option<Block>,
            }

            #[derive(Clone, PartialEq, Message)]
            pub struct Block {
                #[prost(int64, tag = "1")]
                pub version: i64,
                #[prost(message, repeated, tag = "2")]
                pub attributes: Vec<Attribute>,
                #[prost(message, repeated, tag = "3")]
                pub block_types: Vec<NestedBlock>,
                #[prost(string, tag = "4")]
                pub description: String,
                #[prost(int32, tag = "5")]
                pub kind: i32,
                #[prost(bool, tag = "6")]
                pub deprecated: bool,
                #[prost(string, tag = "7")]
                pub deprecation_message: String,
            }

            #[derive(Clone, PartialEq, Message)]
            pub struct NestedBlock {
                #[prost(string, tag = "1")]
                pub type_name: String,
                #[prost(message, optional, tag = "2")]
                pub block: Option<Block>,
                #[prost(int32, tag = "3")]
                pub nesting: i32,
                #[prost(int64, tag = "4")]
                pub min_items: i64,
                #[prost(int64, tag = "5")]
                pub max_items: i64,
            }

            #[derive(Clone, PartialEq, Message)]
            pub struct Object {
                #[prost(message, repeated, tag = "1")]
                pub attributes: Vec<Attribute>,
                #[prost(int32, tag = "3")]
                pub nesting: i32,
            }

            #[derive(Clone, PartialEq, Message)]
            pub struct Attribute {
                #[prost(string, tag = "1")]
                pub name: String,
                #[prost(bytes = "vec", tag = "2")]
                pub r#type: Vec<u8>,
                #[prost(string, tag = "3")]
                pub description: String,
                #[prost(bool, tag = "4")]
                pub required: bool,
                #[prost(bool, tag = "5")]
                pub optional: bool,
                #[prost(bool, tag = "6")]
                pub computed: bool,
                #[prost(bool, tag = "7")]
                pub sensitive: bool,
                #[prost(int32, tag = "8")]
                pub kind: i32,
                #[prost(bool, tag = "9")]
                pub deprecated: bool,
                $($attribute_tail)*
            }
        }
    };
}

schema_messages!(v5, {
    #[prost(bool, tag = "10")]
    pub write_only: bool,
    #[prost(string, tag = "11")]
    pub deprecation_message: String,
});
schema_messages!(v6, {
    #[prost(message, optional, tag = "10")]
    pub nested_type: Option<Object>,
    #[prost(bool, tag = "11")]
    pub write_only: bool,
    #[prost(string, tag = "12")]
    pub deprecation_message: String,
});

#[derive(Clone, PartialEq, Message)]
pub struct IdentitySchemas {
    #[prost(btree_map = "string, message", tag = "1")]
    pub schemas: BTreeMap<String, IdentitySchema>,
    #[prost(message, repeated, tag = "2")]
    pub diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, PartialEq, Message)]
pub struct IdentitySchema {
    #[prost(int64, tag = "1")]
    pub version: i64,
    #[prost(message, repeated, tag = "2")]
    pub attributes: Vec<IdentityAttribute>,
}

#[derive(Clone, PartialEq, Message)]
pub struct IdentityAttribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(bytes = "vec", tag = "2")]
    pub r#type: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub required_for_import: bool,
    #[prost(bool, tag = "4")]
    pub optional_for_import: bool,
}
