//! Values of Terraform providers.
//!
//! In: bytes of a provider or of a state, with the [`Type`] that its schema promises. Out: a [`Value`], and the same bytes
//! again. Invariants: numbers are exact (no value passes through a float that it did not come from); strings and keys are in
//! normal form C; sets are in canonical order without duplicates; no input makes reading allocate more than its own size
//! allows or recurse deeper than [`MAX_DEPTH`].
//! Deliberately not here: schemas, marks (which paths are sensitive is said by a schema), files, processes.
//!
//! A [`Value`] does not carry its type: whoever holds one holds the type beside it. Only where the schema says `dynamic`
//! the value brings its own ([`Dynamic`]).
//!
//! ```
//! use tf_value::{Type, Value, msgpack};
//!
//! let ports: Type = r#"["set","number"]"#.parse()?;
//! let value = Value::set([Value::from(443), Value::from(80), Value::from(443)], &Type::Number)?;
//! assert_eq!(msgpack::encode(&value, &ports)?, [0x92, 80, 0xcd, 0x01, 0xbb]);
//! assert_eq!(msgpack::decode(&[0x92, 0xcd, 0x01, 0xbb, 80], &ports)?, value);
//! # Ok::<(), tf_value::ValueError>(())
//! ```
#![cfg_attr(test, allow(clippy::unwrap_used))]

mod concrete;
mod convert;
mod error;
pub mod json;
pub mod msgpack;
mod number;
mod path;
mod refinement;
mod set;
mod types;
mod value;

pub use concrete::concrete;
pub use convert::convert;
pub use error::ValueError;
pub use number::{MAX_DIGITS, Number, NumberError};
pub use path::{Path, Step};
pub use refinement::Refinement;
pub use types::{ObjectType, Type};
pub use value::{Dynamic, Map, Value, normal};

/// How deep values and types may be nested; deeper input is refused.
pub const MAX_DEPTH: usize = 128;
/// The longest input that is read, in bytes.
pub const MAX_BYTES: usize = 256 << 20;
