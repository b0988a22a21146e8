//! A Kubernetes control plane as a value: versioned store, API, controllers, kubelet, faults and a virtual clock, no sockets.
//!
//! In: [`World::handle`] takes one API request and answers it; [`World::advance`] moves the clock and lets controllers and
//! kubelet work. Out: answers, watch events, the same bytes for the same seed and the same calls. Nothing here reads files,
//! the environment, the wall clock or randomness: time and seed are arguments, so a whole rollout is a millisecond test, and
//! a run can be stopped and resumed between any two calls.
//!
//! * [`store`] — objects by kind and name, one revision counter, the journal that watches read.
//! * [`registry`] — which resources are served: the generated tables of `kube-meaning` and the CRDs in the store.
//! * `write` — the one road by which anything changes: API requests, controllers and kubelet alike.
//! * [`controllers`], [`kubelet`] — what makes it live: driven by `World::advance`, `World::step`, `World::settle`.
//! * [`change`] — what a controller asks for; [`view`] — what it sees. A controller is a pure function from one to the other.
//!
//! Invariants: a revision is used once; a write that changes nothing takes no revision and makes no event; uids are never
//! reused; no answer depends on hash order.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod admission;
pub mod api;
mod bootstrap;
mod carry;
pub mod change;
pub mod controllers;
mod definitions;
mod drive;
pub mod faults;
mod index;
pub mod kubelet;
mod limits;
pub mod pace;
pub mod qos;
mod quota;
pub mod registry;
mod removal;
mod rules;
pub mod seed;
pub mod snapshot;
pub mod store;
pub mod time;
pub mod view;
pub mod world;
pub mod write;

pub use api::{Access, Answer, Polled, Request, Response, StreamId, User};
pub use change::{Change, Note, Reaction};
pub use faults::Faults;
pub use kubelet::LogLine;
pub use pace::Pace;
pub use registry::{Registry, Served};
pub use store::{Event, EventKind, Object, ObjectKey, ResourceKey, Store};
pub use time::Time;
pub use view::View;
pub use world::World;
pub use write::{Propagation, Removal, Removed, Stored, Write};
