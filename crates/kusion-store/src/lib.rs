//! State and releases of a stack, as an append-only log under a lease, on any medium.
//!
//! In: a plan about to run, its outcomes, its end. Out: the state for the planner, the history for people.
//! Invariants: what was acknowledged survives a crash at any write; entries are numbered without gaps and chained by their
//! hashes, and a head tells how far they reach, so a log that is cut, old, swapped or changed is told from a torn write, each
//! with its own [`Damage`]; a writer whose lease was taken over can write no more (fencing); nobody writes on a log he has not
//! read (compare-and-swap); the cost of a write follows the change, not the stack.
//!
//! Start reading with [`Store`], [`StackStore`] and [`Session`]; [`Backend`] is what a medium must promise, [`LocalFolder`] and
//! [`SimMedium`] are two that do. The reasons are in docs/design/0004-store.md.

#![cfg_attr(test, allow(clippy::unwrap_used))]

mod backend;
mod chain;
mod damage;
mod entry;
mod error;
mod fold;
mod keys;
mod lease;
mod line;
mod local;
mod lock;
mod log;
mod migrate;
mod object_head;
mod object_lease;
mod object_log;
mod object_pack;
mod object_requests;
mod objects;
mod opening;
mod plug;
mod process;
mod repair;
mod ring;
mod seal;
mod session;
mod sign;
mod sim;
mod sim_objects;
mod snapshot;
mod store;
mod told;
mod upgrade;
mod upstream;
mod vault;
mod wait;

pub use backend::{Answer, Backend, HEAD_ONLY, Kept, LeaseSlot, Look, Records, Replacement, Written};
pub use damage::{Damage, Fault};
pub use entry::{Outcome, ReleaseEnd, Way};
pub use error::StoreError;
pub use fold::State;
pub use kusion_model::Head;
pub use lease::{Fence, Holder, LEASE_TIME, Lease, Liveness, Owner, Watch};
pub use local::LocalFolder;
pub use lock::Lock;
pub use migrate::{Migrated, Places};
pub use object_log::ObjectLog;
pub use objects::{Choose, Object, ObjectAnswer, ObjectError, Objects, When};
pub use plug::Plug;
pub use process::{local_liveness, local_owner};
pub use repair::Findings;
pub use ring::Keys;
pub use session::{ReleaseDraft, Session};
pub use sign::{PublicKey, Signed};
pub use sim::{SimMedium, Stack as SimStack};
pub use sim_objects::SimObjects;
pub use snapshot::{SNAPSHOT_SCHEMA, Snapshot, Unfit};
pub use store::{Claim, StackStore, Store};
pub use told::Told;
pub use upstream::{NotUpstream, UpstreamState};
pub use wait::wait;

/// The examples of the user's page run as tests.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/state.md")]
struct StatePage;
