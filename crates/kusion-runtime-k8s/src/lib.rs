//! The Kubernetes runtime: dynamic objects, server-side apply with the field manager `kusion`.
//!
//! In: the engine's questions ([`kusion_runtime::Runtime`]). Out: live objects, proposals, writes.
//! How it stays cheap: live objects are listed once per kind and namespace; whether a wanted object changes anything is
//! decided locally by `kube-meaning` from the live object and its managedFields; the server is asked (dry run) only about
//! what changes. Invariants: what leaves this crate is sealed; error texts never hold a secret; a field of another manager is
//! never taken without a rule.
//!
//! [`KubeHealth`] waits for health on shared watches. Start reading with [`KubeRuntime`]; [`connect`] finds the cluster; [`KubePlatform`] tells the planner what is secret and what comes first.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod address;
mod api;
mod apply;
mod border;
mod chest;
mod claim;
mod conflict;
mod connect;
mod edges;
mod elsewhere;
mod failure;
mod forward;
mod gone;
mod handover;
mod health;
mod identity;
mod kinds;
mod look;
mod observe;
mod owner;
mod path;
mod platform;
mod pods;
mod propose;
mod read;
mod redact;
mod runtime;
mod secrets;
mod strict;
mod survey;
mod told;
mod watch;
mod witness;
mod written;

pub use chest::{Kept, KubeChest};
pub use connect::{ConnectError, Connected, ContextInfo, Identity, connect, connect_as, contexts};
pub use forward::Forward;
pub use health::KubeHealth;
pub use kube::Client;
pub use look::{LogAsk, LookAsk};
pub use platform::KubePlatform;
pub use runtime::{FIELD_MANAGER, KubeRuntime};
pub use secrets::KubeSecrets;
pub use survey::unwell;
pub use witness::KubeWitness;
pub use written::as_written;
