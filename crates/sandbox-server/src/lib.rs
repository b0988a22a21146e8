//! The rim of the sandbox: it carries bytes between clients and a [`sandbox_world::World`], keeps the world's clock on the
//! wall clock's time, and keeps its objects in a folder.
//!
//! * [`host`] — the world behind a lock, its pump (controllers and timers), its open streams.
//! * [`serve()`] — loopback HTTP with TLS; [`client`] — the same requests in process, without sockets.
//! * `talk` — exec and port-forward on upgraded connections.
//! * [`sandbox`] — all of it on one thread; [`identity`] — certificates, token and kubeconfig; [`keep`] — the data folder.
//!
//! Invariants: it never decides what a request means; it listens on loopback only, unless told so twice; a client that is
//! slow, gone or hostile costs a bounded amount.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod body;
pub mod client;
pub mod host;
pub mod identity;
pub mod keep;
pub mod sandbox;
pub mod serve;
mod talk;

pub use body::{Dropped, OutBody};
pub use client::{InProcess, in_process_client};
pub use host::Host;
pub use identity::Identity;
pub use sandbox::{Sandbox, SandboxError, Setup};
pub use serve::{Listening, ServeError, serve};
