//! The automation API: what tools, bots, editors and other languages ask, as functions from message to message.
//!
//! The methods and messages are those of the reference's service, so that its clients work; each method calls the crates that the
//! command line calls. [`call`] is the one door for every carrier (gRPC, JSON-RPC, REST, C): a method's name, bytes in, bytes out.
//! Whoever is in the same process calls [`methods`] with plain structs.
//!
//! An answer depends on its question and the files as they are now. All that calls may share is packages by content
//! ([`Budget::packages`]), and every call reads the texts itself.
#![cfg_attr(test, allow(clippy::unwrap_used))]

pub mod messages;
pub mod methods;
mod proto;
mod table;
mod texts;

use std::fmt;

pub use proto::proto_file;
pub use table::{METHODS, Method, call, find, recode};

/// How messages are written as bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Encoding {
    /// Protocol Buffers, with the reference's field numbers.
    Protobuf,
    /// JSON, with the reference's field names; unknown fields are ignored, missing ones are empty.
    Json,
}

/// What a call may use, and how it is stopped.
#[derive(Clone, Debug, Default)]
pub struct Budget {
    /// Steps, cells and depth of each run.
    pub limits: kcl::Limits,
    /// Stops the call from another thread.
    pub cancel: kcl::Cancel,
    /// Packages that calls have parsed and checked, by content: whoever makes many calls lends them the same ones.
    pub packages: kcl::Packages,
}

/// Why there is no answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Reason {
    /// No method has this name.
    UnknownMethod,
    /// The bytes are not the message of the method.
    Undecodable,
    /// The question cannot be answered: a file that is not there, code that does not compile.
    Wrong,
    /// Somebody stopped it: its time was over, or its client had gone.
    Stopped,
    /// A bug of ours.
    Bug,
}

/// A call without an answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// Why.
    pub reason: Reason,
    /// The sentence, or errors in the reference's shape.
    pub message: String,
}

impl Failure {
    pub(crate) fn new(reason: Reason, message: impl Into<String>) -> Failure {
        Failure { reason, message: message.into() }
    }

    pub(crate) fn wrong(message: impl Into<String>) -> Failure {
        Failure::new(Reason::Wrong, message)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

/// What the fuzz target `rpc` judges: bytes are a message or they are refused, and a message survives both encodings. The first byte
/// chooses the method, its lowest bit the encoding.
///
/// # Panics
/// If a message that was decoded cannot be encoded and decoded again to the same bytes.
pub fn judge_bytes(data: &[u8]) {
    let Some((first, body)) = data.split_first() else { return };
    let from = if first & 1 == 0 { Encoding::Json } else { Encoding::Protobuf };
    let method = &METHODS[usize::from(first >> 1) % METHODS.len()];
    let name = format!("{}.{}", method.service, method.name);
    let Ok(protobuf) = recode(&name, from, body, Encoding::Protobuf) else { return };
    let again = |from, bytes: &[u8], to| recode(&name, from, bytes, to).map_err(|failure| failure.message);
    let json = again(Encoding::Protobuf, &protobuf, Encoding::Json).expect("what was encoded can be decoded");
    // JSON has no way to write numbers that are none.
    if let Ok(back) = again(Encoding::Json, &json, Encoding::Protobuf) {
        assert_eq!(back, protobuf, "{name}: {}", String::from_utf8_lossy(&json));
    } else {
        assert!(name.ends_with("FormatTestReport"), "{name}: {}", String::from_utf8_lossy(&json));
    }
}

/// The answer of a method.
pub type Answer<T> = Result<T, Failure>;
