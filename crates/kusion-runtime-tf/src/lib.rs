//! Terraform providers as a platform of the engine.
//!
//! In: resources of type `Terraform` (ids `namespace:provider:type:name`, the provider in their extensions). Out: what the
//! traits `Platform` and `Runtime` promise. Invariants: what a provider answers to an apply is recorded, also beside an
//! error; nothing of an apply is tried again by itself; real values of sensitive attributes stand only in what is sealed
//! ([`Held`]) and in memory.
//! Deliberately not here: where executables come from ([`Locate`] is told), what the checks of a host are (`tf-schema`).
//!
//! Start reading with [`TfRuntime`], then `draft.rs`: how one object is planned.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod apply;
mod attr;
mod backend;
mod builtin;
mod changes;
mod configuration;
mod connection;
mod draft;
mod ephemeral;
mod fields;
mod kept;
mod observe;
mod origins;
mod platform;
mod pool;
mod propose;
mod runtime;
mod settings;
mod takeover;
mod tfstate;

pub use attr::PROVIDER;
pub use configuration::Configuration;
pub use connection::Passing;
pub use kept::{Held, secrets_kept};
pub use platform::{TfPlatform, settle};
pub use pool::{Limits, Locate};
pub use runtime::{TfRuntime, is_tainted};
pub use settings::{BUILTIN, DEFAULT_HOST, IMPORT_ID, Source};
pub use takeover::Takeover;
pub use tf_host::SchemaCache;
pub use tfstate::{Exported, Found, Told, found_in};
