//! A running Terraform provider.
//!
//! In: an executable. Out: a [`Provider`] with one method for each call of the protocol, `tf_value::Value` in and out,
//! whichever of the versions 5 and 6 it speaks. Invariants: a provider that crashes, hangs, answers garbage or does not
//! start is an error of its own kind ([`Failure`]); what a provider says about a resource is data ([`Diagnostic`]); no
//! process outlives its host, however the host ended; memory for logs is bounded; values are in no log and no error. Calls,
//! programs and what providers say are told to the facade `log`, at the level debug.
//! Deliberately not here: what to ask when (that is the duty of a host, `tf-schema`), where executables come from
//! (`tf-install`).
//!
//! ```no_run
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! use tf_host::{Launch, Provider};
//! use tf_value::Value;
//!
//! let launch = Launch::new("hashicorp/random", "/plugins/terraform-provider-random".as_ref());
//! let provider = Provider::start(&launch, None).await?;
//! let said = provider.configure(&Value::map::<&str>([])).await?;
//! assert!(said.is_empty());
//! let pet = provider.resource("random_pet")?;
//! assert_eq!(pet.schema.version, 0);
//! provider.end().await;
//! # Ok(()) }
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod calls;
mod client;
mod diagnostic;
mod error;
mod guardian;
mod handshake;
mod log;
mod process;
mod provider;
mod reattach;
mod rpc;
mod schemas;
mod store;
mod subject;
mod tls;
#[doc(hidden)]
pub mod wire;

pub use calls::{
    Applied, ApplyAsk, DataRead, Deferral, Imported, ImportedObject, MoveAsk, Moved, Opened, PlanAsk,
    Planned, Read, ReadAsk, Renewed,
};
pub use client::MESSAGE_LIMIT;
pub use diagnostic::{Diagnostic, Severity, errors};
pub use error::{Failure, HostError};
pub use handshake::{Address, Handshake, HandshakeError, Protocol, parse as parse_handshake};
pub use log::{Level, LogLine, Logs};
pub use process::Launch;
pub use provider::Provider;
pub use reattach::{Reattach, reattached};
pub use schemas::{Capabilities, DataSource, Ephemeral, Function, Identity, Parameter, Resource, Schemas};
pub use store::SchemaCache;
pub use subject::about;
