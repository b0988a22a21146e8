//! The messages: plain structs with the reference's field numbers (Protobuf) and field names (JSON).
//!
//! A row is `field: (how Protobuf writes it) type = number;`. The same rows are kept as a table ([`TABLE`]), of which
//! `proto/kcl.proto` is written.
#![allow(missing_docs)]

/// One field of a message: its name, how Protobuf writes it, its type here, its number.
pub type Field = (&'static str, &'static str, &'static str, u32);

/// The rows of one file: messages with their fields.
pub type Rows = &'static [(&'static str, &'static [Field])];

macro_rules! messages {
    ($($(#[$doc:meta])* $name:ident { $($(#[$how:meta])* $field:ident: ($($kind:tt)*) $ty:ty = $tag:literal;)* })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, PartialEq, prost::Message, serde::Serialize, serde::Deserialize)]
            #[serde(default)]
            pub struct $name {
                $($(#[$how])* #[prost($($kind)*, tag = $tag)] pub $field: $ty,)*
            }
        )*

        /// The rows above.
        pub(crate) const ROWS: super::Rows = &[
            $((stringify!($name), &[$((stringify!($field), stringify!($($kind)*), stringify!($ty), $tag),)*]),)*
        ];
    };
}

mod package;
mod program;
mod schema;
mod source;

pub use package::*;
pub use program::*;
pub use schema::*;
pub use source::*;

/// Every message with its fields.
pub const TABLE: &[Rows] = &[program::ROWS, source::ROWS, schema::ROWS, package::ROWS, BYTES];

const BYTES: Rows = &[("FormatCodeResult", &[("formatted", "bytes", "Vec < u8 >", 1)])];

/// The answer of `FormatCode`. Bytes are Base64 in JSON, as everywhere where Protobuf meets JSON.
#[derive(Clone, PartialEq, prost::Message, serde::Serialize, serde::Deserialize)]
#[serde(default)]
pub struct FormatCodeResult {
    #[prost(bytes = "vec", tag = 1)]
    #[serde(with = "base64")]
    pub formatted: Vec<u8>,
}

/// Numbers of 64 bits are texts where Protobuf meets JSON; plain numbers are taken, too.
mod number {
    use serde::{Deserialize, Deserializer, de::Error};

    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Number(u64),
        Text(String),
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<u64, D::Error> {
        match Written::deserialize(deserializer)? {
            Written::Number(number) => Ok(number),
            Written::Text(text) => {
                text.parse().map_err(|error| D::Error::custom(format!("`{text}` is no number: {error}")))
            }
        }
    }
}

mod base64 {
    use data_encoding::BASE64;
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(bytes))
    }

    pub(super) fn deserialize<'d, D: Deserializer<'d>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text.as_bytes()).map_err(|error| D::Error::custom(format!("not Base64: {error}")))
    }
}
