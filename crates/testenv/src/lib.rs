//! A real Kubernetes control plane on loopback, for tests and chores.
//!
//! Problem: what we claim about Kubernetes must be checked against Kubernetes, without a cluster and without the network.
//! In: one pinned executable ("kubebox": etcd, API server, controller manager, scheduler, kwok, kubectl), built once from
//! the Go module proxy into a cache. Out: a [`ControlPlane`] with a kubeconfig, ready for requests.
//! Invariant: nothing outlives its owner. Every server holds a pipe to the process that started it and ends when that
//! process ends, however it ended.
//!
//! A test starts with
//!
//! ```ignore
//! let Some(plane) = testenv::shared() else { return };
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod cache;
pub mod clouds;
mod files;
pub mod http;
pub mod packages;
mod plane;
mod process;
mod registries;
pub mod services;
mod shared;
pub mod tls;
mod usage;
pub mod vaults;

pub use cache::{binary, build, build_program, cache_folder, program};
pub use plane::{ControlPlane, Options};
pub use registries::package;
pub use shared::{ENV_PLANE, attached, installed, needed, peer, required, shared, skip};
pub use usage::Usage;

/// Why the control plane could not be built, started or asked.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self(message.into())
    }
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Adds what was being done to an error of the system.
pub(crate) trait Context<T> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T, Error>;
}

impl<T, E: std::fmt::Display> Context<T> for Result<T, E> {
    fn context(self, doing: impl FnOnce() -> String) -> Result<T, Error> {
        self.map_err(|error| Error(format!("{}: {error}", doing())))
    }
}
